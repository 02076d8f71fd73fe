//! Why a handler did not finish, and what to do about it.

use std::time::Duration;

use shared::effects::GuardError;
use shared::fault::Fault;

/// A handler's error says what the processor does next. The texts go into the row's `last_error`
/// and into logs: name what failed, never a value of the payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// No repetition can help: the event is kept as `failed`.
    #[error("{0}")]
    Permanent(String),
    /// Try again, after the usual back-off or after this; uses up an attempt.
    #[error("{why}")]
    Retry {
        /// What went wrong.
        why: String,
        /// How long to wait, if the other side said.
        after: Option<Duration>,
    },
    /// Nobody's fault (a rate limit, a conflict): try again without using up an attempt.
    #[error("{why}")]
    Later {
        /// What stood in the way.
        why: String,
        /// How long to wait, if the other side said.
        after: Option<Duration>,
    },
}

impl HandlerError {
    /// No repetition can help.
    pub fn permanent(why: impl Into<String>) -> Self {
        Self::Permanent(why.into())
    }

    /// Try again after the usual back-off.
    pub fn retry(why: impl Into<String>) -> Self {
        Self::Retry { why: why.into(), after: None }
    }

    /// The other side limits our rate; it said when to come again, or it did not.
    pub fn rate_limited(why: impl Into<String>, after: Option<Duration>) -> Self {
        Self::Later { why: why.into(), after }
    }
}

impl From<Fault> for HandlerError {
    fn from(fault: Fault) -> Self {
        let why = fault.to_string();
        match fault {
            Fault::Throttled { .. } | Fault::Conflict { .. } => Self::Later { why, after: None },
            Fault::Refused { .. } | Fault::Unanswered { .. } => Self::Retry { why, after: None },
        }
    }
}

impl From<GuardError> for HandlerError {
    fn from(error: GuardError) -> Self {
        Self::Permanent(error.to_string())
    }
}

impl From<reqwest::Error> for HandlerError {
    fn from(error: reqwest::Error) -> Self {
        let what = match () {
            () if error.is_timeout() => "timed out",
            () if error.is_connect() => "could not connect",
            () if error.is_decode() => "answered something unreadable",
            () => "failed",
        };
        let host = error.url().and_then(|url| url.host_str()).unwrap_or("the other side");
        Self::retry(format!("call to {host} {what}"))
    }
}
