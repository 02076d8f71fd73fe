//! `inbox list`: what is unfinished and what has failed; with `--all`, everything.

mod found;
mod line;
mod place;

use shared::inbox::{Next, Scan, Status};

use self::found::Found;
use self::line::Line;
use self::place::After;
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::filter::Filter;
use crate::scan_cost;
use crate::walk::{Holds, Walk};

/// Show what is unfinished and what has failed; with --all, everything
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// Only of this status; `unfinished` is pending or processing
    #[arg(long, value_parser = Wanted::parser())]
    status: Option<Wanted>,
    /// Count them by source, status, kind and type instead
    #[arg(long)]
    count: bool,
    /// Read the whole table, so that finished events are shown too; says what that costs
    #[arg(long)]
    all: bool,
    /// Stop after so many, and say how to go on; 0 never stops
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Go on where another list has stopped
    #[arg(long, value_name = "PLACE", value_parser = After::parse, conflicts_with = "count")]
    after: Option<After>,
}

const EXAMPLES: &str = "\
Examples:
  inbox --local list                                   what is not finished, and what has failed
  inbox --local list --count                           how many, by source, kind and type
  inbox --local list --source kudos --kind permanent --since 2h
  inbox --local list --type 'payment.*' --status failed --json | jq -r .event_id
  inbox --local list --all --status done --source kudos --limit 0

Unfinished and failed events come from an index, shard by shard, each in the order in which the
sweeper looks at them; that costs next to nothing. A status like pending or done needs --all.
With --json each event is a document on a line.";

/// A status that a list can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Unfinished,
    Exactly(Status),
}

impl Wanted {
    const WORDS: [&str; 7] =
        ["unfinished", "failed", "pending", "processing", "done", "ignored", "dropped"];

    fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
        use clap::builder::{PossibleValuesParser, TypedValueParser as _};
        PossibleValuesParser::new(Self::WORDS)
            .map(|word| Status::parse(&word).map_or(Self::Unfinished, Self::Exactly))
    }

    fn includes(self, status: Status) -> bool {
        match self {
            Self::Unfinished => status.is_unfinished(),
            Self::Exactly(exactly) => status == exactly,
        }
    }

    fn needs_scan(self) -> bool {
        !matches!(self, Self::Unfinished | Self::Exactly(Status::Failed))
    }
}

/// Lists.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    if !args.all && args.status.is_some_and(Wanted::needs_scan) {
        return Err(Failure::usage(
            "the index knows `failed` and `unfinished`; any other status needs the whole table",
            "the same command with --all, which says what it costs",
        ));
    }
    let has_kind = args.status.is_none_or(|wanted| wanted == Wanted::Exactly(Status::Failed));
    if args.filter.kind.is_some() && !has_kind {
        return Err(Failure::usage(
            "only failed events have a kind",
            "the same command without --kind, or with --status failed",
        ));
    }
    args.filter.check(context.now())?;
    let mut found = Found::new(args, context);
    if args.all {
        everything(args, context, &mut found).await?;
    } else {
        from_index(args, context, &mut found).await?;
    }
    found.tell()?;
    Ok(Ending::Done)
}

async fn from_index(args: &Args, context: &Context, found: &mut Found<'_>) -> Result<(), Failure> {
    let inbox = context.place().await?.inbox();
    let now = context.now();
    // Only failed events have a kind.
    let failed = args.filter.kind.is_some();
    let mut walk = Walk::through(&args.filter.sources(context), |holds| match args.status {
        Some(Wanted::Unfinished) => holds == Holds::Unfinished && !failed,
        Some(Wanted::Exactly(_)) => holds == Holds::Failed,
        None => holds == Holds::Failed || !failed,
    });
    if let Some(After::Index { shard, key, due_at }) = &args.after {
        let known = walk.skip_to(shard, Next::behind(shard, key, *due_at));
        if !known {
            return Err(other_list());
        }
    } else if args.after.is_some() {
        return Err(other_list());
    }
    while let Some((shard, rows)) = walk.page(&inbox).await? {
        for row in rows {
            let event_type = row.event_type.as_ref();
            if !args.filter.matches(event_type, row.error_kind, row.received_at, now) {
                continue;
            }
            let (key, due_at) = (row.key.clone(), row.due_at);
            let after = || After::Index { shard: shard.name.clone(), key, due_at };
            if !found.take(Line::of_index(&row, shard.holds), after)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn everything(args: &Args, context: &Context, found: &mut Found<'_>) -> Result<(), Failure> {
    let inbox = context.place().await?.inbox();
    let now = context.now();
    let total = scan_cost::tell(context, &inbox).await?;
    let status = match args.status {
        Some(Wanted::Exactly(status)) => Some(status),
        Some(Wanted::Unfinished) | None => None,
    };
    let wanted = Scan { source: args.filter.source.clone(), status };
    let mut from = match &args.after {
        None => None,
        Some(After::Table { key }) => Some(Next::behind_row(key)),
        Some(After::Index { .. }) => return Err(other_list()),
    };
    let mut progress = found.progress(total);
    let mut unreadable = 0;
    loop {
        let page = inbox.scan(&wanted, from).await?;
        progress.step(page.read);
        unreadable += page.unreadable;
        for row in &page.rows {
            let event_type = row.event_type.as_ref();
            let is_status = args.status.is_none_or(|wanted| wanted.includes(row.status));
            if !is_status || !args.filter.matches(event_type, row.error_kind, row.received_at, now)
            {
                continue;
            }
            let after = || After::Table { key: row.key.clone() };
            if !found.take(Line::of_row(row), after)? {
                return Ok(());
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    progress.clear();
    if unreadable > 0 {
        context.console.note(format!("note: {unreadable} items are no rows that can be read"));
    }
    Ok(())
}

fn other_list() -> Failure {
    Failure::usage("--after is of another list", "the command exactly as the last list said it")
}
