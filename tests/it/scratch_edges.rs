//! Scratch root.
#![allow(dead_code, unused_imports, reason = "scratch")]
mod support;
