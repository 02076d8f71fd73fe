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

use shared::fault::Fault;

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
    let looked = tables::look(place, &mut findings).await;
    allowed(looked, "the rest of the tables", &mut findings)?;
    let looked = queues::look(place, &mut findings).await;
    allowed(looked, "the rest of the queues", &mut findings)?;
    let looked = secrets::look(place, context, &mut findings).await;
    allowed(looked, "the rest of the secrets", &mut findings)?;
    memory::look(context, retention, &mut findings);
    let looked = rows::look(place, context, &mut findings).await;
    allowed(looked, "the rest of the rows", &mut findings)?;
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

/// What the caller may not look at is said; the rest is looked at all the same.
fn allowed(
    looked: Result<(), Failure>,
    rest: &str,
    findings: &mut Findings,
) -> Result<(), Failure> {
    match looked {
        Err(Failure::Fault(Fault::Refused { operation, code })) if is_denial(&code) => {
            let look = "RUNBOOK.md, The tool: what doctor needs";
            findings.unchecked(format!("{rest}: {operation} is not allowed ({code})"), look);
            Ok(())
        }
        looked => looked,
    }
}

/// Of the services that are asked, each has a word of its own for it.
fn is_denial(code: &str) -> bool {
    code.contains("AccessDenied")
}
