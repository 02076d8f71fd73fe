//! Deliveries signed as the three producers sign them. Written apart from the code under test, so
//! that the two can only agree by being right.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) const KUDOS_SECRET: &str = "kudos-local-secret";
pub(crate) const KALLGLOT_SECRET: &str = "kallglot-local-secret";
pub(crate) const APIERA_KEY: &str = "apiera-local-secret";

/// One HTTP request of a producer.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) source: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Delivery {
    /// A Kudos event, signed now with the local secret.
    pub(crate) fn kudos(id: &str, event_type: &str, data: &serde_json::Value) -> Self {
        let body = serde_json::json!({"event_id": id, "event_type": event_type, "data": data});
        Self::kudos_body(body.to_string().as_bytes(), &[KUDOS_SECRET], unix_now())
    }

    /// A `payment.succeeded` of tenant `acme`.
    pub(crate) fn payment(id: &str, cents: i64) -> Self {
        let data = serde_json::json!({"tenant": "acme", "amount_cents": cents, "currency": "EUR"});
        Self::kudos(id, "payment.succeeded", &data)
    }

    /// Any bytes, signed as Kudos signs, with one `v1` for each secret.
    pub(crate) fn kudos_body(body: &[u8], secrets: &[&str], t: i64) -> Self {
        Self::tagged("kudos", "X-Kudos-Signature", body, secrets, t)
    }

    /// A Kallglot event that happened at `created_at` (RFC 3339), signed now.
    pub(crate) fn kallglot(
        id: &str,
        event_type: &str,
        created_at: &str,
        data: &serde_json::Value,
    ) -> Self {
        let body = serde_json::json!({
            "id": id, "type": event_type, "api_version": "v1", "created_at": created_at, "data": data,
        });
        Self::kallglot_body(body.to_string().as_bytes())
    }

    /// Any bytes, signed as Kallglot signs.
    pub(crate) fn kallglot_body(body: &[u8]) -> Self {
        Self::tagged("kallglot", "Kallglot-Signature", body, &[KALLGLOT_SECRET], unix_now())
    }

    /// An Apiera event about a product.
    pub(crate) fn apiera(id: &str, event_type: &str, product: &str) -> Self {
        let body = serde_json::json!({ "productUuid": product }).to_string();
        Self::apiera_body(id, event_type, body.as_bytes())
    }

    /// Any bytes, signed as Apiera is taken to sign (Standard Webhooks).
    pub(crate) fn apiera_body(id: &str, event_type: &str, body: &[u8]) -> Self {
        let t = unix_now().to_string();
        let signed = [id.as_bytes(), b".", t.as_bytes(), b".", body].concat();
        let digest = STANDARD.encode(hmac(APIERA_KEY.as_bytes(), &signed));
        let headers = vec![
            ("webhook-id".into(), id.into()),
            ("webhook-timestamp".into(), t),
            ("webhook-signature".into(), format!("v1,{digest}")),
            ("X-Webhook-Event-Type".into(), event_type.into()),
        ];
        Self { source: "apiera", headers, body: body.to_vec() }
    }

    /// One more header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same, with one byte of the body changed after signing.
    pub(crate) fn tampered(mut self) -> Self {
        let last = self.body.len() - 2;
        self.body[last] ^= 1;
        self
    }

    fn tagged(source: &'static str, header: &str, body: &[u8], secrets: &[&str], t: i64) -> Self {
        let signed = [t.to_string().as_bytes(), b".", body].concat();
        let digests = secrets.iter().map(|s| format!(",v1={}", hex(&hmac(s.as_bytes(), &signed))));
        let value = format!("t={t}{}", digests.collect::<String>());
        Self { source, headers: vec![(header.into(), value)], body: body.to_vec() }
    }
}

pub(crate) fn unix_now() -> i64 {
    shared::time::Clock::system().now().secs()
}

/// This moment, as Kallglot writes it.
pub(crate) fn rfc3339_now() -> String {
    rfc3339(unix_now())
}

/// A time in whole seconds, in RFC 3339.
pub(crate) fn rfc3339(secs: i64) -> String {
    use aws_smithy_types::date_time::{DateTime, Format};
    DateTime::from_secs(secs).fmt(Format::DateTime).unwrap()
}

fn hmac(key: &[u8], signed: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(signed);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
