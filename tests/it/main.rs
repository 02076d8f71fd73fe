//! The integration tests: the real functions and the real SDK against embedded engines.

mod support;

mod faults;
mod pipeline;
