//! The integration tests: the real functions and the real SDK against embedded engines.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic; that is how it fails")]

#[expect(dead_code, unused_imports, reason = "not every part is used yet")]
mod support;

mod faults;
mod pipeline;
mod properties;
mod schemes;
