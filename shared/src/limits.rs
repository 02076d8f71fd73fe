//! Every number of the protocol, with its unit and its reason. They lean on each other: the
//! assertions at the end do not compile when one is changed alone.

use std::time::Duration;

/// What a producer may send, decoded. Lambda takes synchronous events of 6 MB, envelope included
/// (AWS Lambda quotas), so nothing larger can arrive.
pub const BODY_BYTES_MAX: usize = 6 * 1024 * 1024;
/// An event id: half of what is left of DynamoDB's 2,048-byte key is plenty.
pub const ID_BYTES_MAX: usize = 256;
/// An event type.
pub const TYPE_BYTES_MAX: usize = 128;
/// `last_error`: a JSON path or a class, never a payload.
pub const ERROR_BYTES_MAX: usize = 256;
/// The answer to a producer's question of a new endpoint.
pub const HANDSHAKE_BYTES_MAX: usize = 1024;
/// Signatures looked at in one header; a rotation needs two.
pub const SIGNATURES_MAX: usize = 16;
/// Active secrets of one source: the new one and the one it replaces.
pub const SECRETS_MAX: usize = 2;

/// From the first byte to our answer, or a second less than the producer waits if that is shorter.
pub const INGRESS_BUDGET: Duration = Duration::from_secs(4);
/// `Timeout` of the ingress function.
pub const INGRESS_TIMEOUT: Duration = Duration::from_secs(5);
/// `TimeoutInMillis` of the API's integration.
pub const API_TIMEOUT: Duration = Duration::from_secs(6);
/// What the strictest of the three producers waits (Kudos).
pub const PRODUCER_TIMEOUT: Duration = Duration::from_secs(8);
/// `Retry-After` of an answer that asks for another delivery.
pub const RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long one handler may run.
pub const HANDLER_TIMEOUT: Duration = Duration::from_secs(20);
/// Kept free behind a handler for its commit.
pub const COMMIT_BUDGET: Duration = Duration::from_secs(5);
/// `Timeout` of the processor function.
pub const PROCESSOR_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a claim holds a row: longer than the function that made it can live.
pub const LEASE: Duration = Duration::from_secs(75);
/// `VisibilityTimeout` of both queues: six times the function's (AWS Lambda, SQS event source).
pub const VISIBILITY: Duration = Duration::from_secs(360);
/// `maxReceiveCount` of the standard queue. The row counts attempts; the dead-letter queue is for
/// what the processor could not even record.
pub const RECEIVES_MAX: u32 = 100;
/// A message of the standard queue that was received this often is not given back any more: waits
/// that use up no attempt use up receives. It is deleted, and the sweeper sends another.
pub const RECEIVES_KEPT: u32 = 50;
/// `maxReceiveCount` of the FIFO queue, the most that SQS takes: there another message would come
/// behind its group, so an event keeps the one that it has.
pub const RECEIVES_MAX_FIFO: u32 = 1_000;
/// Records in one batch of the processor.
pub const BATCH_RECORDS_MAX: usize = 10;

/// Attempts before an event of an unordered source is `failed`.
pub const ATTEMPTS_MAX: u32 = 12;
/// Attempts before an event of an ordered source is `failed`: its group waits behind it.
pub const ATTEMPTS_MAX_ORDERED: u32 = 5;
/// Upper bound of the back-off of an unordered source.
pub const BACKOFF_MAX: Duration = Duration::from_secs(15 * 60);
/// Upper bound of the back-off of an ordered source.
pub const BACKOFF_MAX_ORDERED: Duration = Duration::from_secs(30);
/// Upper bound of the back-off before the first repetition; doubled by each attempt.
pub const BACKOFF_BASE: Duration = Duration::from_secs(2);
/// The same for an ordered source. Its four waits (8, 16, 30, 30 s, and at least half of each) are
/// about a minute together: its few attempts outlast a short outage of what the handler calls.
pub const BACKOFF_BASE_ORDERED: Duration = Duration::from_secs(8);
/// A longer wait is not kept by a message: the row's `due_at` carries it.
pub const MESSAGE_WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// Bounds what does not use up attempts (rate limits, throttling), from the first claim on.
pub const RELEASES_MAX_AGE: Duration = Duration::from_secs(72 * 3600);

/// First `due_at` after a row is stored, and after the end of a back-off.
pub const DUE_FIRST: Duration = Duration::from_secs(120);
/// Longest time between two sends of one row by the sweeper.
pub const DUE_MAX: Duration = Duration::from_secs(15 * 60);
/// Shards of the `due` index per source: one partition takes 1,000 writes a second.
pub const DUE_SHARDS: u32 = 4;
/// A duplicate of a row younger than this leaves it to the request that stored it.
pub const RESEND_AFTER: Duration = Duration::from_secs(10);
/// A producer's replay re-runs an event that has been `failed` for this long.
pub const RERUN_AFTER: Duration = Duration::from_secs(3600);

/// How long a finished event is remembered, unless `RETENTION_DAYS` says otherwise.
pub const RETENTION_DAYS: u32 = 30;
/// How long an unusable delivery is kept.
pub const UNUSABLE_RETENTION: Duration = Duration::from_secs(90 * DAY_S);
/// How long body items are kept unless renewed.
pub const BODY_RETENTION: Duration = Duration::from_secs(90 * DAY_S);
/// A visited row's body items are renewed when less than this is left.
pub const BODY_RENEW_BEFORE: Duration = Duration::from_secs(30 * DAY_S);
/// An effect's event time may be this far ahead of our clock and no more.
pub const FUTURE_MAX: Duration = Duration::from_secs(300);

/// A row that stays below this costs one write unit (DynamoDB: 1 KB a unit, whole item).
pub const ROW_BYTES_CHEAP: usize = 1024;
/// Bytes of a body in one item; DynamoDB's limit is 409,600 for the whole item.
pub const BODY_PART_BYTES: usize = 384 * 1024;
/// Unusable deliveries of one source in an hour that are kept whole; of more, only the row and
/// [`UNUSABLE_BODY_BYTES`] are.
pub const UNUSABLE_WHOLE_PER_HOUR: u64 = 100;
/// What is kept of the body of an unusable delivery in a flood.
pub const UNUSABLE_BODY_BYTES: usize = 1024;

/// Secrets are read again after this.
pub const SECRETS_FRESH: Duration = Duration::from_secs(60);
/// Secrets read this long ago still serve while the store is down.
pub const SECRETS_STALE: Duration = Duration::from_secs(15 * 60);
/// A mismatch reads the secrets again at most this often; a read younger than this counts as "just
/// now" when a signature is refused.
pub const SECRETS_REFRESH_MIN: Duration = Duration::from_secs(3);
/// One read of the secret store.
pub const SECRETS_TIMEOUT: Duration = Duration::from_millis(1500);
/// A source's control item is read again after this.
pub const CONTROL_FRESH: Duration = Duration::from_secs(10);
/// The last use of a secret is noted at most this often.
pub const SECRET_USE_EVERY: Duration = Duration::from_secs(60);

/// The sweeper fills a queue up to this many messages, so it sends no more in one sweep.
pub const QUEUE_DEPTH_MAX: usize = 1_000;
/// Sends that each source gets in a sweep at any depth.
pub const SWEEP_SENDS_MIN: usize = 10;
/// `Timeout` of the sweeper function.
pub const SWEEPER_TIMEOUT: Duration = Duration::from_secs(55);
/// Index pages read per shard and sweep; more makes the gauges a lower bound.
pub const SWEEP_PAGES_MAX: usize = 5;

/// Effects of one handler run: a transaction takes 100 actions, one is the row's own.
pub const EFFECTS_MAX: usize = 99;
/// Bytes of one transaction (DynamoDB).
pub const EFFECTS_BYTES_MAX: usize = 4 * 1024 * 1024;

const DAY_S: u64 = 24 * 3600;

const fn shorter(a: Duration, b: Duration) -> bool {
    a.as_millis() < b.as_millis()
}

const _: () = {
    assert!(shorter(INGRESS_BUDGET, INGRESS_TIMEOUT));
    assert!(shorter(INGRESS_TIMEOUT, API_TIMEOUT));
    assert!(shorter(API_TIMEOUT, PRODUCER_TIMEOUT));
    assert!(
        2 * (HANDLER_TIMEOUT.as_secs() + COMMIT_BUDGET.as_secs()) <= PROCESSOR_TIMEOUT.as_secs()
    );
    assert!(shorter(PROCESSOR_TIMEOUT, LEASE));
    assert!(6 * PROCESSOR_TIMEOUT.as_secs() <= VISIBILITY.as_secs());
    assert!(shorter(SWEEPER_TIMEOUT, Duration::from_secs(60)));
    assert!(shorter(BODY_RENEW_BEFORE, BODY_RETENTION));
    assert!(BACKOFF_MAX.as_secs() <= MESSAGE_WAIT_MAX.as_secs());
    assert!(ATTEMPTS_MAX < RECEIVES_KEPT && RECEIVES_KEPT < RECEIVES_MAX);
};
