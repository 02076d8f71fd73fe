//! What the tests stand on: a whole inbox in memory, deliveries signed as producers sign them, and
//! faults between the SDK and the engines.

pub(crate) mod deliveries;
pub(crate) mod dial;
pub(crate) mod faulty;
pub(crate) mod process;
pub(crate) mod world;

pub(crate) use deliveries::Delivery;
pub(crate) use dial::Dial;
pub(crate) use faulty::{Fault, Faulty};
pub(crate) use process::Process;
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

/// Our log lines on stderr, if `TEST_LOG` names a level.
pub(crate) fn log() {
    use tracing_subscriber::layer::SubscriberExt as _;
    if let Ok(level) = std::env::var("TEST_LOG") {
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let filter =
            shared::logs::filter(Some(&level)).with_target("dynoxide", tracing::Level::ERROR);
        let subscriber = tracing_subscriber::registry().with(filter).with(lines);
        // The first test of the process sets it for all.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}
