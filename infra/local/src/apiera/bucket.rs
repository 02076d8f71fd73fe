//! A token bucket: the form of Apiera's documented limit of requests per minute.

use std::time::Duration;

use tokio::time::Instant;

/// Holds up to a minute's worth of requests and is refilled continuously.
#[derive(Debug)]
pub(super) struct Bucket {
    capacity: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// A full bucket; a limit of nothing a minute would answer nobody, so the least is 1.
    pub(super) fn new(requests_per_minute: u32, now: Instant) -> Self {
        let capacity = f64::from(requests_per_minute.max(1));
        Self { capacity, tokens: capacity, at: now }
    }

    /// Takes one request out.
    ///
    /// # Errors
    /// The bucket is empty; says how long it is until the next request fits.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let refilled = now.saturating_duration_since(self.at).as_secs_f64() / self.interval_s();
        self.tokens = (self.tokens + refilled).min(self.capacity);
        self.at = now;
        if self.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.tokens) * self.interval_s()));
        }
        self.tokens -= 1.0;
        Ok(())
    }

    /// The whole requests that are left.
    pub(super) fn remaining(&self) -> u64 {
        // A cast of a float saturates, and the value is within 0 and a `u32` anyway.
        self.tokens as u64
    }

    /// How long until the bucket is full again.
    pub(super) fn until_full(&self) -> Duration {
        Duration::from_secs_f64((self.capacity - self.tokens) * self.interval_s())
    }

    fn interval_s(&self) -> f64 {
        60.0 / self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_followed_by_the_steady_rate() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut bucket = Bucket::new(60, start);
        for left in (0..60).rev() {
            assert_eq!(bucket.take(at(0)), Ok(()));
            assert_eq!(bucket.remaining(), left);
        }
        assert_eq!(bucket.take(at(0)), Err(Duration::from_secs(1)));
        assert_eq!(bucket.take(at(250)), Err(Duration::from_millis(750)));
        assert_eq!(bucket.until_full(), Duration::from_millis(59_750));
        assert_eq!(bucket.take(at(1_000)), Ok(()));
        assert!(bucket.take(at(1_000)).is_err());
        assert_eq!(bucket.take(at(3_600_000)), Ok(()));
        assert_eq!(bucket.remaining(), 59);
    }
}
