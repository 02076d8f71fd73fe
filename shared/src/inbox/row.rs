//! One row of the inbox, read.

use std::fmt;

use super::item::{Item, number, text, time};
use crate::key::{EventKey, EventType, Token};
use crate::time::Timestamp;

/// Where an event is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Stored, not claimed; perhaps backing off.
    Pending,
    /// Claimed; the lease tells for how long.
    Processing,
    /// Its effects are committed.
    Done,
    /// No handler wanted it.
    Ignored,
    /// Kept for an operator.
    Failed,
    /// Given up by an operator.
    Dropped,
}

/// Why a row is `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The handler said that no repetition can help.
    Permanent,
    /// All attempts are used up.
    Exhausted,
    /// Authentic, but nothing that a handler could use.
    Unusable,
    /// The queue refused its pointer as invalid.
    Unsendable,
    /// Older than the inbox remembers: nobody can tell whether it ran.
    BeyondMemory,
}

/// How a finished event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its effects happened.
    Applied,
    /// A newer event of the entity had already been applied.
    Stale,
    /// Its effects had already happened.
    AlreadyApplied,
    /// No handler is registered for its type.
    NoHandler,
    /// The profile ignores its type.
    IgnoredType,
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* }) => {
        impl $name {
            /// The word in the table, in logs and in metrics.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// Reads the word.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words!(Status {
    Pending = "pending",
    Processing = "processing",
    Done = "done",
    Ignored = "ignored",
    Failed = "failed",
    Dropped = "dropped"
});
words!(ErrorKind {
    Permanent = "permanent",
    Exhausted = "exhausted",
    Unusable = "unusable",
    Unsendable = "unsendable",
    BeyondMemory = "beyond_memory"
});
words!(Outcome {
    Applied = "applied",
    Stale = "stale",
    AlreadyApplied = "already_applied",
    NoHandler = "no_handler",
    IgnoredType = "ignored_type"
});
words!(Encoding { Identity = "identity", Deflate = "deflate" });

/// How a stored body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The very bytes that were signed.
    Identity,
    /// Deflate (RFC 1951) of them.
    Deflate,
}

/// Where a body is.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// In the row.
    Inline(Vec<u8>, Encoding),
    /// In this many items of its own, which expire unless renewed.
    Parts {
        /// How many.
        count: u32,
        /// When they expire.
        expires_at: Timestamp,
        /// How the whole is encoded.
        encoding: Encoding,
    },
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(bytes, encoding) => write!(f, "Inline({} bytes, {encoding})", bytes.len()),
            Self::Parts { count, .. } => write!(f, "Parts({count})"),
        }
    }
}

/// One event, as its row tells it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Whose, and which.
    pub key: EventKey,
    /// Its type; `None` only for an unusable one that shows none.
    pub event_type: Option<EventType>,
    /// Where it is in its life.
    pub status: Status,
    /// Its payload.
    pub body: Body,
    /// SHA-256 of the payload.
    pub body_sha256: Vec<u8>,
    /// Names the request that stored it.
    pub receipt: Token,
    /// When that was, by our clock.
    pub received_at: Timestamp,
    /// When it happened, by the producer's, where signed.
    pub occurred_at: Option<Timestamp>,
    /// Attempts begun.
    pub attempts: u32,
    /// Who holds it.
    pub lease_owner: Option<Token>,
    /// Held until, or backing off until.
    pub lease_until: Option<Timestamp>,
    /// When the sweeper looks at it next.
    pub due_at: Option<Timestamp>,
    /// How often it was sent.
    pub sends: u32,
    /// The first claim.
    pub first_claimed_at: Option<Timestamp>,
    /// The end, or the failure.
    pub finished_at: Option<Timestamp>,
    /// Why it is failed.
    pub error_kind: Option<ErrorKind>,
    /// What the last attempt said.
    pub last_error: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Fingerprint of the secret that its signature matched.
    pub signed_by: Option<String>,
    /// The producer's number of the delivery that stored it.
    pub first_attempt: Option<u32>,
    /// When it is forgotten; only of finished rows.
    pub expires_at: Option<Timestamp>,
    /// Why an operator has given it up.
    pub drop_reason: Option<String>,
}

/// A row that does not read as one: written by something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attribute {0} of the row is missing or not readable")]
pub struct RowError(pub &'static str);

impl Status {
    /// Still to be run.
    pub const fn is_unfinished(self) -> bool {
        matches!(self, Self::Pending | Self::Processing)
    }
}

impl Row {
    /// Reads an item.
    ///
    /// # Errors
    /// The first attribute that does not read.
    pub(crate) fn read(item: &Item) -> Result<Self, RowError> {
        let key = text(item, "pk").and_then(EventKey::parse).ok_or(RowError("pk"))?;
        Ok(Self {
            key,
            event_type: text(item, "event_type").and_then(|t| EventType::parse(t).ok()),
            status: text(item, "status").and_then(Status::parse).ok_or(RowError("status"))?,
            body: Body::read(item)?,
            body_sha256: blob(item, "body_sha256").unwrap_or_default().to_vec(),
            receipt: text(item, "receipt").map(Token::stored).ok_or(RowError("receipt"))?,
            received_at: time(item, "received_at").ok_or(RowError("received_at"))?,
            occurred_at: time(item, "occurred_at"),
            attempts: number(item, "attempts").unwrap_or(0),
            lease_owner: text(item, "lease_owner").map(Token::stored),
            lease_until: time(item, "lease_until"),
            due_at: time(item, "due_at"),
            sends: number(item, "sends").unwrap_or(0),
            first_claimed_at: time(item, "first_claimed_at"),
            finished_at: time(item, "finished_at"),
            error_kind: text(item, "error_kind").and_then(ErrorKind::parse),
            last_error: text(item, "last_error").map(str::to_owned),
            outcome: text(item, "outcome").and_then(Outcome::parse),
            signed_by: text(item, "signed_by").map(str::to_owned),
            first_attempt: number(item, "first_attempt"),
            expires_at: number(item, "expires_at").map(Timestamp::from_secs),
            drop_reason: text(item, "drop_reason").map(str::to_owned),
        })
    }
}

impl Body {
    fn read(item: &Item) -> Result<Self, RowError> {
        let encoding = text(item, "body_encoding").and_then(Encoding::parse);
        let encoding = encoding.ok_or(RowError("body_encoding"))?;
        match number(item, "body_parts") {
            Some(count) => {
                let expires_at = number(item, "body_expires_at").map(Timestamp::from_secs);
                let expires_at = expires_at.ok_or(RowError("body_expires_at"))?;
                Ok(Self::Parts { count, expires_at, encoding })
            }
            None => {
                let bytes = blob(item, "body").ok_or(RowError("body"))?;
                Ok(Self::Inline(bytes.to_vec(), encoding))
            }
        }
    }
}

pub(super) fn blob<'i>(item: &'i Item, name: &str) -> Option<&'i [u8]> {
    item.get(name)?.as_b().ok().map(AsRef::as_ref)
}
