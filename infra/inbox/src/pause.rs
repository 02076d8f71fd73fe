//! `inbox pause`: a source's events are stored and answered, but wait.

use serde_json::json;
use shared::key::SourceName;
use shared::limits::CONTROL_FRESH;

use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::when::{date, from_now};

/// Let a source's events wait: they are stored and answered 2xx, but not processed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose events
    #[arg(value_parser = SourceName::parse)]
    source: SourceName,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod pause kudos

Works within ten seconds; runs that have begun come to their end. Waiting events keep their
attempts. `inbox resume kudos` takes the processing up again. Pausing twice is pausing once.";

/// Pauses.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let source = &args.source;
    context.profile(source)?;
    let place = context.place().await?;
    let inbox = place.inbox();
    let now = context.now();
    let before = inbox.control(source).await?;
    if !before.paused && !inbox.pause(source, true, now).await? {
        return Err(Failure::usage(
            format!("somebody resumed {source} in this moment, and that stands"),
            context.command(&format!("pause {source}")),
        ));
    }
    let since = if before.paused { before.paused_at } else { Some(now) };
    if context.console.is_json() {
        let document = json!({
            "source": source.as_str(), "paused": true, "changed": !before.paused,
            "paused_at": since.map(date),
        });
        context.console.document(&document)?;
        return Ok(Ending::Done);
    }
    let line = match (before.paused, since) {
        (true, Some(at)) => format!("{source} was paused already, {}", from_now(at, now)),
        (true, None) => format!("{source} was paused already"),
        (false, _) => format!(
            "{source} is paused in {}; every function knows within {} s",
            place.kind,
            CONTROL_FRESH.as_secs()
        ),
    };
    context.console.line(line)?;
    context.console.line(format!("next: {}", context.command(&format!("resume {source}"))))?;
    Ok(Ending::Done)
}
