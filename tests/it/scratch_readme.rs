//! Scratch.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, unused_imports, reason = "scratch")]
mod readme;
mod support;
