//! The processor function: claim, run the handler, commit its effects with the row's end.
//!
//! [`batch`] takes an SQS batch apart, [`run`] is the protocol for one event, [`handler`] is what
//! a handler gets and gives, and [`handlers`] is where yours are.

pub mod batch;
pub mod handler;
pub mod handlers;
pub mod run;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use shared::aws::Clients;
use shared::config::{Common, Env, EnvError};
use shared::inbox::{Controls, Inbox};
use shared::key::SourceName;
use shared::limits::BATCH_RECORDS_MAX;
use shared::metrics::{Metrics, TypeLabels};
use shared::queue::Queues;
use shared::source::Sources;
use shared::time::Clock;

use crate::handler::{Handlers, Services, ServicesError};

/// What the function is told by its environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What every function is told.
    pub common: Common,
    /// `BUSINESS_TABLE`: where effects go.
    pub business_table: String,
    /// `SECRETS_PREFIX`: the API credentials of a source are `<prefix>/<source>/api`.
    pub secrets_prefix: String,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// Names every variable that is missing.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, EnvError> {
        let mut env = Env::new(lookup);
        let settings = Self {
            common: env.common(),
            business_table: env.text("BUSINESS_TABLE", "the business table's name"),
            secrets_prefix: env.secrets_prefix(),
        };
        env.finish().map(|()| settings)
    }
}

/// The function, wired to its services.
#[derive(Debug)]
pub struct Processor {
    sources: Sources,
    handlers: Handlers,
    inbox: Inbox,
    queues: Queues,
    controls: Controls,
    services: Arc<Services>,
    labels: HashMap<SourceName, TypeLabels>,
    metrics: Metrics,
    clock: Clock,
}

impl Processor {
    /// Wires the function; calls nothing.
    ///
    /// # Errors
    /// The HTTP client for handlers could not be made.
    pub fn new(
        settings: &Settings,
        sources: Sources,
        handlers: Handlers,
        clients: &Clients,
        metrics: Metrics,
        clock: Clock,
    ) -> Result<Self, ServicesError> {
        let inbox = settings.common.inbox(clients);
        let services = Services::new(
            &settings.business_table,
            &settings.secrets_prefix,
            &sources,
            clients,
            metrics.clone(),
        )?;
        let labels = sources
            .iter()
            .map(|p| (p.name.clone(), TypeLabels::of(p, handlers.types(p.name.as_str()))))
            .collect();
        Ok(Self {
            queues: settings.common.queues(clients),
            controls: Controls::new(inbox.clone()),
            services: Arc::new(services),
            inbox,
            sources,
            handlers,
            labels,
            metrics,
            clock,
        })
    }

    /// Opens the connections while init still runs at full CPU: to DynamoDB as many as a batch uses
    /// at once. After the first they are resumed sessions, which are cheaper.
    pub async fn warm_up(&self) {
        const WARM_UP: Duration = Duration::from_secs(3);
        let inbox = async {
            self.inbox.warm_up().await?;
            try_join_all((1..BATCH_RECORDS_MAX).map(|_| self.inbox.warm_up())).await
        };
        let both = async { tokio::join!(inbox, self.queues.warm_up()) };
        match tokio::time::timeout(WARM_UP, both).await {
            Ok((inbox, queues)) => {
                for fault in [inbox.err(), queues.err()].into_iter().flatten() {
                    tracing::warn!(%fault, "connection not opened in advance");
                }
            }
            Err(_) => tracing::warn!("warm-up not finished in time"),
        }
    }
}
