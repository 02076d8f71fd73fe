//! The event shapes that Lambda gives for HTTP, read leniently into a `lambda_http` request, and
//! their answers.
//!
//! HTTP API (payload 2.0 and 1.0), function URL, REST API and Application Load Balancer (with and
//! without multi-value headers) carry one request in several spellings. What we do not need is not
//! read, so that nothing about it can cost a signed event: a header with a control character, a null
//! where a map should be, a field that an emulator leaves out. (`lambda_http`'s own reading refuses
//! the whole event for such a header, and panics on a body that is no base64.)
//!
//! What a shape loses before we see it: an HTTP API and a function URL join repeated headers with
//! commas; an ALB without multi-value headers keeps only the last. Names come in any case.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, Method};
use lambda_http::{Body, Request, Response};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::envelope;

/// A request, and how its answer is to be written.
#[derive(Debug)]
pub struct HttpEvent {
    /// The request; its [`Target`] is among the extensions.
    pub request: Request,
    /// The spelling of the answer.
    pub shape: Shape,
}

/// Where a request went, as the event tells it.
#[derive(Clone, Debug)]
pub struct Target {
    /// The path, perhaps with a stage or a base path in front.
    pub path: String,
    /// The body said to be base64 is none, and so is not known.
    pub undecodable: bool,
}

/// The spelling of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// API Gateway with payload 1.0, and REST APIs.
    Gateway,
    /// API Gateway with payload 2.0, and function URLs. `cargo lambda watch` wants `cookies`.
    Gateway2,
    /// A load balancer.
    Balancer,
    /// A load balancer with multi-value headers, which takes no others in the answer.
    BalancerMulti,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'e> {
    http_method: Option<String>,
    raw_path: Option<String>,
    path: Option<String>,
    #[serde(borrow, default)]
    headers: Option<Headers<'e>>,
    #[serde(borrow, default)]
    multi_value_headers: Option<Headers<'e>>,
    #[serde(borrow)]
    body: Option<Cow<'e, str>>,
    is_base64_encoded: Option<bool>,
    #[serde(default)]
    request_context: Option<WireContext>,
}

#[derive(Default, Deserialize)]
struct WireContext {
    http: Option<WireHttp>,
    elb: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct WireHttp {
    method: Option<String>,
    path: Option<String>,
}

/// A map of headers: names with what stands behind them, be it a text, a list or nothing.
struct Headers<'e>(Vec<(Cow<'e, str>, &'e RawValue)>);

impl<'de> Deserialize<'de> for HttpEvent {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(json)?;
        Self::of(wire).ok_or_else(|| {
            D::Error::custom("no HTTP event: neither API Gateway, function URL nor load balancer")
        })
    }
}

impl HttpEvent {
    /// Nothing for an event without a method or a path.
    fn of(wire: Wire<'_>) -> Option<Self> {
        let context = wire.request_context.unwrap_or_default();
        let (method, path) = context.http.map_or((None, None), |http| (http.method, http.path));
        // Payload 2.0 has no `httpMethod`; `cargo lambda watch` writes GET there for every request.
        let method: Method = method.or(wire.http_method)?.parse().ok()?;
        let format_2 = wire.raw_path.is_some();
        let path = wire.raw_path.or(wire.path).or(path)?;
        let shape = match (context.elb, &wire.multi_value_headers) {
            (None, _) if format_2 => Shape::Gateway2,
            (None, _) => Shape::Gateway,
            (Some(_), None) => Shape::Balancer,
            (Some(_), Some(_)) => Shape::BalancerMulti,
        };
        let body = match (wire.body, wire.is_base64_encoded) {
            (None, _) => Some(Body::Empty),
            (Some(text), Some(true)) => STANDARD.decode(text.as_bytes()).ok().map(Body::Binary),
            (Some(text), _) => Some(Body::Text(text.into_owned())),
        };
        let undecodable = body.is_none();
        let mut request = Request::new(body.unwrap_or(Body::Empty));
        *request.method_mut() = method;
        *request.headers_mut() = header_map(wire.multi_value_headers, wire.headers);
        request.extensions_mut().insert(Target { path, undecodable });
        Some(Self { request, shape })
    }
}

/// The multi-value map where there is one; of the plain map, what it has besides. A name or value
/// that HTTP does not allow is left out, and so is what is more than a map of headers holds.
fn header_map(multi: Option<Headers<'_>>, plain: Option<Headers<'_>>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in multi.into_iter().flat_map(|headers| headers.0) {
        let values: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
        for value in values {
            if let Some((name, value)) = header(&name, value) {
                let _ = map.try_append(name, value);
            }
        }
    }
    for (name, value) in plain.into_iter().flat_map(|headers| headers.0) {
        if let Some((name, value)) = header(&name, value)
            && let Ok(slot) = map.try_entry(name)
        {
            slot.or_insert(value);
        }
    }
    map
}

fn header(name: &str, value: &RawValue) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let value = HeaderValue::from_bytes(envelope::text(value)?.as_bytes()).ok()?;
    Some((name, value))
}

impl<'de: 'e, 'e> Deserialize<'de> for Headers<'e> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Headers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of headers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = vec![];
                while let Some(entry) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    entries.push((entry.0.0, entry.1));
                }
                Ok(Headers(entries))
            }
        }
        json.deserialize_map(Entries)
    }
}

#[derive(Deserialize)]
struct Name<'e>(#[serde(borrow)] Cow<'e, str>);

/// An answer as every door takes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAnswer {
    status_code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "pairs")]
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "pairs")]
    multi_value_headers: Vec<(String, [String; 1])>,
    body: String,
    is_base64_encoded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookies: Option<[String; 0]>,
}

impl HttpAnswer {
    /// Writes a response in the spelling of its request.
    pub fn of(response: Response<Body>, shape: Shape) -> Self {
        let (parts, body) = response.into_parts();
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let headers: Vec<_> =
            parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let (headers, multi_value_headers) = match shape {
            Shape::Gateway | Shape::Gateway2 | Shape::Balancer => (headers, vec![]),
            Shape::BalancerMulti => {
                (vec![], headers.into_iter().map(|(name, value)| (name, [value])).collect())
            }
        };
        Self {
            status_code: parts.status.as_u16(),
            status_description: matches!(shape, Shape::Balancer | Shape::BalancerMulti)
                .then(|| parts.status.to_string()),
            headers,
            multi_value_headers,
            body: String::from_utf8_lossy(&body).into_owned(),
            is_base64_encoded: false,
            cookies: (shape == Shape::Gateway2).then_some([]),
        }
    }
}

fn pairs<S: serde::Serializer, V: Serialize>(
    pairs: &[(String, V)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
