//! Time as a value: decisions take a [`Timestamp`], only the edges read a [`Clock`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From seconds since the epoch; saturates.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down: the unit of DynamoDB's TTL.
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This much later; saturates.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis_of(duration)))
    }

    /// This much earlier; saturates.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis_of(duration)))
    }

    /// When an invocation that begins now ends: as the runtime says, or after `timeout` where that
    /// has passed already (`cargo lambda watch` says the same moment in 1970 each time).
    #[must_use]
    pub fn deadline(self, said_millis: u64, timeout: Duration) -> Self {
        let said = Self(i64::try_from(said_millis).unwrap_or(i64::MAX));
        if said > self { said } else { self.plus(timeout) }
    }

    /// Time from `earlier` to here, zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn millis_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Where a function reads the time. One per process; tests hand in their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::from_fn(|| {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
            let elapsed = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
            Timestamp::from_millis(elapsed.map_or(0, millis_of))
        })
    }

    /// A clock of the caller's making.
    pub fn from_fn(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_and_rounds_towards_the_past() {
        assert_eq!(Timestamp::from_millis(-1).secs(), -1);
        assert_eq!(Timestamp::from_secs(i64::MAX).millis(), i64::MAX);
        let (early, late) = (Timestamp::from_secs(1), Timestamp::from_secs(3));
        assert_eq!(late.since(early), Duration::from_secs(2));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.plus(Duration::MAX).millis(), i64::MAX);
        assert_eq!(Clock::from_fn(move || late).now(), late);
        assert_eq!(early.deadline(3000, Duration::from_secs(9)), late);
        assert_eq!(late.deadline(1000, Duration::from_secs(9)), Timestamp::from_secs(12));
    }
}
