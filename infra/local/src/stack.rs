//! Everything running: functions, front door, event source mappings, schedule.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use processor::handler::{Registry, RegistryError, ServicesError};
use shared::aws::{CallBudget, Clients};
use shared::limits::RETENTION_DAYS;
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::Clock;
use tokio::task::JoinSet;

use crate::cloud::{Cloud, SECRETS_PREFIX};
use crate::front::Front;
use crate::functions::{Functions, Here};
use crate::mapping::{BATCH_SIZE_MAX, Mapping};
use crate::provision::Resources;

/// How many batches of one queue are processed at once.
const CONCURRENT_BATCHES: usize = 4;
/// How often expired items are removed.
const TTL_EVERY: Duration = Duration::from_secs(60);

/// Why the functions could not be wired.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The registrations of the handlers hold mistakes.
    #[error(transparent)]
    Handlers(#[from] RegistryError),
    /// The HTTP client for handlers could not be made.
    #[error(transparent)]
    Services(#[from] ServicesError),
}

/// What the functions are made of.
pub struct Parts {
    /// The producers.
    pub sources: Sources,
    /// The handlers.
    pub handlers: Registry,
    /// The clients of the ingress.
    pub ingress: Clients,
    /// The clients of processor and sweeper.
    pub background: Clients,
    /// Where metrics go.
    pub metrics: Metrics,
    /// The time.
    pub clock: Clock,
}

impl Parts {
    /// As deployed: the producers and handlers of the tree, on the embedded services.
    pub fn of(cloud: &Cloud, sources: Sources, metrics: Metrics) -> Self {
        Self {
            sources,
            handlers: processor::handlers::all(),
            ingress: cloud.clients(CallBudget::INGRESS),
            background: cloud.clients(CallBudget::BACKGROUND),
            metrics,
            clock: Clock::system(),
        }
    }

    /// Wires the three functions as their `main`s do.
    ///
    /// # Errors
    /// A mistake in the registrations, or no HTTP client for handlers.
    pub fn wire(self, resources: &Resources) -> Result<Here, StackError> {
        let environment = |name: &str| {
            Some(match name {
                "INBOX_TABLE" => resources.inbox_table.clone(),
                "BUSINESS_TABLE" => resources.business_table.clone(),
                "QUEUE_URL" => resources.queue_url.clone(),
                "FIFO_QUEUE_URL" => resources.fifo_queue_url.clone(),
                "SECRETS_PREFIX" => SECRETS_PREFIX.to_owned(),
                "RETENTION_DAYS" => RETENTION_DAYS.to_string(),
                _ => return None,
            })
        };
        let Self { sources, handlers, ingress, background, metrics, clock } = self;
        let handlers = handlers.finish(&sources)?;
        #[expect(clippy::expect_used, reason = "every variable is given above")]
        let (for_ingress, for_processor, for_sweeper) = (
            ingress::Settings::read(&environment).expect("complete"),
            processor::Settings::read(&environment).expect("complete"),
            sweeper::settings(&environment).expect("complete"),
        );
        Ok(Here {
            ingress: ingress::Ingress::new(
                &for_ingress,
                sources.clone(),
                &ingress,
                metrics.clone(),
                clock.clone(),
            ),
            sweeper: sweeper::Sweeper::new(
                &for_sweeper,
                sources.clone(),
                &background,
                metrics.clone(),
                clock.clone(),
            ),
            processor: processor::Processor::new(
                &for_processor,
                sources,
                handlers,
                &background,
                metrics,
                clock.clone(),
            )?,
            clock,
        })
    }
}

/// The parts that run. Dropping it stops them.
pub struct Running {
    tasks: JoinSet<()>,
    address: Option<SocketAddr>,
}

impl Running {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self { tasks: JoinSet::new(), address: None }
    }

    /// Where deliveries are taken, if they are.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Takes deliveries at `front`.
    pub fn serve(&mut self, front: Front, functions: &Functions) {
        self.address = Some(front.local_addr());
        let functions = functions.clone();
        self.tasks.spawn(front.serve(move |event| {
            let functions = functions.clone();
            async move { functions.ingress(event).await }
        }));
    }

    /// Does for both queues what Lambda's event source mapping does.
    pub fn poll(&mut self, cloud: &Cloud, functions: &Functions) {
        let resources = &cloud.resources;
        // A long poll must not run into the budget of a call.
        let patient =
            CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(30) };
        let queues = [
            (&resources.queue_url, &resources.queue_arn),
            (&resources.fifo_queue_url, &resources.fifo_queue_arn),
        ];
        for (url, arn) in queues {
            let mapping = Mapping {
                sqs: cloud.clients(patient).sqs,
                queue_url: url.clone(),
                queue_arn: arn.clone(),
                batch_size: BATCH_SIZE_MAX,
                concurrency: CONCURRENT_BATCHES,
            };
            let functions = functions.clone();
            self.tasks.spawn(mapping.run(move |event| {
                let functions = functions.clone();
                async move { functions.processor(event).await }
            }));
        }
    }

    /// Lets the sweeper sweep at once, then again and again.
    pub fn sweep(&mut self, every: Duration, functions: &Functions) {
        let functions = functions.clone();
        self.tasks.spawn(async move {
            let mut ticks = tokio::time::interval(every);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = functions.sweeper().await {
                    tracing::warn!(error, "sweep failed; the next one goes on");
                }
            }
        });
    }

    /// Removes what has expired, as DynamoDB's TTL does.
    pub fn expire(&mut self, cloud: &Arc<Cloud>) {
        let cloud = cloud.clone();
        self.tasks.spawn(async move {
            let mut ticks = tokio::time::interval(TTL_EVERY);
            loop {
                ticks.tick().await;
                if let Err(error) = cloud.engines.sweep_ttl().await {
                    tracing::warn!(%error, "expired items not removed");
                }
            }
        });
    }
}
