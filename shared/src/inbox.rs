//! The inbox table: one row per event, and every state change one conditional write.
//!
//! In the order of an event's life: [`accept`](Inbox::accept) stores it, [`claim`](Inbox::claim)
//! takes it for one run, [`commit`](Inbox::commit) ends it together with its effects,
//! [`release`](Inbox::release) gives it back, [`fail`](Inbox::fail) keeps it for an operator, and
//! [`push`](Inbox::push) is how the sweeper sends it again. What each write may do is decided in
//! [`decide`] by pure functions of the row and the time.

mod accept;
mod body;
mod claim;
mod commit;
mod control;
pub mod decide;
mod due;
pub(crate) mod item;
mod new_row;
mod operate;
mod row;
mod write;

use std::time::Duration;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

pub use self::accept::{Accepted, What};
pub use self::body::BodyFault;
pub use self::claim::{Claim, Claiming};
pub use self::commit::{Commit, Fenced};
pub use self::control::{Control, Controls};
pub use self::due::{DueRow, Next, Page, Pushed};
use self::item::s;
pub use self::operate::{Dropped, LeftAlone, Redriven, Scan, Scanned, Standing, Weight};
pub use self::row::{Body, Encoding, ErrorKind, Outcome, Row, RowError, Status};
use crate::fault::Fault;
use crate::key::EventKey;

/// The inbox table, through the SDK.
#[derive(Clone, Debug)]
pub struct Inbox {
    dynamodb: aws_sdk_dynamodb::Client,
    table: String,
    retention: Duration,
}

impl Inbox {
    /// The table of this name, which remembers finished events for `retention`.
    pub fn new(dynamodb: aws_sdk_dynamodb::Client, table: &str, retention: Duration) -> Self {
        Self { dynamodb, table: table.to_owned(), retention }
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Opens a connection to DynamoDB, so that the first event does not wait for it.
    ///
    /// # Errors
    /// The table could not be reached.
    pub async fn warm_up(&self) -> Result<(), Fault> {
        let key = s("~warm-up");
        let call = self.dynamodb.get_item().table_name(&self.table).key("pk", key);
        call.send().await.map(drop).map_err(|error| Fault::of("GetItem", &error))
    }

    /// Rows in the table, as DynamoDB counts them every six hours or so.
    ///
    /// # Errors
    /// The table could not be described.
    pub async fn size(&self) -> Result<i64, Fault> {
        let answer = self.dynamodb.describe_table().table_name(&self.table).send().await;
        let answer = answer.map_err(|error| Fault::of("DescribeTable", &error))?;
        Ok(answer.table.and_then(|table| table.item_count).unwrap_or_default())
    }

    /// An update of a row; every one of ours speaks of its status.
    fn update(&self, key: &EventKey) -> UpdateItemFluentBuilder {
        self.dynamodb
            .update_item()
            .table_name(&self.table)
            .key("pk", s(key))
            .expression_attribute_names("#status", "status")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }
}
