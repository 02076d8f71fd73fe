//! `inbox resume`: takes up again what `pause` has stopped.

use serde_json::json;
use shared::key::SourceName;

use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::when::date;

/// Take up the processing of a paused source again
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose events
    #[arg(value_parser = SourceName::parse)]
    source: SourceName,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod resume kudos

The sweeper sends what has waited within a few minutes, a long backlog as fast as the queue takes
it. The order of an ordered source is not kept over a pause. Resuming twice is resuming once.";

/// Resumes.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let source = &args.source;
    context.profile(source)?;
    let place = context.place().await?;
    let inbox = place.inbox();
    let now = context.now();
    let before = inbox.control(source).await?;
    if before.paused && !inbox.pause(source, false, now).await? {
        return Err(Failure::usage(
            format!("somebody paused {source} again in this moment, and that stands"),
            context.command(&format!("resume {source}")),
        ));
    }
    let since = if before.paused { Some(now) } else { before.resumed_at };
    if context.console.is_json() {
        let document = json!({
            "source": source.as_str(), "paused": false, "changed": before.paused,
            "resumed_at": since.map(date),
        });
        context.console.document(&document)?;
        return Ok(Ending::Done);
    }
    if before.paused {
        context.console.line(format!(
            "{source} is processed again in {}; the sweeper sends what has waited",
            place.kind
        ))?;
    } else {
        context.console.line(format!("{source} was not paused"))?;
    }
    let list = format!("list --source {source} --status unfinished --count");
    context.console.line(format!("next: {}", context.command(&list)))?;
    Ok(Ending::Done)
}
