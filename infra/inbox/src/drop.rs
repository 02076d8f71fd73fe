//! `inbox drop`: events that nobody will run, given up for a reason that is kept.

use futures_util::future::join_all;
use serde_json::json;
use shared::fault::Fault;
use shared::inbox::{Dropped, Inbox, Status};
use shared::key::EventKey;
use shared::limits::ERROR_BYTES_MAX;

use crate::choice::{self, Candidate, Choice, Groups};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::shell;
use crate::when::events;

/// Give events up, for a reason that is kept with them until they are forgotten
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Why; at most 256 bytes, kept in the row
    #[arg(long, value_name = "WHY", value_parser = reason)]
    reason: String,
    #[command(flatten)]
    choice: Choice,
    /// Show what would be dropped and how many; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Drop what a filter finds; without this a filter only shows it
    #[arg(long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  inbox --local drop --reason 'test tenant, agreed with Ana' kudos evt_1
  inbox --local drop --reason 'format of before May' --source kudos --kind unusable
  inbox --local drop --reason 'format of before May' --source kudos --kind unusable --yes

A dropped event never runs; a delivery of it again is a duplicate. It is forgotten after the
inbox's retention. A filter finds failed events only; an unfinished one can be dropped by its id,
unless a run holds it. With a filter nothing is dropped without --yes; nothing ever asks.";

fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say why: it is all that is left of the decision".to_owned()),
        long if long.len() > ERROR_BYTES_MAX => {
            Err(format!("has {} bytes; the row keeps {ERROR_BYTES_MAX}", long.len()))
        }
        why => Ok(why.to_owned()),
    }
}

/// What became of one event.
enum Fate {
    Dropped,
    Already,
    /// Finished, or held by a run.
    Kept(Status),
    Missing,
}

/// Drops. Exit code 1 if an event that was named is not there or could not be dropped.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let candidates = args.choice.failed(context, "drop").await?;
    let mut candidates = args.choice.first(candidates);
    let inbox = context.place().await?.inbox();
    let for_real = !args.dry_run && (args.yes || args.choice.is_named());
    if !for_real {
        choice::look(&inbox, &mut candidates).await?;
        let missing = candidates.iter().filter(|candidate| candidate.seen.is_none()).count();
        candidates.retain(|candidate| candidate.seen.is_some());
        return would(args, context, &candidates, missing);
    }
    context.console.note(format!("dropping in {}", context.place().await?.kind));
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let mut progress = context.console.progress("dropping", Some(total));
    let (mut fates, mut fault) = (vec![], None);
    for chunk in candidates.chunks(TOGETHER) {
        let dropped = join_all(chunk.iter().map(|c| drop(args, &inbox, &c.key, context))).await;
        progress.step(u64::try_from(chunk.len()).unwrap_or(0));
        for (candidate, fate) in chunk.iter().zip(dropped) {
            match fate {
                Ok(fate) => fates.push((&candidate.key, fate)),
                Err(why) => fault = Some(why),
            }
        }
        if fault.is_some() {
            break;
        }
    }
    progress.clear();
    let ending = tell(args, context, &fates)?;
    fault.map_or(Ok(ending), |fault| Err(fault.into()))
}

/// Rows that are written at the same time.
const TOGETHER: usize = 10;

async fn drop(
    args: &Args,
    inbox: &Inbox,
    key: &EventKey,
    context: &Context,
) -> Result<Fate, Fault> {
    let Some(row) = inbox.row(key).await? else { return Ok(Fate::Missing) };
    match row.status {
        Status::Dropped => return Ok(Fate::Already),
        Status::Done | Status::Ignored => return Ok(Fate::Kept(row.status)),
        // A filter means failed events; this one runs again since it was found.
        unfinished if unfinished.is_unfinished() && !args.choice.is_named() => {
            return Ok(Fate::Kept(unfinished));
        }
        Status::Pending | Status::Processing | Status::Failed => {}
    }
    Ok(match inbox.drop_event(&row, &args.reason, context.now()).await? {
        Dropped::Done => Fate::Dropped,
        Dropped::Moved(Some(Status::Dropped)) => Fate::Already,
        Dropped::Moved(Some(status)) => Fate::Kept(status),
        Dropped::Moved(None) => Fate::Missing,
    })
}

fn would(
    args: &Args,
    context: &Context,
    candidates: &[Candidate],
    missing: usize,
) -> Result<Ending, Failure> {
    let (console, count) = (&context.console, candidates.len());
    let groups = Groups::of(candidates);
    if console.is_json() {
        console.document(&json!({
            "dry_run": true, "selected": count, "dropped": 0, "already": 0, "kept": 0,
            "missing": missing, "groups": groups.documents(),
        }))?;
    } else {
        groups.show(candidates, console, context.now())?;
        console.line(format!("{} would be dropped; nothing was changed", events(count)))?;
        if missing > 0 {
            console.line(format!("{missing} not there: no such row"))?;
        }
        if count > 0 {
            let yes = if args.choice.is_named() { "" } else { " --yes" };
            let reason = shell::word(&args.reason);
            let rest = format!("drop --reason {reason}{yes}{}", args.choice.flags(context.now()));
            console.line(format!("next: {}", context.command(&rest)))?;
        }
    }
    Ok(if missing > 0 { Ending::Problem } else { Ending::Done })
}

fn tell(args: &Args, context: &Context, fates: &[(&EventKey, Fate)]) -> Result<Ending, Failure> {
    let console = &context.console;
    let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|(_, fate)| wanted(fate)).count();
    let dropped = count(|fate| matches!(fate, Fate::Dropped));
    let already = count(|fate| matches!(fate, Fate::Already));
    let kept = count(|fate| matches!(fate, Fate::Kept(_)));
    let missing = count(|fate| matches!(fate, Fate::Missing));
    let problem = args.choice.is_named() && kept + missing > 0;
    let ending = if problem { Ending::Problem } else { Ending::Done };
    if console.is_json() {
        console.document(&json!({
            "dry_run": false, "selected": fates.len(), "dropped": dropped, "already": already,
            "kept": kept, "missing": missing, "groups": [],
        }))?;
        return Ok(ending);
    }
    if args.choice.is_named() {
        for (key, fate) in fates {
            console.line(format!("{key}  {}", said(fate)))?;
        }
    }
    console.line(format!("{dropped} of {} dropped", events(fates.len())))?;
    if !args.choice.is_named() && already + kept + missing > 0 {
        console.line(format!("{} were not failed any more", already + kept + missing))?;
    }
    Ok(ending)
}

fn said(fate: &Fate) -> String {
    match fate {
        Fate::Dropped => "dropped".into(),
        Fate::Already => "was dropped already; its reason stands".into(),
        Fate::Kept(Status::Done | Status::Ignored) => "kept: it is over".into(),
        Fate::Kept(Status::Processing) => {
            "kept: a run holds it; try again when that is over".into()
        }
        Fate::Kept(status) => format!("kept: it has moved on, to {status}"),
        Fate::Missing => "not there: no such row".into(),
    }
}
