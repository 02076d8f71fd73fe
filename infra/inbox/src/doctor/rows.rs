//! What waits in the inbox: unfinished rows, failed rows, paused sources, rows of nobody.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use shared::fault::Fault;
use shared::key::SourceName;
use shared::time::Timestamp;

use super::finding::{Finding, Findings, Severity};
use crate::context::Context;
use crate::exit::Failure;
use crate::place::Place;
use crate::when;

/// All attempts of an ordinary failure take 47 minutes.
const OLD: Duration = Duration::from_secs(3600);
/// Pages of the index that are read; more makes the numbers a lower bound.
const PAGES_MAX: usize = 50;

/// What the index `due` shows of one source.
#[derive(Clone, Debug, Default)]
struct Waiting {
    unfinished: u64,
    oldest: Option<Timestamp>,
    failed: BTreeMap<String, u64>,
}

/// What the whole index shows.
#[derive(Debug, Default)]
struct Index {
    sources: BTreeMap<String, Waiting>,
    capped: bool,
}

/// Reads the index, which holds only what is not finished.
pub(super) async fn look(
    place: &Place,
    context: &Context,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let index = match read(place).await {
        Ok(index) => index,
        // Without table or index there is a finding that says so.
        Err(Fault::Refused { code, .. }) if !super::is_denial(&code) => return Ok(()),
        Err(fault) => return Err(fault.into()),
    };
    let mut paused = vec![];
    for profile in context.sources.iter() {
        let control = place.inbox().control(&profile.name).await?;
        if control.paused {
            paused.push(profile.name.clone());
        }
        findings.check(control.paused.then(|| pause(&profile.name, control.paused_at, context)));
    }
    for (source, waiting) in &index.sources {
        let known = context.sources.get(source);
        let is_paused = paused.iter().any(|paused| paused.as_str() == source);
        findings.check(known.is_none().then(|| unknown(source, waiting)));
        if known.is_some() {
            findings.check(oldest(source, waiting, is_paused, context));
            findings.check(failed(source, waiting, context));
        }
    }
    if index.capped {
        findings.unchecked(
            format!("the rest of the rows that wait; only {PAGES_MAX} pages were read"),
            context.command("stats"),
        );
    }
    Ok(())
}

async fn read(place: &Place) -> Result<Index, Fault> {
    let mut index = Index::default();
    let mut from = None;
    for _ in 0..PAGES_MAX {
        let call = place.clients.dynamodb.scan().table_name(&place.common.inbox_table);
        let call = call.index_name("due").projection_expression("due_shard,received_at,error_kind");
        let page = call.set_exclusive_start_key(from).send().await;
        let page = page.map_err(|error| Fault::of("Scan", &error))?;
        for item in page.items() {
            let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
            let number = |name: &str| item.get(name).and_then(|value| value.as_n().ok());
            let Some(shard) = text("due_shard") else { continue };
            let received = number("received_at").and_then(|digits| digits.parse().ok());
            index.add(shard, received.map(Timestamp::from_millis), text("error_kind"));
        }
        from = page.last_evaluated_key.filter(|key: &Key| !key.is_empty());
        if from.is_none() {
            return Ok(index);
        }
    }
    Ok(Index { capped: true, ..index })
}

type Key = std::collections::HashMap<String, AttributeValue>;

impl Index {
    /// One row, by its shard: `failed#<source>`, or `<source>#<number>`.
    fn add(&mut self, shard: &str, received: Option<Timestamp>, kind: Option<&String>) {
        if let Some(source) = shard.strip_prefix("failed#") {
            let kind = kind.cloned().unwrap_or_else(|| "unknown".into());
            let waiting = self.sources.entry(source.to_owned()).or_default();
            *waiting.failed.entry(kind).or_default() += 1;
        } else if let Some((source, _)) = shard.rsplit_once('#') {
            let waiting = self.sources.entry(source.to_owned()).or_default();
            waiting.unfinished += 1;
            waiting.oldest = match (waiting.oldest, received) {
                (Some(oldest), Some(received)) => Some(oldest.min(received)),
                (oldest, received) => oldest.or(received),
            };
        }
    }
}

fn pause(source: &SourceName, since: Option<Timestamp>, context: &Context) -> Finding {
    let since = since.map_or_else(
        || "for an unknown time".to_owned(),
        |at| format!("since {} ({})", when::second(at), when::from_now(at, context.now())),
    );
    Severity::Warning.finding(
        "paused",
        format!("{source} is paused {since}"),
        "its events are stored and answered 2xx, and none is processed",
        context.command(&format!("resume {source}")),
    )
}

fn unknown(source: &str, waiting: &Waiting) -> Finding {
    let failed: u64 = waiting.failed.values().sum();
    Severity::Critical.finding(
        "unknown_source",
        format!(
            "{} unfinished and {failed} failed events are of {source}, which is not in \
             sources.toml",
            waiting.unfinished
        ),
        "nothing processes or sweeps them: they were answered 2xx, and stand still for ever",
        format!("put [{source}] back into infra/sources.toml, and deploy"),
    )
}

fn oldest(source: &str, waiting: &Waiting, paused: bool, context: &Context) -> Option<Finding> {
    let now = context.now();
    let oldest = waiting.oldest.filter(|at| now.since(*at) > OLD && !paused)?;
    Some(Severity::Critical.finding(
        "oldest_unfinished",
        format!(
            "the oldest of {} unfinished events of {source} was received {}",
            waiting.unfinished,
            when::from_now(oldest, now)
        ),
        "all attempts of an ordinary failure take 47 minutes: something does not run",
        context.command(&format!("list --source {source} --status unfinished")),
    ))
}

fn failed(source: &str, waiting: &Waiting, context: &Context) -> Option<Finding> {
    let count: u64 = waiting.failed.values().sum();
    let kinds = waiting.failed.iter().map(|(kind, count)| format!("{count} {kind}"));
    let kinds: Vec<_> = kinds.collect();
    (count > 0).then(|| {
        Severity::Warning.finding(
            "failed_rows",
            format!("{count} events of {source} have failed: {}", kinds.join(", ")),
            "nobody runs them again by himself",
            context.command(&format!("list --source {source} --status failed")),
        )
    })
}
