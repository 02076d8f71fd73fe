//! Faults between the SDK and the engines: below the SDK's own retries, above the network.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// What happens to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Nothing out of the ordinary.
    None,
    /// The service refuses with this code (HTTP 400), and does nothing.
    Refused(&'static str),
    /// The service fails (HTTP 500), and does nothing.
    Failed,
    /// It happens, but the answer is lost with the connection.
    AnswerLost,
    /// It happens this much later.
    Slow(Duration),
    /// Nobody ever answers, and nothing happens.
    Hangs,
}

type Plan = dyn Fn(&str, usize) -> Fault + Send + Sync;

/// An HTTP client for the SDK that asks a plan what happens to each request.
#[derive(Clone)]
pub(crate) struct Faulty {
    inner: SharedHttpClient,
    plan: Arc<Mutex<Arc<Plan>>>,
    calls: Arc<Mutex<HashMap<String, usize>>>,
}

impl Faulty {
    /// Nothing out of the ordinary yet.
    pub(crate) fn new() -> Self {
        let plan: Arc<Plan> = Arc::new(|_, _| Fault::None);
        Self {
            inner: shared::aws::https(),
            plan: Arc::new(Mutex::new(plan)),
            calls: Arc::default(),
        }
    }

    /// From now on this plan: the operation, and how many calls of it there were before.
    pub(crate) fn plan(&self, plan: impl Fn(&str, usize) -> Fault + Send + Sync + 'static) {
        self.calls.lock().unwrap().clear();
        *self.plan.lock().unwrap() = Arc::new(plan);
    }

    /// From now on nothing out of the ordinary.
    pub(crate) fn heal(&self) {
        self.plan(|_, _| Fault::None);
    }

    /// How often an operation was called since the last plan; retries count.
    pub(crate) fn calls(&self, operation: &str) -> usize {
        self.calls.lock().unwrap().get(operation).copied().unwrap_or(0)
    }

    /// How often anything was called since the last plan.
    pub(crate) fn all_calls(&self) -> usize {
        self.calls.lock().unwrap().values().sum()
    }

    fn next(&self, request: &HttpRequest) -> Fault {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let mut calls = self.calls.lock().unwrap();
        let seen = calls.entry(operation.to_owned()).or_default();
        let plan = self.plan.lock().unwrap().clone();
        let fault = plan(operation, *seen);
        *seen += 1;
        fault
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl HttpClient for Faulty {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Connector { faulty: self.clone(), inner })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        None
    }
}

#[derive(Debug)]
struct Connector {
    faulty: Faulty,
    inner: SharedHttpConnector,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let fault = self.faulty.next(&request);
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            match fault {
                Fault::None => inner.call(request).await,
                Fault::Refused(code) => Ok(answer(400, code)),
                Fault::Failed => Ok(answer(500, "InternalServerError")),
                Fault::AnswerLost => {
                    inner.call(request).await?;
                    Err(ConnectorError::io("connection reset".into()))
                }
                Fault::Slow(time) => {
                    tokio::time::sleep(time).await;
                    inner.call(request).await
                }
                Fault::Hangs => std::future::pending().await,
            }
        })
    }
}

fn answer(status: u16, code: &str) -> HttpResponse {
    let body = format!(r#"{{"__type":"com.amazonaws#{code}","message":"injected"}}"#);
    let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}
