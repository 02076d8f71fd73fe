//! What the tests stand on: a whole inbox in memory, and the tool as a process beside it.

pub(crate) mod broken;
pub(crate) mod incident;
pub(crate) mod stack;
pub(crate) mod table;
pub(crate) mod tool;
pub(crate) mod usage;
// The workspace's own tests stand on the same; not all of it is needed here.
#[allow(dead_code, reason = "a part of what the workspace's tests use")]
#[path = "../../../../tests/it/support/deliveries.rs"]
pub(crate) mod deliveries;
#[allow(dead_code, reason = "a part of what the workspace's tests use")]
#[path = "../../../../tests/it/support/dial.rs"]
pub(crate) mod dial;
#[allow(dead_code, reason = "a part of what the workspace's tests use")]
#[path = "../../../../tests/it/support/faulty.rs"]
pub(crate) mod faulty;
#[allow(dead_code, reason = "a part of what the workspace's tests use")]
#[path = "../../../../tests/it/support/world.rs"]
pub(crate) mod world;

use std::time::{Duration, Instant};

pub(crate) use deliveries::Delivery;
pub(crate) use faulty::Faulty;
pub(crate) use incident::Incident;
pub(crate) use tool::Tool;
pub(crate) use world::World;

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

/// Log lines are not looked at here.
pub(crate) fn log() {}
