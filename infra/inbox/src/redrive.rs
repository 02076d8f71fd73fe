//! `inbox redrive`: failed events run again, each once.

mod report;
mod run;

use std::time::Duration;

use shared::inbox::LeftAlone;

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

/// The sweeper sends 2,000 a minute at most; this leaves room for what comes meanwhile.
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
    let mut candidates = match args.ignored {
        true => args.choice.ignored(context).await?,
        false => args.choice.failed(context, "redrive").await?,
    };
    let forgotten = if args.choice.is_named() || args.choice.filter.kind.is_some() {
        0
    } else {
        take_out(&mut candidates, Candidate::is_beyond_memory)
    };
    for source in candidates.iter().map(|candidate| &candidate.key.source) {
        // No function would run them, and none would sweep them.
        context.profile(source)?;
    }
    if args.dry_run {
        return dry_run(args, context, candidates, forgotten).await;
    }
    let place = context.place().await?;
    context.console.note(format!("redriving in {}", place.kind));
    let total = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
    let progress = context.console.progress("redriving", Some(total));
    let ignored = args.choice.filter.event_type.as_ref().filter(|_| args.ignored);
    let interrupt = Interrupt::listen(context.console);
    let redrive = Redrive::new(context, place, ignored);
    let mut report = Report::new(args.choice.is_named());
    report.forgotten = forgotten;
    let fault = redrive.all(&candidates, args.rate, &interrupt, progress, &mut report).await.err();
    report.tell(context, &format!("redrive{}", args.again(context)))?;
    match fault {
        Some(fault) => Err(fault.into()),
        None => Ok(report.ending()),
    }
}

impl Args {
    /// The same arguments again.
    fn again(&self, context: &Context) -> String {
        let ignored = if self.ignored { " --ignored" } else { "" };
        let rate = if self.rate == RATE { String::new() } else { format!(" --rate {}", self.rate) };
        format!("{ignored}{rate}{}", self.choice.flags(context.now()))
    }
}

async fn dry_run(
    args: &Args,
    context: &Context,
    mut candidates: Vec<Candidate>,
    forgotten: usize,
) -> Result<Ending, Failure> {
    let mut report = Report::new(args.choice.is_named());
    (report.forgotten, report.dry_run) = (forgotten, true);
    if args.choice.is_named() {
        let redrive = Redrive::new(
            context,
            context.place().await?,
            args.choice.filter.event_type.as_ref().filter(|_| args.ignored),
        );
        candidates = redrive.would(candidates, &mut report).await?;
    } else {
        let unusable = take_out(&mut candidates, Candidate::is_unusable);
        report.leave(LeftAlone::Unusable, unusable);
    }
    report.selected = candidates.len();
    let groups = Groups::of(&candidates);
    if context.console.is_json() {
        context.console.document(&report.document(&groups))?;
        return Ok(report.ending());
    }
    groups.show(&candidates, &context.console, context.now())?;
    let time =
        Duration::from_secs(u64::try_from(candidates.len()).unwrap_or(0) / u64::from(args.rate));
    report.tell_dry(context, &format!("redrive{}", args.again(context)), time)?;
    Ok(report.ending())
}

/// Takes out what is not to be run; how many.
fn take_out(candidates: &mut Vec<Candidate>, out: impl Fn(&Candidate) -> bool) -> usize {
    let before = candidates.len();
    candidates.retain(|candidate| !out(candidate));
    before - candidates.len()
}
