//! The invariants at rest: nothing is in flight, nothing goes wrong any more, all has had its time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use shared::inbox::ErrorKind;
use shared::queue::Pointer;

use super::mirror::{Does, Mirror, Told, shown};
use super::producer::Producer;
use super::world::{State, number, text};

/// Sent again at most this often: the shortest time between two due dates of a row.
const DUE_MS: i64 = 120_000;

/// All is finished or failed, and no message is left.
pub(crate) fn is_at_rest(state: &State) -> bool {
    let moving = |row: &Value| matches!(text(row, "status"), "pending" | "processing");
    state.standard.len() == 0
        && state.fifo.len() == 0
        && !state.mirror.rows().any(|(_, row)| moving(row))
}

/// Checks everything; the first thing that is wrong is the violation.
pub(crate) fn at_rest(state: &mut State, now_ms: i64) {
    if state.violation.is_some() {
        return;
    }
    let mirror = &state.mirror;
    let wrong = mirror
        .events
        .iter()
        .find_map(|(key, told)| event(mirror, key, told, now_ms).map(|why| format!("{key} {why}")))
        .or_else(|| ledger(mirror))
        .or_else(|| entities(state))
        .or_else(|| order(mirror))
        .or_else(|| {
            let dead = state.standard.dead.first().or(state.fifo.dead.first())?;
            Some(match Pointer::parse(dead) {
                Ok(key) => format!("{key} was received too often"),
                Err(_) => format!("a message was received too often: {dead}"),
            })
        })
        .or_else(|| (!is_at_rest(state)).then(|| "the queues never empty".to_owned()));
    if let Some(wrong) = wrong {
        state.violated(now_ms, &wrong);
    }
}

fn event(mirror: &Mirror, key: &str, told: &Told, now_ms: i64) -> Option<String> {
    let Some(row) = mirror.row(key) else {
        return told.acked.then(|| "was answered 2xx and is gone".to_owned());
    };
    let (status, outcome) = (text(row, "status"), text(row, "outcome"));
    if matches!(status, "pending" | "processing") {
        return Some(format!("was accepted and is forgotten: {}", shown(row)));
    }
    let applied = usize::from(status == "done" && outcome == "applied");
    // What has been forgotten may have been delivered again: the row tells of the second time.
    let fits = told.applied.len() == applied || (told.forgotten && told.applied.len() <= 1);
    if !fits {
        return Some(format!("applied {} times: {}", told.applied.len(), shown(row)));
    }
    let expected = match told.does {
        _ if status == "dropped" => told.given_up,
        _ if text(row, "error_kind") == ErrorKind::Unsendable.word() => true,
        Does::Nothing => status == "ignored",
        Does::Unusable => text(row, "error_kind") == ErrorKind::Unusable.word(),
        _ => matches!(status, "done" | "failed"),
    };
    if !expected {
        return Some(format!("ended another way than it should: {}", shown(row)));
    }
    let blamed = text(row, "error_kind") == ErrorKind::Exhausted.word();
    if mirror.blameless && blamed && told.producer != Producer::Kudos {
        return Some(format!("failed for what used up no attempt: {}", shown(row)));
    }
    let lived = number(row, "finished_at").unwrap_or(now_ms) - told.first_seen_ms.unwrap_or(now_ms);
    let periods = u32::try_from(lived.max(0) / DUE_MS).unwrap_or(u32::MAX);
    // Every repeated request may send, and every pause ends in a send of its own.
    if told.sends > 1 + told.unheard + told.deliveries + periods + 1 {
        return Some(format!("was sent {} times in {periods} due periods", told.sends));
    }
    None
}

fn is_applied(mirror: &Mirror, key: &str) -> bool {
    mirror.events.get(key).is_some_and(|told| !told.applied.is_empty())
}

/// The lines, the totals and the events agree to the cent.
fn ledger(mirror: &Mirror) -> Option<String> {
    let mut owed: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (key, told) in &mirror.events {
        let Does::Pay { tenant, cents } = &told.does else { continue };
        let account = format!("kudos#{tenant}");
        let id = key.split_once('#').map_or("", |(_, id)| id);
        let line = mirror.business.get(&(account.clone(), format!("payment#{id}")));
        let line = line.filter(|line| !line.is_null());
        if is_applied(mirror, key) != line.is_some() {
            return Some(format!("{key}: row and ledger line disagree"));
        }
        if let Some(line) = line {
            if number(line, "amount_cents") != Some(*cents) {
                return Some(format!("{key}: the ledger line is wrong"));
            }
            let sums = owed.entry(account).or_default();
            *sums = (sums.0 + 1, sums.1 + cents);
        }
    }
    owed.into_iter().find_map(|(account, (payments, cents))| {
        let totals = mirror.business.get(&(account.clone(), "totals".to_owned()))?;
        let seen = (number(totals, "payments"), number(totals, "paid_cents"));
        (seen != (Some(payments), Some(cents))).then(|| {
            format!("{account}: the lines say {payments} and {cents}, the totals {seen:?}")
        })
    })
}

/// Entities show the newest of the events that ended well; counters count each once.
fn entities(state: &State) -> Option<String> {
    let mirror = &state.mirror;
    let done = |key: &str| mirror.events.get(key).is_some_and(|told| told.ever_done);
    let mut sessions: BTreeMap<&str, ((i64, i64), BTreeSet<&str>)> = BTreeMap::new();
    let (mut counted, mut mended) = (0, 0);
    for (key, told) in &mirror.events {
        match &told.does {
            Does::Session { session, status, at } if done(key) => {
                let newest = sessions.entry(session).or_insert((*at, BTreeSet::new()));
                if *at > newest.0 {
                    *newest = (*at, BTreeSet::new());
                }
                if *at == newest.0 {
                    newest.1.insert(status);
                }
            }
            Does::Count if is_applied(mirror, key) => counted += 1,
            Does::Poison { .. } if is_applied(mirror, key) => mended += 1,
            _ => {}
        }
    }
    let item = |pk: &str, sk: &str| mirror.business.get(&(pk.to_owned(), sk.to_owned()));
    for (key, told) in &mirror.events {
        let Does::Note { line } = &told.does else { continue };
        let noted = item("kudos#replays", line).is_some_and(|item| !item.is_null());
        if noted != is_applied(mirror, key) {
            return Some(format!("{key}: row and note disagree"));
        }
    }
    for (session, ((at, rank), statuses)) in sessions {
        let shown = item(&format!("kallglot#{session}"), "state").unwrap_or(&Value::Null);
        let newest = number(shown, "last_event_at") == Some(at)
            && number(shown, "last_event_rank") == Some(rank)
            && statuses.contains(text(shown, "status"));
        if !newest {
            return Some(format!("{session} is not at its newest state, {at}: {shown}"));
        }
    }
    for (name, count) in [("counter", counted), ("mended", mended)] {
        let seen = item(&format!("kallglot#{name}"), "count");
        let seen = seen.and_then(|item| number(item, "count")).unwrap_or(0);
        if seen != count {
            return Some(format!("{name} counts {seen}, and {count} events were applied"));
        }
    }
    products(state)
}

fn products(state: &State) -> Option<String> {
    state.products.iter().find_map(|(product, (_, name))| {
        let key = format!("apiera#{name}");
        let row = state.mirror.row(&key)?;
        let item = (format!("apiera#{product}"), "product".to_owned());
        let shown = state.mirror.business.get(&item).unwrap_or(&Value::Null);
        let settled = text(row, "status") == "done";
        (settled && text(shown, "name") != name).then(|| {
            format!("{product} was last changed by {name}, and shows {:?}", text(shown, "name"))
        })
    })
}

/// Of one type, effects follow the order of the first sends, but for what failed or was sent again.
fn order(mirror: &Mirror) -> Option<String> {
    let mut by_type: BTreeMap<&str, Vec<(u32, u32, &str)>> = BTreeMap::new();
    for (key, told) in &mirror.events {
        let again = told.sends > 1 || told.carried || told.ever_failed;
        let plain = !again && key.starts_with("kudos#");
        if let (true, Some(sent), [applied]) = (plain, told.first_send, &told.applied[..]) {
            by_type.entry(&told.event_type).or_default().push((sent, *applied, key));
        }
    }
    by_type.into_iter().find_map(|(event_type, mut events)| {
        events.sort_unstable();
        let wrong = events.windows(2).find(|pair| pair[0].1 > pair[1].1)?;
        Some(format!(
            "{event_type}: {} was sent before {}, and applied after",
            wrong[0].2, wrong[1].2
        ))
    })
}

/// Whether this item may go.
pub(crate) fn may_expire(state: &mut State, key: &str, now_ms: i64) {
    let Some(parts) = key.strip_prefix("~body#") else { return };
    let receipt = parts.split('#').next().unwrap_or_default();
    let needs = |row: &Value| {
        let kept = matches!(text(row, "status"), "pending" | "processing" | "failed");
        kept && text(row, "error_kind") != ErrorKind::Unusable.word()
            && text(row, "receipt") == receipt
            && row["body_parts"].is_object()
    };
    let needed = state.mirror.rows().find(|(_, row)| needs(row));
    if let Some(what) = needed.map(|(key, row)| format!("{key} loses its body: {}", shown(row))) {
        state.violated(now_ms, &what);
    }
}

/// Long after: what had failed is still there, what was done is forgotten.
pub(crate) fn after_expiry(state: &mut State, rested_ms: i64, now_ms: i64) {
    let mirror = &state.mirror;
    let kept = mirror
        .rows()
        .find(|(_, row)| number(row, "expires_at").is_some_and(|at| at * 1000 < rested_ms));
    if let Some(what) = kept.map(|(key, _)| format!("{key} has expired and is still there")) {
        state.violated(now_ms, &what);
    }
}
