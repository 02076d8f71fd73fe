//! Scratch.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "scratch")]
mod kill;
mod load;
mod processes;
mod simulation {
    pub(crate) mod faults;
    pub(crate) mod producer;
}
mod support;
