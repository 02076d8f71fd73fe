//! Kallglot: sessions, and the alarm of a disabled endpoint.
//!
//! Kallglot promises no order and says to compare `created_at`: every write to a session carries a
//! stale guard. Its times are whole seconds, so that of two events of one second the rank of the
//! type decides.

use serde::Deserialize;
use shared::effects::{Change, Effects};
use shared::metrics::Metric;

use crate::handler::{Context, Event, HandlerError};

/// The `data` of `session.*`.
#[derive(Debug, Deserialize)]
pub struct Session {
    id: String,
    status: Option<String>,
}

/// The session's newest state.
///
/// # Errors
/// Permanent: the event has no time, or one that is far in the future.
pub async fn session(event: Event<Session>, ctx: Context) -> Result<Effects, HandlerError> {
    let kind = event.event_type.as_str();
    let word = kind.rsplit('.').next().unwrap_or(kind).to_owned();
    let status = event.data.status.unwrap_or(word);
    let change = Change::of(&format!("kallglot#{}", event.data.id), "state")
        .set("status", status)
        .set("event_type", kind)
        .unless_stale(event.occurred_at, rank(kind), ctx.now)?;
    Ok(ctx.effects().update(change))
}

/// How far a session is along when it shows this type.
fn rank(event_type: &str) -> i64 {
    match event_type {
        "session.created" => 0,
        "session.started" => 1,
        "session.provider.connected" => 2,
        "session.provider.disconnected" => 3,
        "session.ended" => 5,
        _ => 4,
    }
}

/// The `data` of `webhook_endpoint.disabled`.
#[derive(Debug, Deserialize)]
pub struct Disabled {
    endpoint_id: String,
    reason: Option<String>,
    failed_events: Option<i64>,
}

/// Kallglot no longer delivers to one of our endpoints: somebody has to switch it on again in the
/// portal. The metric raises the alarm; the item tells which endpoint and why.
///
/// # Errors
/// None of its own.
pub async fn endpoint_disabled(
    event: Event<Disabled>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    ctx.count(Metric::EndpointDisabled);
    let Disabled { endpoint_id, reason, failed_events } = event.data;
    let change = Change::of("kallglot#endpoints", &endpoint_id)
        .set("disabled_at", event.received_at)
        .set("reason", reason.unwrap_or_default())
        .set("failed_events", failed_events.unwrap_or_default());
    Ok(ctx.effects().update(change))
}
