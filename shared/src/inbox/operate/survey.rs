//! Reading many rows at once: all of the table, or those of a list.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::KeysAndAttributes;

use crate::fault::Fault;
use crate::inbox::item::{Item, s, text, time};
use crate::inbox::row::{ErrorKind, Outcome, Row, Status};
use crate::inbox::{Inbox, Next};
use crate::key::{EventKey, SourceName};
use crate::time::Timestamp;

/// Keys in one `BatchGetItem` (DynamoDB API).
const READS_PER_BATCH: usize = 100;
/// Between two reads of what DynamoDB had no capacity for.
const PAUSE: Duration = Duration::from_millis(200);
/// How often what it had no capacity for is asked for again.
const TRIES: usize = 20;

/// Which rows of the table are wanted. All of it is read and paid for, whatever is wanted.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Only this source's.
    pub source: Option<SourceName>,
    /// Only of this status.
    pub status: Option<Status>,
}

/// A page of the table.
#[derive(Debug)]
pub struct Scanned {
    /// The rows that are wanted.
    pub rows: Vec<Row>,
    /// Items under an event's key that do not read as rows.
    pub unreadable: usize,
    /// How many items were read for it.
    pub read: u64,
    /// Where the next page begins.
    pub next: Option<Next>,
}

/// What the table holds, as DynamoDB counts it every six hours or so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Items: rows, and the items of large bodies.
    pub items: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Where an event is in its life, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its status.
    pub status: Status,
    /// Why it is failed.
    pub error_kind: Option<ErrorKind>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// When that was.
    pub finished_at: Option<Timestamp>,
}

impl Inbox {
    /// One page of the whole table, from its start or from where the last page ended.
    ///
    /// # Errors
    /// The table could not be read.
    pub async fn scan(&self, wanted: &Scan, from: Option<Next>) -> Result<Scanned, Fault> {
        let call = self.dynamodb.scan().table_name(&self.table);
        let call = filtered(call, wanted).set_exclusive_start_key(from.map(Next::into_key));
        let answer = call.send().await.map_err(|error| Fault::of("Scan", &error))?;
        let items = answer.items();
        let rows: Vec<Row> = items.iter().filter_map(|item| Row::read(item).ok()).collect();
        Ok(Scanned {
            unreadable: items.len() - rows.len(),
            rows,
            read: u64::try_from(answer.scanned_count).unwrap_or(0),
            next: answer.last_evaluated_key.map(Next::of_key),
        })
    }

    /// How much a scan would read.
    ///
    /// # Errors
    /// The table could not be described.
    pub async fn weight(&self) -> Result<Weight, Fault> {
        let answer = self.dynamodb.describe_table().table_name(&self.table).send().await;
        let table = answer.map_err(|error| Fault::of("DescribeTable", &error))?.table;
        let (items, bytes) = table.map_or((None, None), |t| (t.item_count, t.table_size_bytes));
        let number = |said: Option<i64>| u64::try_from(said.unwrap_or(0)).unwrap_or(0);
        Ok(Weight { items: number(items), bytes: number(bytes) })
    }

    /// Where each of these events is; those that have no row are left out. Consistent.
    ///
    /// # Errors
    /// DynamoDB did not give all of them.
    pub async fn standings(&self, keys: &[EventKey]) -> Result<HashMap<EventKey, Standing>, Fault> {
        const READ: &str = "BatchGetItem";
        let mut found = HashMap::new();
        // DynamoDB refuses a batch that names a key twice.
        let mut wanted: Vec<String> = keys.iter().map(ToString::to_string).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for batch in wanted.chunks(READS_PER_BATCH) {
            let mut left = Some(names(batch));
            let mut tries = 0;
            while let Some(asked) = left {
                if tries == TRIES {
                    let code = "UnprocessedKeys".into();
                    return Err(Fault::Throttled { operation: READ, code });
                }
                if tries > 0 {
                    tokio::time::sleep(PAUSE).await;
                }
                tries += 1;
                let call = self.dynamodb.batch_get_item().request_items(&self.table, asked);
                let answer = call.send().await.map_err(|error| Fault::of(READ, &error))?;
                let items = answer.responses.unwrap_or_default().remove(&self.table);
                found.extend(items.unwrap_or_default().iter().filter_map(Standing::read));
                left = answer.unprocessed_keys.and_then(|mut keys| keys.remove(&self.table));
            }
        }
        Ok(found)
    }
}

impl Standing {
    fn read(item: &Item) -> Option<(EventKey, Self)> {
        let standing = Self {
            status: text(item, "status").and_then(Status::parse)?,
            error_kind: text(item, "error_kind").and_then(ErrorKind::parse),
            outcome: text(item, "outcome").and_then(Outcome::parse),
            finished_at: time(item, "finished_at"),
        };
        Some((text(item, "pk").and_then(EventKey::parse)?, standing))
    }
}

/// Only what has a status is a row: not body items, control items and the like.
fn filtered(call: ScanFluentBuilder, wanted: &Scan) -> ScanFluentBuilder {
    let mut filter = vec!["attribute_exists(#status)"];
    let mut call = call.expression_attribute_names("#status", "status");
    if let Some(source) = &wanted.source {
        filter.push("begins_with(pk, :prefix)");
        call = call.expression_attribute_values(":prefix", s(format!("{source}#")));
    }
    if let Some(status) = wanted.status {
        filter.push("#status = :status");
        call = call.expression_attribute_values(":status", s(status));
    }
    call.filter_expression(filter.join(" AND "))
}

fn names(keys: &[String]) -> KeysAndAttributes {
    let keys = keys.iter().map(|key| Item::from([("pk".to_owned(), s(key))])).collect();
    #[expect(clippy::expect_used, reason = "the builder fails only without keys")]
    KeysAndAttributes::builder()
        .set_keys(Some(keys))
        .consistent_read(true)
        .projection_expression("pk, #status, error_kind, #outcome, finished_at")
        .expression_attribute_names("#status", "status")
        .expression_attribute_names("#outcome", "outcome")
        .build()
        .expect("keys")
}
