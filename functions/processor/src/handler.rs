//! What a handler is: an async function from a typed event and a context to effects, or an error.
//!
//! ```
//! use processor::handler::{Context, Event, HandlerError};
//! use shared::effects::{Change, Effects};
//!
//! #[derive(serde::Deserialize)]
//! struct Upgrade {
//!     tenant: String,
//!     plan: String,
//! }
//!
//! async fn upgraded(event: Event<Upgrade>, ctx: Context) -> Result<Effects, HandlerError> {
//!     let change = Change::of(&event.data.tenant, "subscription").set("plan", event.data.plan);
//!     Ok(ctx.effects().update(change))
//! }
//! ```
//!
//! Effects happen once, together with the event's end. Everything else a handler does, a call to
//! another service above all, may happen again if the process dies before the commit: hand
//! [`Context::idempotency_key`] on to it.

mod context;
mod error;
mod payload;
mod registry;

use shared::key::{EventKey, EventType};
use shared::time::Timestamp;

pub use self::context::{Context, Services, ServicesError};
pub use self::error::HandlerError;
pub use self::registry::{Handlers, Registry, RegistryError};
pub(crate) use self::registry::{Input, Run};

/// An event as a handler gets it.
#[derive(Clone, Debug)]
pub struct Event<T> {
    /// Whose, and which.
    pub key: EventKey,
    /// Its type: of use to a handler that takes several.
    pub event_type: EventType,
    /// The payload: the profile's payload field, or the whole body.
    pub data: T,
    /// When it happened, where the producer signs that.
    pub occurred_at: Option<Timestamp>,
    /// When it was received.
    pub received_at: Timestamp,
}
