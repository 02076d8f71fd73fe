//! Reading the signature header: digests and the signed time, by the scheme's grammar.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Encoding, Form, Part, Refusal, Scheme, TimestampAt};
use crate::limits::SIGNATURES_MAX;

/// What the headers claim.
#[derive(Debug)]
pub(super) struct Signed {
    /// The digests that may count. One that cannot be decoded is left out: it matches nothing.
    pub(super) digests: Vec<[u8; 32]>,
    /// The signed time in Unix seconds, and the text it was read from.
    pub(super) time: Option<(i64, String)>,
}

pub(super) fn read(scheme: &Scheme, headers: &HeaderMap) -> Result<Signed, Refusal> {
    for part in &scheme.signed {
        if let Part::Header(name) = part {
            value(headers, name)?;
        }
    }
    let text = list(headers, &scheme.header)?;
    let (digests, tagged_time) = match &scheme.form {
        Form::Tags(version) => tags(&text, version, scheme.timestamp.as_ref())?,
        Form::Versions(version) => (versions(&text, version), None),
        Form::Prefix(prefix) => (text.strip_prefix(prefix.as_str()).into_iter().collect(), None),
    };
    let time = match &scheme.timestamp {
        None => None,
        Some(TimestampAt::Tag(_)) => Some(tagged_time.ok_or(Refusal::Malformed("no time"))?),
        Some(TimestampAt::Header(name)) => Some(value(headers, name)?),
    };
    let time =
        time.map(|text| unix_seconds(text).map(|secs| (secs, text.to_owned()))).transpose()?;
    if digests.is_empty() {
        return Err(Refusal::Malformed("no digest of the expected version"));
    }
    if digests.len() > SIGNATURES_MAX {
        return Err(Refusal::Malformed("too many digests"));
    }
    let digests: Vec<_> = digests.into_iter().filter_map(|d| decode(d, scheme.encoding)).collect();
    if digests.is_empty() {
        return Err(Refusal::Malformed("no digest can be decoded"));
    }
    Ok(Signed { digests, time })
}

/// A header's value without the white space around it.
pub(super) fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<&'h str, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Refusal::Missing),
        (_, Some(_)) => Err(Refusal::Malformed("header sent twice")),
        (Some(value), None) => text(value),
    }
}

/// The signature header. Sent twice, its values are one list (RFC 9110, 5.3), and gateways join
/// them with a comma before we see them: both come out the same.
fn list<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Cow<'h, str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let first = text(values.next().ok_or(Refusal::Missing)?)?;
    values.try_fold(Cow::Borrowed(first), |all, next| Ok(format!("{all},{}", text(next)?).into()))
}

fn text(value: &HeaderValue) -> Result<&str, Refusal> {
    value.to_str().map(str::trim).map_err(|_| Refusal::Malformed("not ASCII"))
}

/// `t=…,v1=…`: every element is trimmed, unknown tags are skipped. Two different times would let a
/// fresh one pass the clock while the digest used another.
fn tags<'h>(
    text: &'h str,
    version: &str,
    timestamp: Option<&TimestampAt>,
) -> Result<(Vec<&'h str>, Option<&'h str>), Refusal> {
    let (mut digests, mut time) = (Vec::new(), None);
    for (tag, value) in text.split(',').filter_map(|element| element.trim().split_once('=')) {
        if tag == version {
            digests.push(value);
        } else if matches!(timestamp, Some(TimestampAt::Tag(t)) if t == tag)
            && time.replace(value).is_some_and(|earlier| earlier != value)
        {
            return Err(Refusal::Malformed("two different times"));
        }
    }
    Ok((digests, time))
}

/// `v1,… v1,…`: whatever follows our version, in pairs that white space or a gateway's comma parts.
fn versions<'h>(text: &'h str, version: &str) -> Vec<&'h str> {
    let words = || text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let pairs = words().zip(words().skip(1));
    pairs.filter_map(|(v, digest)| (v == version).then_some(digest)).collect()
}

fn decode(digest: &str, encoding: Encoding) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    match encoding {
        Encoding::Hex => {
            let digits = digest.as_bytes();
            if digits.len() != 64 {
                return None;
            }
            for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
                let nibble = |digit: u8| char::from(digit).to_digit(16);
                *byte = u8::try_from(nibble(pair[0])? << 4 | nibble(pair[1])?).ok()?;
            }
        }
        Encoding::Base64 => {
            let decoded = STANDARD.decode(digest).ok()?;
            bytes = decoded.try_into().ok()?;
        }
    }
    Some(bytes)
}

/// Unix seconds as producers write them: digits, no sign, no leading zero. Milliseconds
/// (13 digits) are read as seconds and so are out of tolerance.
fn unix_seconds(text: &str) -> Result<i64, Refusal> {
    let plain =
        matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit));
    match text.parse() {
        Ok(secs) if plain && text.len() <= 13 => Ok(secs),
        _ => Err(Refusal::Malformed("time is not Unix seconds")),
    }
}
