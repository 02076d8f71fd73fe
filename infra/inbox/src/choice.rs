//! Which events an operator's write is about: those that are named, or those that a filter finds.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use shared::inbox::{ErrorKind, Inbox, Row, Scan, Status};
use shared::key::{EventId, EventKey, EventType, SourceName};
use shared::time::Timestamp;

use crate::console::{Console, Table};
use crate::context::Context;
use crate::exit::Failure;
use crate::filter::Filter;
use crate::scan_cost;
use crate::shell;
use crate::walk::{Holds, Walk};
use crate::when::{date, from_now};

/// Which events are meant
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Choice {
    /// The source of the events that are named
    #[arg(
        value_name = "SOURCE", value_parser = SourceName::parse, requires = "ids",
        conflicts_with_all = ["source", "kind", "since", "until", "limit"]
    )]
    named: Option<SourceName>,
    /// The producer's ids of the events
    #[arg(value_name = "ID", value_parser = EventId::parse)]
    ids: Vec<EventId>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// No more than so many, those that were received first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

/// An event that is meant, and what is known of it before its row is read.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Whose, and which.
    pub(crate) key: EventKey,
    /// The rest; nothing for one that was named.
    pub(crate) seen: Option<Seen>,
}

/// What a list shows of an event.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    event_type: Option<EventType>,
    kind: Option<ErrorKind>,
    received_at: Timestamp,
}

impl Candidate {
    /// Why it failed, if that is known.
    pub(crate) fn kind(&self) -> Option<ErrorKind> {
        self.seen.as_ref().and_then(|seen| seen.kind)
    }
}

impl Seen {
    /// As the row shows it.
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            event_type: row.event_type.clone(),
            kind: row.error_kind,
            received_at: row.received_at,
        }
    }
}

impl Choice {
    /// The events were named one by one.
    pub(crate) fn is_named(&self) -> bool {
        !self.ids.is_empty()
    }

    /// The failed events that are meant.
    pub(crate) async fn failed(
        &self,
        context: &Context,
        verb: &str,
    ) -> Result<Vec<Candidate>, Failure> {
        if self.is_named() && self.filter.event_type.is_some() {
            return Err(Failure::usage(
                "events that are named are meant whatever their type",
                "the same command without --type",
            ));
        }
        if let Some(named) = self.by_name() {
            return Ok(named);
        }
        if self.filter.is_empty() {
            return Err(Failure::usage(
                format!("which events? {verb} takes a source and ids, or a filter"),
                context.command(&format!("{verb} --source NAME --dry-run")),
            ));
        }
        let now = context.now();
        self.filter.check(now)?;
        let inbox = context.place().await?.inbox();
        let sources = self.filter.sources(context);
        let mut walk = Walk::through(&sources, |holds| holds == Holds::Failed);
        let mut found = vec![];
        while let Some((_, rows)) = walk.page(&inbox).await? {
            for row in rows {
                let event_type = row.event_type.as_ref();
                if self.filter.matches(event_type, row.error_kind, row.received_at, now) {
                    let seen = Seen {
                        event_type: row.event_type,
                        kind: row.error_kind,
                        received_at: row.received_at,
                    };
                    found.push(Candidate { key: row.key, seen: Some(seen) });
                }
            }
        }
        Ok(found)
    }

    /// The ignored events that are meant. They are in no index: the whole table is read.
    pub(crate) async fn ignored(&self, context: &Context) -> Result<Vec<Candidate>, Failure> {
        if let Some(named) = self.by_name() {
            return Ok(named);
        }
        let now = context.now();
        self.filter.check(now)?;
        let inbox = context.place().await?.inbox();
        let total = scan_cost::tell(context, &inbox).await?;
        let mut progress = context.console.progress("reading", Some(total));
        let source = self.filter.source.clone();
        let wanted = Scan { source, status: Some(Status::Ignored) };
        let (mut found, mut from) = (vec![], None);
        loop {
            let page = inbox.scan(&wanted, from).await?;
            progress.step(page.read);
            let meant = |row: &&Row| {
                self.filter.matches(row.event_type.as_ref(), row.error_kind, row.received_at, now)
            };
            found.extend(
                page.rows
                    .iter()
                    .filter(meant)
                    .map(|row| Candidate { key: row.key.clone(), seen: Some(Seen::of(row)) }),
            );
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        progress.clear();
        Ok(found)
    }

    fn by_name(&self) -> Option<Vec<Candidate>> {
        let source = self.named.as_ref().filter(|_| self.is_named())?;
        let key = |id: &EventId| EventKey { source: source.clone(), id: id.clone() };
        let mut known = HashSet::new();
        let ids = self.ids.iter().filter(|id| known.insert(id.as_str()));
        Some(ids.map(|id| Candidate { key: key(id), seen: None }).collect())
    }

    /// As many of them as are wanted: those of one source together, in the order in which they were
    /// received.
    pub(crate) fn first(&self, mut found: Vec<Candidate>) -> Vec<Candidate> {
        let received_at = |candidate: &Candidate| candidate.seen.as_ref().map(|s| s.received_at);
        found.sort_by_key(received_at);
        let most = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        found.truncate(most);
        found.sort_by(|a, b| a.key.source.cmp(&b.key.source));
        found
    }

    /// What was chosen, as it would be typed again, with a blank before it.
    pub(crate) fn flags(&self, now: Timestamp) -> String {
        let source = self.named.as_ref().map_or_else(String::new, |source| format!(" {source}"));
        let ids = self.ids.iter().map(|id| format!(" {}", shell::id(id.as_str())));
        let limit = self.limit.map_or_else(String::new, |limit| format!(" --limit {limit}"));
        format!("{}{limit}{source}{}", self.filter.flags(now), ids.collect::<String>())
    }
}

/// Reads the rows of events that were named, so that a dry run can tell what they are.
pub(crate) async fn look(inbox: &Inbox, candidates: &mut [Candidate]) -> Result<(), Failure> {
    for candidate in candidates.iter_mut().filter(|candidate| candidate.seen.is_none()) {
        candidate.seen = inbox.row(&candidate.key).await?.as_ref().map(Seen::of);
    }
    Ok(())
}

/// How many there are of what, for a dry run.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<[String; 3], (usize, Timestamp)>);

impl Groups {
    /// Counts them by source, kind and type.
    pub(crate) fn of(candidates: &[Candidate]) -> Self {
        let mut groups = Self::default();
        for Candidate { key, seen } in candidates {
            let Some(seen) = seen else { continue };
            let event_type = seen.event_type.as_ref().map_or(NONE, EventType::as_str);
            let kind = seen.kind.map_or(NONE, ErrorKind::word);
            let group = [key.source.to_string(), kind.to_owned(), event_type.to_owned()];
            let (count, oldest) = groups.0.entry(group).or_insert((0, seen.received_at));
            *count += 1;
            *oldest = seen.received_at.min(*oldest);
        }
        groups
    }

    /// For programs.
    pub(crate) fn documents(&self) -> Vec<serde_json::Value> {
        let or_null = |text: &str| Some(text.to_owned()).filter(|text| text != NONE);
        let groups = self.0.iter().map(|([source, kind, event_type], (count, oldest))| {
            json!({
                "source": source, "error_kind": or_null(kind), "event_type": or_null(event_type),
                "count": count, "oldest_received_at": date(*oldest),
            })
        });
        groups.collect()
    }

    /// For people, with the first few events.
    pub(crate) fn show(
        &self,
        candidates: &[Candidate],
        console: &Console,
        now: Timestamp,
    ) -> Result<(), Failure> {
        const SHOWN: usize = 10;
        if self.0.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&["source", "kind", "type", "count", "oldest"]);
        for ([source, kind, event_type], (count, oldest)) in &self.0 {
            let (count, oldest) = (count.to_string(), from_now(*oldest, now));
            table.row([source, kind, event_type, &count, &oldest]);
        }
        console.line(table.text(console))?;
        console.line("")?;
        for Candidate { key, .. } in candidates.iter().take(SHOWN) {
            console.line(format!("  {key}"))?;
        }
        if candidates.len() > SHOWN {
            console.line(format!("  and {} more", candidates.len() - SHOWN))?;
        }
        console.line("")?;
        Ok(())
    }
}

/// A kind or type that there is none of.
const NONE: &str = "-";
