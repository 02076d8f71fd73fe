//! Captured requests, in the forms in which people have them.

mod curl;
mod document;
mod lines;

use http::{HeaderMap, HeaderName, HeaderValue};
use shared::signature::Raw;
use shared::time::Timestamp;

use super::printed;

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
        "no header in it; known forms: `Name: value` lines, curl -v output, a curl command, a JSON \
         object of headers, a HAR, an event of API Gateway, a function URL or a load balancer"
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
#[derive(Debug, Default)]
struct Read {
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    received_at: Option<Timestamp>,
}

impl Capture {
    /// Reads headers, and the body from its own file or from the same.
    pub(super) fn read(headers: &[u8], body: Option<Vec<u8>>) -> Result<Self, CaptureError> {
        let read = form(headers)?;
        if read.headers.is_empty() {
            return Err(CaptureError::NoHeaders);
        }
        let body = match body {
            // The file of an event may be given for both: the body is in it.
            Some(bytes) => match str::from_utf8(&bytes).ok().and_then(document::event_body) {
                Some(body) => body?,
                None => bytes,
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

/// A file of headers, whatever its form.
fn form(bytes: &[u8]) -> Result<Read, CaptureError> {
    // PowerShell writes UTF-16.
    let utf16 = printed::utf16(bytes).filter(|_| bytes.starts_with(b"\xff\xfe"));
    let bytes = utf16.as_deref().unwrap_or(bytes);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(text) = str::from_utf8(bytes) {
        // Python prints an object of headers with single quotes.
        let dict = printed::python_dict(text.trim());
        let dict = dict.as_deref().and_then(|dict| str::from_utf8(dict).ok());
        for text in [Some(text), dict].into_iter().flatten() {
            if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
                return document::read(text);
            }
        }
        if let Some(read) = curl::read(text) {
            return Ok(read);
        }
    }
    Ok(lines::read(bytes))
}
