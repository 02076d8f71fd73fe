//! The handlers of a run: the reference handlers of Kudos and Kallglot as they are, one that counts
//! with nothing of its own against a second time, and Apiera's over an API in memory (the real one
//! speaks HTTP through a socket, and a socket knows no virtual time).

use std::sync::Arc;
use std::time::Duration;

use processor::handler::{Context, Event, HandlerError, Registry};
use processor::handlers::{kallglot, kudos};
use serde::Deserialize;
use serde_json::Value;
use shared::effects::{Change, Effects};
use shared::time::Timestamp;

use super::faults::Kind;
use super::mirror::Does;
use super::world::World;

type Ran = Result<Effects, HandlerError>;

#[derive(Deserialize)]
struct Thin {
    #[serde(rename = "productUuid")]
    product_uuid: String,
}

/// Every handler, each meeting its own faults first.
pub(crate) fn registry(world: &Arc<World>) -> Registry {
    macro_rules! faulty {
        ($handler:expr) => {{
            let world = world.clone();
            move |event: Event<_>, ctx: Context| {
                let world = world.clone();
                async move {
                    before(&world, &ctx).await?;
                    $handler(&world, event, ctx).await
                }
            }
        }};
    }
    Registry::default()
        .on("kudos", "payment.succeeded", faulty!(|_, e, c| kudos::payment_succeeded(e, c)))
        .on("kudos", "subscription.upgraded", faulty!(|_, e, c| kudos::subscription_upgraded(e, c)))
        .on("kudos", "subscription.replay_started", faulty!(|_, e, c| kudos::replay_started(e, c)))
        .on(
            "kudos",
            "subscription.replay_completed",
            faulty!(|_, e, c| kudos::replay_completed(e, c)),
        )
        .on("kallglot", "session.*", faulty!(|_, e, c| kallglot::session(e, c)))
        .on("kallglot", "transcript.ready", faulty!(count))
        .on("kallglot", "recording.ready", faulty!(poisoned))
        .on("apiera", "product.*", faulty!(product))
}

/// What every handler meets before it does anything.
async fn before(world: &World, ctx: &Context) -> Result<(), HandlerError> {
    let key = ctx.idempotency_key();
    let now = world.now_ms();
    let (delay, down) = {
        let mut state = world.state();
        let delay = state.handler_ms + state.rng.u64(0..200);
        let told = state.mirror.events.get_mut(&key);
        let most = told.as_ref().map_or(0, |told| told.producer.attempts_max());
        if let Some(told) = told {
            told.runs += 1;
        }
        if ctx.attempt > most {
            state.violated(now, &format!("attempt {} of {key}", ctx.attempt));
        }
        (delay, now < state.handlers_down_until_ms)
    };
    tokio::time::sleep(Duration::from_millis(delay)).await;
    if down {
        return Err(HandlerError::retry("what it needs is down"));
    }
    if !world.strikes(Kind::Handler, "handler") {
        return Ok(());
    }
    let which = world.state().rng.u32(0..5);
    match which {
        0 => Err(HandlerError::retry("it did not work")),
        1 => Err(HandlerError::Retry { why: "come later".into(), after: Some(minutes(3)) }),
        2 => Err(HandlerError::rate_limited("too many", None)),
        3 => Err(HandlerError::rate_limited("far too many", Some(minutes(20)))),
        // Without the panic hook, which would print it.
        _ => std::panic::resume_unwind(Box::new("a handler's panic")),
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

async fn count(_: &World, _: Event<Value>, ctx: Context) -> Ran {
    Ok(ctx.effects().update(Change::of("kallglot#counter", "count").add("count", 1)))
}

async fn poisoned(world: &World, event: Event<Value>, ctx: Context) -> Ran {
    let now = world.now_ms();
    let does = world.state().mirror.events.get(&event.key.to_string()).map(|e| e.does.clone());
    match does {
        Some(Does::Poison { mended_ms }) if now < mended_ms => {
            Err(HandlerError::permanent("it cannot be read yet"))
        }
        _ => Ok(ctx.effects().update(Change::of("kallglot#mended", "count").add("count", 1))),
    }
}

async fn product(world: &World, event: Event<Thin>, ctx: Context) -> Ran {
    let uuid = event.data.product_uuid;
    let (changed_ms, name) = world.state().products[&uuid].clone();
    let thinking = world.state().rng.u64(0..3_000);
    tokio::time::sleep(Duration::from_millis(thinking)).await;
    let change = Change::of(&format!("apiera#{uuid}"), "product").set("name", name);
    let change = change.unless_stale(Some(Timestamp::from_millis(changed_ms)), 0, ctx.now)?;
    Ok(ctx.effects().update(change))
}
