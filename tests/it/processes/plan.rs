//! The events of one seed: what fires when, what it does, and who asks for it again.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shared::key::EventId;

use crate::simulation::producer::Producer;
use crate::support::Delivery;
use crate::support::deliveries::{KUDOS_SECRET, rfc3339, unix_now};

const KUDOS: usize = 800;
const KALLGLOT: usize = 1_000;
const APIERA: usize = 200;
const TENANTS: usize = 7;
const SESSIONS: usize = 150;
const PRODUCTS: usize = 40;
/// Types of Kudos that no handler knows: groups of the FIFO queue beside the payments.
const UNKNOWN_TYPES: usize = 8;
/// Kallglot's types and how far along they are, as the handler ranks them.
const SESSION: [(&str, i64); 3] =
    [("session.created", 0), ("session.started", 1), ("session.ended", 5)];
/// The window that a replay at Kudos covers, and what it is called.
const REPLAYED: f64 = 0.25;

/// What a handler does with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// A ledger line and the totals.
    Pay { tenant: String, cents: i64 },
    /// The tenant's plan.
    Upgrade,
    /// A session's state, stale-guarded by (time in ms, rank).
    Session { session: String, status: String, at: (i64, i64) },
    /// Fetches a product, which its producer has just given this name.
    Fetch { product: String, name: String },
    /// A line of its own: one of the two events around a replay.
    Note { line: String },
    /// No handler.
    Nothing,
    /// Authentic, and nothing that a handler could use.
    Unusable,
}

/// One event of a producer.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    pub(crate) producer: Producer,
    /// The inbox's key of it.
    pub(crate) key: String,
    pub(crate) event_type: String,
    pub(crate) does: Does,
    pub(crate) at: Duration,
    /// Somebody asks for it again then.
    pub(crate) again: Vec<Duration>,
    id: String,
    body: String,
}

impl Fired {
    fn new(producer: Producer, id: String, event_type: &str, body: &Value, does: Does) -> Self {
        let body = body.to_string();
        let known = match &does {
            Does::Unusable => EventId::of_digest(&Sha256::digest(&body).into()).to_string(),
            _ => id.clone(),
        };
        Self {
            producer,
            key: format!("{}#{known}", producer.source()),
            event_type: event_type.to_owned(),
            does,
            at: Duration::ZERO,
            again: vec![],
            id,
            body,
        }
    }

    /// Attempt number `attempt`, from 1, signed now.
    pub(crate) fn delivery(&self, attempt: usize) -> Delivery {
        let body = self.body.as_bytes();
        match self.producer {
            Producer::Kudos => Delivery::kudos_body(body, &[KUDOS_SECRET], unix_now())
                .with("x-kudos-delivery-attempt", &attempt.to_string()),
            Producer::Kallglot => Delivery::kallglot_body(body)
                .with("kallglot-retry-count", &(attempt - 1).to_string()),
            Producer::Apiera => Delivery::apiera_body(&self.id, &self.event_type, body),
        }
    }
}

/// All events, within `span`, in the order of their first deliveries.
pub(crate) fn events(rng: &mut fastrand::Rng, span: Duration) -> Vec<Fired> {
    let began = unix_now();
    let kudos = (0..KUDOS).map(|number| (number, Producer::Kudos));
    let kallglot = (0..KALLGLOT).map(|number| (number, Producer::Kallglot));
    let apiera = (0..APIERA).map(|number| (number, Producer::Apiera));
    let mut events: Vec<Fired> = kudos
        .chain(kallglot)
        .chain(apiera)
        .map(|(number, producer)| {
            let at = span.mul_f64(rng.f64());
            let fired = match producer {
                Producer::Kudos => kudos_event(rng, number),
                Producer::Kallglot => kallglot_event(rng, number, began),
                Producer::Apiera => apiera_event(rng, number),
            };
            // One in ten is asked for once more, at any time.
            let again = if rng.f64() < 0.1 { vec![span.mul_f64(rng.f64())] } else { vec![] };
            Fired { at, again, ..fired }
        })
        .collect();
    events.sort_by_key(|fired| fired.at);
    replay(&mut events, span);
    events
}

fn kudos_event(rng: &mut fastrand::Rng, number: usize) -> Fired {
    let id = format!("evt_{number}");
    let tenant = format!("tenant_{}", rng.usize(0..TENANTS));
    let (event_type, data, does) = match rng.u32(0..100) {
        0..55 => {
            let cents = rng.i64(1..100_000);
            let note = padding(rng);
            let data = json!({
                "tenant": tenant, "amount_cents": cents, "currency": "EUR", "note": note,
            });
            ("payment.succeeded".to_owned(), data, Does::Pay { tenant, cents })
        }
        55..70 => {
            let data = json!({"tenant": tenant, "plan": format!("plan-{number}")});
            ("subscription.upgraded".to_owned(), data, Does::Upgrade)
        }
        70..99 => {
            let event_type = format!("contact.kind_{}", rng.usize(0..UNKNOWN_TYPES));
            (event_type, json!({}), Does::Nothing)
        }
        _ => {
            let kind = "payment.succeeded";
            let body = json!({"event_type": kind, "data": {"number": number}});
            return Fired::new(Producer::Kudos, id, kind, &body, Does::Unusable);
        }
    };
    let body = json!({"event_id": id, "event_type": event_type, "data": data});
    Fired::new(Producer::Kudos, id, &event_type, &body, does)
}

fn kallglot_event(rng: &mut fastrand::Rng, number: usize, began: i64) -> Fired {
    let id = format!("evt_{number}");
    let session = format!("sess_{}", rng.usize(0..SESSIONS));
    let secs = began - rng.i64(0..600);
    let status = format!("status-{number}");
    let (event_type, does) = match rng.u32(0..100) {
        0..85 => {
            let (event_type, rank) = SESSION[rng.usize(0..SESSION.len())];
            let (session, status) = (session.clone(), status.clone());
            (event_type, Does::Session { session, status, at: (secs * 1000, rank) })
        }
        85..99 => ("transcript.ready", Does::Nothing),
        _ => {
            let kind = "session.ended";
            let body = json!({"type": kind, "data": {"number": number}});
            return Fired::new(Producer::Kallglot, id, kind, &body, Does::Unusable);
        }
    };
    let body = json!({
        "id": id, "type": event_type, "api_version": "v1", "created_at": rfc3339(secs),
        "data": {"id": session, "status": status, "text": padding(rng)},
    });
    Fired::new(Producer::Kallglot, id, event_type, &body, does)
}

fn apiera_event(rng: &mut fastrand::Rng, number: usize) -> Fired {
    let product = format!("123e4567-e89b-12d3-a456-{:012}", rng.usize(0..PRODUCTS));
    let body = json!({ "productUuid": product });
    let id = format!("evt_{number}");
    let does = Does::Fetch { product, name: id.clone() };
    Fired::new(Producer::Apiera, id, "product.updated", &body, does)
}

/// One body in ten is too large for its row: bytes that hardly compress.
fn padding(rng: &mut fastrand::Rng) -> String {
    let length = if rng.f64() < 0.1 { rng.usize(2_000..6_000) } else { 0 };
    (0..length).map(|_| rng.alphanumeric()).collect()
}

/// An operator of Kudos has a part of its events sent again, with their old ids, between two of its
/// own.
fn replay(events: &mut Vec<Fired>, span: Duration) {
    let (until, began) = (span.mul_f64(REPLAYED), span.mul_f64(0.7));
    let mut emitted = 0;
    for fired in events.iter_mut().filter(|fired| fired.producer == Producer::Kudos) {
        if fired.at < until {
            emitted += 1;
            fired.again.push(began + Duration::from_millis(50 * emitted));
        }
    }
    let times = json!({"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"});
    let completed = began + Duration::from_millis(50 * emitted + 50);
    for (word, at, data) in
        [("started", began, times), ("completed", completed, json!({ "events_emitted": emitted }))]
    {
        let id = format!("evt_replay_{word}");
        let event_type = format!("subscription.replay_{word}");
        let body = json!({"event_id": id, "event_type": event_type, "data": data});
        let does = Does::Note { line: format!("{word}#{id}") };
        let fired = Fired::new(Producer::Kudos, id, &event_type, &body, does);
        events.push(Fired { at, ..fired });
    }
}
