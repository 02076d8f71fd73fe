//! An HTTP request as an event of API Gateway's HTTP API, payload format 2.0.

use std::net::SocketAddr;

use aws_sdk_sqs::primitives::{DateTime, DateTimeFormat};
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::{
    header::{
        CONNECTION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, TRANSFER_ENCODING,
        USER_AGENT,
    },
    http::request::Parts,
};
use serde_json::{Map, Value, json};

/// The one route of the deployed API.
const ROUTE: &str = "POST /webhooks/{source}";

/// The event of the request `parts` and `body`, received from `peer` at `now_ms`.
pub(super) fn event(parts: &Parts, peer: SocketAddr, body: Vec<u8>, now_ms: i64) -> Value {
    let path = parts.uri.path();
    let host = text(&parts.headers, &HOST);
    let domain = host.rsplit_once(':').map_or(host.as_str(), |(domain, _port)| domain);
    let mut event = json!({
        "version": "2.0",
        "routeKey": ROUTE,
        "rawPath": path,
        "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers(&parts.headers, peer),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": domain,
            "domainPrefix": domain.split('.').next(),
            "http": {
                "method": parts.method.as_str(),
                "path": path,
                "protocol": format!("{:?}", parts.version),
                "sourceIp": peer.ip().to_string(),
                "userAgent": text(&parts.headers, &USER_AGENT),
            },
            "requestId": format!("{:032x}", fastrand::u128(..)),
            "routeKey": ROUTE,
            "stage": "$default",
            "time": time(now_ms),
            "timeEpoch": now_ms,
        },
        "isBase64Encoded": false,
    });
    if let Some(source) = path.strip_prefix("/webhooks/").filter(|rest| !rest.contains('/')) {
        event["pathParameters"] = json!({ "source": source });
    }
    let cookies = cookies(&parts.headers);
    if !cookies.is_empty() {
        event["cookies"] = Value::from(cookies);
    }
    // Moved in and not interpolated above: `json!` would copy a body of several megabytes.
    if !body.is_empty() {
        match body_text(&parts.headers, body) {
            Ok(text) => event["body"] = Value::String(text),
            Err(bytes) => {
                event["body"] = Value::String(BASE64_STANDARD.encode(bytes));
                event["isBase64Encoded"] = Value::Bool(true);
            }
        }
    }
    event
}

/// The body as text when its type says text and it is UTF-8; else the bytes again.
fn body_text(headers: &HeaderMap, body: Vec<u8>) -> Result<String, Vec<u8>> {
    let content_type = text(headers, &CONTENT_TYPE);
    if is_text(content_type.split(';').next().unwrap_or_default()) {
        String::from_utf8(body).map_err(|error| error.into_bytes())
    } else {
        Err(body)
    }
}

fn is_text(media_type: &str) -> bool {
    let media_type = media_type.trim().to_ascii_lowercase();
    media_type.starts_with("text/")
        || ["+json", "+xml"].iter().any(|suffix| media_type.ends_with(suffix))
        || ["application/json", "application/javascript", "application/xml"]
            .contains(&media_type.as_str())
}

/// Lower-case names (as the HTTP library keeps them), repeated headers joined with commas, and
/// what a proxy adds; cookies are shown in a list of their own.
fn headers(headers: &HeaderMap, peer: SocketAddr) -> Map<String, Value> {
    let mut shown = Map::new();
    for name in headers.keys() {
        if ![CONNECTION, COOKIE, TRANSFER_ENCODING].contains(name) {
            shown.insert(name.as_str().to_owned(), Value::String(text(headers, name)));
        }
    }
    let forwarded = match shown.get("x-forwarded-for").and_then(Value::as_str) {
        Some(before) => format!("{before}, {}", peer.ip()),
        None => peer.ip().to_string(),
    };
    for (name, value) in
        [("for", forwarded), ("proto", "https".to_owned()), ("port", "443".to_owned())]
    {
        shown.insert(format!("x-forwarded-{name}"), Value::String(value));
    }
    shown
}

/// All values of a header, joined with commas; empty when there is none.
fn text(headers: &HeaderMap, name: &HeaderName) -> String {
    let values = headers.get_all(name).iter();
    let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    values.join(",")
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(COOKIE).iter();
    values
        .flat_map(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            value.split(';').map(|cookie| cookie.trim().to_owned()).collect::<Vec<_>>()
        })
        .filter(|cookie| !cookie.is_empty())
        .collect()
}

/// `12/Mar/2020:19:03:58 +0000`, from the HTTP date `Thu, 12 Mar 2020 19:03:58 GMT`.
fn time(now_ms: i64) -> String {
    let seconds = DateTime::from_secs(now_ms.div_euclid(1_000));
    let date = seconds.fmt(DateTimeFormat::HttpDate).unwrap_or_default();
    match date.split(' ').collect::<Vec<_>>().as_slice() {
        [_, day, month, year, clock, _] => format!("{day}/{month}/{year}:{clock} +0000"),
        _ => date,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_written_as_api_gateway_writes_it() {
        assert_eq!(time(1_583_348_638_390), "04/Mar/2020:19:03:58 +0000");
    }

    #[test]
    fn media_types_are_told_apart() {
        for text in [
            "text/plain",
            "Application/JSON",
            "application/xml",
            "application/problem+json",
            "image/svg+xml",
            " application/javascript ",
        ] {
            assert!(is_text(text), "{text}");
        }
        for binary in ["", "application/octet-stream", "application/x-www-form-urlencoded", "json"]
        {
            assert!(!is_text(binary), "{binary}");
        }
    }
}
