//! The integration tests: the real functions and the real SDK against embedded engines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic; that is how it fails"
)]

mod support;

mod cases;
mod commits;
mod duplicates;
mod faults;
mod guides;
mod handlers;
mod kill;
mod large;
mod load;
mod order;
mod pipeline;
mod processes;
mod properties;
mod rate;
mod readme;
mod rotation;
mod runs;
mod schemes;
mod secrecy;
mod simulation;
mod sweeps;
mod unusual;
