//! The protocol for one delivery: signature → id and type → put → send → answer.
//!
//! Nothing is read or written in DynamoDB before the signature holds. Once the row is durable the
//! answer is 2xx, whatever happens to the send: the sweeper repeats it.

use shared::delivery::{Content, Delivery, Verified};
use shared::fault::Fault;
use shared::inbox::decide::Duplicate;
use shared::inbox::{Accepted, ErrorKind, What};
use shared::metrics::{Metric, Under};
use shared::queue::{Pointer, SendFault};
use shared::secret::SecretsFault;
use shared::signature::{Raw, Refusal};
use shared::source::Profile;
use shared::time::Timestamp;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

use crate::Ingress;
use crate::answer::Answer;

/// What came of a delivery.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is durable.
    Accepted(Accepted),
    /// A question of the producer's, and what it wants to hear.
    Handshake(String),
    /// It is not believed.
    Refused(Refusal),
    /// There is no usable secret to verify it with.
    NoSecret(SecretsFault),
    /// It is not known to be stored.
    Fault(Fault),
    /// No producer of that name.
    UnknownSource,
    /// Not a POST.
    WrongMethod,
    /// The transport says base64, and it is none.
    Undecodable,
    /// More than Lambda takes.
    TooLarge,
    /// The profile says that this source is gone.
    Gone,
}

impl Ingress {
    /// Takes one delivery to `profile`, within the time that its producer leaves us.
    pub async fn receive(&self, profile: &Profile, raw: &Raw, now: Timestamp) -> Outcome {
        let budget = Instant::now() + profile.answer_budget();
        let verified = timeout_at(budget, self.verify(profile, raw, now)).await;
        let verified = match verified {
            Ok(Ok(verified)) => verified,
            Ok(Err(outcome)) => return outcome,
            Err(_) => return Outcome::NoSecret(Fault::out_of_time("GetSecretValue").into()),
        };
        let delivery = verified.read();
        if let Content::Handshake(echo) = delivery.content() {
            return Outcome::Handshake(echo.clone());
        }
        let accepted = match timeout_at(budget, self.inbox.accept(&delivery, now)).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(fault)) => return Outcome::Fault(fault),
            Err(_) => return Outcome::Fault(Fault::out_of_time("storing the event")),
        };
        let used = self.controls.used(&profile.name, &delivery.made_by().signed_by, now);
        let rest = async { tokio::join!(self.send(&delivery, accepted, now), used) };
        if timeout_at(budget, Box::pin(rest)).await.is_err() {
            tracing::warn!(key = %delivery.key(), "no time left to send; the sweeper will");
            self.count(profile, Metric::SendFailed, now);
        }
        self.note(&delivery, accepted, now);
        Outcome::Accepted(accepted)
    }

    /// A mismatch is final only against secrets that were read just now.
    async fn verify<'r>(
        &self,
        profile: &'r Profile,
        raw: &'r Raw,
        now: Timestamp,
    ) -> Result<Verified<'r>, Outcome> {
        let known = self.secrets.of(profile, now).await.map_err(Outcome::NoSecret)?;
        match Verified::check(profile, &known.set, raw, now) {
            Ok(verified) => return Ok(verified),
            Err(Refusal::Mismatch) => {}
            Err(refusal) => return Err(Outcome::Refused(refusal)),
        }
        let fresh = self.secrets.reread(profile, now).await.map_err(Outcome::NoSecret)?;
        let checked = if Arc::ptr_eq(&known.set, &fresh.set) {
            Err(Refusal::Mismatch)
        } else {
            Verified::check(profile, &fresh.set, raw, now)
        };
        checked.map_err(|refusal| {
            if fresh.set.is_incomplete() {
                Outcome::NoSecret(SecretsFault::Incomplete)
            } else {
                Outcome::Refused(refusal)
            }
        })
    }

    async fn send(&self, delivery: &Delivery<'_>, accepted: Accepted, now: Timestamp) {
        if !accepted.send {
            return;
        }
        let (profile, key) = (delivery.profile(), delivery.key());
        let pointer = Pointer { key: key.clone(), event_type: delivery.event_type().cloned() };
        match self.queues.send(&pointer, profile.ordering).await {
            Ok(()) => {}
            Err(SendFault::Fault(fault)) => {
                tracing::warn!(%key, %fault, "stored but not sent; the sweeper will");
                self.count(profile, Metric::SendFailed, now);
            }
            Err(SendFault::Invalid(code)) => {
                tracing::error!(%key, code, "the queue calls the pointer invalid; kept as failed");
                self.count(profile, Metric::Unsendable, now);
                match self.inbox.park_unsendable(key, now).await {
                    Ok(true) => self.count(profile, Metric::Failed, now),
                    Ok(false) => {}
                    Err(fault) => {
                        tracing::error!(%key, %fault, "not marked as failed; it stays due");
                    }
                }
            }
        }
    }

    /// What an operator wants to know of an authentic delivery besides its answer.
    fn note(&self, delivery: &Delivery<'_>, accepted: Accepted, now: Timestamp) {
        let (profile, key) = (delivery.profile(), delivery.key());
        let by_older = delivery.made_by().by_older_only;
        for (happened, metric) in [
            (by_older, Metric::SignedByOlderSecret),
            (delivery.id_disagrees(), Metric::IdMismatch),
            (accepted.body_differs, Metric::BodyMismatch),
        ] {
            if happened {
                self.count(profile, metric, now);
            }
        }
        if accepted.body_differs {
            tracing::warn!(%key, "a delivery with this id and another body; the first one stands");
        }
        tracing::info!(
            %key,
            event_type = delivery.event_type().map(tracing::field::display),
            attempt = delivery.attempt(),
            outcome = word(accepted.what),
            sent = accepted.send,
            signed_by = %delivery.made_by().signed_by,
            "delivery"
        );
    }

    /// One line of log and one of metrics for every delivery to a known source.
    pub(crate) fn tell(
        &self,
        profile: Option<&Profile>,
        outcome: &Outcome,
        answer: &Answer,
        began: Timestamp,
    ) {
        let now = self.clock.now();
        let status = answer.status.as_u16();
        let Some(profile) = profile else {
            tracing::info!(status, outcome = ?outcome, "not a delivery");
            return;
        };
        let source = &profile.name;
        match outcome {
            Outcome::Refused(refusal) => {
                tracing::warn!(%source, status, reason = %refusal, "signature refused");
            }
            Outcome::NoSecret(fault) => {
                tracing::error!(%source, status, %fault, "no secret to verify with");
            }
            Outcome::Fault(fault) => tracing::error!(%source, status, %fault, "not stored"),
            _ => {}
        }
        let mut values = counted(outcome);
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of one invocation")]
        values.push((Metric::AnswerTime, now.since(began).as_millis() as f64));
        self.metrics.emit(Under::Source(source), &values, now);
    }

    fn count(&self, profile: &Profile, metric: Metric, now: Timestamp) {
        self.metrics.count(metric, Under::Source(&profile.name), now);
    }
}

/// What a delivery to a known source is counted as.
fn counted(outcome: &Outcome) -> Vec<(Metric, f64)> {
    let mut values = vec![(Metric::Received, 1.0)];
    // A fault is counted as zero where there was none, too: the average is the rate of faults.
    // Refusals would dilute it.
    match outcome {
        Outcome::Accepted(accepted) => {
            values.extend([
                (Metric::Authentic, 1.0),
                (became(*accepted), 1.0),
                (Metric::AnsweredFault, 0.0),
            ]);
            if matches!(accepted.what, What::Parked(_)) {
                values.push((Metric::Failed, 1.0));
            }
        }
        Outcome::Handshake(_) => values.push((Metric::Authentic, 1.0)),
        // What is not stored was verified before.
        Outcome::Fault(_) => {
            values.extend([(Metric::Authentic, 1.0), (Metric::AnsweredFault, 1.0)]);
        }
        Outcome::NoSecret(_) => {
            values.extend([(Metric::SecretUnavailable, 1.0), (Metric::AnsweredFault, 1.0)]);
        }
        Outcome::Refused(_) => values.push((Metric::SignatureRefused, 1.0)),
        _ => {}
    }
    values
}

fn became(accepted: Accepted) -> Metric {
    match accepted.what {
        What::Stored => Metric::Stored,
        What::Ignored => Metric::Ignored,
        What::Parked(ErrorKind::BeyondMemory) => Metric::BeyondMemory,
        What::Parked(_) | What::Duplicate(Duplicate::Unusable) => Metric::Unusable,
        What::Duplicate(Duplicate::Ours) => Metric::Stored,
        What::Duplicate(_) if accepted.send => Metric::Resent,
        What::Duplicate(_) => Metric::Duplicate,
    }
}

fn word(what: What) -> &'static str {
    match what {
        What::Stored => "stored",
        What::Ignored => "ignored",
        What::Parked(kind) => kind.word(),
        What::Duplicate(Duplicate::Ours) => "stored",
        What::Duplicate(Duplicate::Resend) => "duplicate, sent again",
        What::Duplicate(Duplicate::Rerun) => "duplicate of a failed event, run again",
        What::Duplicate(Duplicate::Unusable) => "unusable, again",
        What::Duplicate(Duplicate::Settled) => "duplicate",
    }
}

#[cfg(test)]
#[path = "receive_tests.rs"]
mod tests;
