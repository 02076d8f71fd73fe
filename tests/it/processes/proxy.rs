//! Between the functions and the embedded services: an HTTP endpoint that stands for all of AWS,
//! lets calls meet faults, and lets processes die at any stage of a call.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::chaos::{Chaos, Fault, REFUSED};
use super::fleet::{Fleet, Process};
use super::journal::Journal;
use super::tally::Stage;
use crate::simulation::faults::step;

/// How likely a process is killed shortly after an answer, which is often shortly before its own.
const AFTERWARDS: f64 = 0.01;
/// How long after the answer, at most.
const AFTERWARDS_US: u64 = 6_000;
/// Steps that tell nothing of an event: every sweep asks them.
const IDLE: [&str; 4] = ["read due", "read control", "queue depth", "table size"];

/// A service of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    DynamoDb,
    Sqs,
    Secrets,
}

/// One call to AWS.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) service: Service,
    pub(crate) step: &'static str,
    pub(crate) request: Value,
    /// The events that it is about, in its own order.
    pub(crate) keys: Vec<String>,
    headers: HeaderMap,
    body: Bytes,
}

/// Faults by the step of the protocol that they met.
pub(crate) type Struck = BTreeMap<(Fault, &'static str), u32>;

/// The endpoint.
pub(crate) struct Proxy {
    /// Where the services are, in the order of [`Service::ALL`].
    services: [String; 3],
    http: reqwest::Client,
    chaos: Arc<Chaos>,
    journal: Arc<Journal>,
    struck: Mutex<Struck>,
}

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection breaks")]
struct Broken;

impl Service {
    pub(crate) const ALL: [Self; 3] = [Self::DynamoDb, Self::Sqs, Self::Secrets];
}

impl Proxy {
    pub(crate) fn new(
        services: [String; 3],
        chaos: Arc<Chaos>,
        journal: Arc<Journal>,
    ) -> Arc<Self> {
        let http = super::http();
        Arc::new(Self { services, http, chaos, journal, struck: Mutex::default() })
    }

    /// The port, before anybody is told of it.
    pub(crate) async fn bind() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Takes calls for ever.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, fleet: Arc<Fleet>) {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            if self.chaos.strikes(REFUSED) {
                self.strikes(Fault::Refused, "connect");
                continue;
            }
            tokio::spawn(self.clone().connection(stream, fleet.clone()));
        }
    }

    pub(crate) fn struck(&self) -> Struck {
        self.struck.lock().unwrap().clone()
    }

    fn strikes(&self, fault: Fault, step: &'static str) {
        *self.struck.lock().unwrap().entry((fault, step)).or_default() += 1;
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, fleet: Arc<Fleet>) {
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| self.clone().respond(request, fleet.clone()));
        // An error is a connection that one of the two ends has broken.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }

    async fn respond(
        self: Arc<Self>,
        request: Request<Incoming>,
        fleet: Arc<Fleet>,
    ) -> Result<Response<Body>, Broken> {
        let (parts, body) = request.into_parts();
        let process = fleet.process(access_key(&parts.headers));
        let body = to_bytes(Body::new(body), usize::MAX).await.map_err(|_| Broken)?;
        let call = Call::read(parts.headers, body);
        let (answer, answered) = oneshot::channel();
        // Once it is under way nothing takes it back: not that the caller has died.
        tokio::spawn(self.travel(call, process, fleet, answer));
        answered.await.map_err(|_| Broken)
    }

    /// A call travels, happens, and its answer travels back, as far as the dice let it.
    async fn travel(
        self: Arc<Self>,
        call: Call,
        process: Option<Arc<Process>>,
        fleet: Arc<Fleet>,
        answered: oneshot::Sender<Response<Body>>,
    ) {
        let fault = self.chaos.fault(call.service);
        if let Some(fault) = fault {
            self.strikes(fault, call.step);
        }
        reach(&fleet, process.as_ref(), call.step, Stage::Asked).await;
        let answer = match fault {
            Some(Fault::Failed) => error(500, "InternalServerError"),
            Some(Fault::Throttled) => error(400, call.throttling()),
            Some(Fault::Swallowed) => {
                self.tell(&call, process.as_ref(), "swallowed");
                // The caller's patience ends it.
                return std::future::pending().await;
            }
            _ => {
                if fault == Some(Fault::Slow) {
                    tokio::time::sleep(self.chaos.slowness()).await;
                }
                self.happen(&call, process.as_ref(), fault).await
            }
        };
        reach(&fleet, process.as_ref(), call.step, Stage::Happened).await;
        if matches!(fault, Some(Fault::Failed | Fault::Throttled)) {
            self.tell(&call, process.as_ref(), "refused");
        }
        if fault == Some(Fault::AnswerLost) {
            return;
        }
        // Nobody may be waiting any more.
        let _ = answered.send(answer);
        let Some(process) = process else { return };
        process.reaches(call.step, Stage::Answered);
        if self.chaos.strikes(AFTERWARDS) {
            let pause = self.chaos.draw(|rng| rng.u64(0..AFTERWARDS_US));
            tokio::time::sleep(Duration::from_micros(pause)).await;
            fleet.kill(&process).await;
        }
    }

    /// The service does it.
    async fn happen(
        &self,
        call: &Call,
        process: Option<&Arc<Process>>,
        fault: Option<Fault>,
    ) -> Response<Body> {
        let url = &self.services[call.service as usize];
        let request = self.http.post(url).headers(call.headers.clone()).body(call.body.clone());
        // The engines are in this process: one that does not answer is gone with the test.
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            let heard = fault.is_none() && process.is_some_and(|process| !process.is_killed());
            self.journal.happened(call, &said, heard);
        }
        let kind = said["__type"].as_str().and_then(|kind| kind.rsplit('#').next());
        let fault = fault.map(|fault| format!(", {fault:?}")).unwrap_or_default();
        self.tell(call, process, &format!("-> {status} {}{fault}", kind.unwrap_or_default()));
        let mut answer = Response::new(Body::from(body));
        *answer.status_mut() = status;
        *answer.headers_mut() = end_to_end(headers);
        answer
    }

    fn tell(&self, call: &Call, process: Option<&Arc<Process>>, what: &str) {
        if !IDLE.contains(&call.step) {
            let name = process.map_or("a process that is gone", |process| &process.name);
            self.journal.note(&call.keys, &format!("{name} {} {what}", call.step));
        }
    }
}

/// A call has come this far; its process may not come further.
async fn reach(fleet: &Fleet, process: Option<&Arc<Process>>, step: &'static str, stage: Stage) {
    if let Some(process) = process {
        process.reaches(step, stage);
        fleet.endangers(process).await;
    }
}

impl Call {
    fn read(headers: HeaderMap, body: Bytes) -> Self {
        let target = headers.get("x-amz-target").unwrap().to_str().unwrap();
        let (service, operation) = target.rsplit_once('.').unwrap();
        let service = match service {
            "AmazonSQS" => Service::Sqs,
            "secretsmanager" => Service::Secrets,
            _ => Service::DynamoDb,
        };
        let request: Value = serde_json::from_slice(&body).unwrap();
        let step = step(operation, &request);
        Self { service, step, keys: keys(&request), request, headers: end_to_end(headers), body }
    }

    fn throttling(&self) -> &'static str {
        match self.service {
            Service::DynamoDb => "ProvisionedThroughputExceededException",
            Service::Sqs | Service::Secrets => "ThrottlingException",
        }
    }
}

/// The events that a request is about: by the row's key, or by the pointer to it.
fn keys(request: &Value) -> Vec<String> {
    let row = [
        &request["Key"]["pk"]["S"],
        &request["Item"]["pk"]["S"],
        &request["TransactItems"][0]["Update"]["Key"]["pk"]["S"],
    ];
    let row = row.into_iter().filter_map(Value::as_str).map(str::to_owned);
    let entries = request["Entries"].as_array().into_iter().flatten();
    let bodies = entries.map(|entry| &entry["MessageBody"]).chain([&request["MessageBody"]]);
    let pointers = bodies.filter_map(Value::as_str).map(|body| {
        let pointer: Value = serde_json::from_str(body).unwrap();
        let part = |name: &str| pointer[name].as_str().unwrap_or_default().to_owned();
        format!("{}#{}", part("source"), part("event_id"))
    });
    row.chain(pointers).collect()
}

/// The process that asks: its name is its access key.
fn access_key(headers: &HeaderMap) -> &str {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let credential = header.and_then(|header| header.split_once("Credential="));
    credential.and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default()
}

/// Without what belongs to one connection.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}

fn error(status: u16, code: &str) -> Response<Body> {
    let body = json!({"__type": format!("com.amazonaws#{code}"), "message": "injected"});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0".parse().unwrap());
    response
}
