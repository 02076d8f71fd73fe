//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::place::Where;
use crate::{
    completions, doctor, drop, list, pause, reconcile, redrive, resume, secrets, send, show, stats,
    verify,
};

/// Look into a webhook inbox and operate it: what happened to an event, what failed and why, and
/// running it again.
#[derive(Debug, Parser)]
#[command(name = "inbox", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Print JSON for other programs instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod show kudos evt_1   what happened to this event
  inbox --local list --source kudos --kind permanent  what failed in the local run
  inbox --local redrive --source kudos --dry-run      what would be run again

Exit codes: 0 done, 1 found a problem, 2 usage, 3 cannot reach the inbox.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Show(show::Args),
    List(list::Args),
    Stats(stats::Args),
    Redrive(redrive::Args),
    Drop(drop::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Reconcile(reconcile::Args),
    Send(send::Args),
    Verify(verify::Args),
    Secrets(secrets::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// The tool from its arguments to its exit code.
pub async fn main() -> ExitCode {
    let Cli { json, place, command } = Cli::parse();
    let context = match Context::new(place, json) {
        Ok(context) => context,
        Err(failure) => return failure.tell(None),
    };
    match Box::pin(run(&command, &context)).await {
        Ok(ending) => ending.into(),
        Err(failure) => context.explain(failure).await.tell(context.kind()),
    }
}

async fn run(command: &Command, context: &Context) -> Result<Ending, Failure> {
    match command {
        Command::Show(args) => show::run(args, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Stats(args) => stats::run(args, context).await,
        Command::Redrive(args) => redrive::run(args, context).await,
        Command::Drop(args) => drop::run(args, context).await,
        Command::Pause(args) => pause::run(args, context).await,
        Command::Resume(args) => resume::run(args, context).await,
        Command::Reconcile(args) => reconcile::run(args, context).await,
        Command::Send(args) => send::run(args, context).await,
        Command::Verify(args) => verify::run(args, context).await,
        Command::Secrets(args) => secrets::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Completions(args) => completions::run(args, context).await,
    }
}
