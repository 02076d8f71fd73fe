//! The decisions over a row: pure functions of what it says, of who asks, and of the time.

use std::time::Duration;

use super::row::{Body, ErrorKind, Row, Status};
use crate::key::Token;
use crate::limits::{
    ATTEMPTS_MAX, ATTEMPTS_MAX_ORDERED, BACKOFF_BASE, BACKOFF_BASE_ORDERED, BACKOFF_MAX,
    BACKOFF_MAX_ORDERED, BODY_RENEW_BEFORE, BODY_RETENTION, DUE_FIRST, DUE_MAX, MESSAGE_WAIT_MAX,
    RELEASES_MAX_AGE, RERUN_AFTER, RESEND_AFTER,
};
use crate::source::Ordering;
use crate::time::Timestamp;

/// What a delivery means whose row is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// Our own put, whose answer was lost and which the SDK repeated: carry on.
    Ours,
    /// The request that stored it may have died before it sent: send again.
    Resend,
    /// It failed here, and the producer's replay is a request to run it again.
    Rerun,
    /// Unusable, as the first time.
    Unusable,
    /// Nothing to do.
    Settled,
}

/// Reads the row that stood in the way of a put.
pub fn duplicate(row: &Row, receipt: &Token, ordering: Ordering, now: Timestamp) -> Duplicate {
    let rerun = matches!(row.error_kind, Some(ErrorKind::Permanent | ErrorKind::Exhausted))
        && ordering == Ordering::None
        && row.finished_at.is_some_and(|at| now.since(at) > RERUN_AFTER);
    match row.status {
        _ if row.receipt == *receipt => Duplicate::Ours,
        Status::Failed if row.error_kind == Some(ErrorKind::Unusable) => Duplicate::Unusable,
        Status::Failed if rerun => Duplicate::Rerun,
        Status::Pending | Status::Processing
            if !is_held(row, now) && now.since(row.received_at) > RESEND_AFTER =>
        {
            Duplicate::Resend
        }
        _ => Duplicate::Settled,
    }
}

/// Why a claim did not get the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclaimed {
    /// It did: the answer was lost and the SDK's repetition met our own lease.
    Ours,
    /// It is over.
    Finished,
    /// Somebody holds it, or it backs off.
    Busy(Timestamp),
}

/// Reads the row that refused a claim.
pub fn unclaimed(row: &Row, owner: &Token) -> Unclaimed {
    match row.lease_until {
        _ if !row.status.is_unfinished() => Unclaimed::Finished,
        _ if row.lease_owner.as_ref() == Some(owner) => Unclaimed::Ours,
        Some(until) => Unclaimed::Busy(until),
        None => Unclaimed::Busy(row.received_at),
    }
}

/// A lease or a back-off has not run out.
pub fn is_held(row: &Row, now: Timestamp) -> bool {
    row.lease_until.is_some_and(|until| until > now)
}

/// How often an event may be tried.
pub fn attempts_max(ordering: Ordering) -> u32 {
    match ordering {
        Ordering::None => ATTEMPTS_MAX,
        Ordering::PerType => ATTEMPTS_MAX_ORDERED,
    }
}

/// Releases that use up no attempt have gone on for too long.
pub fn is_out_of_patience(first_claimed_at: Option<Timestamp>, now: Timestamp) -> bool {
    first_claimed_at.is_some_and(|at| now.since(at) > RELEASES_MAX_AGE)
}

/// The back-off after attempt number `attempt` (from 1), within a doubling bound. Of an unordered
/// source any part of it (full jitter), which spreads those that failed together. Of an ordered one
/// at least half: one event of a group fails at a time, and its few attempts must not be used up at
/// once. `random` is from 0 up to 1.
pub fn backoff(ordering: Ordering, attempt: u32, random: f64) -> Duration {
    let (base, most, least) = match ordering {
        Ordering::None => (BACKOFF_BASE, BACKOFF_MAX, 0.0),
        Ordering::PerType => (BACKOFF_BASE_ORDERED, BACKOFF_MAX_ORDERED, 0.5),
    };
    let bound = base.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1))).min(most);
    bound.mul_f64(least + (1.0 - least) * random.clamp(0.0, 1.0))
}

/// What happens to the message of a released row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The message itself comes back after this.
    Message(Duration),
    /// The message is deleted; the sweeper sends another.
    Sweeper,
}

/// Who brings a released row back, and when the sweeper looks at it. A message that is `worn` has
/// been received so often that it must not come back.
pub fn waiting(wait: Duration, worn: bool, now: Timestamp) -> (Waiting, Timestamp) {
    let until = now.plus(wait);
    if worn || wait > MESSAGE_WAIT_MAX {
        return (Waiting::Sweeper, until);
    }
    let whole = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0) + 1);
    (Waiting::Message(whole), until.plus(DUE_FIRST))
}

/// When the sweeper looks at a row again that it has just sent for the `sends`-th time.
pub fn next_due(sends: u32, now: Timestamp) -> Timestamp {
    let doubled = DUE_FIRST.saturating_mul(2_u32.saturating_pow(sends.saturating_sub(2)));
    now.plus(doubled.min(DUE_MAX))
}

/// When a `failed` row is visited for the sake of its body. One that is unusable is not renewed: a
/// visit finds it only while it has expired and is not yet removed.
pub fn next_visit(kind: ErrorKind, body: &Body, now: Timestamp) -> Timestamp {
    match body {
        Body::Parts { expires_at, .. } if kind != ErrorKind::Unusable => {
            expires_at.minus(BODY_RENEW_BEFORE).max(now)
        }
        Body::Parts { .. } | Body::Inline(..) => now.plus(BODY_RETENTION - BODY_RENEW_BEFORE),
    }
}

/// The body items have less than 30 days left.
pub fn needs_renewal(body: &Body, now: Timestamp) -> bool {
    matches!(body, Body::Parts { expires_at, .. } if *expires_at <= now.plus(BODY_RENEW_BEFORE))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
