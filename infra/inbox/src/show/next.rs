//! What happens to an event next, and what an operator can do about it.

use shared::inbox::decide::is_held;
use shared::inbox::{Control, ErrorKind, Row, Status};
use shared::key::EventType;
use shared::source::{Ordering, Profile};
use shared::time::Timestamp;

use crate::shell;
use crate::when::from_now;

/// Says it in a sentence or two. `command` writes the command line for a verb.
pub(super) fn step(
    row: &Row,
    control: &Control,
    profile: Option<&Profile>,
    now: Timestamp,
    command: impl Fn(&str) -> String,
) -> String {
    match row.status {
        Status::Pending | Status::Processing => waiting(row, control, profile, now, command),
        Status::Failed => failed(row, profile, command),
        Status::Ignored => {
            let forgotten = forgotten(row, now);
            let event_type = row.event_type.as_ref().map_or("TYPE", EventType::as_str);
            let again = command(&format!("redrive --ignored --type {}", shell::word(event_type)));
            format!("nothing; {forgotten}. Once a handler takes its type: {again}")
        }
        Status::Done | Status::Dropped => format!("nothing; {}", forgotten(row, now)),
    }
}

fn waiting(
    row: &Row,
    control: &Control,
    profile: Option<&Profile>,
    now: Timestamp,
    command: impl Fn(&str) -> String,
) -> String {
    if profile.is_none() {
        return "nothing, unless the deployed functions know its source".into();
    }
    let held = is_held(row, now);
    let until = row.lease_until.map(|until| from_now(until, now)).unwrap_or_default();
    let sweeper = match row.due_at {
        Some(due) if due <= now => "the sweeper sends it with its next sweep".to_owned(),
        Some(due) => format!("the sweeper looks at it {}", from_now(due, now)),
        None => {
            "no sweeper will look at it: it has no due_at, which is a mistake of ours".to_owned()
        }
    };
    match row.status {
        Status::Processing if held => {
            format!("a run holds it; its lease ends {until}. If that run dies, {sweeper}")
        }
        _ if control.paused => {
            format!("nothing while {} is paused: {}", row.key.source, command("resume"))
        }
        Status::Processing => format!("its last run never came back; {sweeper}"),
        _ if held => format!("another attempt {until}; if its message is lost, {sweeper}"),
        _ => format!("its message runs it; if that is lost, {sweeper}"),
    }
}

fn failed(row: &Row, profile: Option<&Profile>, command: impl Fn(&str) -> String) -> String {
    let (redrive, drop) = (command("redrive"), command("drop --reason WHY"));
    let again = format!("run it again with: {redrive}{INDENT}or give it up with: {drop}");
    let replay = match (row.error_kind, profile.map(|profile| profile.ordering)) {
        (Some(ErrorKind::Permanent | ErrorKind::Exhausted), Some(Ordering::None)) => {
            " A replay by the producer, an hour after the failure, does the same."
        }
        _ => "",
    };
    let itself = "nothing by itself:";
    match row.error_kind {
        Some(ErrorKind::Unusable) => format!(
            "nothing: no handler can run it. It is removed after 90 days; tell the producer.\
             {INDENT}Give it up now with: {drop}"
        ),
        Some(ErrorKind::BeyondMemory) => format!(
            "{itself} it is older than the inbox remembers, so it may have run before.{INDENT}\
             Look in the business table first; then {again}"
        ),
        Some(ErrorKind::Unsendable) => format!(
            "{itself} the queue refused its message, a mistake of ours. Report it, or {again}"
        ),
        Some(ErrorKind::Permanent) => format!(
            "{itself} the handler said that no repetition can help. Correct it, then{INDENT}\
             {again}{replay}"
        ),
        Some(ErrorKind::Exhausted) | None => {
            format!("{itself} remove the cause, then {again}{replay}")
        }
    }
}

/// Under the first word behind `next:`.
const INDENT: &str = "\n      ";

fn forgotten(row: &Row, now: Timestamp) -> String {
    match row.expires_at {
        Some(at) if at <= now => "its time here is over; it may be removed at any moment".into(),
        Some(at) => format!("it is forgotten {}", from_now(at, now)),
        None => "it is kept".into(),
    }
}
