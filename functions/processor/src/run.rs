//! The protocol for one claimed event: handler, then one transaction, then what the queue is told.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use shared::effects::{Effects, OnRefused};
use shared::fault::Fault;
use shared::inbox::decide::{Waiting, attempts_max, backoff, is_out_of_patience};
use shared::inbox::{BodyFault, Claim, Commit, ErrorKind, Fenced, Outcome, Status};
use shared::key::EventType;
use shared::limits::{HANDLER_TIMEOUT, LEASE, RELEASES_MAX_AGE};
use shared::metrics::{Metric, OTHER, Under};
use shared::source::{Ordering, Profile};
use tokio::time::Instant;

use crate::Processor;
use crate::handler::{Context, HandlerError, Input, Run};

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposal {
    /// It has done its work.
    Delete,
    /// It comes back: after this, or when its visibility timeout ends.
    Return(Option<Duration>),
}

/// A rate limit lasts this long unless it says otherwise; those who met it come back spread over as
/// long again, or they would meet it together once more.
const RATE_LIMIT_WAIT: Duration = Duration::from_secs(30);
/// Two writes on one item at the same moment are apart after a random part of this.
const CONFLICT_WAIT: Duration = Duration::from_secs(3);

/// Why an event is given back, and so for how long.
enum Wait {
    /// It did not work: the usual back-off. Uses up an attempt.
    Backoff,
    /// It did not work, and somebody said when to try again. Uses up an attempt.
    After(Duration),
    /// A rate was over its limit.
    Limited(Option<Duration>),
    /// Another write was in flight.
    Conflict,
}

impl From<&Fault> for Wait {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::Throttled { .. } => Self::Limited(None),
            Fault::Conflict { .. } => Self::Conflict,
            Fault::Refused { .. } | Fault::Unanswered { .. } => Self::Backoff,
        }
    }
}

impl Processor {
    /// Runs a claimed event to an end, or gives it back.
    pub(crate) async fn run(&self, profile: &Profile, claim: Box<Claim>) -> Disposal {
        if claim.attempt() > attempts_max(profile.ordering) {
            let why = "attempts used up by runs that never came back";
            return self.fail(profile, &claim, ErrorKind::Exhausted, why).await;
        }
        let Some(event_type) = claim.row().event_type.clone() else {
            return self.fail(profile, &claim, ErrorKind::Permanent, "the row has no type").await;
        };
        let Some(run) = self.handlers.get(profile.name.as_str(), event_type.as_str()) else {
            return self.finish(profile, &claim, Status::Ignored, Outcome::NoHandler).await;
        };
        let body = match self.inbox.body(claim.row()).await {
            Ok(body) => body,
            Err(BodyFault::Unread(fault)) => return self.faulted(profile, &claim, &fault).await,
            Err(lost) => {
                return self.fail(profile, &claim, ErrorKind::Permanent, &lost.to_string()).await;
            }
        };
        let effects = self.handle(profile, run, &claim, event_type, &body).await;
        drop(body);
        match effects {
            Ok(effects) if effects.is_empty() => {
                self.finish(profile, &claim, Status::Done, Outcome::Applied).await
            }
            Ok(effects) => self.commit(profile, claim, effects).await,
            Err(HandlerError::Permanent(why)) => {
                self.fail(profile, &claim, ErrorKind::Permanent, &why).await
            }
            Err(HandlerError::Retry { why, after }) => {
                let wait = after.map_or(Wait::Backoff, Wait::After);
                self.set_back(profile, &claim, &why, wait).await
            }
            Err(HandlerError::Later { why, after }) => {
                self.set_back(profile, &claim, &why, Wait::Limited(after)).await
            }
        }
    }

    /// The handler itself, within its time; a panic is an error like any other.
    async fn handle(
        &self,
        profile: &Profile,
        run: &Run,
        claim: &Claim,
        event_type: EventType,
        body: &[u8],
    ) -> Result<Effects, HandlerError> {
        let began = self.clock.now();
        let context = Context {
            now: began,
            deadline: Instant::now() + HANDLER_TIMEOUT,
            attempt: claim.attempt(),
            key: claim.key().clone(),
            services: self.services.clone(),
        };
        let input = Input { profile, row: claim.row(), event_type, body };
        let guarded = AssertUnwindSafe(async { run(input, context).await }).catch_unwind();
        let ended = match tokio::time::timeout(HANDLER_TIMEOUT, guarded).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(_panic)) => Err(HandlerError::retry("the handler panicked")),
            Err(_) => Err(HandlerError::retry("the handler ran out of time")),
        };
        let ended = ended.and_then(|effects| match effects.check(self.inbox.table()) {
            Ok(()) => Ok(effects),
            Err(error) => Err(HandlerError::permanent(error.to_string())),
        });
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of one invocation")]
        let millis = self.clock.now().since(began).as_millis() as f64;
        let failed = f64::from(u8::from(ended.is_err()));
        // Zero counts, too: the average is the error rate.
        self.emit(profile, claim, &[(Metric::HandlerTime, millis), (Metric::HandlerError, failed)]);
        if let Err(error) = &ended {
            tracing::warn!(key = %claim.key(), attempt = claim.attempt(), %error, "handler error");
        }
        ended
    }

    async fn commit(&self, profile: &Profile, claim: Box<Claim>, effects: Effects) -> Disposal {
        let key = claim.key().clone();
        match self.inbox.commit(claim, effects, self.clock.now()).await {
            Commit::Done(claim) => self.ended(profile, &claim, Status::Done, Outcome::Applied),
            Commit::Lost(status) => self.lost(profile, &key, status),
            Commit::Refused(claim, OnRefused::Stale) => {
                self.finish(profile, &claim, Status::Done, Outcome::Stale).await
            }
            Commit::Refused(claim, OnRefused::AlreadyApplied) => {
                self.finish(profile, &claim, Status::Done, Outcome::AlreadyApplied).await
            }
            Commit::Refused(claim, OnRefused::Retry) => {
                let why = "an effect's condition refused";
                self.set_back(profile, &claim, why, Wait::Backoff).await
            }
            Commit::Fault(claim, Fault::Refused { code, .. }) if is_final(&code) => {
                let why = format!("the effects are refused ({code})");
                self.fail(profile, &claim, ErrorKind::Permanent, &why).await
            }
            Commit::Fault(claim, fault) => self.faulted(profile, &claim, &fault).await,
        }
    }

    async fn finish(
        &self,
        profile: &Profile,
        claim: &Claim,
        status: Status,
        outcome: Outcome,
    ) -> Disposal {
        match self.inbox.finish(claim, status, outcome, self.clock.now()).await {
            Ok(Fenced::Done) => self.ended(profile, claim, status, outcome),
            Ok(Fenced::Ended(status, outcome)) => self.ended(profile, claim, status, outcome),
            Ok(Fenced::Lost(status)) => self.lost(profile, claim.key(), status),
            Err(fault) => self.faulted(profile, claim, &fault).await,
        }
    }

    async fn faulted(&self, profile: &Profile, claim: &Claim, fault: &Fault) -> Disposal {
        self.set_back(profile, claim, &fault.to_string(), fault.into()).await
    }

    /// Gives the event back for another attempt, or ends it if it has had them all.
    async fn set_back(&self, profile: &Profile, claim: &Claim, why: &str, wait: Wait) -> Disposal {
        let now = self.clock.now();
        let refund = matches!(wait, Wait::Limited(_) | Wait::Conflict);
        let used_up = !refund && claim.attempt() >= attempts_max(profile.ordering);
        // A pause is nobody's impatience: after it, patience begins anew.
        let control = self.controls.of(&profile.name, now).await;
        let resumed_at = control.ok().and_then(|control| control.resumed_at);
        let waiting_since = claim.first_claimed_at().map(|at| at.max(resumed_at.unwrap_or(at)));
        if used_up || (refund && is_out_of_patience(waiting_since, now)) {
            return self.fail(profile, claim, ErrorKind::Exhausted, why).await;
        }
        let random = fastrand::f64();
        let wait = match wait {
            Wait::Backoff => backoff(profile.ordering, claim.attempt(), random),
            Wait::After(after) => after,
            Wait::Conflict => CONFLICT_WAIT.mul_f64(random),
            Wait::Limited(after) => {
                let after = after.unwrap_or(RATE_LIMIT_WAIT);
                after.saturating_add(after.max(RATE_LIMIT_WAIT).mul_f64(random))
            }
        };
        // What does not use up attempts is bounded from the first claim on.
        let since = waiting_since.map_or(Duration::ZERO, |at| now.since(at));
        let wait =
            wait.min(RELEASES_MAX_AGE.saturating_sub(if refund { since } else { Duration::ZERO }));
        self.give_back(profile, claim, wait, refund, why).await
    }

    /// Releases the row, and says who brings it back.
    async fn give_back(
        &self,
        profile: &Profile,
        claim: &Claim,
        wait: Duration,
        refund: bool,
        why: &str,
    ) -> Disposal {
        let released = self.inbox.release(claim, wait, refund, why, self.clock.now()).await;
        if matches!(released, Ok((Fenced::Done, _))) {
            let (key, attempt) = (claim.key(), claim.attempt());
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(%key, attempt, refund, wait_ms, why, "released");
        }
        self.given_back(profile, claim, released)
    }

    /// A claim that needs to run alone, and for which this invocation has no time left.
    pub(crate) async fn put_off(&self, profile: &Profile, claim: &Claim) -> Disposal {
        let why = "waits to run alone";
        let put_off = self.inbox.put_off(claim, why, self.clock.now()).await;
        if matches!(put_off, Ok((Fenced::Done, _))) {
            tracing::info!(key = %claim.key(), attempt = claim.attempt(), why, "put off");
        }
        self.given_back(profile, claim, put_off)
    }

    fn given_back(
        &self,
        profile: &Profile,
        claim: &Claim,
        written: Result<(Fenced, Waiting), Fault>,
    ) -> Disposal {
        match written {
            Ok((Fenced::Done, Waiting::Message(after))) => Disposal::Return(Some(after)),
            Ok((Fenced::Done, Waiting::Sweeper)) => Disposal::Delete,
            Ok((Fenced::Ended(status, outcome), _)) => self.ended(profile, claim, status, outcome),
            Ok((Fenced::Lost(status), _)) => self.lost(profile, claim.key(), status),
            Err(fault) => {
                tracing::error!(key = %claim.key(), %fault, "not released; the lease runs out");
                Disposal::Return(Some(LEASE))
            }
        }
    }

    async fn fail(&self, profile: &Profile, claim: &Claim, kind: ErrorKind, why: &str) -> Disposal {
        match self.inbox.fail(claim, kind, why, self.clock.now()).await {
            Ok(Fenced::Done) => {
                let (key, attempt) = (claim.key(), claim.attempt());
                let event_type = claim.row().event_type.as_ref().map(tracing::field::display);
                tracing::error!(%key, event_type, attempt, status = "failed", %kind, why, "event failed");
                self.emit(profile, claim, &[(Metric::Failed, 1.0)]);
                Disposal::Delete
            }
            Ok(Fenced::Ended(status, outcome)) => self.ended(profile, claim, status, outcome),
            Ok(Fenced::Lost(status)) => self.lost(profile, claim.key(), status),
            Err(fault) => {
                tracing::error!(key = %claim.key(), %fault, "failure not recorded; the lease runs out");
                Disposal::Return(Some(LEASE))
            }
        }
    }

    fn ended(
        &self,
        profile: &Profile,
        claim: &Claim,
        status: Status,
        outcome: Outcome,
    ) -> Disposal {
        let (key, attempt) = (claim.key(), claim.attempt());
        let event_type = claim.row().event_type.as_ref().map(tracing::field::display);
        tracing::info!(%key, event_type, attempt, %status, %outcome, "event finished");
        let metric = match outcome {
            Outcome::Applied => Metric::Applied,
            Outcome::Stale => Metric::Stale,
            Outcome::AlreadyApplied => Metric::AlreadyApplied,
            Outcome::NoHandler | Outcome::IgnoredType => Metric::Ignored,
        };
        self.emit(profile, claim, &[(metric, 1.0)]);
        Disposal::Delete
    }

    /// Somebody else has the event or has ended it. On the FIFO queue this copy stays, so that the
    /// group waits for the one who has it.
    fn lost(
        &self,
        profile: &Profile,
        key: &shared::key::EventKey,
        status: Option<Status>,
    ) -> Disposal {
        tracing::warn!(%key, status = status.map(Status::word), "the lease is no longer ours");
        self.metrics.count(Metric::LeaseLost, Under::Source(&profile.name), self.clock.now());
        match (profile.ordering, status) {
            (Ordering::PerType, Some(status)) if status.is_unfinished() => Disposal::Return(None),
            _ => Disposal::Delete,
        }
    }

    fn emit(&self, profile: &Profile, claim: &Claim, values: &[(Metric, f64)]) {
        let event_type = claim.row().event_type.as_ref().map_or("", EventType::as_str);
        let label = self.labels.get(&profile.name).map_or(OTHER, |labels| labels.label(event_type));
        self.metrics.emit(Under::Type(&profile.name, label), values, self.clock.now());
    }
}

/// DynamoDB will refuse these effects however often they are tried.
fn is_final(code: &str) -> bool {
    matches!(code, "ValidationException" | "ValidationError" | "ItemCollectionSizeLimitExceeded")
}
