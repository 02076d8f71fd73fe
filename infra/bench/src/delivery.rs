//! Signed deliveries with realistic bodies, as the events that Lambda gives to the ingress.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use shared::time::Timestamp;

/// The signing secret that the embedded stack gives to Kallglot.
pub const SECRET: &str = "kallglot-local-secret";

/// What comes after the last entry of the body; its text fills up to the size.
const LAST: &str = "],\"summary\":\"";
const WORDS: [&str; 24] = [
    "the",
    "order",
    "has",
    "not",
    "arrived",
    "yet",
    "please",
    "refund",
    "account",
    "number",
    "is",
    "thank",
    "you",
    "for",
    "calling",
    "could",
    "we",
    "move",
    "delivery",
    "to",
    "tuesday",
    "morning",
    "instead",
    "\\\"express\\\"",
];

/// Makes deliveries of Kallglot, each a new event, always the same ones from the same seed.
pub struct Deliveries {
    random: fastrand::Rng,
    run: String,
    made: u64,
}

/// One delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The event's id.
    pub id: String,
    /// The body as it was signed.
    pub body: String,
    /// Its signature, as the header says it.
    signature: String,
    now: Timestamp,
}

impl Delivery {
    /// The event that the ingress gets for it from an HTTP API.
    pub fn event(&self) -> String {
        event(&self.body, &self.signature, self.now)
    }

    /// The same with another body: the signature no longer fits.
    #[must_use]
    pub fn tampered(mut self) -> Self {
        self.body = self.body.replacen("ended", "endet", 1);
        self
    }
}

impl Deliveries {
    /// Ids begin with `run`, so that two runs on one table do not meet.
    pub fn new(run: &str) -> Self {
        Self { random: fastrand::Rng::with_seed(7), run: run.to_owned(), made: 0 }
    }

    /// A new event with a body of this many bytes, and at least what an empty one has.
    pub fn next(&mut self, bytes: usize, now: Timestamp) -> Delivery {
        self.made += 1;
        let id = format!("evt_{}{:08}", self.run, self.made);
        let body = self.body(&id, bytes, now);
        let signature = sign(&body, now);
        Delivery { id, body, signature, now }
    }

    /// JSON as producers write it: about a third of it names, the rest ids, times and words, of
    /// which some repeat.
    fn body(&mut self, id: &str, bytes: usize, now: Timestamp) -> String {
        let at = rfc3339(now.secs());
        let mut body = format!(
            "{{\"id\":\"{id}\",\"type\":\"session.ended\",\"api_version\":\"v1\",\
             \"created_at\":\"{at}\",\"data\":{{\"id\":\"sess_{:x}\",\"object\":\"session\",\
             \"status\":\"ended\",\"timeline\":[",
            self.random.u64(..)
        );
        let mut first = true;
        loop {
            let entry = self.entry(now.secs());
            if body.len() + entry.len() + LAST.len() + 4 > bytes {
                break;
            }
            if !std::mem::take(&mut first) {
                body.push(',');
            }
            body.push_str(&entry);
        }
        body.push_str(LAST);
        while body.len() + 3 < bytes {
            let word = WORDS[self.random.usize(..WORDS.len() - 1)];
            body.push_str(&word[..word.len().min(bytes - body.len() - 3)]);
            if body.len() + 3 < bytes {
                body.push(' ');
            }
        }
        body.push_str("\"}}");
        body
    }

    fn entry(&mut self, now: i64) -> String {
        const KINDS: [&str; 5] =
            ["joined", "left", "speech.recognized", "tool.called", "hold.started"];
        const PEOPLE: [&str; 6] =
            ["agent", "caller", "supervisor", "Zo\\u00eb Martin", "Jos\u{e9} Ruiz", "bot"];
        let at = rfc3339(now - i64::from(self.random.u16(..3600)));
        let mut said = String::new();
        for _ in 0..self.random.usize(6..18) {
            let _ = write!(said, "{} ", WORDS[self.random.usize(..WORDS.len())]);
        }
        format!(
            "{{\"id\":\"tl_{:016x}\",\"kind\":\"{}\",\"participant\":\"{}\",\"at\":\"{at}\",\
             \"offset_ms\":{},\"confidence\":0.{},\"text\":\"{}\"}}",
            self.random.u64(..),
            KINDS[self.random.usize(..KINDS.len())],
            PEOPLE[self.random.usize(..PEOPLE.len())],
            self.random.u32(..3_600_000),
            self.random.u16(..10_000),
            said.trim_end(),
        )
    }
}

/// `Kallglot-Signature` of a body.
fn sign(body: &str, now: Timestamp) -> String {
    let t = now.secs();
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104)")]
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(format!("{t}.").as_bytes());
    mac.update(body.as_bytes());
    let digest = mac.finalize().into_bytes();
    digest.iter().fold(format!("t={t},v1="), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Payload format 2.0 of an HTTP API, with the headers that come with it.
fn event(body: &str, signature: &str, now: Timestamp) -> String {
    let host = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com";
    json!({
        "version": "2.0",
        "routeKey": "POST /webhooks/{source}",
        "rawPath": "/webhooks/kallglot",
        "rawQueryString": "",
        "headers": {
            "accept": "*/*",
            "accept-encoding": "gzip, deflate, br",
            "content-length": body.len().to_string(),
            "content-type": "application/json; charset=utf-8",
            "host": host,
            "kallglot-retry-count": "0",
            "kallglot-signature": signature,
            "kallglot-webhook-id": "whd_01JDXJ6S7X2W6A3S4V5B6N7M8Q",
            "user-agent": "Kallglot-Webhooks/1.0 (+https://kallglot.example/webhooks)",
            "x-amzn-trace-id": "Root=1-674b1f9c-3f1f2d0b6c8d4e5f6a7b8c9d",
            "x-forwarded-for": "203.0.113.17",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "a1b2c3d4e5",
            "domainName": host,
            "domainPrefix": "a1b2c3d4e5",
            "http": {
                "method": "POST",
                "path": "/webhooks/kallglot",
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.17",
                "userAgent": "Kallglot-Webhooks/1.0 (+https://kallglot.example/webhooks)",
            },
            "requestId": "CJ2vHhYQliAEMfA=",
            "routeKey": "POST /webhooks/{source}",
            "stage": "$default",
            "time": "30/Nov/2026:12:00:00 +0000",
            "timeEpoch": now.millis(),
        },
        "pathParameters": {"source": "kallglot"},
        "body": body,
        "isBase64Encoded": false,
    })
    .to_string()
}

/// The batch that the processor gets for these events, from the standard queue with this ARN.
pub fn batch(ids: &[String], arn: &str) -> String {
    let record = |id: &String| {
        json!({
            "messageId": format!("00000000-0000-4000-8000-{:0>12}", &id[id.len().saturating_sub(8)..]),
            "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
            "body": json!({"source": "kallglot", "event_id": id}).to_string(),
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": "1796054391000",
                "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                "ApproximateFirstReceiveTimestamp": "1796054391005",
            },
            "messageAttributes": {},
            "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
            "eventSource": "aws:sqs",
            "eventSourceARN": arn,
            "awsRegion": "us-east-1",
        })
    };
    let records: Vec<Value> = ids.iter().map(record).collect();
    json!({ "Records": records }).to_string()
}

fn rfc3339(secs: i64) -> String {
    use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
    DateTime::from_secs(secs).fmt(DateTimeFormat::DateTime).unwrap_or_default()
}
