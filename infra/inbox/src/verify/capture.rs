//! Captured requests, in the forms in which people have them.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;
use shared::signature::Raw;
use shared::time::Timestamp;

/// A request as it was captured.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    /// Names and values as they are written, in their order.
    pub(super) headers: Vec<(String, String)>,
    /// The body's bytes, as far as the form says how to get them.
    pub(super) body: Vec<u8>,
    /// When it was received, where the form tells.
    pub(super) received_at: Option<Timestamp>,
}

/// Why a file is no capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CaptureError {
    /// No header in it.
    #[error(
        "no header in it; known forms: `Name: value` lines, curl -i or -v output, a JSON object of \
         headers, an event of API Gateway, a function URL or a load balancer"
    )]
    NoHeaders,
    /// The body is nowhere.
    #[error("holds no body; give its file with --body")]
    NoBody,
    /// The event says base64, and it is none.
    #[error("its body is said to be base64 and is none")]
    Undecodable,
}

/// What a file of headers holds.
struct Read {
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    received_at: Option<Timestamp>,
}

impl Capture {
    /// Reads headers, and the body from its own file or from the same.
    pub(super) fn read(headers: &[u8], body: Option<Vec<u8>>) -> Result<Self, CaptureError> {
        let read = match serde_json::from_slice::<Value>(headers) {
            Ok(value) => event(&value, headers)?,
            Err(_) => lines(headers),
        };
        if read.headers.is_empty() {
            return Err(CaptureError::NoHeaders);
        }
        let body = match body {
            // The file of an event may be given for both: the body is in it.
            Some(bytes) => match serde_json::from_slice::<Value>(&bytes) {
                Ok(value) if value.get("isBase64Encoded").is_some() => {
                    event(&value, &bytes)?.body.unwrap_or(bytes)
                }
                _ => bytes,
            },
            None => read.body.ok_or(CaptureError::NoBody)?,
        };
        Ok(Self { headers: read.headers, body, received_at: read.received_at })
    }

    /// The request as the functions get it: headers that HTTP does not allow are left out.
    pub(super) fn raw(&self) -> Raw {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), HeaderValue::from_str(value))
            {
                let _ = headers.try_append(name, value);
            }
        }
        Raw { headers, body: self.body.clone().into() }
    }

    /// The values of a header, whatever the case of its name.
    pub(super) fn values<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c str> {
        let same = move |(n, _): &&(String, String)| n.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(_, value)| value.as_str())
    }
}

/// An event of a door of ours, or an object of headers.
fn event(value: &Value, text: &[u8]) -> Result<Read, CaptureError> {
    let plain = value.get("headers").filter(|headers| headers.is_object());
    let multi = value.get("multiValueHeaders").filter(|headers| headers.is_object());
    if plain.is_none() && multi.is_none() {
        return Ok(Read { headers: pairs(value), body: None, received_at: None });
    }
    let mut headers = multi.map(pairs).unwrap_or_default();
    for (name, value) in plain.map(pairs).unwrap_or_default() {
        if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            headers.push((name, value));
        }
    }
    let body = match (&value["body"], value["isBase64Encoded"].as_bool()) {
        (Value::String(text), Some(true)) => {
            Some(super::keys::unbase64(text).ok_or(CaptureError::Undecodable)?)
        }
        (Value::String(text), _) => Some(text.clone().into()),
        (Value::Null, _) => value.get("body").map(|_| vec![]),
        // Somebody parsed the body: its JSON is as it stands here.
        _ => {
            let event: Option<Parsed<'_>> = serde_json::from_slice(text).ok();
            event.and_then(|event| event.body).map(|body| body.get().into())
        }
    };
    let context = &value["requestContext"];
    let epoch = context["timeEpoch"].as_i64().or_else(|| context["requestTimeEpoch"].as_i64());
    Ok(Read { headers, body, received_at: epoch.map(Timestamp::from_millis) })
}

#[derive(serde::Deserialize)]
struct Parsed<'e> {
    #[serde(borrow)]
    body: Option<&'e RawValue>,
}

/// Names and values of an object, or of a list of them (`[{"name":…,"value":…}]`, `[["n","v"]]`).
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
        Value::Array(list) => {
            let pair = |entry: &Value| {
                let named = entry.get("name").zip(entry.get("value"));
                let (name, value) = named.or_else(|| entry.get(0).zip(entry.get(1)))?;
                Some((name.as_str()?.to_owned(), text(value)?))
            };
            list.iter().filter_map(pair).collect()
        }
        _ => vec![],
    }
}

/// `Name: value` lines as curl, wget, proxies and debuggers show them; a body may follow.
fn lines(bytes: &[u8]) -> Read {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut headers: Vec<(String, String)> = vec![];
    let (mut rest, mut body) = (bytes, None);
    while !rest.is_empty() {
        let end = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\r', '\n']);
        let folded = line.starts_with([' ', '\t']) && !headers.is_empty();
        if let Some((_, last)) = headers.last_mut().filter(|_| folded && !line.trim().is_empty()) {
            last.push(' ');
            last.push_str(line.trim());
        } else if let Some(header) = header(line) {
            headers.push(header);
        } else if line.trim().is_empty() && !headers.is_empty() {
            body = Some(rest.to_vec()).filter(|body| !body.is_empty());
            break;
        }
    }
    Read { headers, body, received_at: None }
}

/// One line; `curl -v` marks what it sends, and `-H '…'` is how it was told to.
fn header(line: &str) -> Option<(String, String)> {
    let line = line.trim().trim_end_matches('\\').trim();
    let line = line.strip_prefix("> ").or_else(|| line.strip_prefix("< ")).unwrap_or(line);
    let told = line.strip_prefix("-H ").or_else(|| line.strip_prefix("--header "));
    let line = told.map_or(line, |told| told.trim().trim_matches(['\'', '"']));
    let (name, value) = line.split_once(':')?;
    let name = name.trim().trim_matches('"');
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let fits = !name.is_empty() && name.bytes().all(is_name);
    fits.then(|| (name.to_owned(), value.trim().to_owned()))
}
