//! Deliveries of the three producers, signed by hand: everything about them can be made wrong.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::shapes::{Request, Shape, Stage};

/// The time that a desk's clock shows at first.
pub(crate) const NOW: i64 = 1_800_000_000;
/// The type of all events that do not say another; the desk's handlers take `job.*`.
pub(crate) const TYPE: &str = "job.done";

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Producer {
    Kudos,
    Kallglot,
    Apiera,
}

pub(crate) use Producer::{Apiera, Kallglot, Kudos};

impl Producer {
    pub(crate) const ALL: [Self; 3] = [Kudos, Kallglot, Apiera];
    /// Those that write `t=…,v1=…` and sign the body's id.
    pub(crate) const TAGGED: [Self; 2] = [Kudos, Kallglot];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kudos => "kudos",
            Kallglot => "kallglot",
            Apiera => "apiera",
        }
    }

    /// The name of the signature header as the producer spells it.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Kudos => "X-Kudos-Signature",
            Kallglot => "Kallglot-Signature",
            Apiera => "Webhook-Signature",
        }
    }

    /// The key under which its deliveries are signed.
    pub(crate) fn key(self) -> &'static [u8] {
        match self {
            Kudos => b"kudos-local-secret",
            Kallglot => b"kallglot-local-secret",
            Apiera => b"apiera-local-secret",
        }
    }

    /// The names of id and type in its bodies.
    pub(crate) fn fields(self) -> (&'static str, &'static str) {
        match self {
            Kudos => ("event_id", "event_type"),
            Kallglot | Apiera => ("id", "type"),
        }
    }

    /// A body with this id, type and payload, each as JSON text.
    pub(crate) fn body(self, id: &str, event_type: &str, data: &str) -> String {
        let (id_name, type_name) = self.fields();
        match self {
            Apiera => data.to_owned(),
            _ => format!(r#"{{"{id_name}":{id},"{type_name}":{event_type},"data":{data}}}"#),
        }
    }

    /// What the answer to an unusable delivery is by the producer's contract.
    pub(crate) fn unusable(self) -> u16 {
        if self == Kudos { 400 } else { 200 }
    }
}

/// One delivery.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) producer: Producer,
    /// The id in the body, or Apiera's `webhook-id`.
    pub(crate) id: String,
    /// What stands as the signed time.
    pub(crate) t: String,
    pub(crate) body: Vec<u8>,
    /// The value of the signature header; nothing leaves the header out.
    pub(crate) signature: Option<String>,
    /// Apiera's type header; nothing leaves it out.
    pub(crate) event_type: Option<String>,
    /// More headers.
    pub(crate) headers: Vec<(String, String)>,
}

impl Post {
    /// An event with a small payload, signed now.
    pub(crate) fn new(producer: Producer, id: &str) -> Self {
        Self::data(producer, id, r#"{"n":1}"#)
    }

    /// An event with this payload, a JSON object's text.
    pub(crate) fn data(producer: Producer, id: &str, data: &str) -> Self {
        let quoted = serde_json::to_string(id).unwrap();
        let body = producer.body(&quoted, &format!("{TYPE:?}"), data);
        Self::bytes(producer, id, body.as_bytes())
    }

    /// Any bytes, signed now. `id` is where the producer has it outside the body.
    pub(crate) fn bytes(producer: Producer, id: &str, body: &[u8]) -> Self {
        let mut post = Self {
            producer,
            id: id.to_owned(),
            t: NOW.to_string(),
            body: body.to_vec(),
            signature: None,
            event_type: Some(TYPE.to_owned()),
            headers: vec![],
        };
        post.sign();
        post
    }

    /// The same, signed at `t` as it is written.
    pub(crate) fn at(mut self, t: &str) -> Self {
        t.clone_into(&mut self.t);
        self.sign();
        self
    }

    /// The same with these digests in place of its own, in this order: `v1=…` or `v1,…` each.
    pub(crate) fn digests(mut self, digests: &[(&str, &str)]) -> Self {
        self.signature = Some(self.written(digests));
        self
    }

    /// The same with this signature header.
    pub(crate) fn signature(mut self, value: &str) -> Self {
        self.signature = Some(value.to_owned());
        self
    }

    /// The same without a signature.
    pub(crate) fn unsigned(mut self) -> Self {
        self.signature = None;
        self
    }

    /// The same signature with other bytes.
    pub(crate) fn carrying(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    /// One more header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The right digest, as the producer writes it.
    pub(crate) fn digest(&self) -> String {
        self.digest_by(self.producer.key())
    }

    /// The digest under another key.
    pub(crate) fn digest_by(&self, key: &[u8]) -> String {
        let mac = self.mac(key);
        if self.producer == Apiera { STANDARD.encode(mac) } else { hex(&mac) }
    }

    /// The 32 bytes of the digest under a key.
    pub(crate) fn mac(&self, key: &[u8]) -> Vec<u8> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        if self.producer == Apiera {
            mac.update(self.id.as_bytes());
            mac.update(b".");
        }
        mac.update(self.t.as_bytes());
        mac.update(b".");
        mac.update(&self.body);
        mac.finalize().into_bytes().to_vec()
    }

    /// The row's key if the delivery is usable.
    pub(crate) fn row(&self) -> String {
        format!("{}#{}", self.producer.name(), self.id)
    }

    /// The row's key if it is not.
    pub(crate) fn unusable_row(&self) -> String {
        format!("{}#sha256:{}", self.producer.name(), hex(&Sha256::digest(&self.body)))
    }

    /// All its headers, as the producer spells them.
    pub(crate) fn all_headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if let Some(signature) = &self.signature {
            add(self.producer.header(), signature);
        }
        if self.producer == Apiera {
            add("Webhook-Id", &self.id);
            add("Webhook-Timestamp", &self.t);
            if let Some(event_type) = &self.event_type {
                add("X-Webhook-Event-Type", event_type);
            }
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// As HTTP.
    pub(crate) fn request(&self) -> Request {
        Request {
            method: "POST".into(),
            path: format!("/webhooks/{}", self.producer.name()),
            stage: Stage::None,
            headers: self.all_headers(),
            body: self.body.clone(),
            base64: true,
        }
    }

    /// As an HTTP API hands it on.
    pub(crate) fn event(&self) -> Value {
        self.request().event(Shape::HttpApi)
    }

    fn sign(&mut self) {
        self.signature = Some(self.written(&[("v1", &self.digest())]));
    }

    fn written(&self, digests: &[(&str, &str)]) -> String {
        match self.producer {
            Apiera => {
                let pairs: Vec<_> =
                    digests.iter().map(|(v, digest)| format!("{v},{digest}")).collect();
                pairs.join(" ")
            }
            _ => {
                let tags: String =
                    digests.iter().map(|(v, digest)| format!(",{v}={digest}")).collect();
                format!("t={}{tags}", self.t)
            }
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
