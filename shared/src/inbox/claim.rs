//! Taking an event for one run.

use aws_sdk_dynamodb::types::ReturnValue;

use super::Inbox;
use super::decide::{Unclaimed, unclaimed};
use super::item::{at, n, s};
use super::row::{Row, Status};
use super::write::{Written, write};
use crate::fault::Fault;
use crate::key::{EventKey, Token};
use crate::limits::LEASE;
use crate::time::Timestamp;

/// The right to run an event once: a row, and the fence under which every write that follows is
/// made. It ends in [`Inbox::commit`], [`Inbox::release`], [`Inbox::put_off`] or [`Inbox::fail`];
/// dropped, the lease runs out and somebody else claims.
#[derive(Debug)]
#[must_use = "a claim that is dropped holds its row until the lease runs out"]
pub struct Claim {
    row: Row,
    owner: Token,
    attempt: u32,
    reclaimed: bool,
    worn: bool,
}

/// What asking for a row gave.
#[derive(Debug)]
pub enum Claiming {
    /// It is ours for [`LEASE`].
    Won(Box<Claim>),
    /// Finished or failed: nothing to do.
    Finished(Status),
    /// Held by another run, or backing off, until then.
    Busy(Timestamp),
    /// No such row, or one that does not read: the pointer leads nowhere.
    Unknown,
}

impl Claim {
    /// The row as it was when claimed.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Whose event.
    pub fn key(&self) -> &EventKey {
        &self.row.key
    }

    /// The fence.
    pub(super) fn owner(&self) -> &Token {
        &self.owner
    }

    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The last run never ended: what killed it may kill again, so this one runs alone.
    pub fn is_reclaimed(&self) -> bool {
        self.reclaimed
    }

    /// The message that led here was received so often that it must not come back: if the event is
    /// given back, the sweeper sends another.
    pub fn wear_out(&mut self) {
        self.worn = true;
    }

    pub(super) fn is_worn(&self) -> bool {
        self.worn
    }

    /// When the event was first claimed: now, unless it was before.
    pub fn first_claimed_at(&self) -> Option<Timestamp> {
        self.row.first_claimed_at
    }
}

impl Inbox {
    /// Claims a row if it is unfinished and nobody holds it.
    ///
    /// # Errors
    /// DynamoDB did not say. If the claim took effect all the same, its lease runs out.
    pub async fn claim(&self, key: &EventKey, now: Timestamp) -> Result<Claiming, Fault> {
        let owner = Token::fresh();
        let call = self
            .update(key)
            .update_expression(
                "SET #status = :processing, lease_owner = :me, lease_until = :until, \
                 attempts = attempts + :one, first_claimed_at = if_not_exists(first_claimed_at, :now)",
            )
            .condition_expression(
                "#status IN (:pending, :processing) \
                 AND (attribute_not_exists(lease_until) OR lease_until <= :now)",
            )
            .expression_attribute_values(":processing", s(Status::Processing))
            .expression_attribute_values(":pending", s(Status::Pending))
            .expression_attribute_values(":me", s(&owner))
            .expression_attribute_values(":until", at(now.plus(LEASE)))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", at(now))
            .return_values(ReturnValue::AllOld);
        match write(call).await? {
            Written::Done(item) => Ok(match Row::read(&item) {
                Ok(row) => {
                    let attempt = row.attempts.saturating_add(1);
                    let reclaimed = row.status == Status::Processing;
                    Claiming::Won(Box::new(Claim { row, owner, attempt, reclaimed, worn: false }))
                }
                Err(error) => unreadable(key, &error),
            }),
            Written::Refused(None) => Ok(Claiming::Unknown),
            Written::Refused(Some(item)) => Ok(match Row::read(&item) {
                Ok(row) => refused(row, owner),
                Err(error) => unreadable(key, &error),
            }),
        }
    }
}

/// A lost answer hides whether the row had been left by a run that died; after the first attempt it
/// is treated as if it had.
fn refused(row: Row, owner: Token) -> Claiming {
    match unclaimed(&row, &owner) {
        Unclaimed::Finished => Claiming::Finished(row.status),
        Unclaimed::Busy(until) => Claiming::Busy(until),
        Unclaimed::Ours => {
            let (attempt, reclaimed) = (row.attempts, row.attempts > 1);
            Claiming::Won(Box::new(Claim { row, owner, attempt, reclaimed, worn: false }))
        }
    }
}

fn unreadable(key: &EventKey, error: &super::RowError) -> Claiming {
    tracing::error!(%key, %error, "row cannot be read");
    Claiming::Unknown
}
