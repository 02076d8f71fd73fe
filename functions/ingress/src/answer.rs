//! From an outcome to the answer that the producer's contract wants to hear.

use lambda_http::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use lambda_http::http::{HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use shared::inbox::ErrorKind;
use shared::inbox::What;
use shared::inbox::decide::Duplicate;
use shared::limits;
use shared::source::Contract;

use crate::receive::Outcome;

/// What the producer gets to see: a status, and a fixed text for each. Producers keep answers and
/// show them to people; nothing of ours is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The producer is asked to come again after [`limits::RETRY_AFTER`].
    pub retry: bool,
    /// The producer's own text, which it wants to hear again.
    pub echo: Option<String>,
}

/// The answer to an outcome. Two rules stand above every contract: a durable event is answered 2xx,
/// and a fault of ours is answered 503, a throttle included, so that the producer delivers again by
/// its own schedule. (429 would let Kudos put our short `Retry-After` in the place of its delays: its
/// six attempts would be over within minutes instead of 1 h 42 min.)
pub fn answer(outcome: &Outcome, contract: Option<&Contract>) -> Answer {
    let unusable = contract.map_or(StatusCode::BAD_REQUEST, |contract| contract.unusable);
    let (status, retry) = match outcome {
        Outcome::Accepted(accepted) => match accepted.what {
            What::Parked(ErrorKind::Unusable) | What::Duplicate(Duplicate::Unusable) => {
                (unusable, false)
            }
            What::Stored | What::Ignored | What::Parked(_) | What::Duplicate(_) => {
                (StatusCode::OK, false)
            }
        },
        Outcome::Handshake(_) => (StatusCode::OK, false),
        Outcome::Refused(_) => (StatusCode::UNAUTHORIZED, false),
        Outcome::UnknownSource => (StatusCode::NOT_FOUND, false),
        Outcome::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, false),
        Outcome::Undecodable => (StatusCode::BAD_REQUEST, false),
        Outcome::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, false),
        Outcome::Gone => (StatusCode::GONE, false),
        Outcome::Fault(_) | Outcome::NoSecret(_) => (StatusCode::SERVICE_UNAVAILABLE, true),
    };
    let echo = match outcome {
        Outcome::Handshake(echo) => Some(echo.clone()),
        _ => None,
    };
    Answer { status, retry, echo }
}

impl Answer {
    /// As HTTP.
    pub fn into_response(self) -> Response<Body> {
        let text = match self.status.as_u16() {
            200..=299 => r#"{"received":true}"#,
            400 => r#"{"error":"not an event that can be used"}"#,
            401 => r#"{"error":"signature refused"}"#,
            404 => r#"{"error":"no such source"}"#,
            405 => r#"{"error":"use POST"}"#,
            410 => r#"{"error":"this endpoint is closed"}"#,
            413 => r#"{"error":"body too large"}"#,
            _ => r#"{"error":"not stored, please deliver again"}"#,
        };
        let kind = if self.echo.is_some() { "text/plain" } else { "application/json" };
        let mut response = Response::new(self.echo.map_or_else(|| Body::from(text), Body::from));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if self.retry {
            headers.insert(RETRY_AFTER, limits::RETRY_AFTER.as_secs().into());
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
