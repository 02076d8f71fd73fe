//! Between the SDK and the services: an HTTP client that answers from the engine, the adversarial
//! queues and a map of secrets, and lets every call meet its faults on the way.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::engine::Answer;
use super::faults::{Kind, OF_CALLS, slowness, step};
use super::world::{State, World};

/// The HTTP client of one function instance.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) world: Arc<World>,
    pub(crate) node: u32,
}

/// One call to AWS.
struct Call {
    node: u32,
    service: &'static str,
    operation: String,
    step: &'static str,
    request: Value,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wire({})", self.node)
    }
}

impl HttpClient for Wire {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        None
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let call = Call::read(self.node, &request);
        HttpConnectorFuture::new(exchange(self.world.clone(), call))
    }
}

impl Call {
    fn read(node: u32, request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").unwrap();
        let (service, operation) = target.rsplit_once('.').unwrap();
        let service = match service {
            "AmazonSQS" => "sqs",
            "secretsmanager" => "secrets",
            _ => "dynamodb",
        };
        let request: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let step = step(operation, &request);
        Self { node, service, operation: operation.to_owned(), step, request }
    }

    /// Whose, for the trace; keys with a random part are cut.
    fn about(&self) -> String {
        let request = &self.request;
        let item = &request["TransactItems"][0]["Update"]["Key"]["pk"]["S"];
        let named = [&request["Key"]["pk"]["S"], &request["Item"]["pk"]["S"], item];
        let named = named.iter().find_map(|value| value.as_str());
        let shard = request["ExpressionAttributeValues"][":shard"]["S"].as_str();
        let message = request["MessageBody"].as_str().or(request["ReceiptHandle"].as_str());
        let name = named.or(shard).or(message).unwrap_or_default();
        if name.starts_with("~body#") { "~body".to_owned() } else { name.to_owned() }
    }
}

/// A request travels, happens, and its answer travels back. Once it is under way nothing takes it
/// back: not that the caller waits no longer, nor that it has died.
async fn exchange(world: Arc<World>, call: Call) -> Result<HttpResponse, ConnectorError> {
    let (strike, there, back) = {
        let now = world.now_ms();
        let mut state = world.state();
        state.last_step.insert(call.node, call.step);
        let strike = strike(&mut state, &call, now);
        let there = Duration::from_millis(state.rng.u64(1..12));
        let back = Duration::from_millis(state.rng.u64(1..12));
        let slow = (strike == Some(Kind::Slow)).then(|| slowness(&mut state.rng));
        if let Some(kind) = strike {
            let line = format!("n{} {} {}: {kind:?}", call.node, call.step, call.about());
            state.tell(now, &line);
        }
        (strike, slow.unwrap_or(there), back)
    };
    let (answered, answer) = oneshot::channel();
    tokio::spawn(async move {
        tokio::time::sleep(there).await;
        let said = match strike {
            Some(Kind::RequestLost) => return std::future::pending().await,
            Some(Kind::Refused | Kind::StoreDown) => error(500, "InternalServerError"),
            Some(Kind::Throttled) => error(400, throttling(&call)),
            Some(Kind::Conflict) => conflict(&call),
            _ => happen(&world, call, strike),
        };
        tokio::time::sleep(back).await;
        if strike != Some(Kind::AnswerLost) {
            // Nobody may be waiting any more.
            let _ = answered.send(said);
        }
    });
    match answer.await {
        Ok(answer) => Ok(answer.http()),
        Err(_) => Err(ConnectorError::io("connection reset".into())),
    }
}

fn strike(state: &mut State, call: &Call, now: i64) -> Option<Kind> {
    if !state.steps.is_empty() && !state.steps.contains(&call.step) {
        return None;
    }
    let down = state.outages.iter().find(|outage| {
        outage.service == call.service && (outage.from_ms..outage.to_ms).contains(&now)
    });
    if let Some(kind) = down.map(|outage| outage.kind)
        && state.rng.f64() < 0.95
    {
        state.count(kind, call.step);
        return Some(kind);
    }
    let writes = matches!(call.operation.as_str(), "PutItem" | "UpdateItem" | "TransactWriteItems");
    OF_CALLS.into_iter().find(|kind| {
        let fits = match kind {
            Kind::Conflict => writes,
            Kind::HalfBatch => call.operation == "SendMessageBatch",
            Kind::Invalid => call.operation.starts_with("SendMessage"),
            _ => true,
        };
        fits && state.strikes(*kind, call.step, now)
    })
}

fn throttling(call: &Call) -> &'static str {
    match call.service {
        "dynamodb" => "ProvisionedThroughputExceededException",
        _ => "ThrottlingException",
    }
}

fn conflict(call: &Call) -> Answer {
    if call.operation != "TransactWriteItems" {
        return error(400, "TransactionConflictException");
    }
    let count = call.request["TransactItems"].as_array().map_or(1, Vec::len);
    let mut reasons = vec![json!({ "Code": "None" }); count];
    reasons[count - 1] = json!({"Code": "TransactionConflict", "Message": "injected"});
    let mut answer = error(400, "TransactionCanceledException");
    let mut body = answer.json();
    body["CancellationReasons"] = reasons.into();
    answer.body = body.to_string();
    answer
}

/// The call takes effect, now.
fn happen(world: &World, mut call: Call, strike: Option<Kind>) -> Answer {
    let now = world.now_ms();
    let mut state = world.state();
    for off in state.off {
        if let Some(answer) = off.request(call.step, &mut call.request, now) {
            return answer;
        }
    }
    let mut answer = match call.service {
        "sqs" => super::sqs::answer(&mut state, &call.operation, &call.request, now, strike),
        "secrets" => secret(&state, &call.request),
        _ => state.engine.call(&call.operation, &call.request.to_string()),
    };
    for off in state.off {
        off.answer(call.step, &mut answer);
    }
    let line = format!("n{} {} {} -> {}", call.node, call.step, call.about(), outcome(&answer));
    if !matches!(call.step, "read due" | "read control" | "queue depth" | "table size") {
        state.tell(now, &line);
    }
    if call.service == "dynamodb" && answer.status == 200 {
        super::mirror::observe(&mut state, &call.operation, &call.request, now);
        world.written.notify_waiters();
    }
    if call.service == "sqs" {
        world.queued.notify_waiters();
    }
    answer
}

fn outcome(answer: &Answer) -> String {
    let kind = answer.json()["__type"].as_str().map(str::to_owned);
    let kind = kind.as_deref().and_then(|kind| kind.rsplit('#').next()).unwrap_or("ok").to_owned();
    format!("{} {kind}", answer.status)
}

fn secret(state: &State, request: &Value) -> Answer {
    let id = request["SecretId"].as_str().unwrap_or_default();
    match state.secrets.get(id) {
        Some(text) => Answer {
            status: 200,
            body: json!({"Name": id, "SecretString": text, "VersionId": "v"}).to_string(),
        },
        None => error(400, "ResourceNotFoundException"),
    }
}

pub(super) fn error(status: u16, code: &str) -> Answer {
    let body = json!({"__type": format!("com.amazonaws#{code}"), "message": "injected"});
    Answer { status, body: body.to_string() }
}
