//! What a seed draws before a run begins: the events, what goes wrong by plan, and when.

use std::ops::Range;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shared::key::EventId;

use super::faults::{Kind, Rates, draw};
use super::mirror::{Does, Told};
use super::producer::Producer;
use super::sign::{Payload, rfc3339};
use super::world::{EPOCH_MS, Outage};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 86_400_000;
const TENANTS: [&str; 2] = ["acme", "bolt"];
/// A session's life, with the ranks that the reference handler gives its types.
const SESSION: [(&str, i64); 3] =
    [("session.created", 0), ("session.started", 1), ("session.ended", 5)];

/// One event and when its producer fires it.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    pub(crate) payload: Payload,
    pub(crate) key: String,
    pub(crate) does: Does,
    pub(crate) at_ms: i64,
    /// Whole deliveries of it that people ask for later.
    pub(crate) replays_ms: Vec<i64>,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chaos {
    pub(crate) rates: Rates,
    pub(crate) span_ms: i64,
    pub(crate) skew_max_ms: i64,
    pub(crate) outages: Vec<Outage>,
    pub(crate) purges: Vec<(bool, i64)>,
    pub(crate) pause: Option<(Producer, i64, i64)>,
    pub(crate) rotation: Option<(Producer, i64)>,
    pub(crate) handlers_down_until_ms: i64,
    /// How long every handler runs, besides.
    pub(crate) handler_ms: u64,
    /// So many more events come in the first half minute.
    pub(crate) crowd: usize,
    /// Only these steps of calls meet faults, if any are named.
    pub(crate) steps: &'static [&'static str],
    /// Nothing happens that may end an event of an unordered source as `exhausted`.
    pub(crate) blameless: bool,
    /// So many days more, until all that may expire has.
    pub(crate) long_days: i64,
    /// How long somebody looks after what failed: has it run again, or drops it.
    pub(crate) operator_until_ms: Option<i64>,
    /// Later times at which things go wrong once more.
    pub(crate) late_storms: Vec<Range<i64>>,
}

impl Told {
    fn of(fired: &Fired) -> Self {
        Self::new(fired.payload.producer, &fired.payload.event_type, fired.does.clone())
    }
}

/// The register of all events before any of them is fired.
pub(crate) fn told(events: &[Fired]) -> std::collections::BTreeMap<String, Told> {
    events.iter().map(|fired| (fired.key.clone(), Told::of(fired))).collect()
}

impl Chaos {
    /// Everything that this simulation knows to do wrong.
    pub(crate) fn of_all_kinds(rng: &mut fastrand::Rng) -> Self {
        // All is over before the strictest producer's last attempt: 6150 s, a quarter less.
        let span = rng.i64(10..60) * MINUTE_MS;
        let any = |rng: &mut fastrand::Rng| EPOCH_MS + rng.i64(0..span);
        let mut chaos = Self { rates: draw(rng), span_ms: span, ..Self::default() };
        chaos.skew_max_ms = [0, 50, 2_000, 30_000][rng.usize(0..4)];
        for _ in 0..rng.usize(0..3) {
            let service = ["dynamodb", "sqs", "secrets"][rng.usize(0..3)];
            let kind = match service {
                "secrets" => Kind::StoreDown,
                _ => [Kind::Refused, Kind::Throttled, Kind::RequestLost][rng.usize(0..3)],
            };
            let from_ms = any(rng);
            let longest = 25 * MINUTE_MS;
            let to_ms = (from_ms + rng.i64(30_000..longest)).min(EPOCH_MS + span);
            chaos.outages.push(Outage { service, kind, from_ms, to_ms });
        }
        for _ in 0..rng.usize(0..3) {
            chaos.purges.push((rng.bool(), any(rng)));
        }
        let producer = Producer::ALL[rng.usize(0..3)];
        match rng.u32(0..100) {
            0..30 => {
                let from = any(rng);
                chaos.pause = Some((producer, from, from + rng.i64(1..90) * MINUTE_MS));
            }
            30..34 => {
                let from = any(rng);
                chaos.pause = Some((producer, from, from + rng.i64(31..110) * DAY_MS));
            }
            _ => {}
        }
        if rng.f64() < 0.3 {
            chaos.rotation = Some((Producer::ALL[rng.usize(0..3)], any(rng)));
        }
        if rng.f64() < 0.2 {
            chaos.handlers_down_until_ms = EPOCH_MS + rng.i64(1..10) * MINUTE_MS;
        }
        chaos.long_days = if rng.f64() < 0.1 { rng.i64(40..110) } else { 0 };
        chaos.operator_until_ms = (rng.f64() < 0.5).then_some(EPOCH_MS + 6 * HOUR_MS);
        chaos.late_storms = late_storms(rng, &chaos);
        chaos
    }

    /// When things go wrong: first of all, and later.
    pub(crate) fn storms(&self) -> Vec<Range<i64>> {
        let first = EPOCH_MS..EPOCH_MS + self.span_ms;
        [first].into_iter().chain(self.late_storms.iter().cloned()).collect()
    }
}

/// When what failed is asked for again; and when the bodies of what has waited for long are renewed,
/// in the first hours of a day. None is longer than the strictest producer is patient.
fn late_storms(rng: &mut fastrand::Rng, chaos: &Chaos) -> Vec<Range<i64>> {
    let mut storms = vec![];
    if rng.f64() < 0.5 {
        let from_ms = EPOCH_MS + rng.i64(2 * HOUR_MS..4 * HOUR_MS);
        storms.push(from_ms..from_ms + rng.i64(20..60) * MINUTE_MS);
    }
    let paused_long = chaos.pause.is_some_and(|(_, from_ms, to_ms)| to_ms - from_ms > 60 * DAY_MS);
    if paused_long || chaos.long_days > 60 {
        let renewals = (EPOCH_MS + 59 * DAY_MS).div_euclid(DAY_MS)..;
        let days = renewals.take(4).map(|day| day * DAY_MS..day * DAY_MS + HOUR_MS);
        storms.extend(days);
    }
    storms
}

/// At least twenty events, of all three producers.
pub(crate) fn events(rng: &mut fastrand::Rng, span_ms: i64, crowd: usize) -> Vec<Fired> {
    let count = rng.usize(20..28);
    let mut events: Vec<Fired> = vec![];
    for number in 0..count {
        let producer = match number {
            0..3 => Producer::ALL[number],
            _ => Producer::ALL[rng.usize(0..3)],
        };
        let at_ms = EPOCH_MS + rng.i64(0..span_ms * 4 / 5);
        let mut fired = match producer {
            Producer::Kudos => kudos(rng, number, at_ms),
            Producer::Kallglot => kallglot(rng, number, at_ms),
            Producer::Apiera => apiera(rng, number, at_ms),
        };
        if rng.f64() < 0.25 {
            fired.replays_ms.push(at_ms + rng.i64(1_000..4 * 3_600_000));
        }
        events.push(fired);
    }
    for number in 0..crowd {
        let body = json!({
            "id": format!("evt_crowd_{number}"), "type": "transcript.ready", "data": {},
            "api_version": "v1", "created_at": rfc3339(EPOCH_MS / 1000),
        });
        let id = format!("evt_crowd_{number}");
        let at_ms = EPOCH_MS + rng.i64(0..30_000);
        let kind = "transcript.ready";
        events.push(Fired { at_ms, ..fired(Producer::Kallglot, id, kind, &body, Does::Count) });
    }
    if rng.f64() < 0.3 {
        burst(rng, &mut events, span_ms);
    }
    events
}

/// Some are asked for again when the inbox is about to forget them, or has.
pub(crate) fn ask_late(rng: &mut fastrand::Rng, events: &mut [Fired]) {
    for fired in events {
        // Nothing protects a plan or a fetched product that is written once more, and they bear it.
        let bears_it = !matches!(fired.does, Does::Upgrade { .. } | Does::Fetch { .. });
        if bears_it && rng.f64() < 0.2 {
            fired.replays_ms.push(fired.at_ms + rng.i64(28 * DAY_MS..36 * DAY_MS));
        }
    }
}

/// An operator of Kudos has all its events sent again, with their old ids, between two of its own.
fn burst(rng: &mut fastrand::Rng, events: &mut Vec<Fired>, span_ms: i64) {
    let began_ms = EPOCH_MS + rng.i64(span_ms / 2..span_ms);
    let past =
        |fired: &&mut Fired| fired.payload.producer == Producer::Kudos && fired.at_ms < began_ms;
    let mut at_ms = began_ms;
    for fired in events.iter_mut().filter(past) {
        at_ms += 500;
        fired.replays_ms.push(at_ms);
        fired.replays_ms.sort_unstable();
    }
    let emitted = (at_ms - began_ms) / 500;
    let times = (rfc3339(EPOCH_MS / 1000), rfc3339(began_ms / 1000));
    for (word, at_ms, data) in [
        ("started", began_ms, json!({"since": times.0, "until": times.1})),
        ("completed", at_ms + 500, json!({ "events_emitted": emitted })),
    ] {
        let id = format!("evt_burst_{word}");
        let event_type = format!("subscription.replay_{word}");
        let body = json!({"event_id": id, "event_type": event_type, "data": data});
        let does = Does::Note { line: format!("{word}#{id}") };
        events.push(Fired { at_ms, ..fired(Producer::Kudos, id, &event_type, &body, does) });
    }
}

fn fired(producer: Producer, id: String, event_type: &str, body: &Value, does: Does) -> Fired {
    let body = body.to_string();
    let id = if does == Does::Unusable && producer != Producer::Apiera {
        EventId::of_digest(&Sha256::digest(&body).into()).to_string()
    } else {
        id
    };
    Fired {
        key: format!("{}#{id}", producer.source()),
        payload: Payload { producer, id, event_type: event_type.to_owned(), body },
        does,
        at_ms: 0,
        replays_ms: vec![],
    }
}

/// Bytes that hardly compress, so that the body is kept in items of its own: mostly one.
fn padding(rng: &mut fastrand::Rng) -> String {
    let length = match rng.u32(0..1000) {
        0..300 => rng.usize(1_500..4_000),
        300 => rng.usize(600_000..1_200_000),
        _ => 0,
    };
    (0..length).map(|_| rng.alphanumeric()).collect()
}

fn kudos(rng: &mut fastrand::Rng, number: usize, at_ms: i64) -> Fired {
    let id = format!("evt_{number}");
    let tenant = TENANTS[rng.usize(0..2)].to_owned();
    let body = |event_type: &str, data: Value| {
        let id = &id;
        json!({"event_id": id, "event_type": event_type, "data": data})
    };
    let (event_type, data, does) = match rng.u32(0..10) {
        0..6 => {
            let cents = rng.i64(1..100_000);
            let data = json!({"tenant": tenant, "amount_cents": cents, "currency": "EUR",
                "note": padding(rng)});
            ("payment.succeeded", data, Does::Pay { tenant, cents })
        }
        6..8 => {
            let data = json!({"tenant": tenant, "plan": format!("plan-{number}")});
            ("subscription.upgraded", data, Does::Upgrade { tenant })
        }
        8 => ("invoice.drawn", json!({}), Does::Nothing),
        _ => {
            let body = json!({"event_type": "payment.succeeded",
                "data": {"number": number, "note": padding(rng)}});
            let kind = "payment.succeeded";
            return Fired { at_ms, ..fired(Producer::Kudos, id, kind, &body, Does::Unusable) };
        }
    };
    Fired { at_ms, ..fired(Producer::Kudos, id.clone(), event_type, &body(event_type, data), does) }
}

fn kallglot(rng: &mut fastrand::Rng, number: usize, at_ms: i64) -> Fired {
    let id = format!("evt_{number}");
    // It happened some time before it is fired; no two of a session at one time and rank.
    let session = format!("sess_{}", rng.u32(0..3));
    let created = at_ms / 1000 - rng.i64(0..600);
    let (event_type, does) = match rng.u32(0..10) {
        0..6 => {
            let (event_type, rank) = SESSION[rng.usize(0..3)];
            let status = format!("status-{number}");
            let at = (created * 1000, rank);
            (event_type, Does::Session { session: session.clone(), status, at })
        }
        6..8 => ("transcript.ready", Does::Count),
        8 => {
            let mended_ms = at_ms + rng.i64(0..3_600_000);
            ("recording.ready", Does::Poison { mended_ms })
        }
        _ => {
            let body = json!({"type": "session.ended",
                "data": {"number": number, "text": padding(rng)}});
            let kind = "session.ended";
            return Fired { at_ms, ..fired(Producer::Kallglot, id, kind, &body, Does::Unusable) };
        }
    };
    let status = format!("status-{number}");
    let body = json!({
        "id": id, "type": event_type, "api_version": "v1", "created_at": rfc3339(created),
        "data": {"id": session, "status": status, "text": padding(rng)},
    });
    let mut fired = Fired { at_ms, ..fired(Producer::Kallglot, id, event_type, &body, does) };
    if matches!(fired.does, Does::Poison { .. }) {
        // Somebody mends the handler and asks for the event again.
        fired.replays_ms.push(at_ms + rng.i64(2 * HOUR_MS..5 * HOUR_MS));
    }
    fired
}

fn apiera(rng: &mut fastrand::Rng, number: usize, at_ms: i64) -> Fired {
    let product = format!("product-{}", rng.u32(0..3));
    let body = json!({ "productUuid": product });
    let does = Does::Fetch { product };
    let id = format!("delivery-{number}");
    Fired { at_ms, ..fired(Producer::Apiera, id, "product.updated", &body, does) }
}
