//! Your handlers: one file per producer, and one line each in the list below.

pub mod apiera;
pub mod kallglot;
pub mod kudos;

use std::sync::Arc;

use crate::handler::Registry;

/// Every handler. An event whose type is not here ends as `ignored`, answered 2xx and counted.
pub fn all() -> Registry {
    let api = Arc::new(apiera::Api::default());
    Registry::default()
        .on("kudos", "payment.succeeded", kudos::payment_succeeded)
        .on("kudos", "subscription.upgraded", kudos::subscription_upgraded)
        .on("kudos", "subscription.replay_started", kudos::replay_started)
        .on("kudos", "subscription.replay_completed", kudos::replay_completed)
        .on("kallglot", "session.*", kallglot::session)
        .on("kallglot", "webhook_endpoint.disabled", kallglot::endpoint_disabled)
        .on("apiera", "product.*", move |event, ctx| apiera::product(api.clone(), event, ctx))
}
