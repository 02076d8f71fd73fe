//! The least that the ingress's work can cost: the same four exchanges for each event, on plain
//! sockets, with signatures made by hand. No SDK, no TLS, no runtime, no retries, no logs: nothing
//! to deploy, only something to compare with.

mod aws;
mod http;

use std::collections::HashMap;
use std::error::Error;
use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::aws::{Aws, hex};
use crate::http::Connection;

const RUNTIME: &str = "/2018-06-01/runtime/invocation";

fn main() -> Result<(), Box<dyn Error>> {
    let floor = &mut Floor::start()?;
    let mut runtime = Connection::open(&variable("AWS_LAMBDA_RUNTIME_API")?)?;
    loop {
        let next = runtime.exchange("GET", &format!("{RUNTIME}/next"), "", b"")?;
        let id = next.header("lambda-runtime-aws-request-id").ok_or("no request id")?.to_owned();
        let status = floor.receive(&next.body)?;
        let answer = json!({"statusCode": status, "body": "{\"received\":true}"}).to_string();
        let path = format!("{RUNTIME}/{id}/response");
        runtime.exchange("POST", &path, "", answer.as_bytes())?;
    }
}

/// The function, connected.
struct Floor {
    dynamodb: Aws,
    sqs: Aws,
    key: Hmac<Sha256>,
    table: String,
    queue: String,
}

impl Floor {
    fn start() -> Result<Self, Box<dyn Error>> {
        let secret_id = format!("{}/kallglot", variable("SECRETS_PREFIX")?);
        let mut secrets = Aws::connect("secretsmanager", "AWS_ENDPOINT_URL_SECRETS_MANAGER")?;
        let asked = json!({ "SecretId": secret_id });
        let (_, told) = secrets.call("secretsmanager.GetSecretValue", &asked.to_string())?;
        let told: Value = serde_json::from_slice(&told)?;
        let text = told["SecretString"].as_str().ok_or("the secret has no text")?;
        let stored: HashMap<String, Vec<String>> = serde_json::from_str(text)?;
        let secret = stored.get("secrets").and_then(|list| list.first()).ok_or("no secret")?;
        Ok(Self {
            dynamodb: Aws::connect("dynamodb", "AWS_ENDPOINT_URL_DYNAMODB")?,
            sqs: Aws::connect("sqs", "AWS_ENDPOINT_URL_SQS")?,
            key: Hmac::new_from_slice(secret.as_bytes())?,
            table: variable("INBOX_TABLE")?,
            queue: variable("QUEUE_URL")?,
        })
    }

    /// Verify, store, send. Returns the status for the producer.
    fn receive(&mut self, event: &[u8]) -> Result<u16, Box<dyn Error>> {
        let event: HashMap<&str, &RawValue> = serde_json::from_slice(event)?;
        let field = |name: &str| event.get(name).map_or("null", |value| value.get());
        let body: String = serde_json::from_str(field("body"))?;
        let headers: HashMap<&str, String> = serde_json::from_str(field("headers"))?;
        let signature = headers.get("kallglot-signature").ok_or("not signed")?;
        let (time, digest) = signature.split_once(",v1=").ok_or("no v1")?;
        let mut mac = self.key.clone();
        mac.update(time.trim_start_matches("t=").as_bytes());
        mac.update(b".");
        mac.update(body.as_bytes());
        if hex(&mac.finalize().into_bytes()) != digest {
            return Ok(401);
        }
        let event: HashMap<&str, &RawValue> = serde_json::from_str(&body)?;
        let text = |name: &str| event.get(name).map_or("", |value| value.get().trim_matches('"'));
        let (id, kind) = (text("id"), text("type"));
        self.store(id, kind, &body)?;
        let pointer = json!({"source": "kallglot", "event_id": id}).to_string();
        let send = json!({"QueueUrl": self.queue, "MessageBody": pointer});
        match self.sqs.call("AmazonSQS.SendMessage", &send.to_string())? {
            (200, _) => Ok(200),
            (status, _) => Err(format!("SendMessage: {status}").into()),
        }
    }

    fn store(&mut self, id: &str, kind: &str, body: &str) -> Result<(), Box<dyn Error>> {
        let digest = hex(&Sha256::digest(body));
        let put = json!({
            "TableName": self.table,
            "Item": {
                "pk": {"S": format!("kallglot#{id}")},
                "source": {"S": "kallglot"},
                "event_id": {"S": id},
                "event_type": {"S": kind},
                "status": {"S": "pending"},
                "body": {"S": body},
                "body_sha256": {"S": digest},
                "received_at": {"N": "1796054391000"},
                "attempts": {"N": "0"},
                "due_shard": {"S": "kallglot#0"},
                "due_at": {"N": "1796054511000"},
            },
            "ConditionExpression": "attribute_not_exists(pk)",
        });
        match self.dynamodb.call("DynamoDB_20120810.PutItem", &put.to_string())? {
            (200, _) => Ok(()),
            (status, _) => Err(format!("PutItem: {status}").into()),
        }
    }
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}
