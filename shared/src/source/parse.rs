//! From the text of `sources.toml` to profiles, or to every mistake in it at once.

mod section;

use std::fmt;
use std::time::Duration;

use http::{HeaderName, StatusCode};
use toml::de::DeTable;

use self::section::{Reader, Section};
use super::profile::{
    Attempt, Contract, EventRule, Field, Handshake, IdRule, Ordering, Profile, Retries, TypePattern,
};
use crate::key::SourceName;
use crate::secret::SecretRule;
use crate::signature::{Encoding, Form, Part, Scheme, TimestampAt};

/// One mistake in `sources.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub what: String,
}

/// Every mistake in `sources.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcesError(pub Vec<Mistake>);

impl std::error::Error for SourcesError {}

impl fmt::Display for SourcesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sources.toml cannot be used:")?;
        self.0.iter().try_for_each(|m| write!(f, "\n  line {}: {}", m.line, m.what))
    }
}

pub(super) fn sources(text: &str) -> Result<Vec<Profile>, SourcesError> {
    let reader = Reader::new(text);
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in &broken {
        reader.mistake(error.span().map_or(0, |s| s.start), error.message().to_owned());
    }
    let mut profiles = Vec::new();
    let root = Section::root(&reader, table.get_ref());
    if broken.is_empty() {
        let presets = root.table("presets");
        for section in root.sections().filter(|section| section.name() == "presets") {
            // Each is read once for the sake of its mistakes.
            section.sections().for_each(|preset| drop(preset.whole(profile)));
        }
        for section in root.sections().filter(|section| section.name() != "presets") {
            let preset = section.optional("preset", |name| preset(presets, name));
            profiles.extend(section.on(preset).whole(profile));
        }
        if profiles.is_empty() && reader.is_clean() {
            reader.mistake(0, "no producer: write a table like [kudos]".into());
        }
    }
    reader.finish().map(|()| profiles).map_err(SourcesError)
}

fn preset<'a>(presets: Option<&'a DeTable<'a>>, name: &str) -> Result<&'a DeTable<'a>, String> {
    let found = presets.and_then(|presets| presets.get(name)?.get_ref().as_table());
    found.ok_or_else(|| {
        let known = presets.into_iter().flat_map(DeTable::keys).map(|key| key.get_ref().as_ref());
        format!("no preset {name:?}; there are {}", known.collect::<Vec<&str>>().join(", "))
    })
}

fn profile(section: &Section<'_>) -> Option<Profile> {
    let name = SourceName::parse(section.name());
    if let Err(error) = &name {
        section.mistake(format!("source name {:?} {error}; use [a-z0-9-]", section.name()));
    }
    let title = section.text("title");
    let ordering =
        section.word("ordering", &[("none", Ordering::None), ("per_type", Ordering::PerType)]);
    let scheme = section.section("signature").and_then(|s| s.whole(scheme));
    let event = section.section("event").and_then(|s| s.whole(event));
    let contract = section.section("contract").and_then(|s| s.whole(contract));
    let unsigned = scheme.as_ref().zip(event.as_ref()).is_some_and(|(scheme, event)| {
        !event.id.is_signed_by(scheme) && event.unsigned_id.is_none()
    });
    if unsigned {
        section.mistake(
            "event.id is a header that signature.signed does not cover: anyone who holds one signed \
             body can replay it under new ids; sign it, use \"digest\", or accept the risk by \
             writing its reason into event.unsigned_id"
                .into(),
        );
    }
    Some(Profile {
        name: name.ok()?,
        title: title?,
        scheme: scheme?,
        event: event?,
        contract: contract?,
        ordering: ordering?,
    })
}

fn scheme(s: &Section<'_>) -> Option<Scheme> {
    let header = s.parsed("header", header_name);
    let aliases = s.optional_section("aliases").map_or(vec![], |s| s.pairs(header_name));
    let form = s.word::<fn(String) -> Form>(
        "form",
        &[("tags", Form::Tags), ("versions", Form::Versions), ("prefix", Form::Prefix)],
    );
    let version = s.text("version");
    let timestamp = s.optional("timestamp", timestamp_at);
    let signed = s.parsed("signed", template);
    let encoding = s.word("encoding", &[("hex", Encoding::Hex), ("base64", Encoding::Base64)]);
    let secret = s.word("secret", &[("text", SecretRule::Text), ("base64", SecretRule::Base64)]);
    let tolerance =
        if timestamp.is_some() { s.number("tolerance_s", 1, 7 * 86_400) } else { Some(0) };
    let scheme = Scheme {
        aliases: aliases
            .into_iter()
            .filter_map(|(from, to)| Some((from.parse().ok()?, to)))
            .collect(),
        header: header?,
        form: form?(version?),
        timestamp,
        tolerance: Duration::from_secs(u64::from(tolerance?)),
        signed: signed?,
        encoding: encoding?,
        secret: secret?,
    };
    let tagged_time = matches!(scheme.timestamp, Some(TimestampAt::Tag(_)));
    if tagged_time && !matches!(scheme.form, Form::Tags(_)) {
        s.mistake_at("timestamp", "only form \"tags\" has tags".into());
    }
    if scheme.timestamp.is_some() != scheme.signed.contains(&Part::Timestamp) {
        s.mistake_at("signed", "{timestamp} and `timestamp` go together".into());
    }
    if scheme.signed.iter().filter(|p| **p == Part::Body).count() != 1 {
        s.mistake_at("signed", "{body} must be signed, once".into());
    }
    Some(scheme)
}

fn event(s: &Section<'_>) -> Option<EventRule> {
    let id = s.parsed("id", |text| match text {
        "digest" => Ok(IdRule::Digest),
        _ => field(text).map(IdRule::At),
    });
    let id_copy = s.optional("id_copy", |text| match field(text)? {
        Field::Header(name) => Ok(name),
        Field::Body(_) => Err("must be header:name".into()),
    });
    let event_type = s.parsed("type", field);
    let time = s.optional("time", |text| match field(text)? {
        body @ Field::Body(_) => Ok(body),
        Field::Header(_) => Err("must be body:field, so that it is signed".into()),
    });
    let payload = s.optional("payload", |text| Ok(text.to_owned()));
    let attempt = s.optional_section("attempt").and_then(|s| s.whole(attempt));
    let fallback_id = s.optional_section("fallback_id").map_or(vec![], |s| s.pairs(header_name));
    let unsigned_id = s.optional("unsigned_id", |text| Ok(text.to_owned()));
    let handshake = s.optional_section("handshake").and_then(|s| s.whole(handshake));
    Some(EventRule {
        unsigned_id,
        handshake,
        fallback_id,
        id_copy,
        time,
        payload,
        attempt,
        types: s.list("types"),
        ignored: s.list("ignored").iter().map(|p| TypePattern::parse(p)).collect(),
        id: id?,
        event_type: event_type?,
    })
}

fn attempt(s: &Section<'_>) -> Option<Attempt> {
    let (name, first) = (s.parsed("header", header_name), s.number("first", 0, 1));
    Some(Attempt { header: name?, first: first? })
}

fn handshake(s: &Section<'_>) -> Option<Handshake> {
    let path = |text: &str| match field(text)? {
        Field::Body(path) => Ok(path),
        Field::Header(_) => Err("must be body:field, so that it is signed".into()),
    };
    let (field, value, echo) = (s.parsed("field", path), s.text("value"), s.parsed("echo", path));
    Some(Handshake { field: field?, value: value?, echo: echo? })
}

fn contract(s: &Section<'_>) -> Option<Contract> {
    let seconds = s.number("timeout_s", 2, 3600);
    let retries = Retries::parse(&s.list("retries"));
    if let Err(bad) = &retries {
        s.mistake_at("retries", format!("{bad:?} is no status like \"429\" or class like \"5xx\""));
    }
    let unusable = s.number("unusable", 200, 499);
    let gone = s.flag("gone");
    let timeout = Duration::from_secs(u64::from(seconds?));
    let retries = retries.ok()?;
    let never = retries == Retries::default();
    if !never && !retries.include(StatusCode::SERVICE_UNAVAILABLE) {
        let why = "must include \"5xx\" or \"503\", our answer when we could not store \
                   ([]: it never delivers again by itself)";
        s.mistake_at("retries", why.into());
    }
    let unusable = StatusCode::from_u16(u16::try_from(unusable?).ok()?).ok()?;
    if !unusable.is_success() && (unusable == StatusCode::GONE || !unusable.is_client_error()) {
        s.mistake_at("unusable", "must be a 2xx, or a 4xx other than 410".into());
    }
    Some(Contract { timeout, retries, unusable, gone })
}

impl Retries {
    fn parse(texts: &[String]) -> Result<Self, String> {
        let mut retries = Self::default();
        for text in texts {
            let digits = text.strip_suffix("xx").unwrap_or(text);
            match (digits.len(), text.len(), digits.parse()) {
                (3, 3, Ok(code @ 300..=599)) => retries.codes.push(code),
                (1, 3, Ok(class @ 3..=5)) => retries.classes.push(class),
                _ => return Err(text.clone()),
            }
        }
        Ok(retries)
    }
}

fn header_name(text: &str) -> Result<HeaderName, String> {
    text.to_ascii_lowercase().parse().map_err(|_| format!("{text:?} is no header name"))
}

fn field(text: &str) -> Result<Field, String> {
    match text.split_once(':') {
        Some(("header", name)) => header_name(name).map(Field::Header),
        Some(("body", path)) if path.split('.').all(|name| !name.is_empty()) => {
            Ok(Field::Body(path.split('.').map(str::to_owned).collect()))
        }
        _ => Err(format!("{text:?} is neither \"body:field\" nor \"header:name\"")),
    }
}

fn timestamp_at(text: &str) -> Result<TimestampAt, String> {
    match text.split_once(':') {
        Some(("tag", tag)) if !tag.is_empty() => Ok(TimestampAt::Tag(tag.to_owned())),
        Some(("header", name)) => header_name(name).map(TimestampAt::Header),
        _ => Err(format!("{text:?} is neither \"tag:t\" nor \"header:name\"")),
    }
}

fn template(text: &str) -> Result<Vec<Part>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((plain, after)) = rest.split_once('{') {
        let (hole, after) = after.split_once('}').ok_or("a { is not closed")?;
        if !plain.is_empty() {
            parts.push(Part::Text(plain.to_owned()));
        }
        parts.push(match hole.split_once(':') {
            None if hole == "body" => Part::Body,
            None if hole == "timestamp" => Part::Timestamp,
            Some(("header", name)) => Part::Header(header_name(name)?),
            _ => {
                return Err(format!("{{{hole}}} is none of {{body}}, {{timestamp}}, {{header:…}}"));
            }
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
