//! The embedded DynamoDB as a function: a request in, an answer out. No socket and no thread, so
//! that to the simulation a call is one step in which no time passes.

use std::fmt;
use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider, SharedHttpClient};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use dynoxide::{Database, DynoxideError};
use local::provision::{Resources, provision};
use local::template::Template;
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};

/// A DynamoDB in memory.
pub(crate) struct Engine {
    database: Database,
}

/// What a service answers.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn http(self) -> HttpResponse {
        let status = self.status.try_into().unwrap();
        let mut response = HttpResponse::new(status, SdkBody::from(self.body));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
        response
    }
}

impl Engine {
    /// An engine with the template's tables in it, and the names of all that the template makes.
    pub(crate) async fn start() -> (Self, Resources) {
        let database = Database::memory().unwrap();
        let setup = Setup(Arc::new(Mutex::new(Self { database: database.clone() })));
        let config = sdk_config("us-east-1".into(), SharedHttpClient::new(setup));
        let clients = Clients::new(&config, CallBudget::BACKGROUND);
        let template = Template::load().unwrap();
        let resources = provision(&template, &clients.dynamodb, &clients.sqs).await.unwrap();
        (Self { database }, resources)
    }

    /// Answers one request.
    pub(crate) fn call(&self, operation: &str, body: &str) -> Answer {
        match self.run(operation, body) {
            Ok(body) => Answer { status: 200, body },
            Err(error) => Answer { status: error.status_code(), body: error.to_json() },
        }
    }

    fn run(&self, operation: &str, body: &str) -> Result<String, DynoxideError> {
        macro_rules! operations {
            ($($name:literal => $method:ident),* $(,)?) => {
                match operation {
                    $($name => {
                        let answer = self.database.$method(serde_json::from_str(body).unwrap())?;
                        Ok(serde_json::to_string(&answer).unwrap())
                    })*
                    other => panic!("{other} is not simulated"),
                }
            };
        }
        operations! {
            "BatchGetItem" => batch_get_item,
            "BatchWriteItem" => batch_write_item,
            "CreateTable" => create_table,
            "DeleteItem" => delete_item,
            "DescribeTable" => describe_table,
            "DescribeTimeToLive" => describe_time_to_live,
            "GetItem" => get_item,
            "PutItem" => put_item,
            "Query" => query,
            "TransactWriteItems" => transact_write_items,
            "UpdateItem" => update_item,
            "UpdateTimeToLive" => update_time_to_live,
        }
    }

    /// [`call`](Self::call) for what cannot fail.
    pub(crate) fn ask(&self, operation: &str, request: &Value) -> Value {
        let answer = self.call(operation, &request.to_string());
        assert_eq!(answer.status, 200, "{operation}: {}", answer.body);
        answer.json()
    }

    /// An item by its key; null if there is none.
    pub(crate) fn item(&self, table: &str, key: &Value) -> Value {
        let request = json!({"TableName": table, "Key": key, "ConsistentRead": true});
        self.ask("GetItem", &request)["Item"].take()
    }
}

/// Configuration for the SDK.
pub(crate) fn sdk_config(region: String, http: SharedHttpClient) -> SdkConfig {
    let credentials = Credentials::new("sim", "sim", None, None, "sim");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url("http://sim")
        .http_client(http)
        .build()
}

/// The HTTP client that makes the tables. Of queues it knows only how they are named.
#[derive(Clone)]
struct Setup(Arc<Mutex<Engine>>);

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Setup")
    }
}

impl HttpClient for Setup {
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

impl HttpConnector for Setup {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap();
        let (service, operation) = target.rsplit_once('.').unwrap();
        let body = std::str::from_utf8(request.body().bytes().unwrap()).unwrap();
        let answer = match service {
            "AmazonSQS" => {
                let request: Value = serde_json::from_str(body).unwrap();
                let url = request["QueueUrl"].as_str().unwrap_or_default();
                let name = request["QueueName"].as_str().or(url.rsplit('/').next());
                let name = name.unwrap_or_default();
                let arn = format!("arn:aws:sqs:us-east-1:000000000000:{name}");
                let body = json!({
                    "QueueUrl": format!("http://sim/000000000000/{name}"),
                    "Attributes": {"QueueArn": arn},
                });
                Answer { status: 200, body: body.to_string() }
            }
            _ => self.0.lock().unwrap().call(operation, body),
        };
        HttpConnectorFuture::ready(Ok(answer.http()))
    }
}
