//! The tool as a process, against the real functions on embedded engines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic; that is how it fails"
)]

mod support;

mod doctor;
mod drop;
mod examples;
mod list;
mod mistakes;
mod pause;
mod place;
mod reconcile;
mod redrive;
mod secrets;
mod send;
mod show;
mod stack;
mod stats;
mod usage;
mod verify;
