//! `inbox secrets`: a rotation in commands.

mod add;
mod given;
mod list;
mod revoke;
mod text;
mod uses;
mod vault;

#[cfg(test)]
mod tests;

use clap::Subcommand;
use shared::key::SourceName;

pub(crate) use self::given::GivenSecrets;
pub(crate) use self::text::SecretText;
pub(crate) use self::vault::{Kept, Vault, document};
use crate::context::Context;
use crate::exit::{Ending, Failure};

/// List, add and revoke signing secrets: a rotation that refuses no delivery
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  inbox --local secrets list                    every source, by fingerprints
  printf %s \"$NEW\" | inbox --local secrets add kudos
  inbox --local secrets add kudos --generate    makes one, and prints it once
  inbox --local secrets revoke kudos f468807f9579

Secrets are named by their fingerprints, as in the rows (signed_by) and the logs.";

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Add(add::Args),
    Revoke(revoke::Args),
}

/// Runs the one that was asked for.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    match &args.command {
        Command::List(args) => list::run(args, context).await,
        Command::Add(args) => add::run(args, context).await,
        Command::Revoke(args) => revoke::run(args, context).await,
    }
}

/// Says why something was not done, and what to type next. Nothing was changed.
fn refused(context: &Context, what: &str, next: &str) -> Result<Ending, Failure> {
    if context.console.is_json() {
        context.console.document(&serde_json::json!({"done": false, "why": what, "next": next}))?;
    } else {
        context.console.note(format!("refused: {what}\nnext: {next}"));
    }
    Ok(Ending::Problem)
}

/// Somebody else has changed the secret in the meantime.
fn overtaken(context: &Context, source: &SourceName) -> Result<Ending, Failure> {
    let what = format!("somebody else has just changed the secrets of {source}; nothing was done");
    refused(context, &what, &context.command(&format!("secrets list {source}")))
}

/// A source whose secrets cannot be read at all.
fn unusable(
    context: &Context,
    source: &SourceName,
    kept: &Kept,
    vault: &Vault,
) -> Result<Ending, Failure> {
    let name = source.as_str();
    let (what, next) = match kept {
        Kept::Deleted => (
            format!("the secret of {name} is marked for deletion: every delivery is answered 503"),
            format!("aws secretsmanager restore-secret --secret-id {}", vault.name(source)),
        ),
        Kept::Nothing => (
            format!("{name} has no secret: every delivery is answered 503"),
            context.command(&format!("secrets add {name}")),
        ),
        Kept::Unreadable { .. } | Kept::List(_) => (
            format!(
                "the secret of {name} is not {{\"secrets\":[\"…\"]}}: every delivery is answered \
                 503"
            ),
            context.command(&format!("secrets add {name} --replace")),
        ),
    };
    refused(context, &what, &next)
}
