//! What the tables hold, followed write by write, and the invariants that every single write has to
//! keep. At rest, [`super::check`] looks at the whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::inbox::{ErrorKind, Status};

use super::producer::Producer;
use super::world::{State, number, text};

/// What a handler does with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// A ledger line and the totals.
    Pay { tenant: String, cents: i64 },
    /// The tenant's plan.
    Upgrade { tenant: String },
    /// A session's state, stale-guarded by (time in ms, rank).
    Session { session: String, status: String, at: (i64, i64) },
    /// Adds one to a counter, with nothing that would notice a second time.
    Count,
    /// Fetches a product.
    Fetch { product: String },
    /// A line of its own: one of the two events around a replay burst.
    Note { line: String },
    /// No handler.
    Nothing,
    /// Authentic, and nothing that a handler could use.
    Unusable,
    /// Fails for good, until the handler is mended at this time.
    Poison { mended_ms: i64 },
}

/// One event, from its producer's firing to its end.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) producer: Producer,
    pub(crate) event_type: String,
    pub(crate) does: Does,
    /// The producer saw a 2xx.
    pub(crate) acked: bool,
    /// Requests that reached us.
    pub(crate) deliveries: u32,
    /// Messages that the product sent.
    pub(crate) sends: u32,
    /// Of those, how many the caller may not have known of.
    pub(crate) unheard: u32,
    /// The place of the first send among all, and of the effects among all effects.
    pub(crate) first_send: Option<u32>,
    pub(crate) applied: Vec<u32>,
    pub(crate) ever_failed: bool,
    pub(crate) ever_done: bool,
    /// It waited for longer than a message is kept back: the sweeper was to send it again.
    pub(crate) carried: bool,
    /// An operator asked for its end.
    pub(crate) given_up: bool,
    /// Its finished row has expired: the inbox remembers nothing of it.
    pub(crate) forgotten: bool,
    pub(crate) first_seen_ms: Option<i64>,
    pub(crate) runs: u32,
    /// Visits of the sweeper after it had failed.
    pub(crate) visits: i64,
}

/// The tables, and what was told of each event.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    pub(crate) inbox_table: String,
    pub(crate) business_table: String,
    /// Every item of the inbox table by its key.
    pub(crate) items: BTreeMap<String, Value>,
    /// Rows that have expired, as they were last.
    pub(crate) expired: BTreeMap<String, Value>,
    pub(crate) business: BTreeMap<(String, String), Value>,
    pub(crate) events: BTreeMap<String, Told>,
    pub(crate) places: u32,
    /// Nothing happens that may end an event of an unordered source as `exhausted`.
    pub(crate) blameless: bool,
}

impl Told {
    pub(crate) fn new(producer: Producer, event_type: &str, does: Does) -> Self {
        Self {
            producer,
            event_type: event_type.to_owned(),
            does,
            acked: false,
            deliveries: 0,
            sends: 0,
            unheard: 0,
            first_send: None,
            applied: vec![],
            ever_failed: false,
            ever_done: false,
            carried: false,
            given_up: false,
            forgotten: false,
            first_seen_ms: None,
            runs: 0,
            visits: 0,
        }
    }
}

impl Mirror {
    /// Rows only: no bodies, control items and counters.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.items.iter().filter(|(key, _)| !key.starts_with('~'))
    }

    /// An event's row, or what it was when it expired.
    pub(crate) fn row(&self, key: &str) -> Option<&Value> {
        self.items.get(key).or_else(|| self.expired.get(key))
    }

    /// A pointer was taken by a queue.
    pub(crate) fn sent(&mut self, body: &str, unheard: bool) {
        let place = self.place();
        let pointer: Value = serde_json::from_str(body).unwrap();
        let part = |name: &str| pointer[name].as_str().unwrap_or_default().to_owned();
        if let Some(told) = self.events.get_mut(&format!("{}#{}", part("source"), part("event_id")))
        {
            told.sends += 1;
            told.unheard += u32::from(unheard);
            told.first_send.get_or_insert(place);
        }
    }

    /// Somebody asked for another run, which may send.
    pub(crate) fn asked_again(&mut self, key: &str) {
        if let Some(told) = self.events.get_mut(key) {
            told.deliveries += 1;
        }
    }

    /// An operator gives an event up.
    pub(crate) fn given_up(&mut self, key: &str) {
        if let Some(told) = self.events.get_mut(key) {
            told.given_up = true;
        }
    }

    fn place(&mut self) -> u32 {
        self.places += 1;
        self.places
    }
}

/// Reads again what a write touched, and checks how it changed.
pub(crate) fn observe(state: &mut State, operation: &str, request: &Value, now_ms: i64) {
    for (table, key) in keys(operation, request, &state.mirror) {
        let item = state.engine.item(&table, &key);
        let pk = text(&key, "pk").to_owned();
        if table == state.mirror.business_table {
            state.mirror.business.insert((pk, text(&key, "sk").to_owned()), item);
            continue;
        }
        let old = match item.is_null() {
            true => state.mirror.items.remove(&pk),
            false => state.mirror.items.insert(pk.clone(), item.clone()),
        };
        if !pk.starts_with('~')
            && let Err(what) = changed(state, &pk, &old.unwrap_or_default(), &item, now_ms)
        {
            state.violated(now_ms, &format!("{pk} {what}: {}", shown(&item)));
        }
    }
}

fn keys(operation: &str, request: &Value, mirror: &Mirror) -> Vec<(String, Value)> {
    let key_of = |table: &Value, from: &Value| {
        let table = table.as_str().unwrap_or(&mirror.inbox_table).to_owned();
        let names = if table == mirror.inbox_table { &["pk"][..] } else { &["pk", "sk"] };
        let key: Value = names.iter().map(|name| (*name, from[name].clone())).collect();
        (table, key)
    };
    match operation {
        "PutItem" => vec![key_of(&request["TableName"], &request["Item"])],
        "UpdateItem" | "DeleteItem" => vec![key_of(&request["TableName"], &request["Key"])],
        "BatchWriteItem" => {
            let tables = request["RequestItems"].as_object().unwrap();
            let puts = tables.iter().flat_map(|(table, puts)| {
                let puts = puts.as_array().into_iter().flatten();
                puts.map(move |put| (json!(table), &put["PutRequest"]["Item"]))
            });
            puts.map(|(table, item)| key_of(&table, item)).collect()
        }
        "TransactWriteItems" => {
            let actions = request["TransactItems"].as_array().into_iter().flatten();
            let action =
                |action: &Value| action.as_object().and_then(|a| a.values().next().cloned());
            actions
                .filter_map(action)
                .map(|action| match action["Key"].is_null() {
                    true => key_of(&action["TableName"], &action["Item"]),
                    false => key_of(&action["TableName"], &action["Key"]),
                })
                .collect()
        }
        _ => vec![],
    }
}

fn status(item: &Value) -> Option<Status> {
    Status::parse(text(item, "status"))
}

/// Whether a row may change like this.
fn changed(
    state: &mut State,
    key: &str,
    old: &Value,
    new: &Value,
    now_ms: i64,
) -> Result<(), &'static str> {
    if old == new {
        return Ok(());
    }
    let place = state.mirror.place();
    if new.is_null() {
        state.mirror.expired.insert(key.to_owned(), old.clone());
        if let Some(told) = state.mirror.events.get_mut(key) {
            told.forgotten = true;
        }
        // The clock of the function that finished it may be ahead.
        let expires = number(old, "expires_at").map_or(i64::MAX, |at| at * 1000);
        return if expires <= now_ms { Ok(()) } else { Err("gone before its time") };
    }
    let (was, is) = (status(old), status(new));
    let over = |status| matches!(status, Some(Status::Done | Status::Ignored | Status::Dropped));
    if over(was) {
        return Err("a finished row changed");
    }
    let unusable = text(new, "error_kind") == ErrorKind::Unusable.word();
    if over(is) != new["expires_at"].is_object() && !unusable {
        return Err("finished rows expire, and no others");
    }
    match is {
        Some(Status::Pending | Status::Processing) if number(new, "due_at").is_none() => {
            return Err("an unfinished row that nobody looks at");
        }
        Some(Status::Failed) if !text(new, "due_shard").starts_with("failed#") => {
            return Err("a failed row that is not listed");
        }
        _ => {}
    }
    let kept = unusable && is != Some(Status::Dropped);
    if kept && number(new, "expires_at") < number(new, "received_at").map(kept_until) {
        return Err("what is unusable is kept for ninety days");
    }
    let Some(told) = state.mirror.events.get_mut(key) else { return Ok(()) };
    let first_ms = *told.first_seen_ms.get_or_insert(now_ms);
    if (was, is) == (Some(Status::Failed), Some(Status::Failed)) {
        told.visits += i64::from(old["due_at"] != new["due_at"]);
        if told.visits > 2 + (now_ms - first_ms) / VISITS_MS {
            return Err("visited again and again");
        }
    }
    let waits_until = number(new, "lease_until");
    told.carried |= waits_until.is_some() && waits_until == number(new, "due_at");
    told.ever_failed |= is == Some(Status::Failed);
    if is == Some(Status::Dropped) && !told.given_up {
        return Err("nobody dropped it");
    }
    told.ever_done |= is == Some(Status::Done);
    if is == Some(Status::Done) && text(new, "outcome") == "applied" {
        told.applied.push(place);
        if told.applied.len() > 1 {
            return Err("applied twice");
        }
    }
    Ok(())
}

/// A failed row is visited once in sixty days; a put or visit whose answer was lost may add one.
const VISITS_MS: i64 = 30 * 86_400_000;

/// Until when (in s) an unusable event that came then (in ms) is kept at least.
fn kept_until(received_ms: i64) -> i64 {
    received_ms / 1000 + 90 * 86_400
}

/// A row for people: without its body and its random parts.
pub(crate) fn shown(item: &Value) -> String {
    let secret = ["body", "body_sha256", "receipt", "lease_owner", "signed_by"];
    let attributes = item.as_object().into_iter().flatten();
    let shown = attributes.filter(|(name, _)| !secret.contains(&name.as_str()));
    let shown = shown.map(|(name, value)| {
        let value = value.as_object().and_then(|value| value.values().next());
        let value = value.map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        format!("{name}={}", value.unwrap_or_default())
    });
    shown.collect::<Vec<_>>().join(" ")
}
