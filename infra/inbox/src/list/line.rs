//! One event of a list, and the groups that events are counted in.

use serde::Serialize;
use shared::inbox::{DueRow, Row};
use shared::time::Timestamp;

use crate::console::{Table, Tone};
use crate::walk::Holds;
use crate::when::{date, from_now, second};

/// One event, as much of it as was read. The index knows less than a row.
#[derive(Clone, Debug)]
pub(super) struct Line {
    source: String,
    event_id: String,
    event_type: Option<String>,
    status: &'static str,
    error_kind: Option<&'static str>,
    outcome: Option<&'static str>,
    pub(super) received_at: Timestamp,
    finished_at: Option<Timestamp>,
    due_at: Option<Timestamp>,
    sends: u32,
}

/// What events have in common that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    source: String,
    status: &'static str,
    why: Option<&'static str>,
    event_type: Option<String>,
}

impl Line {
    /// As the index shows it.
    pub(super) fn of_index(row: &DueRow, holds: Holds) -> Self {
        Self {
            source: row.key.source.to_string(),
            event_id: row.key.id.to_string(),
            event_type: row.event_type.as_ref().map(ToString::to_string),
            status: holds.word(),
            error_kind: row.error_kind.map(shared::inbox::ErrorKind::word),
            outcome: None,
            received_at: row.received_at,
            finished_at: None,
            // A failed row is looked at for its body alone.
            due_at: (holds == Holds::Unfinished).then_some(row.due_at),
            sends: row.sends,
        }
    }

    /// As the table shows it.
    pub(super) fn of_row(row: &Row) -> Self {
        Self {
            source: row.key.source.to_string(),
            event_id: row.key.id.to_string(),
            event_type: row.event_type.as_ref().map(ToString::to_string),
            status: row.status.word(),
            error_kind: row.error_kind.map(shared::inbox::ErrorKind::word),
            outcome: row.outcome.map(shared::inbox::Outcome::word),
            received_at: row.received_at,
            finished_at: row.finished_at,
            due_at: row.due_at.filter(|_| row.status.is_unfinished()),
            sends: row.sends,
        }
    }

    /// The group that it is counted in.
    pub(super) fn group(&self) -> Group {
        Group {
            source: self.source.clone(),
            status: self.status,
            why: self.error_kind.or(self.outcome),
            event_type: self.event_type.clone(),
        }
    }
}

impl Serialize for Line {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::json!({
            "source": self.source,
            "event_id": self.event_id,
            "event_type": self.event_type,
            "status": self.status,
            "error_kind": self.error_kind,
            "outcome": self.outcome,
            "received_at": date(self.received_at),
            "finished_at": self.finished_at.map(date),
            "due_at": self.due_at.map(date),
            "sends": self.sends,
        })
        .serialize(serializer)
    }
}

impl Group {
    /// As cells of a table.
    pub(super) fn cells(&self) -> [String; 4] {
        let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let event_type = or_dash(self.event_type.as_deref());
        [self.source.clone(), self.status.to_owned(), or_dash(self.why), event_type]
    }

    /// As a document.
    pub(super) fn counted(&self, count: usize, oldest: Timestamp) -> serde_json::Value {
        serde_json::json!({
            "source": self.source,
            "status": self.status,
            "kind": self.why,
            "event_type": self.event_type,
            "count": count,
            "oldest_received_at": date(oldest),
        })
    }
}

/// Lines as a table.
pub(super) fn table(lines: &[Line], now: Timestamp) -> Table {
    let mut table =
        Table::new(&["source", "status", "kind", "received", "next look", "type", "id"]);
    for line in lines {
        let why = line.error_kind.or(line.outcome).unwrap_or("-");
        table.row([
            line.source.clone(),
            line.status.to_owned(),
            why.to_owned(),
            second(line.received_at),
            line.due_at.map_or_else(|| "-".to_owned(), |due| from_now(due, now)),
            line.event_type.clone().unwrap_or_else(|| "-".to_owned()),
            line.event_id.clone(),
        ]);
        if line.status == "failed" {
            table.tone(1, Tone::Bad);
        }
    }
    table
}
