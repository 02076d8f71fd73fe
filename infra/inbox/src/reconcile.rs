//! `inbox reconcile`: a producer's list of what it sent, held against what is here.

mod column;
mod list;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use shared::inbox::{ErrorKind, Outcome, Standing, Status};
use shared::key::{EventId, EventKey, SourceName};
use shared::source::IdRule;

use self::column::Wanted;
use self::list::{Form, List};
use crate::console::{Console, Table, Tone, visible};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::shell;
use crate::when::date;

/// Hold a producer's list of ids against the inbox: which never arrived, failed, wait, or are done
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose events
    #[arg(value_parser = SourceName::parse)]
    source: SourceName,
    /// The list: an id on each line, CSV with a header, or JSON; - is stdin
    #[arg(long, value_name = "FILE")]
    ids: PathBuf,
    /// The column or field with the ids [default: event_id, message_id, id, … as there is one]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod reconcile kudos --ids delivery-log.csv
  inbox --local reconcile kudos --ids export.json --column event.id
  jq -r '.deliveries[].event_id' export.json | inbox --local reconcile kudos --ids -
  inbox --local reconcile kudos --ids ids.txt --json | jq -r 'select(.standing==\"missing\")'

The list is what the producer's delivery log exports: an id on each line, a table (CSV, or with ; or
tabs) with a header, or JSON: an array of texts or objects, or a document on each line. White space
and quotes around an id on a line are not part of it; in JSON they are. Each id is counted once.

Exit code 1 if any never arrived. What has ended is forgotten after the inbox's retention: give ids
that are younger than that. With --json each id is a document on a line.";

/// Ids that are looked up together.
const TOGETHER: usize = 1_000;

/// Where an id stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Missing,
    Failed,
    Unfinished,
    Done,
    Ignored,
    Dropped,
}

impl Stand {
    const ALL: [Self; 6] =
        [Self::Missing, Self::Failed, Self::Unfinished, Self::Done, Self::Ignored, Self::Dropped];

    fn of(standing: Option<&Standing>) -> Self {
        match standing.map(|standing| standing.status) {
            None => Self::Missing,
            Some(Status::Failed) => Self::Failed,
            Some(Status::Pending | Status::Processing) => Self::Unfinished,
            Some(Status::Done) => Self::Done,
            Some(Status::Ignored) => Self::Ignored,
            Some(Status::Dropped) => Self::Dropped,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
            Self::Done => "done",
            Self::Ignored => "ignored",
            Self::Dropped => "dropped",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Missing | Self::Failed => Tone::Bad,
            Self::Unfinished | Self::Dropped => Tone::Warn,
            Self::Done | Self::Ignored => Tone::Good,
        }
    }
}

/// An id of the list, and what the inbox knows of it.
struct Held {
    id: String,
    standing: Option<Standing>,
}

/// Holds the list against the inbox.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    remark_on_ids(args, context);
    let ids = ids(args, context)?;
    let inbox = context.place().await?.inbox();
    let total = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    let mut progress = context.console.progress("looking up", Some(total));
    let mut held = vec![];
    for chunk in ids.chunks(TOGETHER) {
        // What is no id cannot have been stored under it.
        let key = |id: &String| {
            Some(EventKey { source: args.source.clone(), id: EventId::parse(id).ok()? })
        };
        let keys: Vec<Option<EventKey>> = chunk.iter().map(key).collect();
        let asked: Vec<EventKey> = keys.iter().flatten().cloned().collect();
        let mut found = inbox.standings(&asked).await?;
        for (id, key) in chunk.iter().zip(keys) {
            let standing = key.and_then(|key| found.remove(&key));
            held.push(Held { id: id.clone(), standing });
        }
        progress.step(u64::try_from(chunk.len()).unwrap_or(0));
    }
    progress.clear();
    tell(args, context, &held)?;
    let missing = held.iter().any(|held| held.standing.is_none());
    Ok(if missing { Ending::Problem } else { Ending::Done })
}

/// Where ids are not what rows are named after.
fn remark_on_ids(args: &Args, context: &Context) {
    context.remark_unknown(&args.source);
    let profile = context.sources.get(args.source.as_str());
    if profile.is_some_and(|profile| profile.event.id == IdRule::Digest) {
        context.console.note(format!(
            "note: {} signs no id, so its events are named by the digest of their body \
             (sha256:…), not by the producer's ids",
            args.source
        ));
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let mut bytes = vec![];
    let read = match file.to_str() {
        Some("-") => std::io::stdin().lock().read_to_end(&mut bytes),
        _ => std::fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    let again = "inbox reconcile --help";
    read.map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()), again)
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is not UTF-8", file.display()), again))
}

/// The ids of the list, with remarks on how it was read.
fn ids(args: &Args, context: &Context) -> Result<Vec<String>, Failure> {
    let profile = context.sources.get(args.source.as_str());
    let wanted = Wanted::of(args.column.as_deref(), profile);
    let list = list::read(&read(&args.ids)?, &wanted).map_err(|error| {
        let again = "inbox reconcile --help, and --column NAME if it has columns or fields";
        let what = visible(&error.to_string());
        Failure::usage(format!("{} {what}", args.ids.display()), again)
    })?;
    remark_on_list(&list, &context.console);
    Ok(list.ids)
}

fn remark_on_list(list: &List, console: &Console) {
    if list.form != Form::Lines {
        console.note(format!("note: read as {}", visible(&list.form.to_string())));
    }
    if list.repeated > 0 {
        console.note(format!("note: {} repeat an id; each is counted once", list.repeated));
    }
    if list.without > 0 {
        console.note(format!("note: {} of its entries hold no id", list.without));
    }
}

fn tell(args: &Args, context: &Context, held: &[Held]) -> Result<(), Failure> {
    let console = &context.console;
    if console.is_json() {
        for held in held {
            console.document(&document(args, held))?;
        }
        return Ok(());
    }
    let of = |stand: Stand| held.iter().filter(move |h| Stand::of(h.standing.as_ref()) == stand);
    let mut table = Table::new(&["standing", "count"]);
    for stand in Stand::ALL {
        let count = of(stand).count();
        if count > 0 {
            table.row([stand.word().to_owned(), count.to_string()]);
            table.tone(0, stand.tone());
        }
    }
    console.line(table.text(console))?;
    for stand in [Stand::Missing, Stand::Failed] {
        for held in of(stand) {
            let kind = held.standing.as_ref().and_then(|s| s.error_kind).map(ErrorKind::word);
            let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
            console.line(format!("{}{kind}: {}", stand.word(), visible(&held.id)))?;
        }
    }
    next(args, context, of(Stand::Missing).next(), of(Stand::Failed).next())
}

fn next(
    args: &Args,
    context: &Context,
    missing: Option<&Held>,
    failed: Option<&Held>,
) -> Result<(), Failure> {
    let console = &context.console;
    if missing.is_some() {
        console
            .line("\nnext: let the producer send the missing ones again; duplicates do no harm")?;
    }
    if let Some(failed) = failed {
        let rest = format!("show {} {}", args.source, shell::id(&failed.id));
        console.line(format!("next: {}", context.command(&rest)))?;
    }
    Ok(())
}

fn document(args: &Args, held: &Held) -> serde_json::Value {
    let standing = held.standing.as_ref();
    json!({
        "source": args.source.as_str(),
        "event_id": held.id,
        "standing": Stand::of(standing).word(),
        "status": standing.map(|s| s.status.word()),
        "error_kind": standing.and_then(|s| s.error_kind).map(ErrorKind::word),
        "outcome": standing.and_then(|s| s.outcome).map(Outcome::word),
        "finished_at": standing.and_then(|s| s.finished_at).map(date),
    })
}
