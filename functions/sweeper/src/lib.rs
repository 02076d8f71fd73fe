//! The sweeper function: looks at what should have been finished by now, and sends it again.
//!
//! It is what makes "the table is the truth, the queue is a hint" true: a send that failed, a
//! message that was lost, a run that died. Sending again is harmless, because the claim decides.
//! [`sweep`] is one run; [`shard`] reads the index.

pub mod shard;
pub mod sweep;

use shared::aws::Clients;
use shared::config::{Common, Env, EnvError};
use shared::inbox::Inbox;
use shared::metrics::Metrics;
use shared::queue::Queues;
use shared::source::Sources;
use shared::time::Clock;

/// Reads the environment.
///
/// # Errors
/// Names every variable that is missing.
pub fn settings(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Common, EnvError> {
    let mut env = Env::new(lookup);
    let common = env.common();
    env.finish().map(|()| common)
}

/// The function, wired to its services.
#[derive(Debug)]
pub struct Sweeper {
    sources: Sources,
    inbox: Inbox,
    queues: Queues,
    metrics: Metrics,
    clock: Clock,
}

impl Sweeper {
    /// Wires the function; calls nothing.
    pub fn new(
        settings: &Common,
        sources: Sources,
        clients: &Clients,
        metrics: Metrics,
        clock: Clock,
    ) -> Self {
        Self {
            inbox: settings.inbox(clients),
            queues: settings.queues(clients),
            sources,
            metrics,
            clock,
        }
    }
}
