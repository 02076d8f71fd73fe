//! The sweeper function: looks at what should have been finished by now, and sends it again.
//!
//! It is what makes "the table is the truth, the queue is a hint" true: a send that failed, a
//! message that was lost, a run that died. Sending again is harmless, because the claim decides.
//! [`sweep`] is one run; [`shard`] reads the index.

pub mod shard;
pub mod sweep;

use std::time::Duration;

use shared::aws::Clients;
use shared::config::{Env, EnvError};
use shared::inbox::Inbox;
use shared::metrics::Metrics;
use shared::queue::Queues;
use shared::source::Sources;
use shared::time::Clock;

/// What the function is told by its environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `INBOX_TABLE`.
    pub inbox_table: String,
    /// `QUEUE_URL`: the standard queue.
    pub queue_url: String,
    /// `FIFO_QUEUE_URL`.
    pub fifo_queue_url: String,
    /// `RETENTION_DAYS`: how long a finished event is remembered.
    pub retention: Duration,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// Names every variable that is missing.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, EnvError> {
        let mut env = Env::new(lookup);
        let settings = Self {
            inbox_table: env.text("INBOX_TABLE", "the inbox table's name"),
            queue_url: env.text("QUEUE_URL", "the standard queue's URL"),
            fifo_queue_url: env.text("FIFO_QUEUE_URL", "the FIFO queue's URL"),
            retention: env.retention(),
        };
        env.finish().map(|()| settings)
    }
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
        settings: &Settings,
        sources: Sources,
        clients: &Clients,
        metrics: Metrics,
        clock: Clock,
    ) -> Self {
        Self {
            inbox: Inbox::new(clients.dynamodb.clone(), &settings.inbox_table, settings.retention),
            queues: Queues::new(clients.sqs.clone(), &settings.queue_url, &settings.fifo_queue_url),
            sources,
            metrics,
            clock,
        }
    }
}
