//! `inbox completions`: what a shell needs to complete our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::context::Context;
use crate::exit::{Ending, Failure};

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  inbox completions bash > ~/.local/share/bash-completion/completions/inbox
  inbox completions zsh > \"${fpath[1]}/_inbox\"
  inbox completions fish > ~/.config/fish/completions/inbox.fish";

/// Prints them.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "inbox", &mut script);
    context.console.bytes(&script)?;
    Ok(Ending::Done)
}
