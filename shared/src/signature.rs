//! The signature check: raw bytes, headers, secrets and the time in; a match or a reason out.
//!
//! One mechanism serves every scheme that `sources.toml` can describe: a header that carries one or
//! more digests, a template of what was signed, and HMAC-SHA256 (RFC 2104) over exactly those
//! bytes. Comparison is in constant time, and the body is hashed as it came.

mod header;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hmac::Mac as _;
use http::{HeaderMap, HeaderName};

use crate::secret::{Fingerprint, Secret, SecretRule};
use crate::time::Timestamp;

/// How a producer signs.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Other names of the headers below: a delivery that has the first is read as if that were the
    /// second (Svix writes `svix-id` or `webhook-id`).
    pub aliases: Vec<(HeaderName, HeaderName)>,
    /// The header that carries the digests.
    pub header: HeaderName,
    /// How that header is written.
    pub form: Form,
    /// Where the signed time is, if there is one.
    pub timestamp: Option<TimestampAt>,
    /// How far the signed time may be from our clock, either way. Whole seconds.
    pub tolerance: Duration,
    /// What is signed, piece by piece.
    pub signed: Vec<Part>,
    /// How a digest is written.
    pub encoding: Encoding,
    /// How a secret's text becomes a key.
    pub secret: SecretRule,
}

/// The grammar of the signature header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// `t=…,v1=…[,v1=…]`: digests under this tag, everything else but the time ignored.
    Tags(String),
    /// `v1,… [v1,…]`: digests of this version, others ignored (Standard Webhooks).
    Versions(String),
    /// One digest after this prefix (`sha256=`, `v0=`, or nothing).
    Prefix(String),
}

/// Where the signed time is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimestampAt {
    /// Under this tag of the signature header.
    Tag(String),
    /// In a header of its own.
    Header(HeaderName),
}

/// One piece of the signed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These very characters.
    Text(String),
    /// The signed time, as it was written.
    Timestamp,
    /// A header's value.
    Header(HeaderName),
    /// The body.
    Body,
}

/// How a digest is written. Only the canonical spelling counts, but hex may be upper case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 64 hex digits.
    Hex,
    /// Base64 with padding, standard alphabet.
    Base64,
}

/// A delivery as it came: nothing about it is known to be true. Its `Debug` shows none of it.
#[derive(Clone)]
pub struct Raw {
    /// Header names in lower case; values as they came.
    pub headers: HeaderMap,
    /// The body's bytes, base64 of the transport undone.
    pub body: Bytes,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} headers, {} bytes)", self.headers.len(), self.body.len())
    }
}

impl Raw {
    /// Gives aliased headers the names that the scheme knows.
    pub fn rename(&mut self, scheme: &Scheme) {
        for (alias, name) in &scheme.aliases {
            let values: Vec<_> = self.headers.get_all(alias).iter().cloned().collect();
            if !values.is_empty() {
                self.headers.remove(name);
            }
            for value in values {
                self.headers.append(name, value);
            }
        }
    }
}

/// Which secret made the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its fingerprint.
    pub signed_by: Fingerprint,
    /// Only a secret that is not the newest matched: the producer still signs with the old one.
    pub by_older_only: bool,
}

/// Why a delivery is not believed. All of these are answered alike; the reason is for our log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A header that the scheme needs is missing.
    #[error("signature header missing")]
    Missing,
    /// The header does not follow the scheme's grammar.
    #[error("signature header malformed: {0}")]
    Malformed(&'static str),
    /// The signed time is too far from our clock.
    #[error("signed time out of tolerance")]
    OutOfTolerance,
    /// Well formed and in time, but made by none of the secrets over these bytes.
    #[error("signature does not match")]
    Mismatch,
}

impl Refusal {
    /// A word for a metric or a log field.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed(_) => "malformed",
            Self::OutOfTolerance => "out_of_tolerance",
            Self::Mismatch => "mismatch",
        }
    }
}

/// Checks a delivery against the active secrets, newest first.
///
/// # Errors
/// The reason why it is not believed.
pub fn verify(
    scheme: &Scheme,
    secrets: &[Secret],
    raw: &Raw,
    now: Timestamp,
) -> Result<Match, Refusal> {
    let signed = header::read(scheme, &raw.headers)?;
    let (at, time) = signed.time.as_ref().map_or((None, ""), |(at, text)| (Some(*at), text));
    if at.is_some_and(|at| now.secs().abs_diff(at) > scheme.tolerance.as_secs()) {
        return Err(Refusal::OutOfTolerance);
    }
    let mut matched = secrets.iter().enumerate().filter_map(|(age, secret)| {
        let mut mac = secret.mac();
        for part in &scheme.signed {
            match part {
                Part::Text(text) => mac.update(text.as_bytes()),
                Part::Timestamp => mac.update(time.as_bytes()),
                Part::Header(name) => {
                    mac.update(header::value(&raw.headers, name).ok()?.as_bytes());
                }
                Part::Body => mac.update(&raw.body),
            }
        }
        let right = signed.digests.iter().any(|d| mac.clone().verify_slice(d).is_ok());
        right.then(|| Match { signed_by: secret.fingerprint().clone(), by_older_only: age > 0 })
    });
    matched.next().ok_or(Refusal::Mismatch)
}

#[cfg(test)]
#[path = "signature/tests.rs"]
mod tests;
