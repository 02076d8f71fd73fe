//! A handler of payments with a mistake in it, and the same without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use processor::handler::{Context, Event, HandlerError, Registry};
use serde::Deserialize;
use shared::effects::{Change, Effects};

/// Amounts above this are taken for a mistake of the sender's. They are none.
const LIMIT_CENTS: i64 = 9_000;

/// `payment.succeeded`, as Kudos sends it.
#[derive(Deserialize)]
struct Payment {
    tenant: String,
    amount_cents: i64,
}

/// Handlers of payments, of an ordered source and of one without an order, and of sessions.
/// Payments are handled wrongly while `broken`.
pub(crate) fn handlers(broken: &Arc<AtomicBool>) -> Registry {
    let of = |broken: Arc<AtomicBool>| move |event, ctx| payment(broken.clone(), event, ctx);
    Registry::default()
        .on("kudos", "payment.succeeded", of(broken.clone()))
        .on("kallglot", "payment.succeeded", of(broken.clone()))
        .on("kallglot", "session.*", processor::handlers::kallglot::session)
}

async fn payment(
    broken: Arc<AtomicBool>,
    event: Event<Payment>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let Payment { tenant, amount_cents } = event.data;
    if broken.load(Ordering::SeqCst) && amount_cents > LIMIT_CENTS {
        return Err(HandlerError::permanent("data.amount_cents is over the limit"));
    }
    let account = format!("kudos#{tenant}");
    let line = format!("payment#{}", event.key.id);
    let totals = Change::of(&account, "totals").add("payments", 1).add("paid_cents", amount_cents);
    Ok(ctx
        .effects()
        .put_if_absent(&account, &line, [("amount_cents", amount_cents.into())])
        .update(totals))
}
