//! Storing a verified delivery: put if absent, and what a row that is already there means.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};

use super::body::pack;
use super::decide::{Duplicate, duplicate};
use super::due::DueRow;
use super::item::{Item, at, n, number, s};
use super::new_row::{failed_shard, room, set_body};
use super::row::{Body, ErrorKind, Row, Status};
use super::write::{Written, in_turn, write};
use super::{Inbox, Pushed, Redriven};
use crate::delivery::Delivery;
use crate::fault::Fault;
use crate::key::{EventKey, SourceName, Token};
use crate::limits::{UNUSABLE_BODY_BYTES, UNUSABLE_WHOLE_PER_HOUR};
use crate::time::Timestamp;

/// A delivery that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What became of it.
    pub what: What,
    /// A pointer is to be sent.
    pub send: bool,
    /// A row of this id holds another body.
    pub body_differs: bool,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A new event.
    Stored,
    /// A new event of a type that the profile ignores.
    Ignored,
    /// Kept as `failed` at once, for this reason.
    Parked(ErrorKind),
    /// Its row was there already.
    Duplicate(Duplicate),
}

impl Inbox {
    /// Stores a delivery, or finds its row. After `Ok` the event is durable, whatever else fails.
    ///
    /// # Errors
    /// It is not known to be stored: the producer has to deliver again.
    pub async fn accept(&self, delivery: &Delivery<'_>, now: Timestamp) -> Result<Accepted, Fault> {
        let receipt = Token::fresh();
        let what = self.birth(delivery, now);
        let mut row = self.new_row(delivery, what, &receipt, now);
        let packed = pack(self.kept_body(delivery, what, now).await, room(&row));
        let body = if packed.inline {
            Body::Inline(packed.bytes.into_owned(), packed.encoding)
        } else {
            // Items that no row names would stay for 90 days: a duplicate is not to write any.
            if let Some(row) = self.row(delivery.key()).await? {
                return Ok(self.again(delivery, &row, &receipt, what, now).await);
            }
            self.store_parts(&receipt, &packed, now).await?
        };
        set_body(&mut row, what, body, now);
        let Some(refused) = in_turn(|| self.put_new(&row)).await? else {
            return Ok(Accepted { what, send: what == What::Stored, body_differs: false });
        };
        match refused.item().map(Row::read) {
            Some(Ok(row)) => Ok(self.again(delivery, &row, &receipt, what, now).await),
            // Something is under this key that is no row of ours: the event is not stored, and only
            // an operator can make room for it.
            other => {
                let why = other.and_then(Result::err).map(|error| error.to_string());
                tracing::error!(key = %delivery.key(), why, "what is under this key is no row");
                let code = "another item is under this key".into();
                Err(Fault::Refused { operation: "PutItem", code })
            }
        }
    }

    /// Nothing, or the refusal with the item that is there already.
    async fn put_new(&self, row: &Item) -> Result<Option<ConditionalCheckFailedException>, Fault> {
        let put = self
            .dynamodb
            .put_item()
            .table_name(&self.table)
            .set_item(Some(row.clone()))
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let Err(error) = put else { return Ok(None) };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(refused)) => {
                Ok(Some(refused.clone()))
            }
            _ => Err(Fault::of("PutItem", &error)),
        }
    }

    /// All of the body, or its first bytes when a source floods us with unusable ones.
    async fn kept_body<'r>(&self, delivery: &Delivery<'r>, what: What, now: Timestamp) -> &'r [u8] {
        let body = delivery.body();
        if what != What::Parked(ErrorKind::Unusable) || body.len() <= UNUSABLE_BODY_BYTES {
            return body;
        }
        match self.count_unusable(&delivery.key().source, now).await {
            Ok(count) if count > UNUSABLE_WHOLE_PER_HOUR => &body[..UNUSABLE_BODY_BYTES],
            Ok(_) => body,
            Err(fault) => {
                tracing::warn!(%fault, "unusable deliveries of this hour could not be counted");
                body
            }
        }
    }

    async fn count_unusable(&self, source: &SourceName, now: Timestamp) -> Result<u64, Fault> {
        let hour = now.secs() / 3600;
        let answer = self
            .dynamodb
            .update_item()
            .table_name(&self.table)
            .key("pk", s(format!("~unusable#{source}#{hour}")))
            .update_expression("ADD seen :one SET expires_at = :e")
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":e", n((hour + 2) * 3600))
            .return_values(ReturnValue::UpdatedNew)
            .send()
            .await
            .map_err(|error| Fault::of("UpdateItem", &error))?;
        Ok(answer.attributes.and_then(|item| number(&item, "seen")).unwrap_or(0))
    }

    /// The row is durable: from here on nothing can take the 2xx away.
    async fn again(
        &self,
        delivery: &Delivery<'_>,
        row: &Row,
        receipt: &Token,
        what: What,
        now: Timestamp,
    ) -> Accepted {
        let decided = duplicate(row, receipt, delivery.profile().ordering, now);
        let moved = match decided {
            Duplicate::Ours => {
                return Accepted { what, send: what == What::Stored, body_differs: false };
            }
            Duplicate::Resend => {
                let seen = DueRow::of(row);
                let pushed = match seen {
                    Some(seen) => self.push(&seen, now).await,
                    None => Ok(Pushed::No),
                };
                pushed.map(|pushed| matches!(pushed, Pushed::Send(_)))
            }
            Duplicate::Rerun => {
                self.redrive(row, now).await.map(|redriven| redriven == Redriven::Done)
            }
            Duplicate::Unusable | Duplicate::Settled => Ok(false),
        };
        let send = moved.unwrap_or_else(|fault| {
            tracing::warn!(key = %row.key, %fault, "duplicate not moved on; the sweeper will");
            false
        });
        let body_differs = row.body_sha256 != delivery.digest();
        Accepted { what: What::Duplicate(decided), send, body_differs }
    }

    /// A stored event whose pointer the queue calls invalid: `failed`, for an operator. `false`: it
    /// was no longer pending.
    ///
    /// # Errors
    /// DynamoDB did not do it; the row stays due.
    pub async fn park_unsendable(&self, key: &EventKey, now: Timestamp) -> Result<bool, Fault> {
        let call = self
            .update(key)
            .update_expression(
                "SET #status = :failed, error_kind = :kind, finished_at = :now, \
                 due_shard = :shard, due_at = :now REMOVE lease_until",
            )
            .condition_expression("#status = :pending")
            .expression_attribute_values(":failed", s(Status::Failed))
            .expression_attribute_values(":pending", s(Status::Pending))
            .expression_attribute_values(":kind", s(ErrorKind::Unsendable))
            .expression_attribute_values(":shard", s(failed_shard(&key.source)))
            .expression_attribute_values(":now", at(now));
        write(call).await.map(|written| matches!(written, Written::Done(_)))
    }
}
