//! What a handler may use besides its event.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;
use shared::aws::Clients;
use shared::effects::Effects;
use shared::fault::Fault;
use shared::key::{EventKey, SourceName};
use shared::limits::{SECRETS_FRESH, SECRETS_STALE};
use shared::metrics::{Metric, Metrics, Under};
use shared::secret::Secrets;
use shared::source::Sources;
use shared::time::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::HandlerError;

/// One call of a handler to another service.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);

/// One run of a handler.
#[derive(Clone)]
pub struct Context {
    /// The time at which this run began.
    pub now: Timestamp,
    /// The run is given up at this moment.
    pub deadline: Instant,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    pub(crate) key: EventKey,
    pub(crate) services: Arc<Services>,
}

impl Context {
    /// The same on every attempt at this event, and on no other event. Hand it to services that
    /// take one: a call made from a handler may happen again.
    pub fn idempotency_key(&self) -> String {
        self.key.to_string()
    }

    /// No effects yet, on the business table.
    pub fn effects(&self) -> Effects {
        Effects::on(&self.services.business_table)
    }

    /// An item of the business table, read consistently.
    ///
    /// # Errors
    /// DynamoDB did not give it: retryable.
    pub async fn get(
        &self,
        pk: &str,
        sk: &str,
    ) -> Result<Option<HashMap<String, AttributeValue>>, HandlerError> {
        let call = self
            .services
            .dynamodb
            .get_item()
            .table_name(&self.services.business_table)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .consistent_read(true);
        let answer = call.send().await.map_err(|error| Fault::of("GetItem", &error))?;
        Ok(answer.item)
    }

    /// The client for calls to other services: no redirects, ten seconds at most.
    pub fn http(&self) -> &reqwest::Client {
        &self.services.http
    }

    /// The source's API credentials: the JSON of the secret `<prefix>/<source>/api`, at most a
    /// minute old.
    ///
    /// # Errors
    /// The secret is not there (retryable: somebody may put it there) or is no `T`.
    pub async fn credentials<T: DeserializeOwned>(&self) -> Result<T, HandlerError> {
        let text = self.services.credentials(&self.key.source, self.now).await?;
        serde_json::from_str(&text).map_err(|_| {
            HandlerError::retry(format!("secret {}/api is not the JSON expected", self.key.source))
        })
    }

    /// Counts something under this event's source at once. May count again with another attempt.
    pub fn count(&self, metric: Metric) {
        self.services.metrics.count(metric, Under::Source(&self.key.source), self.now);
    }

    /// What is left of this run.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({}, attempt {})", self.key, self.attempt)
    }
}

/// What all runs share.
pub struct Services {
    dynamodb: aws_sdk_dynamodb::Client,
    business_table: String,
    http: reqwest::Client,
    secrets: Secrets,
    metrics: Metrics,
    credentials: Mutex<HashMap<SourceName, (Timestamp, Arc<str>)>>,
}

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("HTTP client for handlers")]
pub struct ServicesError(#[from] reqwest::Error);

impl Services {
    /// Wires them; calls nothing.
    ///
    /// # Errors
    /// The machine has no certificate store that can be read.
    pub fn new(
        business_table: &str,
        secrets_prefix: &str,
        sources: &Sources,
        clients: &Clients,
        metrics: Metrics,
    ) -> Result<Self, ServicesError> {
        // An error says that somebody has installed one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .timeout(HTTP_TIMEOUT)
            .connect_timeout(Duration::from_secs(3))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("webhook-inbox/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            dynamodb: clients.dynamodb.clone(),
            business_table: business_table.to_owned(),
            http,
            secrets: Secrets::new(clients.secrets.clone(), secrets_prefix, sources),
            metrics,
            credentials: Mutex::default(),
        })
    }

    async fn credentials(&self, source: &SourceName, now: Timestamp) -> Result<Arc<str>, Fault> {
        let mut known = self.credentials.lock().await;
        let last = known.get(source).cloned();
        if let Some((at, text)) = &last
            && now.since(*at) < SECRETS_FRESH
        {
            return Ok(text.clone());
        }
        match (self.secrets.text(source, "api").await, last) {
            (Ok(text), _) => {
                let text: Arc<str> = text.into();
                known.insert(source.clone(), (now, text.clone()));
                Ok(text)
            }
            (Err(_), Some((at, text))) if now.since(at) < SECRETS_STALE => Ok(text),
            (Err(fault), _) => Err(fault),
        }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Services({})", self.business_table)
    }
}
