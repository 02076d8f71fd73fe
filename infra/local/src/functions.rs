//! The three functions behind their events: JSON in, JSON out, as the Lambda runtime does it.

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_http::{Context, LambdaEvent};
use serde_json::Value;
use shared::limits::{INGRESS_TIMEOUT, PROCESSOR_TIMEOUT, SWEEPER_TIMEOUT};
use shared::time::{Clock, Timestamp};

use ingress::Ingress;
use ingress::event::HttpEvent;
use processor::Processor;
use sweeper::Sweeper;

/// Where events go.
#[derive(Clone)]
pub enum Functions {
    /// To the functions in this process.
    Here(Arc<Here>),
    /// To functions that somebody else runs, `cargo lambda watch` for example.
    Invoked(Invoked),
}

/// The functions in this process.
pub struct Here {
    /// Takes deliveries.
    pub ingress: Ingress,
    /// Takes batches.
    pub processor: Processor,
    /// Takes ticks.
    pub sweeper: Sweeper,
    /// The time by which deadlines are set.
    pub clock: Clock,
}

/// Lambda's invoke endpoint, somewhere on this machine.
#[derive(Clone, Debug)]
pub struct Invoked {
    http: reqwest::Client,
    url: String,
}

impl Invoked {
    /// The endpoint with this URL, which comes before `/2015-03-31/functions/`.
    pub fn new(url: &str) -> Self {
        // An error says that somebody has installed one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // It is on this machine: a proxy for the world outside does not know it.
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
        Self { http, url: url.trim_end_matches('/').to_owned() }
    }

    async fn invoke(&self, function: &str, event: Value) -> Result<Value, String> {
        let url = format!("{}/2015-03-31/functions/{function}/invocations", self.url);
        let answer = self.http.post(&url).json(&event).send().await;
        let answer = answer.map_err(|error| format!("{url} does not answer: {error}"))?;
        let status = answer.status();
        if !status.is_success() || answer.headers().contains_key("x-amz-function-error") {
            return Err(format!("{function} failed ({status})"));
        }
        answer.json().await.map_err(|_| format!("{function} answered no JSON"))
    }
}

impl Functions {
    /// Hands an HTTP event to the ingress.
    ///
    /// # Errors
    /// The function failed; API Gateway would answer 500.
    pub async fn ingress(&self, event: Value) -> Result<Value, String> {
        match self {
            Self::Here(here) => here.ingress(event).await,
            Self::Invoked(invoked) => invoked.invoke("ingress", event).await,
        }
    }

    /// Hands a batch to the processor.
    ///
    /// # Errors
    /// The function failed; the whole batch comes back.
    pub async fn processor(&self, event: Value) -> Result<Value, String> {
        match self {
            Self::Here(here) => here.processor(event).await,
            Self::Invoked(invoked) => invoked.invoke("processor", event).await,
        }
    }

    /// Lets the sweeper sweep.
    ///
    /// # Errors
    /// The sweep was not complete.
    pub async fn sweeper(&self) -> Result<(), String> {
        match self {
            Self::Here(here) => {
                let deadline = here.clock.now().plus(SWEEPER_TIMEOUT);
                let swept = Box::pin(here.sweeper.sweep(deadline)).await;
                swept.map(drop).map_err(|error| error.to_string())
            }
            Self::Invoked(invoked) => {
                invoked.invoke("sweeper", Value::Object(serde_json::Map::new())).await.map(drop)
            }
        }
    }
}

impl Here {
    async fn ingress(&self, event: Value) -> Result<Value, String> {
        // Through text, as the runtime gets it.
        let event: HttpEvent =
            serde_json::from_str(&event.to_string()).map_err(|error| error.to_string())?;
        let context = self.context(INGRESS_TIMEOUT);
        let call = self.ingress.invoke(LambdaEvent::new(event, context));
        let response = tokio::time::timeout(INGRESS_TIMEOUT, call).await;
        match response {
            Ok(Ok(response)) => serde_json::to_value(response).map_err(|error| error.to_string()),
            Ok(Err(never)) => match never {},
            Err(_) => Err("ingress timed out".into()),
        }
    }

    async fn processor(&self, event: Value) -> Result<Value, String> {
        let event: SqsEvent = serde_json::from_value(event).map_err(|error| error.to_string())?;
        let deadline = self.clock.now().plus(PROCESSOR_TIMEOUT);
        let call = Box::pin(self.processor.process(event, deadline));
        match tokio::time::timeout(PROCESSOR_TIMEOUT, call).await {
            Ok(Ok(response)) => serde_json::to_value(response).map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("processor timed out".into()),
        }
    }

    fn context(&self, timeout: Duration) -> Context {
        let mut context = Context::default();
        let deadline: Timestamp = self.clock.now().plus(timeout);
        context.deadline = u64::try_from(deadline.millis()).unwrap_or(0);
        context.request_id = format!("{:016x}", fastrand::u64(..));
        context
    }
}
