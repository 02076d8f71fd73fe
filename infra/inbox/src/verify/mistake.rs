//! The usual mistakes, and what each of them asks for.

use std::fmt::Write as _;

use super::change::Change;
use super::json::Style;
use super::json_orders::Rewrite;
use super::keys::{Form, Whose};
use super::written::Written;

/// One difference between a request as it was captured and the same request as it verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Another secret than the newest of the source.
    Secret(Whose),
    /// The secret became a key in another way than `sources.toml` says.
    Key(Form),
    /// Other bytes than those in the file were signed.
    Body(Change),
    /// The file holds the same JSON as was signed, written otherwise.
    Reserialised(Style),
    /// The same, with what no style can bring back.
    Rewritten(Rewrite),
    /// Something else than `signature.signed` says was signed.
    Signed { really: String, expected: String },
    /// Another function than HMAC-SHA256.
    Function(&'static str),
    /// The signed time is not where it is expected.
    TimeAt { found: String, expected: String },
    /// The signed text holds the time in another unit than the header.
    TimeUnit { signed_millis: bool },
    /// The header's time is in milliseconds.
    Millis,
    /// The signed time is this many seconds behind the time of receipt.
    Stale { secs: u64, tolerance: u64 },
    /// The signed time is this many seconds ahead of it.
    Ahead { secs: u64, tolerance: u64 },
    /// A signed header's value is not where it is expected.
    ValueAt { found: String, expected: String },
    /// The signature is in another header.
    HeaderName { found: String, expected: String },
    /// A header that may come only once is there several times.
    HeaderTwice(String),
    /// A header of the scheme is not there.
    HeaderMissing(String),
    /// The signature is under another tag or prefix.
    Tag { found: String, expected: String },
    /// Something that does not belong there stands around the signature or between its parts.
    Wrapped(String),
    /// The digest is written in another encoding.
    Encoding { found: Written, expected: Written },
    /// Only the start of the digest is there.
    Truncated { characters: usize },
    /// The header breaks the grammar in another way.
    Grammar(&'static str),
}

impl Mistake {
    /// A word for it, which stays the same.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Secret(Whose::Previous(_)) => "previous_secret",
            Self::Secret(_) => "other_secret",
            Self::Key(form) => form.word(),
            Self::Body(change) => change.word(),
            Self::Reserialised(_) | Self::Rewritten(_) => "body_reserialised",
            Self::Signed { .. } => "signed_content",
            Self::Function(_) => "function",
            Self::TimeAt { .. } => "time_elsewhere",
            Self::TimeUnit { .. } => "time_unit",
            Self::Millis => "milliseconds",
            Self::Stale { .. } => "stale",
            Self::Ahead { .. } => "ahead",
            Self::ValueAt { .. } => "value_elsewhere",
            Self::HeaderName { .. } => "header_name",
            Self::HeaderTwice(_) => "header_twice",
            Self::HeaderMissing(_) => "header_missing",
            Self::Tag { .. } => "tag",
            Self::Wrapped(_) => "wrapped",
            Self::Encoding { .. } => "encoding",
            Self::Truncated { .. } => "truncated",
            Self::Grammar(_) => "grammar",
        }
    }

    /// Whether it is in how the signature header is written.
    pub(super) fn is_about_header(&self) -> bool {
        matches!(
            self,
            Self::HeaderName { .. }
                | Self::HeaderTwice(_)
                | Self::HeaderMissing(_)
                | Self::Tag { .. }
                | Self::Wrapped(_)
                | Self::Encoding { .. }
                | Self::Truncated { .. }
                | Self::Grammar(_)
        )
    }

    /// What is different, in one sentence.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Secret(whose) => format!("signed with {whose}"),
            Self::Key(form) => format!("the key was made from the secret in another way: {form}"),
            Self::Body(change) => change.to_string(),
            Self::Reserialised(style) => {
                format!("the body was written anew: what was signed is the same JSON {style}")
            }
            Self::Rewritten(rewrite) => {
                format!("the body was written anew: what was signed is the same JSON {rewrite}")
            }
            Self::Signed { really, expected } => {
                format!("the signature covers {really}, expected {expected}")
            }
            Self::Function(name) => format!("the digest is {name}, expected HMAC-SHA256"),
            Self::TimeAt { found, expected } => {
                format!("the signed time is that of {found}, expected that of {expected}")
            }
            Self::TimeUnit { signed_millis: true } => {
                "the signature was made over the time in milliseconds, the header has seconds"
                    .into()
            }
            Self::TimeUnit { signed_millis: false } => {
                "the signature was made over the time in seconds, the header has milliseconds"
                    .into()
            }
            Self::Millis => "the time is in milliseconds, expected Unix seconds".into(),
            Self::Stale { secs, tolerance } => format!(
                "stale: signed {} before it was received, {} are tolerated",
                duration(*secs),
                duration(*tolerance)
            ),
            Self::Ahead { secs, tolerance } => format!(
                "signed {} after it was received, {} are tolerated",
                duration(*secs),
                duration(*tolerance)
            ),
            Self::ValueAt { found, expected } => {
                format!("the signature covers {found} in the place of {expected}")
            }
            Self::HeaderName { found, expected } => {
                format!("the signature is in the header {found}, expected {expected}")
            }
            Self::HeaderTwice(name) => format!("the header {name} is there more than once"),
            Self::HeaderMissing(name) => format!("the header {name} is not there"),
            Self::Tag { found, expected } => {
                format!("the signature stands {found}, expected {expected}")
            }
            Self::Wrapped(how) => format!("the signature header is not as it was sent: {how}"),
            Self::Encoding { found, expected } => {
                format!("the digest is written as {found}, expected {expected}")
            }
            Self::Truncated { characters } => {
                format!("the digest is cut off after {characters} characters; its start is right")
            }
            Self::Grammar(reason) => format!("the signature header is refused: {reason}"),
        }
    }

    /// What to do about it.
    pub(crate) fn next(&self, source: &str) -> String {
        match self {
            Self::Secret(whose) => whose.next(source),
            Self::Key(form) => form.next(source),
            Self::Body(change) => change.next(),
            Self::Reserialised(_) | Self::Rewritten(_) => {
                "verify the bytes as they came, before any framework parses them; capture them \
                 anew (curl: --data-binary @file)"
                    .into()
            }
            Self::Signed { really, .. } => {
                let mut next = format!("if {source} really signs so, write into sources.toml");
                // Writing to a String cannot fail.
                let _ = write!(next, " under [{source}.signature]: signed = \"{really}\"");
                next
            }
            Self::Function(_) => format!("{source} needs another signature than we can check"),
            Self::TimeAt { found, .. } => format!(
                "if {source} really signs that time, write timestamp = \"{found}\" into \
                 sources.toml"
            ),
            Self::TimeUnit { .. } => {
                "sign the very text that the header carries, in Unix seconds".into()
            }
            Self::Millis => "the sender must write and sign whole seconds since 1970".into(),
            Self::Stale { secs, .. } if is_zone(*secs) => ZONE.into(),
            Self::Ahead { secs, .. } if is_zone(*secs) => ZONE.into(),
            Self::Stale { .. } => format!(
                "if it was captured earlier, give the time of receipt with --at; if {source} \
                 repeats with the first attempt's time, raise tolerance_s in sources.toml"
            ),
            Self::Ahead { .. } => {
                "compare the clocks of sender and receiver; --at gives another time of receipt"
                    .into()
            }
            Self::ValueAt { expected, .. } => {
                format!("send {expected} with the value that was signed")
            }
            Self::HeaderName { expected, .. } => {
                format!("send it as {expected}, or correct `header` in sources.toml")
            }
            Self::HeaderTwice(name) => format!("send {name} once; look for a proxy that adds it"),
            Self::HeaderMissing(name) => {
                format!("capture all headers; if {name} never came, look for a proxy that drops it")
            }
            Self::Tag { .. } => {
                "correct `form` and `version` in sources.toml, or the sender".into()
            }
            Self::Wrapped(_) => "capture the header anew, as it came".into(),
            Self::Encoding { .. } => {
                format!("if {source} really writes it so, correct `encoding` in sources.toml")
            }
            Self::Truncated { .. } => "capture the whole header; logs and terminals cut it".into(),
            Self::Grammar(_) => "compare the header with what the producer documents".into(),
        }
    }
}

const ZONE: &str = "that is a time zone: a local time was taken for UTC, or the other way round";

/// A whole number of half hours, to within a few seconds.
fn is_zone(secs: u64) -> bool {
    let off = secs % 1800;
    (1795..=14 * 3600 + 5).contains(&secs) && (off <= 5 || off >= 1795)
}

/// Seconds for people.
pub(super) fn duration(secs: u64) -> String {
    match secs {
        0..120 => format!("{secs} s"),
        120..7200 => format!("{} min {} s", secs / 60, secs % 60),
        7200..172_800 => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
        _ => format!("{} days", secs / 86_400),
    }
}

/// In the order in which a request is looked at: header, secret, what is signed, body, time.
pub(super) fn sort(mistakes: &mut [Mistake]) {
    mistakes.sort_by_key(|mistake| match mistake {
        _ if mistake.is_about_header() => 0,
        Mistake::Function(_) | Mistake::Secret(_) | Mistake::Key(_) => 1,
        Mistake::Body(_) | Mistake::Reserialised(_) | Mistake::Rewritten(_) => 3,
        Mistake::TimeAt { .. }
        | Mistake::TimeUnit { .. }
        | Mistake::Millis
        | Mistake::Stale { .. }
        | Mistake::Ahead { .. } => 4,
        _ => 2,
    });
}
