//! Kudos CRM: payments and subscriptions.
//!
//! Kudos signs no time and may replay events older than the inbox remembers, so what must not
//! happen twice is written *if absent* under the event's own id.

use serde::Deserialize;
use shared::effects::{Change, Effects};

use crate::handler::{Context, Event, HandlerError};

/// `payment.succeeded`.
#[derive(Debug, Deserialize)]
pub struct Payment {
    tenant: String,
    amount_cents: i64,
    currency: String,
}

/// A ledger line, and the account's totals: both or neither.
///
/// # Errors
/// None of its own.
pub async fn payment_succeeded(
    event: Event<Payment>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let Payment { tenant, amount_cents, currency } = event.data;
    let account = format!("kudos#{tenant}");
    let line = format!("payment#{}", event.key.id);
    let totals = Change::of(&account, "totals").add("payments", 1).add("paid_cents", amount_cents);
    Ok(ctx
        .effects()
        .put_if_absent(
            &account,
            &line,
            [
                ("amount_cents", amount_cents.into()),
                ("currency", currency.into()),
                ("received_at", event.received_at.into()),
            ],
        )
        .update(totals))
}

/// `subscription.upgraded`.
#[derive(Debug, Deserialize)]
pub struct Upgrade {
    tenant: String,
    plan: String,
}

/// The tenant's plan. Kudos keeps the order within one type, but an upgrade that we send late, or
/// that an operator runs again, comes out of it: the one that was received last stands. One that is
/// replayed when the inbox has forgotten it is received anew, and finds its own line.
///
/// # Errors
/// Permanent: it was received in the future, so our clocks are minutes apart.
pub async fn subscription_upgraded(
    event: Event<Upgrade>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let Upgrade { tenant, plan } = event.data;
    let account = format!("kudos#{tenant}");
    let line = format!("upgrade#{}", event.key.id);
    let attributes = [("plan", plan.as_str().into()), ("received_at", event.received_at.into())];
    let change = Change::of(&account, "subscription")
        .set("plan", plan.as_str())
        .set("event_id", event.key.id.as_str())
        .unless_stale(Some(event.received_at), 0, ctx.now)?;
    Ok(ctx.effects().put_if_absent(&account, &line, attributes).update(change))
}

/// `subscription.replay_started`: an operator sends past events again, with their old ids.
#[derive(Debug, Deserialize)]
pub struct ReplayStarted {
    since: Option<String>,
    until: Option<String>,
    event_type: Option<String>,
}

/// Keeps the burst's window and filter. The events themselves are duplicates, and need nothing.
///
/// # Errors
/// None of its own.
pub async fn replay_started(
    event: Event<ReplayStarted>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let ReplayStarted { since, until, event_type } = event.data;
    let told = [("since", since), ("until", until), ("event_type", event_type)];
    let told = told.into_iter().filter_map(|(name, value)| Some((name, value?.into())));
    let attributes = told.chain([("received_at", event.received_at.into())]);
    let id = format!("started#{}", event.key.id);
    Ok(ctx.effects().put_if_absent("kudos#replays", &id, attributes))
}

/// `subscription.replay_completed`.
#[derive(Debug, Deserialize)]
pub struct ReplayCompleted {
    events_emitted: i64,
}

/// Keeps how many events the burst had.
///
/// # Errors
/// None of its own.
pub async fn replay_completed(
    event: Event<ReplayCompleted>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let attributes = [
        ("events_emitted", event.data.events_emitted.into()),
        ("received_at", event.received_at.into()),
    ];
    let id = format!("completed#{}", event.key.id);
    Ok(ctx.effects().put_if_absent("kudos#replays", &id, attributes))
}
