//! The ingress function: verify, store, enqueue, answer. It runs no business code.
//!
//! In the order of a delivery: [`event`] reads it from what Lambda gives, [`mod@route`] finds the
//! producer, [`receive`] does what the protocol says, [`mod@answer`] turns the outcome into what the
//! producer's contract wants to hear. `main.rs` wires them to the Lambda runtime.

pub mod answer;
pub mod event;
pub mod receive;
pub mod route;

use lambda_http::{Body, LambdaEvent, Request, Response};
use shared::config::{Common, Env, EnvError};
use shared::inbox::{Controls, Inbox};
use shared::metrics::Metrics;
use shared::queue::Queues;
use shared::secret::Secrets;
use shared::signature::Raw;
use shared::source::Sources;
use shared::time::Clock;
use std::convert::Infallible;
use std::time::Duration;
use tracing::Instrument as _;

use crate::answer::answer;
use crate::event::{HttpAnswer, HttpEvent};

/// What the function is told by its environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What every function is told.
    pub common: Common,
    /// `SECRETS_PREFIX`: the secret of a source is `<prefix>/<source>`.
    pub secrets_prefix: String,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// Names every variable that is missing.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, EnvError> {
        let mut env = Env::new(lookup);
        let settings = Self { common: env.common(), secrets_prefix: env.secrets_prefix() };
        env.finish().map(|()| settings)
    }
}

/// The function, wired to its services.
#[derive(Debug)]
pub struct Ingress {
    sources: Sources,
    inbox: Inbox,
    queues: Queues,
    secrets: Secrets,
    controls: Controls,
    metrics: Metrics,
    clock: Clock,
}

impl Ingress {
    /// Wires the function; calls nothing.
    pub fn new(
        settings: &Settings,
        sources: Sources,
        clients: &shared::aws::Clients,
        metrics: Metrics,
        clock: Clock,
    ) -> Self {
        let inbox = settings.common.inbox(clients);
        let queues = settings.common.queues(clients);
        let secrets = Secrets::new(clients.secrets.clone(), &settings.secrets_prefix, &sources);
        let controls = Controls::new(inbox.clone());
        Self { sources, inbox, queues, secrets, controls, metrics, clock }
    }

    /// Opens the connections and loads the secrets, all at once and bounded, while init still runs
    /// at full CPU. What does not work now is done by the first delivery.
    pub async fn warm_up(&self) {
        const WARM_UP: Duration = Duration::from_secs(3);
        let now = self.clock.now();
        let secrets = self.sources.iter().map(|profile| self.secrets.of(profile, now));
        let all = async {
            let (inbox, queues, secrets) = tokio::join!(
                self.inbox.warm_up(),
                self.queues.warm_up(),
                futures_util::future::join_all(secrets)
            );
            for fault in [inbox.err(), queues.err()].into_iter().flatten() {
                tracing::warn!(%fault, "connection not opened in advance");
            }
            for fault in secrets.into_iter().filter_map(Result::err) {
                tracing::warn!(%fault, "secret not loaded in advance");
            }
        };
        if tokio::time::timeout(WARM_UP, all).await.is_err() {
            tracing::warn!("warm-up not finished in time");
        }
    }

    /// Answers one invocation.
    ///
    /// # Errors
    /// None: every outcome has an answer.
    pub async fn invoke(&self, event: LambdaEvent<HttpEvent>) -> Result<HttpAnswer, Infallible> {
        let LambdaEvent { payload: HttpEvent { request, shape }, context } = event;
        let span = tracing::info_span!("invocation", request_id = context.request_id);
        let response = Box::pin(self.respond(request)).instrument(span).await;
        Ok(HttpAnswer::of(response, shape))
    }

    async fn respond(&self, request: Request) -> Response<Body> {
        let began = self.clock.now();
        let target = route::route(&self.sources, &request);
        let profile = target.as_ref().ok().copied();
        let mut raw = raw(request);
        let outcome = match target {
            Ok(profile) => {
                raw.rename(&profile.scheme);
                self.receive(profile, &raw, began).await
            }
            Err(outcome) => outcome,
        };
        let answer = answer(&outcome, profile.map(|profile| &profile.contract));
        self.tell(profile, &outcome, &answer, began);
        answer.into_response()
    }
}

/// The bytes are moved, not copied.
fn raw(request: Request) -> Raw {
    let (parts, body) = request.into_parts();
    let body = match body {
        Body::Text(text) => text.into(),
        Body::Binary(bytes) => bytes.into(),
        _ => bytes::Bytes::new(),
    };
    Raw { headers: parts.headers, body }
}
