//! What the tests stand on: a whole inbox in memory, deliveries signed as producers sign them, and
//! faults between the SDK and the engines.

pub(crate) mod deliveries;
pub(crate) mod faulty;
pub(crate) mod world;

pub(crate) use deliveries::Delivery;
pub(crate) use faulty::{Fault, Faulty};
pub(crate) use world::{Answer, World};

use std::time::{Duration, Instant};

/// Waits until `check` gives something; panics with `what` after `limit`.
pub(crate) async fn eventually<T>(
    what: &str,
    limit: Duration,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
