//! What a producer sends: its envelope around a payload that fits the type.

use serde_json::{Value, json};
use shared::source::{Field, IdRule, Profile};
use shared::time::Timestamp;

use super::producer::Producer;
use crate::when;

/// One kind of event, to be made into as many events as are wanted.
#[derive(Clone, Debug)]
pub(super) struct Template {
    producer: Producer,
    /// The type in the envelope or in its header.
    pub(super) event_type: String,
    /// One id for all, or the start of each one's own.
    id: Result<String, String>,
    /// The payload, or the whole body; `{n}` and `{id}` stand for what they say.
    data: Vec<u8>,
    /// `data` is the whole body.
    whole: bool,
}

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) body: Vec<u8>,
}

/// Why no event can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    /// The data has an envelope of its own.
    #[error("the data is a whole body with an id and a type of its own; leave out {0}, or both")]
    Whole(&'static str),
}

impl Template {
    /// What is wanted, and defaults for the rest. `run` is part of the ids, so that two runs do not
    /// send the same events.
    pub(super) fn new(
        profile: &Profile,
        event_type: Option<&str>,
        id: Option<&str>,
        data: Option<Vec<u8>>,
        run: &str,
    ) -> Result<Self, TemplateError> {
        let producer = Producer::of(profile);
        let own = data.as_deref().and_then(|data| own_type(profile, data));
        let whole = data.as_deref().is_some_and(|data| is_whole(profile, data));
        let type_in_body = matches!(profile.event.event_type, Field::Body(_));
        match (whole, id, event_type) {
            (true, Some(_), _) if matches!(profile.event.id, IdRule::At(Field::Body(_))) => {
                return Err(TemplateError::Whole("--id"));
            }
            (true, _, Some(_)) if type_in_body => return Err(TemplateError::Whole("--type")),
            _ => {}
        }
        let own = own.filter(|_| whole);
        let event_type = event_type.map(str::to_owned).or(own);
        let event_type = event_type.unwrap_or_else(|| producer.usual_type(profile));
        let id = id.map(str::to_owned).ok_or_else(|| format!("{}{run}", producer.id_prefix()));
        let data = data.unwrap_or_else(|| producer.payload(&event_type).into());
        Ok(Self { producer, event_type, id, data, whole })
    }

    /// The id of event number `n`; of a whole body only it knows.
    pub(super) fn id(&self, n: u32) -> Option<String> {
        match &self.id {
            _ if self.whole => None,
            Ok(id) => Some(id.clone()),
            Err(start) => Some(format!("{start}_{n}")),
        }
    }

    /// Every delivery is of one event.
    pub(super) fn is_one_event(&self) -> bool {
        let varies = |hole: &[u8]| self.data.windows(hole.len()).any(|window| window == hole);
        self.id.is_ok() || (self.whole && !varies(b"{n}") && !varies(b"{id}"))
    }

    /// The event number `n`, from 1, that happened at `at`.
    pub(super) fn event(&self, n: u32, at: Timestamp) -> Event {
        let id = match &self.id {
            Ok(id) => id.clone(),
            Err(start) => format!("{start}_{n}"),
        };
        let data = filled(&self.data, n, &id);
        let body = match str::from_utf8(&data) {
            Ok(text) if !self.whole => self.producer.envelope(&id, &self.event_type, text, at),
            _ => data,
        };
        Event { id, body }
    }

    /// Whose event.
    pub(super) fn producer(&self) -> &Producer {
        &self.producer
    }
}

/// The type that the data has of its own.
fn own_type(profile: &Profile, data: &[u8]) -> Option<String> {
    let Field::Body(path) = &profile.event.event_type else { return None };
    let value: Value = serde_json::from_slice(&filled(data, 1, "evt")).ok()?;
    let found = path.iter().try_fold(&value, |value, name| value.get(name));
    found.and_then(Value::as_str).map(str::to_owned)
}

/// Whether the data has its own envelope, or is no JSON object that could be put into one.
fn is_whole(profile: &Profile, data: &[u8]) -> bool {
    let text = filled(data, 1, "evt");
    let Ok(value) = serde_json::from_slice::<Value>(&text) else { return true };
    let holds = |field: &Field| match field {
        Field::Body(path) => path.iter().try_fold(&value, |value, name| value.get(name)).is_some(),
        Field::Header(_) => false,
    };
    let id = match &profile.event.id {
        IdRule::At(field) => Some(field),
        IdRule::Digest => None,
    };
    let payload = profile.event.payload.as_ref().map(|name| Field::Body(vec![name.clone()]));
    let has_type = holds(&profile.event.event_type);
    match (id, payload) {
        (Some(id @ Field::Body(_)), _) => has_type && holds(id),
        (_, Some(payload)) => has_type && holds(&payload),
        (_, None) => has_type,
    }
}

fn filled(data: &[u8], n: u32, id: &str) -> Vec<u8> {
    match str::from_utf8(data) {
        Ok(text) => text.replace("{n}", &n.to_string()).replace("{id}", id).into(),
        Err(_) => data.to_vec(),
    }
}

/// A JSON text's object of these members, in their order; values are JSON already.
fn object(members: &[(&str, &str)]) -> String {
    let members = members.iter().map(|(name, value)| format!("{}:{value}", json!(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

impl Producer {
    /// The body of an event, as this producer writes it.
    fn envelope(&self, id: &str, event_type: &str, data: &str, at: Timestamp) -> Vec<u8> {
        let data = data.trim();
        let (id, kind) = (json!(id).to_string(), json!(event_type).to_string());
        let (date, secs) = (json!(when::second(at)).to_string(), at.secs().to_string());
        let body = match self {
            Self::Kudos => object(&[("event_id", &id), ("event_type", &kind), ("data", data)]),
            // Shown without an id.
            Self::Kallglot if event_type == DISABLED => object(&[("type", &kind), ("data", data)]),
            Self::Kallglot => object(&[
                ("id", &id),
                ("type", &kind),
                ("api_version", "\"v1\""),
                ("created_at", &date),
                ("data", data),
            ]),
            Self::StandardWebhooks { .. } => {
                object(&[("type", &kind), ("timestamp", &date), ("data", data)])
            }
            Self::Stripe => object(&[
                ("id", &id),
                ("object", "\"event\""),
                ("created", &secs),
                ("data", data),
                ("livemode", "false"),
                ("pending_webhooks", "1"),
                ("type", &kind),
            ]),
            Self::Slack if event_type == "url_verification" => {
                object(&[("token", "\"local\""), ("challenge", &id), ("type", &kind)])
            }
            Self::Slack => object(&[
                ("token", "\"local\""),
                ("team_id", "\"T0001\""),
                ("api_app_id", "\"A0001\""),
                ("event", &with_type(data, &kind)),
                ("type", "\"event_callback\""),
                ("event_id", &id),
                ("event_time", &secs),
            ]),
            Self::Apiera | Self::GitHub | Self::Shopify => data.to_owned(),
            Self::Other(profile) => other(profile, &id, &kind, data, &date),
        };
        body.into()
    }
}

/// The one type of Kallglot's that is shown without an id.
const DISABLED: &str = "webhook_endpoint.disabled";

/// Slack's type stands in the payload.
fn with_type(data: &str, kind: &str) -> String {
    let has_type = serde_json::from_str::<Value>(data)
        .is_ok_and(|value| value.get("type").is_some() || !value.is_object());
    match data.strip_prefix('{') {
        Some(rest) if !has_type && rest.trim_start().starts_with('}') => {
            format!("{{\"type\":{kind}{rest}")
        }
        Some(rest) if !has_type => format!("{{\"type\":{kind},{rest}"),
        _ => data.to_owned(),
    }
}

/// The envelope that a profile describes; in which order its producer writes it is not known.
fn other(profile: &Profile, id: &str, kind: &str, data: &str, date: &str) -> String {
    let event = &profile.event;
    let mut body = json!({});
    if let Some(payload) = &event.payload {
        set(&mut body, std::slice::from_ref(payload), data);
    }
    if let IdRule::At(Field::Body(path)) = &event.id {
        set(&mut body, path, id);
    }
    if let Field::Body(path) = &event.event_type {
        set(&mut body, path, kind);
    }
    if let Some(Field::Body(path)) = &event.time {
        set(&mut body, path, date);
    }
    if body == json!({}) { data.to_owned() } else { body.to_string() }
}

/// Puts JSON at a path, unless something that is no object stands in its way.
fn set(body: &mut Value, path: &[String], json: &str) {
    let (Some((last, tables)), Ok(value)) = (path.split_last(), serde_json::from_str(json)) else {
        return;
    };
    let inner = tables.iter().try_fold(body, |value, name| {
        Some(value.as_object_mut()?.entry(name).or_insert_with(|| json!({})))
    });
    if let Some(Value::Object(map)) = inner {
        map.insert(last.clone(), value);
    }
}
