//! What goes wrong, how often, and at which step of the protocol it did.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The service answers 500 and does nothing.
    Refused,
    /// It happens, and the answer is lost.
    AnswerLost,
    /// It never arrives, and nobody answers.
    RequestLost,
    /// The service asks for less, and does nothing.
    Throttled,
    /// It happens later than anybody waits for.
    Slow,
    /// Another write is said to be in flight.
    Conflict,
    /// Some entries of a batch are refused.
    HalfBatch,
    /// The queue calls a message invalid.
    Invalid,
    /// The process ends at some await.
    Killed,
    /// The queue gives a message twice.
    Duplicated,
    /// A message is seen late.
    Late,
    /// The queue takes out another message than the oldest.
    OutOfOrder,
    /// The queue forgets all it holds.
    Purged,
    /// A deletion does not happen.
    NotDeleted,
    /// The producer's connection fails before we see it.
    NotConnected,
    /// Our answer does not reach the producer.
    NotHeard,
    /// A handler's own error: retryable, rate limit, panic or out of time.
    Handler,
    /// The secret store does not answer.
    StoreDown,
    /// The secret of a source changes.
    Rotated,
    /// An operator stops the processing of a source for a while.
    PausedSource,
    /// What has expired is still there.
    ExpiresLate,
    /// A function starts with a clock that is wrong.
    Skewed,
}

/// Probabilities. A kind that is not here does not happen.
pub(crate) type Rates = BTreeMap<Kind, f64>;

/// What struck, and where.
pub(crate) type Counts = BTreeMap<(Kind, String), u64>;

/// The kinds that meet one call to AWS, in the order in which they are drawn.
pub(crate) const OF_CALLS: [Kind; 8] = [
    Kind::Refused,
    Kind::AnswerLost,
    Kind::RequestLost,
    Kind::Throttled,
    Kind::Slow,
    Kind::Conflict,
    Kind::HalfBatch,
    Kind::Invalid,
];

/// The kinds that happen by themselves or to others than AWS calls.
const OTHERS: [Kind; 9] = [
    Kind::Killed,
    Kind::Duplicated,
    Kind::Late,
    Kind::OutOfOrder,
    Kind::NotDeleted,
    Kind::NotConnected,
    Kind::NotHeard,
    Kind::Handler,
    Kind::Purged,
];

/// The faults of one run: most kinds, each at a rate of its own.
pub(crate) fn draw(rng: &mut fastrand::Rng) -> Rates {
    let mut rates = Rates::new();
    for kind in OF_CALLS {
        if rng.f64() < 0.7 {
            rates.insert(kind, 0.12 * rng.f64());
        }
    }
    for kind in OTHERS {
        if rng.f64() < 0.7 {
            rates.insert(kind, 0.3 * rng.f64());
        }
    }
    rates
}

impl Kind {
    /// Kinds that a plan draws a rate for.
    pub(crate) fn drawn() -> impl Iterator<Item = Self> {
        OF_CALLS.into_iter().chain(OTHERS)
    }
}

/// How long a slow call is under way before it happens.
pub(crate) fn slowness(rng: &mut fastrand::Rng) -> Duration {
    let longest = if rng.f64() < 0.2 { 300_000 } else { 25_000 };
    Duration::from_millis(rng.u64(1_500..longest))
}

/// Which step of the protocol a call is, told by its expression.
pub(crate) fn step(operation: &str, request: &Value) -> &'static str {
    let key = request["Key"]["pk"]["S"].as_str().unwrap_or_default();
    match operation {
        "PutItem" => "put",
        "UpdateItem" => update(
            &[
                request["UpdateExpression"].as_str().unwrap_or_default(),
                request["ConditionExpression"].as_str().unwrap_or_default(),
            ]
            .join(" if "),
        ),
        "TransactWriteItems" => "commit",
        "Query" => "read due",
        "GetItem" if key.starts_with("~control") => "read control",
        "GetItem" => "read row",
        "BatchWriteItem" => "write body",
        "BatchGetItem" => "read body",
        "DescribeTable" => "table size",
        "SendMessage" => "send",
        "SendMessageBatch" => "send batch",
        "ChangeMessageVisibility" => "give back",
        "GetQueueAttributes" => "queue depth",
        "GetSecretValue" => "read secret",
        _ => "other",
    }
}

fn update(expression: &str) -> &'static str {
    [
        ("attempts + :one", "claim"),
        ("attempts - :refund", "release"),
        ("#outcome = :outcome", "finish"),
        ("attempts = :zero", "rerun"),
        ("due_at = :next", "push"),
        ("attempts >= :most", "give up"),
        ("last_error = :why", "fail"),
        ("drop_reason = :why", "drop"),
        ("error_kind = :kind", "park"),
        ("due_at = :visit", "visited"),
        ("#e = :e", "renew"),
        ("#used = :now", "note use"),
        ("paused = :paused", "pause"),
        ("ADD seen", "count unusable"),
    ]
    .iter()
    .find_map(|(part, step)| expression.contains(part).then_some(*step))
    .unwrap_or("update")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_its_rates() {
        let of = |seed| draw(&mut fastrand::Rng::with_seed(seed));
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }
}
