//! The writes that end a claim. Each is fenced: it happens only while the row is `processing` and
//! the lease is still ours. Nothing in the fence speaks of time, so no clock has to be right.

use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update,
};

use super::Inbox;
use super::claim::Claim;
use super::decide::{Waiting, next_visit, waiting};
use super::item::{Item, at, n, number, s, text, time};
use super::new_row::failed_shard;
use super::row::{ErrorKind, Outcome, Status};
use super::write::{Written, write_once};
use crate::effects::{Effects, OnRefused};
use crate::fault::Fault;
use crate::limits::ERROR_BYTES_MAX;
use crate::time::Timestamp;

const FENCE: &str = "#status = :processing AND lease_owner = :me";
const FINISH: &str = "SET #status = :status, #outcome = :outcome, finished_at = :now, \
     expires_at = :expires REMOVE lease_owner, lease_until, due_shard, due_at, last_error";

/// Whether a fenced write happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    /// It did.
    Done,
    /// It did not: this claim had ended the event already, and heard no answer.
    Ended(Status, Outcome),
    /// The lease was no longer ours; the row's status now, if there is a row.
    Lost(Option<Status>),
}

/// What a transaction of effects did.
#[derive(Debug)]
pub enum Commit {
    /// All of it happened.
    Done(Box<Claim>),
    /// None of it, because the lease was no longer ours; the row's status now.
    Lost(Option<Status>),
    /// An effect's own condition refused; nothing happened, and the claim is still held.
    Refused(Box<Claim>, OnRefused),
    /// It could not be done now; nothing is known to have happened, and the claim is given back.
    Fault(Box<Claim>, Fault),
}

impl Inbox {
    /// The effects and the row's end, in one transaction: either both happen or neither.
    pub async fn commit(&self, claim: Box<Claim>, effects: Effects, now: Timestamp) -> Commit {
        let fence = self.finish_update(&claim, now);
        let (effects, meanings) = effects.into_parts();
        // The fence is first: its refusal is read before any effect's.
        let fence = TransactWriteItem::builder().update(fence).build();
        let items = [fence].into_iter().chain(effects).collect();
        let call = self.dynamodb.transact_write_items().set_transact_items(Some(items));
        let error = match call.send().await {
            Ok(_) => return Commit::Done(claim),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                why_cancelled(claim, cancelled.cancellation_reasons(), &meanings)
            }
            _ => Commit::Fault(claim, Fault::of("TransactWriteItems", &error)),
        }
    }

    /// The row's end without effects: a plain write, at half the price of a transaction.
    ///
    /// # Errors
    /// DynamoDB did not say; the lease runs out if it did not happen.
    pub async fn finish(
        &self,
        claim: &Claim,
        status: Status,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Fenced, Fault> {
        let call = self
            .update(claim.key())
            .update_expression(FINISH)
            .expression_attribute_names("#outcome", "outcome");
        let values = self.finish_values(status, outcome, now).into_iter();
        let call = values.fold(call, |call, (n, v)| call.expression_attribute_values(n, v));
        let own = |row: &Item| text(row, "outcome") == Some(outcome.word());
        fenced(claim, call, |row| own(row) && time(row, "finished_at") == Some(now)).await
    }

    /// Gives the event back until `wait` is over. With `refund` the attempt does not count.
    ///
    /// # Errors
    /// DynamoDB did not say; the lease runs out if it did not happen.
    pub async fn release(
        &self,
        claim: &Claim,
        wait: Duration,
        refund: bool,
        why: &str,
        now: Timestamp,
    ) -> Result<(Fenced, Waiting), Fault> {
        self.give_back(claim, Status::Pending, wait, refund, why, now).await
    }

    /// Gives back at once, with its attempt, an event that has to run alone. Its row stays
    /// `processing` under a lease that is over: whoever claims it next sees, as we did, that its last
    /// run never came back.
    ///
    /// # Errors
    /// DynamoDB did not say; the lease runs out if it did not happen.
    pub async fn put_off(
        &self,
        claim: &Claim,
        why: &str,
        now: Timestamp,
    ) -> Result<(Fenced, Waiting), Fault> {
        self.give_back(claim, Status::Processing, Duration::ZERO, true, why, now).await
    }

    async fn give_back(
        &self,
        claim: &Claim,
        status: Status,
        wait: Duration,
        refund: bool,
        why: &str,
        now: Timestamp,
    ) -> Result<(Fenced, Waiting), Fault> {
        let (waiting, due_at) = waiting(wait, claim.is_worn(), now);
        let call = self
            .update(claim.key())
            .update_expression(
                "SET #status = :status, lease_until = :until, due_at = :due, last_error = :why, \
                 attempts = attempts - :refund REMOVE lease_owner",
            )
            .expression_attribute_values(":status", s(status))
            .expression_attribute_values(":until", at(now.plus(wait)))
            .expression_attribute_values(":due", at(due_at))
            .expression_attribute_values(":why", s(clipped(why)))
            .expression_attribute_values(":refund", n(i32::from(refund)));
        let own = |row: &Item| time(row, "lease_until") == Some(now.plus(wait));
        let own = |row: &Item| own(row) && time(row, "due_at") == Some(due_at);
        fenced(claim, call, own).await.map(|fenced| (fenced, waiting))
    }

    /// Keeps the event for an operator.
    ///
    /// # Errors
    /// DynamoDB did not say; the lease runs out if it did not happen.
    pub async fn fail(
        &self,
        claim: &Claim,
        kind: ErrorKind,
        why: &str,
        now: Timestamp,
    ) -> Result<Fenced, Fault> {
        let call = self
            .update(claim.key())
            .update_expression(
                "SET #status = :failed, error_kind = :kind, last_error = :why, \
                 finished_at = :now, due_shard = :shard, due_at = :visit \
                 REMOVE lease_owner, lease_until",
            )
            .expression_attribute_values(":failed", s(Status::Failed))
            .expression_attribute_values(":kind", s(kind))
            .expression_attribute_values(":why", s(clipped(why)))
            .expression_attribute_values(":now", at(now))
            .expression_attribute_values(":shard", s(failed_shard(&claim.key().source)))
            .expression_attribute_values(":visit", at(next_visit(kind, &claim.row().body, now)));
        let own = |row: &Item| text(row, "error_kind") == Some(kind.word());
        fenced(claim, call, |row| own(row) && time(row, "finished_at") == Some(now)).await
    }

    /// [`finish`](Self::finish) as one action of a transaction.
    fn finish_update(&self, claim: &Claim, now: Timestamp) -> Update {
        let update = Update::builder()
            .table_name(&self.table)
            .key("pk", s(claim.key()))
            .update_expression(FINISH)
            .condition_expression(FENCE)
            .expression_attribute_names("#status", "status")
            .expression_attribute_names("#outcome", "outcome")
            .expression_attribute_values(":processing", s(Status::Processing))
            .expression_attribute_values(":me", s(claim.owner()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let values = self.finish_values(Status::Done, Outcome::Applied, now).into_iter();
        let update = values.fold(update, |update, (n, v)| update.expression_attribute_values(n, v));
        #[expect(clippy::expect_used, reason = "table, key and expression are set above")]
        update.build().expect("a complete update")
    }

    fn finish_values(
        &self,
        status: Status,
        outcome: Outcome,
        now: Timestamp,
    ) -> [(&'static str, AttributeValue); 4] {
        [
            (":status", s(status)),
            (":outcome", s(outcome)),
            (":now", at(now)),
            (":expires", n(now.plus(self.retention).secs())),
        ]
    }
}

/// `own` knows the row that this write makes.
async fn fenced(
    claim: &Claim,
    call: UpdateItemFluentBuilder,
    own: impl Fn(&Item) -> bool,
) -> Result<Fenced, Fault> {
    let call = call
        .condition_expression(FENCE)
        .expression_attribute_values(":processing", s(Status::Processing))
        .expression_attribute_values(":me", s(claim.owner()));
    match write_once(call, own).await? {
        Written::Done(_) => Ok(Fenced::Done),
        Written::Refused(row) => Ok(match row.as_ref().and_then(|row| ended(claim, row)) {
            Some((status, outcome)) => Fenced::Ended(status, outcome),
            None => Fenced::Lost(row.as_ref().and_then(status)),
        }),
    }
}

/// How this claim has ended the event, if it has. (Another claim has the same attempt's number only if
/// ours gave it back and did not hear that; the end is the event's all the same.)
fn ended(claim: &Claim, row: &Item) -> Option<(Status, Outcome)> {
    let own = number(row, "attempts") == Some(claim.attempt());
    let outcome = text(row, "outcome").and_then(Outcome::parse);
    status(row).zip(outcome).filter(|_| own)
}

fn status(row: &Item) -> Option<Status> {
    text(row, "status").and_then(Status::parse)
}

/// Reads the reasons of a cancelled transaction, the fence's first: if the lease is lost, what the
/// effects say is about somebody else's run.
fn why_cancelled(
    claim: Box<Claim>,
    reasons: &[CancellationReason],
    meanings: &[OnRefused],
) -> Commit {
    let code = |reason: &CancellationReason| reason.code().unwrap_or("None").to_owned();
    let refused = |reason: &&CancellationReason| code(reason) == "ConditionalCheckFailed";
    if let Some(fence) = reasons.first().filter(refused) {
        return match fence.item().and_then(|row| ended(&claim, row)) {
            Some((Status::Done, Outcome::Applied)) => Commit::Done(claim),
            _ => Commit::Lost(fence.item().and_then(status)),
        };
    }
    let other = reasons
        .iter()
        .map(code)
        .find(|code| !matches!(code.as_str(), "None" | "ConditionalCheckFailed"));
    if let Some(code) = other {
        return Commit::Fault(claim, Fault::of_code("TransactWriteItems", code, 400));
    }
    let said = reasons.iter().skip(1).zip(meanings).filter(|(reason, _)| refused(reason));
    let said: Vec<OnRefused> = said.map(|(_, meaning)| *meaning).collect();
    let meaning = if said.contains(&OnRefused::Retry) { None } else { said.first().copied() };
    Commit::Refused(claim, meaning.unwrap_or(OnRefused::Retry))
}

/// `last_error` without what a log line would not take: at most 256 bytes, one line.
pub(super) fn clipped(why: &str) -> String {
    let line: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut end = line.len().min(ERROR_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_short_line() {
        assert_eq!(clipped("a\nb"), "a b");
        assert_eq!(clipped(&"é".repeat(200)).len(), 256);
        assert_eq!(clipped(&format!("x{}", "é".repeat(200))).len(), 255);
    }
}
