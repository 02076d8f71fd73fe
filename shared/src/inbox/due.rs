//! The `due` index: what should have been finished by now, and what has failed.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;

use super::Inbox;
use super::decide::{attempts_max, next_due, next_visit};
use super::item::{Item, at, n, number, s, text, time};
use super::new_row::failed_shard;
use super::row::{ErrorKind, Row, Status};
use super::write::{Written, write, write_once};
use crate::fault::Fault;
use crate::key::{EventKey, EventType, SourceName};
use crate::limits::DUE_SHARDS;
use crate::source::{Ordering, Profile};
use crate::time::Timestamp;

/// What the index shows of a row.
#[derive(Clone, Debug)]
pub struct DueRow {
    /// Whose, and which.
    pub key: EventKey,
    /// Its type.
    pub event_type: Option<EventType>,
    /// When it was received.
    pub received_at: Timestamp,
    /// When it is looked at.
    pub due_at: Timestamp,
    /// How often it was sent.
    pub sends: u32,
    /// Why it is failed; nothing for an unfinished one.
    pub error_kind: Option<ErrorKind>,
}

/// A page of the index.
#[derive(Debug)]
pub struct Page {
    /// In the order of `due_at`.
    pub rows: Vec<DueRow>,
    /// Where the next page begins.
    pub next: Option<Next>,
}

/// Where the next page begins.
#[derive(Debug)]
pub struct Next(Item);

impl Next {
    /// The page of `shard` that begins behind a row: behind its place, even if it has gone since.
    pub fn behind(shard: &str, key: &EventKey, due_at: Timestamp) -> Self {
        let place = [("due_shard", s(shard)), ("due_at", at(due_at)), ("pk", s(key))];
        Self(place.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// The page of the table that begins behind this row, even if it has gone since.
    pub fn behind_row(key: &EventKey) -> Self {
        Self([("pk".to_owned(), s(key))].into())
    }

    pub(super) fn of_key(key: Item) -> Self {
        Self(key)
    }

    pub(super) fn into_key(self) -> Item {
        self.0
    }
}

/// What pushing a row's `due_at` forward says.
#[derive(Debug)]
pub enum Pushed {
    /// It is to be sent.
    Send(Box<Row>),
    /// All its attempts are used up by runs that died.
    UsedUp(Box<Row>),
    /// It has moved on, or is held right now.
    No,
}

impl DueRow {
    /// What the index would show of this row; nothing if it is not in it.
    pub fn of(row: &Row) -> Option<Self> {
        Some(Self {
            key: row.key.clone(),
            event_type: row.event_type.clone(),
            received_at: row.received_at,
            due_at: row.due_at?,
            sends: row.sends,
            error_kind: row.error_kind,
        })
    }

    fn read(item: &Item) -> Option<Self> {
        Some(Self {
            key: text(item, "pk").and_then(EventKey::parse)?,
            event_type: text(item, "event_type").and_then(|t| EventType::parse(t).ok()),
            received_at: time(item, "received_at")?,
            due_at: time(item, "due_at")?,
            sends: number(item, "sends").unwrap_or(1),
            error_kind: text(item, "error_kind").and_then(ErrorKind::parse),
        })
    }
}

impl Inbox {
    /// The shards of a source's unfinished events.
    pub fn due_shards(source: &SourceName) -> impl Iterator<Item = String> {
        (0..DUE_SHARDS).map(move |shard| format!("{source}#{shard}"))
    }

    /// The shard of a source's failed events.
    pub fn failed_shard(source: &SourceName) -> String {
        failed_shard(source)
    }

    /// One page of a shard, from its start or from where the last page ended.
    ///
    /// # Errors
    /// The index could not be read.
    pub async fn page(&self, shard: &str, from: Option<Next>) -> Result<Page, Fault> {
        let answer = self
            .dynamodb
            .query()
            .table_name(&self.table)
            .index_name("due")
            .key_condition_expression("due_shard = :shard")
            .expression_attribute_values(":shard", s(shard))
            .set_exclusive_start_key(from.map(|Next(key)| key))
            .send()
            .await
            .map_err(|error| Fault::of("Query", &error))?;
        let rows = answer.items().iter().filter_map(DueRow::read).collect();
        Ok(Page { rows, next: answer.last_evaluated_key.map(Next) })
    }

    /// The whole row.
    ///
    /// # Errors
    /// DynamoDB did not give it.
    pub async fn row(&self, key: &EventKey) -> Result<Option<Row>, Fault> {
        let call = self.dynamodb.get_item().table_name(&self.table).key("pk", s(key));
        let answer = call.consistent_read(true).send().await;
        let item = answer.map_err(|error| Fault::of("GetItem", &error))?.item;
        Ok(item.and_then(|item| {
            Row::read(&item)
                .inspect_err(|e| tracing::error!(%key, error = %e, "unreadable row"))
                .ok()
        }))
    }

    /// Moves a row's `due_at` forward before it is sent again, so that two senders do not both send.
    /// Refused unless the row is unfinished, not held, and still due when it was seen to be.
    ///
    /// # Errors
    /// DynamoDB did not say; the row stays due, now or a little later.
    pub async fn push(&self, seen: &DueRow, now: Timestamp) -> Result<Pushed, Fault> {
        let sends = seen.sends.saturating_add(1);
        let next = next_due(sends, now);
        let call = self
            .update(&seen.key)
            .update_expression("SET due_at = :next, sends = :sends")
            .condition_expression(
                "#status IN (:pending, :processing) AND due_at = :seen \
                 AND (attribute_not_exists(lease_until) OR lease_until <= :now)",
            )
            .expression_attribute_values(":next", at(next))
            .expression_attribute_values(":sends", n(sends))
            .expression_attribute_values(":seen", at(seen.due_at))
            .expression_attribute_values(":now", at(now))
            .return_values(ReturnValue::AllNew);
        let call = with_unfinished(call);
        let own =
            |row: &Item| time(row, "due_at") == Some(next) && number(row, "sends") == Some(sends);
        let item = match write_once(call, own).await? {
            Written::Done(item) => item,
            Written::Refused(_) => return Ok(Pushed::No),
        };
        Ok(match Row::read(&item) {
            Ok(row) => Pushed::Send(Box::new(row)),
            Err(error) => {
                tracing::error!(key = %seen.key, %error, "due row cannot be read");
                Pushed::No
            }
        })
    }

    /// [`push`](Self::push) for the sweeper, which also ends what no run has ever come back from.
    ///
    /// # Errors
    /// As for `push`.
    pub async fn push_due(
        &self,
        seen: &DueRow,
        profile: &Profile,
        now: Timestamp,
    ) -> Result<Pushed, Fault> {
        Ok(match self.push(seen, now).await? {
            Pushed::Send(row) if row.attempts >= attempts_max(profile.ordering) => {
                Pushed::UsedUp(row)
            }
            other => other,
        })
    }

    /// Ends a row whose attempts are all used up by runs that died. `false`: it moved on.
    ///
    /// # Errors
    /// DynamoDB did not say; the row is still due.
    pub async fn give_up(
        &self,
        row: &Row,
        ordering: Ordering,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        let call = self
            .update(&row.key)
            .update_expression(
                "SET #status = :failed, error_kind = :kind, last_error = :why, \
                 finished_at = :now, due_shard = :shard, due_at = :visit \
                 REMOVE lease_owner, lease_until",
            )
            .condition_expression(
                "#status IN (:pending, :processing) AND attempts >= :most \
                 AND (attribute_not_exists(lease_until) OR lease_until <= :now)",
            )
            .expression_attribute_values(":failed", s(Status::Failed))
            .expression_attribute_values(":kind", s(ErrorKind::Exhausted))
            .expression_attribute_values(":why", s("the last run never came back"))
            .expression_attribute_values(":most", n(attempts_max(ordering)))
            .expression_attribute_values(":shard", s(failed_shard(&row.key.source)))
            .expression_attribute_values(
                ":visit",
                at(next_visit(ErrorKind::Exhausted, &row.body, now)),
            )
            .expression_attribute_values(":now", at(now));
        Ok(matches!(write(with_unfinished(call)).await?, Written::Done(_)))
    }

    /// Sets the next visit of a failed row, after its body has been looked after.
    ///
    /// # Errors
    /// DynamoDB did not do it; the row is visited again at once.
    pub async fn visited(&self, row: &Row, now: Timestamp) -> Result<(), Fault> {
        let kind = row.error_kind.unwrap_or(ErrorKind::Permanent);
        let call = self
            .update(&row.key)
            .update_expression("SET due_at = :visit")
            .condition_expression("#status = :failed")
            .expression_attribute_values(":failed", s(Status::Failed))
            .expression_attribute_values(":visit", at(next_visit(kind, &row.body, now)));
        write(call).await.map(drop)
    }
}

fn with_unfinished(call: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
    call.expression_attribute_values(":pending", s(Status::Pending))
        .expression_attribute_values(":processing", s(Status::Processing))
}
