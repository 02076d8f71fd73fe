//! Requests in JSON: objects of headers, events of doors, and what tools for HTTP export.

use serde_json::Value;
use serde_json::value::RawValue;
use shared::time::Timestamp;

use super::super::json::entries;
use super::super::keys::unbase64;
use super::{CaptureError, Read};

/// How deep in a document a request is looked for: `log.entries[0].request` of a HAR is at four.
const DEPTH_MAX: usize = 6;
/// Fields that hold a body as text.
const BODIES: [&str; 6] = ["rawBody", "raw_body", "body", "content", "payload", "text"];

/// Reads a document that is JSON.
pub(super) fn read(text: &str) -> Result<Read, CaptureError> {
    let Some(request) = request(text.trim(), None, DEPTH_MAX) else {
        let headers = serde_json::from_str(text).map(|value| pairs(&value)).unwrap_or_default();
        return Ok(Read { headers, ..Read::default() });
    };
    let value: Value = serde_json::from_str(request.text).unwrap_or_default();
    let mut headers = pairs(&value["multiValueHeaders"]);
    for (name, value) in pairs(&value["headers"]) {
        if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            headers.push((name, value));
        }
    }
    let context = &value["requestContext"];
    let epoch = context["timeEpoch"].as_i64().or_else(|| context["requestTimeEpoch"].as_i64());
    let received_at = epoch.map(Timestamp::from_millis).or(request.at);
    Ok(Read { headers, body: body(&value, request.text)?, received_at })
}

/// The body in an event that says how it is encoded; nothing if the text is no such event.
pub(super) fn event_body(text: &str) -> Option<Result<Vec<u8>, CaptureError>> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("isBase64Encoded")?;
    body(&value, text).transpose()
}

/// A request in a document.
struct Request<'t> {
    text: &'t str,
    /// When it began, where a HAR says so around it.
    at: Option<Timestamp>,
}

/// The first object that has headers, a request before anything else.
fn request(text: &str, at: Option<Timestamp>, depth: usize) -> Option<Request<'_>> {
    let deeper = depth.checked_sub(1)?;
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return list.iter().find_map(|value| request(value.get(), at, deeper));
    }
    let mut entries = entries(text)?;
    let of = |wanted: &str| {
        let entry = entries.iter().find(|(name, _)| name.trim_matches('"') == wanted);
        entry.map(|(_, value)| *value)
    };
    let composed = |value: &str| value.starts_with(['{', '[']);
    if of("headers").or_else(|| of("multiValueHeaders")).is_some_and(composed) {
        return Some(Request { text, at });
    }
    let began = of("startedDateTime").and_then(|date| serde_json::from_str::<String>(date).ok());
    let at = began.and_then(|date| shared::envelope::rfc3339(&date)).or(at);
    entries.sort_by_key(|(name, _)| *name != "\"request\"");
    entries.into_iter().find_map(|(_, value)| request(value, at, deeper))
}

fn body(request: &Value, text: &str) -> Result<Option<Vec<u8>>, CaptureError> {
    let undone = |body: &str| unbase64(body).map(Some).ok_or(CaptureError::Undecodable);
    match (&request["body"], request["isBase64Encoded"].as_bool()) {
        (Value::String(body), Some(true)) => return undone(body),
        (Value::Null, _) if request.get("body").is_some() => return Ok(Some(vec![])),
        _ => {}
    }
    // HAR, and Postman's `raw`.
    let data = &request["postData"];
    if let (Some(body), "base64") = (data["text"].as_str(), data["encoding"].as_str().unwrap_or(""))
    {
        return undone(body);
    }
    let texts = BODIES.iter().map(|name| &request[*name]);
    let mut texts = texts.chain([&data["text"], &request["body"]["raw"]]).filter_map(Value::as_str);
    if let Some(text) = texts.next() {
        return Ok(Some(text.into()));
    }
    // Somebody parsed the body: its JSON is as it stands here.
    let event: Option<Parsed<'_>> = serde_json::from_str(text).ok();
    Ok(event.and_then(|event| event.body).map(|body| body.get().into()))
}

#[derive(serde::Deserialize)]
struct Parsed<'e> {
    #[serde(borrow)]
    body: Option<&'e RawValue>,
}

/// Names and values of an object, or of a list of them: `[{"name":…,"value":…}]` or with `key`,
/// `[["n","v"]]`, `["n","v"]`.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let all = |name: &str, value: &Value| -> Vec<(String, String)> {
        let values = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
        values.iter().filter_map(|value| Some((name.to_owned(), text(value)?))).collect()
    };
    match value {
        Value::Object(map) => map.iter().flat_map(|(name, value)| all(name, value)).collect(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let pair = |pair: &[Value]| Some((text(pair.first()?)?, text(pair.get(1)?)?));
            list.chunks(2).filter_map(pair).collect()
        }
        Value::Array(list) => {
            let pair = |entry: &Value| {
                let name = entry.get("name").or_else(|| entry.get("key"));
                let named = name.zip(entry.get("value"));
                let (name, value) = named.or_else(|| entry.get(0).zip(entry.get(1)))?;
                Some((name.as_str()?.to_owned(), text(value)?))
            };
            list.iter().filter_map(pair).collect()
        }
        _ => vec![],
    }
}
