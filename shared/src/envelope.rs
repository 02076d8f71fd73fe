//! The few fields of a JSON body that the inbox reads itself, borrowed from its bytes.
//!
//! The rest is skipped, never built: numbers of any size, lone surrogates and deep nesting in the
//! payload are the handler's business. The whole body must still be one JSON object.

use std::borrow::Cow;
use std::fmt;

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::time::Timestamp;

/// Why a body is no envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEnvelope {
    /// The bytes are not UTF-8 (RFC 8259, 8.1).
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// Not JSON, more than one value, or not an object.
    #[error("the body is not one JSON object")]
    NotAnObject,
    /// A field that we read is there twice: two readers could see two different events.
    #[error("a field of the envelope is there twice")]
    FieldTwice,
}

/// Looks the fields up: `paths[i]` gives `found[i]`, each path from the top level down.
///
/// # Errors
/// The body is no envelope.
pub fn fields<'b>(
    body: &'b [u8],
    paths: &[&[String]],
) -> Result<Vec<Option<&'b RawValue>>, NotAnEnvelope> {
    let text = std::str::from_utf8(body).map_err(|_| NotAnEnvelope::NotUtf8)?;
    let names: Vec<&str> = paths.iter().filter_map(|p| p.first().map(String::as_str)).collect();
    let mut found = object(text, &names)?;
    for (path, value) in paths.iter().zip(&mut found) {
        for name in path.iter().skip(1) {
            let inner = value.map(RawValue::get).filter(|text| text.starts_with('{'));
            *value = match inner {
                Some(text) => object(text, &[name])?.pop().flatten(),
                None => None,
            };
        }
    }
    Ok(found)
}

/// A JSON string's text. A lone surrogate has no text.
pub fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(value.get()).ok().map(|Text(text)| text)
}

/// A time as producers write it: RFC 3339 text, or Unix seconds.
pub fn time(value: &RawValue) -> Option<Timestamp> {
    if let Ok(secs) = value.get().parse::<u32>() {
        return Some(Timestamp::from_secs(i64::from(secs)));
    }
    rfc3339(&text(value)?)
}

/// An RFC 3339 time.
pub fn rfc3339(text: &str) -> Option<Timestamp> {
    let time = DateTime::from_str(text, Format::DateTimeWithOffset).ok()?;
    time.to_millis().ok().map(Timestamp::from_millis)
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn object<'b>(text: &'b str, names: &[&str]) -> Result<Vec<Option<&'b RawValue>>, NotAnEnvelope> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut seek = Seek { names, found: vec![None; names.len()], twice: false };
    let read = json.deserialize_map(&mut seek).and_then(|()| json.end());
    match read {
        Err(_) => Err(NotAnEnvelope::NotAnObject),
        Ok(()) if seek.twice => Err(NotAnEnvelope::FieldTwice),
        Ok(()) => Ok(seek.found),
    }
}

struct Seek<'n, 'b> {
    names: &'n [&'n str],
    found: Vec<Option<&'b RawValue>>,
    twice: bool,
}

impl<'b> Visitor<'b> for &mut Seek<'_, 'b> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(KeyBytes(key)) = map.next_key()? {
            let wanted = |name: &&str| name.as_bytes() == key.as_ref();
            if !self.names.iter().any(wanted) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value()?;
            for (name, found) in self.names.iter().zip(&mut self.found) {
                self.twice |= wanted(name) && found.replace(value).is_some();
            }
        }
        Ok(())
    }
}

/// A key as bytes: one with a lone surrogate has no text, but may well stand beside ours.
struct KeyBytes<'b>(Cow<'b, [u8]>);

impl<'b> Deserialize<'b> for KeyBytes<'b> {
    fn deserialize<D: Deserializer<'b>>(json: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'b> Visitor<'b> for Bytes {
            type Value = KeyBytes<'b>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_bytes<E>(self, key: &'b [u8]) -> Result<Self::Value, E> {
                Ok(KeyBytes(key.into()))
            }

            fn visit_bytes<E>(self, key: &[u8]) -> Result<Self::Value, E> {
                Ok(KeyBytes(key.to_vec().into()))
            }
        }
        json.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(body: &str, path: &str) -> Result<Option<String>, NotAnEnvelope> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let found = fields(body.as_bytes(), &[&path])?;
        Ok(found[0].map(|value| value.get().to_owned()))
    }

    #[test]
    fn fields_are_found_and_the_rest_is_skipped() {
        let body = r#"{"data":{"n":1e400,"big":123456789012345678901234567890,"s":"\ud83d"},
            "\ud83d":0, "id":"a", "event":{"type":"b"}, "i\u0064x": null}"#;
        assert_eq!(find(body, "id").unwrap().as_deref(), Some(r#""a""#));
        assert_eq!(find(body, "event.type").unwrap().as_deref(), Some(r#""b""#));
        assert_eq!(find(body, "idx").unwrap().as_deref(), Some("null"));
        for absent in ["type", "id.x", "data.type"] {
            assert_eq!(find(body, absent), Ok(None));
        }
        let deep = format!(r#"{{"id":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(find(&deep, "id").unwrap().as_deref(), Some(r#""a""#));
    }

    #[test]
    fn what_is_not_one_object_is_no_envelope() {
        for body in [
            "",
            "[]",
            "5",
            "\"id\"",
            "{",
            r#"{"id":"a"} {}"#,
            r#"{"v":NaN}"#,
            r#"{"v":-Infinity}"#,
            "\u{feff}{}",
            r#"{"id":"a",}"#,
            "payload=%7B%7D",
            r#"{'id':1}"#,
        ] {
            assert_eq!(find(body, "id"), Err(NotAnEnvelope::NotAnObject), "{body}");
        }
        assert_eq!(fields(b"{\"id\":\"\xff\"}", &[]).unwrap_err(), NotAnEnvelope::NotUtf8);
        for twice in [r#"{"id":"a","id":"a"}"#, r#"{"id":"a","i\u0064":"b"}"#] {
            assert_eq!(find(twice, "id"), Err(NotAnEnvelope::FieldTwice));
        }
        assert_eq!(find(r#"{"x":1,"x":2,"id":"a"}"#, "id").unwrap().as_deref(), Some(r#""a""#));
    }

    #[test]
    fn texts_and_times_are_read_as_producers_write_them() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        assert_eq!(text(&raw(r#""\u00e9""#)).as_deref(), Some("é"));
        assert_eq!(text(&raw(r#""evt_\udc00""#)), None);
        assert_eq!(text(&raw("5")), None);
        let at = Some(Timestamp::from_secs(1_774_523_060));
        for same in [r#""2026-03-26T11:04:20Z""#, r#""2026-03-26T12:04:20+01:00""#, "1774523060"] {
            assert_eq!(time(&raw(same)), at, "{same}");
        }
        for none in ["null", r#""yesterday""#, r#""2026-03-26""#, "-1", "99999999999999"] {
            assert_eq!(time(&raw(none)), None, "{none}");
        }
    }
}
