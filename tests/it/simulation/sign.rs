//! Deliveries as the three producers sign them, at the virtual time. Written apart from the code
//! under test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::producer::Producer;

/// What is delivered, whichever attempt it is.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub(crate) producer: Producer,
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) body: String,
}

/// The secret a run begins with, as the producer keeps it.
pub(crate) fn first_secret(producer: Producer) -> String {
    format!("{}-local-secret", producer.source())
}

/// The same as our secret store keeps it.
pub(crate) fn stored(producer: Producer, secrets: &[String]) -> String {
    let written = |text: &String| match producer {
        Producer::Apiera => format!("whsec_{}", STANDARD.encode(text)),
        Producer::Kudos | Producer::Kallglot => text.clone(),
    };
    json!({ "secrets": secrets.iter().map(written).collect::<Vec<_>>() }).to_string()
}

impl Payload {
    /// The event of API Gateway's HTTP API for attempt number `attempt`, from 1.
    pub(crate) fn request(
        &self,
        secrets: &[String],
        attempt: usize,
        now_ms: i64,
        first_ms: i64,
    ) -> Value {
        let t = (now_ms / 1000).to_string();
        let mut headers = serde_json::Map::new();
        let mut set = |name: &str, value: String| drop(headers.insert(name.into(), value.into()));
        set("content-type", "application/json".into());
        match self.producer {
            Producer::Kudos => {
                set("x-kudos-signature", self.tagged(secrets, &t));
                set("x-kudos-event-id", self.id.clone());
                if attempt > 1 {
                    set("x-kudos-delivery-attempt", attempt.to_string());
                    set("x-kudos-original-event-id", self.id.clone());
                    set("x-kudos-first-sent-at", rfc3339(first_ms / 1000));
                }
            }
            Producer::Kallglot => {
                set("kallglot-signature", self.tagged(&secrets[..1], &t));
                set("kallglot-webhook-id", format!("wh_del_{}", self.id));
                set("kallglot-retry-count", (attempt - 1).to_string());
                set("kallglot-original-timestamp", (first_ms / 1000).to_string());
            }
            Producer::Apiera => {
                let signed = format!("{}.{t}.{}", self.id, self.body);
                let digest = STANDARD.encode(hmac(&secrets[0], &signed));
                set("webhook-id", self.id.clone());
                set("webhook-timestamp", t);
                set("webhook-signature", format!("v1,{digest}"));
                set("x-webhook-event-type", self.event_type.clone());
            }
        }
        let path = format!("/webhooks/{}", self.producer.source());
        json!({
            "version": "2.0",
            "rawPath": path,
            "headers": headers,
            "requestContext": {"http": {"method": "POST", "path": path}, "stage": "$default"},
            "body": self.body,
            "isBase64Encoded": false,
        })
    }

    fn tagged(&self, secrets: &[String], t: &str) -> String {
        let signed = format!("{t}.{}", self.body);
        let digests = secrets.iter().map(|secret| format!(",v1={}", hex(&hmac(secret, &signed))));
        format!("t={t}{}", digests.collect::<String>())
    }
}

/// A time in whole seconds, as producers write it.
pub(crate) fn rfc3339(secs: i64) -> String {
    use aws_smithy_types::date_time::{DateTime, Format};
    DateTime::from_secs(secs).fmt(Format::DateTime).unwrap()
}

fn hmac(key: &str, signed: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
