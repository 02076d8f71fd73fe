//! `inbox doctor`: what would lose events or money in the stack as it is.

mod alarms;
mod finding;
mod memory;
mod queues;
mod report;
mod rows;
mod secrets;
mod stack;
mod tables;

#[cfg(test)]
mod tests;

use self::finding::Findings;
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::place::Kind;

/// Look for what would lose events or money: in the tables, the queues, the secrets and the rows
///
/// Only reads. What cannot be looked at is said.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  inbox --local doctor
  inbox --stack webhook-inbox-prod doctor
  inbox --stack webhook-inbox-prod --json doctor | jq -r '.findings[] | .severity + \" \" + .what'

Exit codes: 0 nothing found, 1 something found, 2 usage, 3 cannot reach the inbox.";

/// Looks at everything, then says it.
pub(crate) async fn run(_args: &Args, context: &Context) -> Result<Ending, Failure> {
    let place = context.place().await?;
    let mut findings = Findings::default();
    let stack = match &place.kind {
        Kind::Stack(name) => Some(stack::look(place, name, &mut findings).await),
        Kind::Local(_) | Kind::Environment => None,
    };
    let retention = stack.and_then(|stack| stack.retention).unwrap_or(place.common.retention);
    tables::look(place, &mut findings).await?;
    queues::look(place, &mut findings).await?;
    secrets::look(place, context, &mut findings).await?;
    memory::look(context, retention, &mut findings);
    rows::look(place, context, &mut findings).await?;
    if let Kind::Stack(name) = &place.kind {
        alarms::look(place, name, &mut findings).await;
        let look =
            format!("aws lambda list-event-source-mappings --function-name {name}-processor");
        findings.unchecked(
            "the functions and their mappings: time-outs, batch size, whether they are on",
            look,
        );
    }
    report::tell(&findings, context)
}
