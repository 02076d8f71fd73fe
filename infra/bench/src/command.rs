//! The command: what it takes, what it measures, what it says.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::binaries::Binaries;
use crate::report::Report;
use crate::{gate, run, scale, units};

/// What the functions cost: CPU, memory, size, requests and capacity units.
///
/// Times are CPU time of the function's process, never wall time. Only ratios of one run mean
/// anything on another machine.
#[derive(Debug, Parser)]
#[command(name = "bench", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<What>,
    /// One JSON object instead of a table
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All of it in one table: init, first and warm event, memory, size, requests (the default)
    Run(RunArguments),
    /// Requests and capacity units for one event, by the size of its body
    Units,
    /// Cost per event with 1 to 64 environments, and with more and more rows in the inbox
    Scale(ScaleArguments),
    /// Sizes and peak memory alone; fails when one is above its limit
    Gate(BinaryArguments),
}

/// Where the functions are.
#[derive(Args, Clone, Debug, Default)]
pub struct BinaryArguments {
    /// Folder with release binaries, from cargo or from cargo-lambda (without it: they are built,
    /// which takes some minutes at first)
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
}

/// What `run` takes.
#[derive(Args, Clone, Debug, Default)]
pub struct RunArguments {
    #[command(flatten)]
    pub(crate) binaries: BinaryArguments,
    /// A tenth of the samples: to see whether it works
    #[arg(long)]
    pub(crate) quick: bool,
    /// Another program to compare with, which does the work of the ingress over the same Runtime API
    /// and the same endpoints; may be repeated
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = named)]
    pub(crate) also: Vec<(String, PathBuf)>,
    /// Also give the first event the CPU share of a function with this memory, by a cgroup (needs root)
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(128..=1769))]
    pub(crate) share_of: Vec<u32>,
}

/// What `scale` takes.
#[derive(Args, Clone, Debug)]
pub struct ScaleArguments {
    #[command(flatten)]
    pub(crate) binaries: BinaryArguments,
    /// Rows to fill the inbox with at most, ten times as many in each step from 1000
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    pub(crate) rows: u32,
}

const EXAMPLES: &str = "\
Examples:
  cargo run --release -p bench                    build the functions, measure, print the table
  cargo run -p bench -- units                     no release build needed
  cargo run -p bench -- gate                      what CI checks
  cargo run -p bench -- run --quick --json
  cargo run -p bench -- run --also python=./python.sh
                                                  beside another program, in the same run

How the driver itself is built changes no figure: it runs outside of the functions' processes.
Measure on a machine with nothing else to do.";

fn named(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, program)) if !name.is_empty() && !program.is_empty() => {
            Ok((name.to_owned(), program.into()))
        }
        _ => Err("expected a name and a program, as in python=./python.sh".into()),
    }
}

impl BinaryArguments {
    pub(crate) fn find(&self) -> Result<Binaries, Box<dyn Error>> {
        Ok(match &self.functions {
            Some(folder) => Binaries::found(folder),
            None => Binaries::built()?,
        })
    }
}

/// The command from its arguments to its exit code: 1 when a figure is above its limit, 2 when
/// something could not be measured.
pub async fn main() -> ExitCode {
    let Arguments { command, json } = Arguments::parse();
    let report = match command.unwrap_or_else(|| What::Run(RunArguments::default())) {
        What::Run(arguments) => run::run(&arguments).await,
        What::Units => units::units().await,
        What::Scale(arguments) => scale::scale(&arguments).await,
        What::Gate(arguments) => gate::gate(&arguments).await,
    };
    match report.and_then(|report| print(&report, json).map(|()| report)) {
        Ok(report) => verdict(&report),
        Err(error) => {
            let mut said = format!("bench: {error}");
            let mut cause = error.source();
            while let Some(next) = cause {
                let _ = write!(said, ": {next}");
                cause = next.source();
            }
            let _ = writeln!(std::io::stderr().lock(), "{said}");
            ExitCode::from(2)
        }
    }
}

fn print(report: &Report, json: bool) -> Result<(), Box<dyn Error>> {
    let text = if json { serde_json::to_string(report)? + "\n" } else { report.table() };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

fn verdict(report: &Report) -> ExitCode {
    let missed: Vec<&str> = report.missed().collect();
    if missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(std::io::stderr().lock(), "bench: above the limit: {}", missed.join("; "));
    ExitCode::FAILURE
}
