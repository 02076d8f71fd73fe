//! A clock that a test can turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use shared::time::{Clock, Timestamp};

/// The machine's clock and a shift.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dial(Arc<AtomicI64>);

impl Dial {
    /// The clock as it is turned now, and later.
    pub(crate) fn clock(&self) -> Clock {
        let (shift, machine) = (self.0.clone(), Clock::system());
        Clock::from_fn(move || {
            Timestamp::from_millis(machine.now().millis() + shift.load(Ordering::SeqCst))
        })
    }

    /// Turns it forward.
    pub(crate) fn forward(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// The time it shows.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock().now()
    }
}
