//! `inbox redrive`: failed events run again, each once.

mod report;
mod run;

use std::time::Duration;

use shared::inbox::{ErrorKind, LeftAlone};

use self::report::Report;
use self::run::Redrive;
use crate::choice::{Candidate, Choice, Groups};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::interrupt::Interrupt;

/// Run failed events again: by id, or all that a filter finds
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Run ignored events again instead, of a type that has a handler by now; reads the whole table
    #[arg(long, requires = "event_type", conflicts_with = "kind")]
    ignored: bool,
    /// Show what would be run again and how many; change nothing
    #[arg(long)]
    dry_run: bool,
    /// No more than so many in a second
    #[arg(long, value_name = "N", default_value_t = RATE, value_parser = rates())]
    rate: u32,
}

/// What comes meanwhile is not to wait long behind them.
const RATE: u32 = 50;

fn rates() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=10_000)
}

const EXAMPLES: &str = "\
Examples:
  inbox --local redrive kudos evt_1 evt_2
  inbox --local redrive --source kudos --type 'payment.*' --kind permanent --since 2h --dry-run
  inbox --local redrive --source kudos --type 'payment.*' --kind permanent --since 2h
  inbox --local redrive --source kudos --limit 10    ten first, to see whether it works
  inbox --local redrive --source kudos --ignored --type refund.created

Each event is one conditional write that takes a failed row back to pending, and a message. What is
pending, running, done, dropped or unusable is told and left alone: a command that was interrupted
is simply given again, and two at once do no harm. A message that cannot be sent is the sweeper's.

Events that are beyond_memory may have run before: they are run again only by id or with
--kind beyond_memory. Events of an ordered source come behind those that have come since.";

/// Redrives. Exit code 1 if an event that was named is not there or cannot run, or if interrupted.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let (candidates, mut report) = chosen(args, context).await?;
    let place = context.place().await?;
    let ignored = args.choice.filter.event_type.as_ref().filter(|_| args.ignored);
    let redrive = Redrive::new(context, place, ignored);
    if args.dry_run {
        return dry_run(args, context, &redrive, candidates, report).await;
    }
    context.console.note(format!("redriving in {}", place.kind));
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let progress = context.console.progress("redriving", Some(total));
    let interrupt = Interrupt::listen(context.console);
    let done = redrive.all(&candidates, args.rate, &interrupt, progress, &mut report).await;
    report.tell(context, &args.again(context))?;
    done?;
    Ok(report.ending())
}

/// The events that are meant and may be run, and a report that knows of the others.
async fn chosen(args: &Args, context: &Context) -> Result<(Vec<Candidate>, Report), Failure> {
    let choice = &args.choice;
    let mut candidates = match args.ignored {
        true => choice.ignored(context).await?,
        false => choice.failed(context, "redrive").await?,
    };
    let mut report = Report::new(choice.is_named());
    if choice.filter.kind.is_none() {
        report.forgotten = take_out(&mut candidates, ErrorKind::BeyondMemory);
    }
    report.leave(LeftAlone::Unusable, take_out(&mut candidates, ErrorKind::Unusable));
    let candidates = choice.first(candidates);
    for Candidate { key, .. } in &candidates {
        // No function would run them, and none would sweep them.
        context.profile(&key.source)?;
    }
    Ok((candidates, report))
}

/// Takes out those that failed for this reason; how many.
fn take_out(candidates: &mut Vec<Candidate>, kind: ErrorKind) -> usize {
    let before = candidates.len();
    candidates.retain(|candidate| candidate.kind() != Some(kind));
    before - candidates.len()
}

async fn dry_run(
    args: &Args,
    context: &Context,
    redrive: &Redrive<'_>,
    mut candidates: Vec<Candidate>,
    mut report: Report,
) -> Result<Ending, Failure> {
    report.dry_run = true;
    if args.choice.is_named() {
        candidates = redrive.would(candidates, &mut report).await?;
    }
    report.selected = candidates.len();
    let groups = Groups::of(&candidates);
    if context.console.is_json() {
        context.console.document(&report.document(&groups))?;
        return Ok(report.ending());
    }
    groups.show(&candidates, &context.console, context.now())?;
    let secs = u64::try_from(candidates.len()).unwrap_or(u64::MAX) / u64::from(args.rate);
    report.tell_dry(context, &args.again(context), Duration::from_secs(secs))?;
    Ok(report.ending())
}

impl Args {
    /// The same command again.
    fn again(&self, context: &Context) -> String {
        let ignored = if self.ignored { " --ignored" } else { "" };
        let rate = if self.rate == RATE { String::new() } else { format!(" --rate {}", self.rate) };
        format!("redrive{ignored}{rate}{}", self.choice.flags(context.now()))
    }
}
