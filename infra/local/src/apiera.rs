//! A stand-in for Apiera's API, which the product handler asks for current state: tokens, products,
//! the documented rate limit, and switches with which a test makes it slow or broken.

mod bucket;
mod routes;

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::{StatusCode, service::service_fn};
use serde_json::Value;
use tokio::{net::TcpListener, task::AbortHandle, time::Instant};

use self::bucket::Bucket;
use crate::serving;

/// What the API knows and allows.
#[derive(Debug, Clone)]
pub struct Options {
    /// The product calls that are answered in a minute, at least 1. They may come in one burst.
    pub requests_per_minute: u32,
    /// The client that may have a token.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// The audience that it has to ask for.
    pub audience: String,
    /// The organisation that it has to name.
    pub organization: String,
    /// How long a token is good for, in seconds.
    pub token_lifetime_s: u64,
}

impl Default for Options {
    /// The documented limit and lifetime, and credentials for local use.
    fn default() -> Self {
        Self {
            requests_per_minute: 100,
            client_id: "local-client".to_owned(),
            client_secret: "local-client-secret".to_owned(),
            audience: "https://api.apiera.io".to_owned(),
            organization: "org_local".to_owned(),
            token_lifetime_s: 86_400,
        }
    }
}

/// The running API. Dropping the value stops it and closes its connections.
#[derive(Debug)]
pub struct FakeApiera {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The tokens given out, and when each ends.
    tokens: HashMap<String, Instant>,
    /// The products that a test has set; `None` for one that it has deleted.
    products: HashMap<String, Option<Value>>,
    bucket: Bucket,
    delay: Duration,
    failures_left: usize,
    failure: StatusCode,
    token_requests: usize,
    product_requests: usize,
    rate_limited: usize,
}

impl FakeApiera {
    /// Starts the API on a loopback port that the system chooses. Needs a Tokio runtime.
    ///
    /// # Errors
    /// No port can be had.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let state = State {
            tokens: HashMap::new(),
            products: HashMap::new(),
            bucket: Bucket::new(options.requests_per_minute, Instant::now()),
            delay: Duration::ZERO,
            failures_left: 0,
            failure: StatusCode::INTERNAL_SERVER_ERROR,
            token_requests: 0,
            product_requests: 0,
            rate_limited: 0,
        };
        let shared = Arc::new(Shared { options, state: Mutex::new(state) });
        let served = shared.clone();
        let service = move |_peer| {
            let shared = served.clone();
            service_fn(move |request| {
                let shared = shared.clone();
                async move { Ok::<_, Infallible>(routes::respond(request, shared).await) }
            })
        };
        let task = tokio::spawn(serving::accept(listener, service)).abort_handle();
        Ok(Self { address, shared, task })
    }

    /// Where `/oauth/token` and `/v1/products/{uuid}` are found, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes `product` the answer for `uuid`; without this, every id has a product made of the id.
    pub fn set_product(&self, uuid: &str, product: Value) {
        self.state().products.insert(uuid.to_owned(), Some(product));
    }

    /// Makes 404 the answer for `uuid`.
    pub fn delete_product(&self, uuid: &str) {
        self.state().products.insert(uuid.to_owned(), None);
    }

    /// Ends all tokens that were given out, before their time.
    pub fn revoke_tokens(&self) {
        self.state().tokens.clear();
    }

    /// Answers the next `count` product calls with `status` and nothing else. They count as product
    /// requests and use up none of the rate limit.
    pub fn fail_next(&self, count: usize, status: StatusCode) {
        let mut state = self.state();
        state.failures_left = count;
        state.failure = status;
    }

    /// Answers every request only after this time.
    pub fn delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// How many tokens were asked for, with whatever outcome.
    #[must_use]
    pub fn token_requests(&self) -> usize {
        self.state().token_requests
    }

    /// How many products were asked for, with whatever outcome.
    #[must_use]
    pub fn product_requests(&self) -> usize {
        self.state().product_requests
    }

    /// How many of the product requests were answered 429 by the rate limit.
    #[must_use]
    pub fn rate_limited(&self) -> usize {
        self.state().rate_limited
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

impl Drop for FakeApiera {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// No code panics with the lock held half way through a change, so a poisoned one is as good.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
