//! The webhook inbox: everything the three functions share, in the order an event meets it.
//!
//! A producer is data ([`source`]); its signature is checked over raw bytes ([`signature`]); only a
//! verified delivery can be read ([`delivery`]) and stored ([`inbox`]); a pointer to the row goes to
//! a queue ([`queue`]); a handler's [`effects`] are committed with the row's end in one transaction.
//! Nothing here knows a Lambda event type.

pub mod aws;
pub mod config;
pub mod delivery;
pub mod effects;
pub mod envelope;
pub mod fault;
pub mod inbox;
pub mod key;
pub mod limits;
pub mod logs;
pub mod metrics;
pub mod queue;
pub mod secret;
pub mod signature;
pub mod source;
pub mod time;
