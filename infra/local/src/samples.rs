//! One signed delivery of each producer as a `curl` line that needs nothing but openssl.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use shared::secret::SecretRule;
use shared::signature::{Encoding, Form, Part, Scheme, TimestampAt};
use shared::source::{Field, IdRule, Profile};
use shared::time::Timestamp;

use crate::cloud::local_secret;

/// A body to try a producer with, and its event type. `id` makes the event its own; a producer that
/// is not known here gets a body made from its profile.
pub fn sample(profile: &Profile, id: &str, now: Timestamp) -> (String, String) {
    let at = rfc3339(now);
    match profile.name.as_str() {
        "kudos" => (
            "payment.succeeded".into(),
            format!(
                r#"{{"event_id":"evt_{id}","event_type":"payment.succeeded","data":{{"tenant":"acme","amount_cents":1250,"currency":"EUR"}}}}"#
            ),
        ),
        "kallglot" => (
            "session.started".into(),
            format!(
                r#"{{"id":"evt_{id}","type":"session.started","api_version":"v1","created_at":"{at}","data":{{"id":"sess_1","object":"session","status":"started"}}}}"#
            ),
        ),
        "apiera" => (
            "product.created".into(),
            r#"{"productUuid":"123e4567-e89b-12d3-a456-426614174001"}"#.into(),
        ),
        _ => ("sample.event".into(), generic(profile, id)),
    }
}

fn rfc3339(at: Timestamp) -> String {
    let time = aws_sdk_dynamodb::primitives::DateTime::from_secs(at.secs());
    time.fmt(aws_sdk_dynamodb::primitives::DateTimeFormat::DateTime).unwrap_or_default()
}

fn generic(profile: &Profile, id: &str) -> String {
    let mut body = serde_json::Map::new();
    let event = &profile.event;
    let mut set = |field: &Field, value: String| {
        if let Field::Body(path) = field {
            let (last, tables) = path.split_last().unwrap_or((&path[0], &[]));
            let inner = tables.iter().try_fold(&mut body, |map, name| {
                let map = map.entry(name.clone()).or_insert_with(|| serde_json::json!({}));
                map.as_object_mut()
            });
            if let Some(inner) = inner {
                inner.insert(last.clone(), value.into());
            }
        }
    };
    if let IdRule::At(field) = &event.id {
        set(field, format!("evt_{id}"));
    }
    set(&event.event_type, "sample.event".into());
    if let Some(payload) = &event.payload {
        body.insert(payload.clone(), serde_json::json!({}));
    }
    serde_json::Value::Object(body).to_string()
}

/// A `curl` line for a shell: it takes the time, signs with openssl, and sends. Run again, it sends
/// the same event.
pub fn curl(profile: &Profile, base_url: &str, id: &str, now: Timestamp) -> String {
    let (event_type, body) = sample(profile, id, now);
    let scheme = &profile.scheme;
    let mut headers = vec![];
    if let IdRule::At(Field::Header(name)) = &profile.event.id {
        headers.push(format!("{name}: evt_{id}"));
    }
    if let Field::Header(name) = &profile.event.event_type {
        headers.push(format!("{name}: {event_type}"));
    }
    if let Some(TimestampAt::Header(name)) = &scheme.timestamp {
        headers.push(format!("{name}: $t"));
    }
    headers.push(format!("{}: {}", scheme.header, signature_header(scheme)));
    let headers: String = headers.iter().map(|header| format!(" -H \"{header}\"")).collect();
    let signed = signed_words(scheme, &format!("evt_{id}"));
    format!(
        "t=$(date +%s); body='{body}'; sig=$(printf '%s' \"{signed}\" | {}); \
         curl -i -w '\\n' -H 'content-type: application/json'{headers} --data-binary \"$body\" {base_url}/webhooks/{}",
        openssl(profile),
        profile.name,
    )
}

fn signature_header(scheme: &Scheme) -> String {
    match &scheme.form {
        Form::Tags(version) => match &scheme.timestamp {
            Some(TimestampAt::Tag(tag)) => format!("{tag}=$t,{version}=$sig"),
            _ => format!("{version}=$sig"),
        },
        Form::Versions(version) => format!("{version},$sig"),
        Form::Prefix(prefix) => format!("{prefix}$sig"),
    }
}

fn signed_words(scheme: &Scheme, id: &str) -> String {
    let words = scheme.signed.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Timestamp => "$t".into(),
        Part::Header(_) => id.to_owned(),
        Part::Body => "$body".into(),
    });
    words.collect()
}

fn openssl(profile: &Profile) -> String {
    let secret = local_secret(profile);
    let key = match profile.scheme.secret {
        SecretRule::Text => format!("-hmac {secret}"),
        SecretRule::Base64 => {
            let key = secret.strip_prefix("whsec_").and_then(|text| STANDARD.decode(text).ok());
            let key = key.unwrap_or_default();
            let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("-mac HMAC -macopt hexkey:{hex}")
        }
    };
    match profile.scheme.encoding {
        Encoding::Hex => format!("openssl dgst -sha256 {key} | sed 's/^.* //'"),
        Encoding::Base64 => format!("openssl dgst -sha256 {key} -binary | openssl base64 -A"),
    }
}
