//! The life of an event, as its row tells it.

use serde_json::{Value, json};
use shared::inbox::{Body, ErrorKind, Outcome, Row, Status};
use shared::time::Timestamp;

use crate::console::{Console, Tone};
use crate::when::{date, from_now};

/// For people: what it is, then what happened in order.
pub(super) fn text(row: &Row, console: &Console, now: Timestamp) -> String {
    let mut lines = vec![row.key.to_string()];
    let mut fact = |name: &str, value: String| lines.push(format!("  {name:<10} {value}"));
    fact("status", console.tint(&standing(row), tone(row.status)));
    let event_type = row.event_type.as_ref().map(ToString::to_string);
    fact("type", event_type.unwrap_or_else(|| "none that could be read".into()));
    fact("payload", payload(&row.body, now));
    fact("attempts", format!("{}, by {}", row.attempts, messages(row.sends)));
    if let Some(error) = &row.last_error {
        fact("last error", error.clone());
    }
    if let Some(reason) = &row.drop_reason {
        fact("dropped", reason.clone());
    }
    lines.push(String::new());
    for (at, what) in events(row) {
        lines.push(format!("  {:<24}  {what} ({})", date(at), from_now(at, now)));
    }
    lines.join("\n")
}

/// For programs. Names are those of the row; times are RFC 3339.
pub(super) fn document(row: &Row) -> Value {
    let (body_parts, body_expires_at) = match row.body {
        Body::Inline(..) => (None, None),
        Body::Parts { count, expires_at, .. } => (Some(count), Some(date(expires_at))),
    };
    json!({
        "source": row.key.source.as_str(),
        "event_id": row.key.id.as_str(),
        "event_type": row.event_type.as_ref().map(shared::key::EventType::as_str),
        "status": row.status.word(),
        "error_kind": row.error_kind.map(ErrorKind::word),
        "last_error": row.last_error,
        "outcome": row.outcome.map(Outcome::word),
        "drop_reason": row.drop_reason,
        "attempts": row.attempts,
        "sends": row.sends,
        "signed_by": row.signed_by,
        "first_attempt": row.first_attempt,
        "occurred_at": row.occurred_at.map(date),
        "received_at": date(row.received_at),
        "first_claimed_at": row.first_claimed_at.map(date),
        "lease_until": row.lease_until.map(date),
        "due_at": row.due_at.map(date),
        "finished_at": row.finished_at.map(date),
        "expires_at": row.expires_at.map(date),
        "body_parts": body_parts,
        "body_expires_at": body_expires_at,
    })
}

fn messages(sends: u32) -> String {
    if sends == 1 { "1 message".into() } else { format!("{sends} messages") }
}

fn standing(row: &Row) -> String {
    let why = row.error_kind.map(ErrorKind::word).or(row.outcome.map(Outcome::word));
    // A dropped event keeps why it had failed; it is not what became of it.
    let why = why.filter(|_| row.status != Status::Dropped);
    why.map_or_else(|| row.status.to_string(), |why| format!("{}, {why}", row.status))
}

fn tone(status: Status) -> Tone {
    match status {
        Status::Done | Status::Ignored => Tone::Good,
        Status::Pending | Status::Processing | Status::Dropped => Tone::Warn,
        Status::Failed => Tone::Bad,
    }
}

fn payload(body: &Body, now: Timestamp) -> String {
    match body {
        Body::Inline(bytes, encoding) => format!("{} bytes in the row ({encoding})", bytes.len()),
        Body::Parts { count, expires_at, encoding } => {
            let until = from_now(*expires_at, now);
            format!("in {count} items of its own ({encoding}); they expire {until} unless renewed")
        }
    }
}

/// What happened, in order of time.
fn events(row: &Row) -> Vec<(Timestamp, String)> {
    let delivery = row.first_attempt.map_or_else(String::new, |n| format!(", delivery number {n}"));
    let secret = row.signed_by.as_deref();
    let secret = secret.map_or_else(String::new, |print| format!(", signed with secret {print}"));
    let ended = match (row.status, row.outcome) {
        (Status::Failed, _) => "failed".to_owned(),
        (Status::Dropped, _) => "dropped by an operator".to_owned(),
        (status, Some(outcome)) => format!("{status}, {outcome}"),
        (status, None) => status.to_string(),
    };
    let happened = [
        (row.occurred_at, "happened, by the producer's signed clock".to_owned()),
        (Some(row.received_at), format!("received{delivery}{secret}")),
        (row.first_claimed_at, "first run begun".to_owned()),
        (row.finished_at, ended),
    ];
    let mut events: Vec<_> =
        happened.into_iter().filter_map(|(at, what)| Some((at?, what))).collect();
    events.sort_by_key(|(at, _)| *at);
    events
}
