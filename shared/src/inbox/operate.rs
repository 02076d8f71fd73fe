//! What an operator does to an event that is over: running it again, or giving it up. A producer's
//! replay of a failed event is the same write.

mod survey;

use super::Inbox;
use super::commit::clipped;
use super::decide::next_due;
use super::item::{Item, at, n, number, s, text, time};
use super::new_row::due_shard;
use super::row::{ErrorKind, Row, Status};
use super::write::{Written, write_once};
use crate::fault::Fault;
use crate::key::EventType;
use crate::source::TypePattern;
use crate::time::Timestamp;

pub use self::survey::{Scan, Scanned, Standing, Weight};

/// What a redrive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// The row is `pending` again; a pointer is to be sent.
    Done,
    /// The row has changed since it was read; its status now, if there is a row.
    Moved(Option<Status>),
}

/// What giving an event up did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The row is `dropped`.
    Done,
    /// The row has changed since it was read, or a run holds it; its status now, if there is a row.
    Moved(Option<Status>),
}

/// Why an event is not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum LeftAlone {
    /// Nothing is over yet.
    #[error("not finished: it will run, or runs")]
    Unfinished,
    /// Its effects have happened.
    #[error("done already")]
    Done,
    /// No handler wanted it, and that is not what was asked for.
    #[error("ignored, not failed (--ignored --type TYPE runs it again)")]
    Ignored,
    /// It failed, and only ignored events were asked for.
    #[error("failed, not ignored")]
    Failed,
    /// An operator gave it up.
    #[error("dropped by an operator")]
    Dropped,
    /// No handler could use it.
    #[error("unusable: no handler can run it")]
    Unusable,
    /// It is forgotten, and may be removed at any moment.
    #[error("forgotten: its time in the inbox is over")]
    Expired,
}

impl LeftAlone {
    /// Whether a row may be run again: a failed one, or with `ignored` an ignored one of that type.
    ///
    /// # Errors
    /// It may not; why.
    pub fn check(row: &Row, ignored: Option<&TypePattern>, now: Timestamp) -> Result<(), Self> {
        let of_type = |pattern: &TypePattern| {
            row.event_type.as_ref().map(EventType::as_str).is_some_and(|t| pattern.matches(t))
        };
        match row.status {
            Status::Pending | Status::Processing => Err(Self::Unfinished),
            Status::Done => Err(Self::Done),
            Status::Dropped => Err(Self::Dropped),
            Status::Failed if row.error_kind == Some(ErrorKind::Unusable) => Err(Self::Unusable),
            Status::Failed if ignored.is_some() => Err(Self::Failed),
            Status::Ignored if !ignored.is_some_and(of_type) => Err(Self::Ignored),
            _ if row.expires_at.is_some_and(|at| at <= now) => Err(Self::Expired),
            Status::Failed | Status::Ignored => Ok(()),
        }
    }
}

impl Inbox {
    /// A failed or ignored row back to `pending`, with everything of the old run reset: refused if
    /// the row is no longer as it was read. An ignored one loses its `expires_at` in the same write,
    /// so that it cannot be removed while it waits. No finished row is held by anybody.
    ///
    /// # Errors
    /// DynamoDB did not say. If it happened all the same, the sweeper sends the event.
    pub async fn redrive(&self, row: &Row, now: Timestamp) -> Result<Redriven, Fault> {
        let Some(finished_at) = row.finished_at else { return Ok(Redriven::Moved(None)) };
        let due = next_due(1, now);
        let call = self
            .update(&row.key)
            .update_expression(
                "SET #status = :pending, due_shard = :shard, due_at = :due, attempts = :zero, \
                 sends = :one REMOVE lease_owner, lease_until, first_claimed_at, finished_at, \
                 error_kind, last_error, #outcome, expires_at",
            )
            .condition_expression(
                "#status IN (:failed, :ignored) AND finished_at = :seen \
                 AND (attribute_not_exists(expires_at) OR expires_at > :secs)",
            )
            .expression_attribute_names("#outcome", "outcome")
            .expression_attribute_values(":pending", s(Status::Pending))
            .expression_attribute_values(":failed", s(Status::Failed))
            .expression_attribute_values(":ignored", s(Status::Ignored))
            .expression_attribute_values(":seen", at(finished_at))
            .expression_attribute_values(":secs", n(now.secs()))
            .expression_attribute_values(":shard", s(due_shard(&row.key)))
            .expression_attribute_values(":due", at(due))
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":one", n(1));
        let own = |row: &Item| {
            let shown = (time(row, "due_at"), number(row, "sends"), number(row, "attempts"));
            status(row) == Some(Status::Pending) && shown == (Some(due), Some(1), Some(0))
        };
        Ok(match write_once(call, own).await? {
            Written::Done(_) => Redriven::Done,
            Written::Refused(row) => Redriven::Moved(row.as_ref().and_then(status)),
        })
    }

    /// Gives an event up, for a reason that stays in the row until that is forgotten. A failed row
    /// must be as it was read; an unfinished one must not be held by a run. A run whose lease is
    /// over meets its fence.
    ///
    /// # Errors
    /// DynamoDB did not say.
    pub async fn drop_event(
        &self,
        row: &Row,
        reason: &str,
        now: Timestamp,
    ) -> Result<Dropped, Fault> {
        let reason = clipped(reason);
        let (as_read, seen) = match row.finished_at {
            Some(at) => ("#status = :failed AND finished_at = :seen", at),
            None => (
                "(#status = :pending OR (#status = :processing AND lease_until <= :now)) \
                 AND received_at = :seen",
                row.received_at,
            ),
        };
        let call = self
            .update(&row.key)
            .update_expression(
                "SET #status = :dropped, drop_reason = :why, finished_at = :now, \
                 expires_at = :expires REMOVE lease_owner, lease_until, due_shard, due_at",
            )
            .condition_expression(as_read)
            .expression_attribute_values(":dropped", s(Status::Dropped))
            .expression_attribute_values(":why", s(&reason))
            .expression_attribute_values(":seen", at(seen))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":expires", n(now.plus(self.retention).secs()));
        let call = match row.finished_at {
            Some(_) => call.expression_attribute_values(":failed", s(Status::Failed)),
            None => call
                .expression_attribute_values(":pending", s(Status::Pending))
                .expression_attribute_values(":processing", s(Status::Processing)),
        };
        let own = |row: &Item| {
            let written = (text(row, "drop_reason"), time(row, "finished_at"));
            status(row) == Some(Status::Dropped) && written == (Some(reason.as_str()), Some(now))
        };
        Ok(match write_once(call, own).await? {
            Written::Done(_) => Dropped::Done,
            Written::Refused(row) => Dropped::Moved(row.as_ref().and_then(status)),
        })
    }
}

fn status(row: &Item) -> Option<Status> {
    text(row, "status").and_then(Status::parse)
}
