//! The command: what it takes, what it starts, what it says.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::{Clock, Timestamp};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::apiera::Options;
use crate::cloud::{Cloud, local_secret};
use crate::console::Console;
use crate::front::Front;
use crate::functions::{Functions, Invoked};
use crate::samples;
use crate::stack::{Parts, Running};

/// The whole webhook inbox on this machine: the three functions, DynamoDB, SQS, Secrets Manager and
/// the front door, in one process, without an AWS account.
#[derive(Debug, Parser)]
#[command(name = "local", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Where deliveries are taken; port 0 lets the system choose one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000", value_parser = address)]
    listen: SocketAddr,
    /// Keep the tables in this folder, so that they survive a restart (without it: in memory)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Start only the embedded AWS services; the functions run elsewhere
    #[arg(long)]
    aws: bool,
    /// With --aws: drive processor and sweeper through this invoke endpoint (`cargo lambda watch`)
    #[arg(long, value_name = "URL", requires = "aws", value_parser = url)]
    invoke: Option<String>,
    /// How often the sweeper runs, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    sweep_every: u64,
    /// Requests a minute that the fake Apiera API allows
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    apiera_limit: u32,
    /// Log lines as JSON, as in Lambda, instead of one readable line a step
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo run -p local                          everything, state in memory
  cargo run -p local -- --data .local         the tables survive a restart, even kill -9
  cargo run -p local -- --listen 127.0.0.1:0  on a free port
  cargo run -p local -- --aws --invoke http://127.0.0.1:9000
                                              for functions that run in `cargo lambda watch`

The address of every embedded service is kept in DIR/endpoints.env (.local without --data), and with
--data the metrics in DIR/metrics.jsonl.";

fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| error.to_string());
    let first = found.as_mut().ok().and_then(Iterator::next);
    first.ok_or_else(|| "expected an address and a port, as in 127.0.0.1:9000".into())
}

fn url(text: &str) -> Result<String, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if url.has_host() => Ok(text.to_owned()),
        _ => Err("expected a URL, as in http://127.0.0.1:9000".into()),
    }
}

/// Where `endpoints.env` is kept when no folder is named.
const DEFAULT_FOLDER: &str = ".local";

/// The command from its arguments to its exit code.
pub async fn main() -> ExitCode {
    let error = match Box::pin(run(Arguments::parse())).await {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let mut said = format!("local: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        let _ = write!(said, ": {next}");
        cause = next.source();
    }
    let _ = writeln!(std::io::stderr().lock(), "{said}");
    ExitCode::FAILURE
}

/// Runs until Ctrl-C.
///
/// # Errors
/// Something could not be started; the message says what, and what to do.
async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    listen_to_logs(arguments.json);
    let sources = Sources::builtin()?;
    let apiera = Options { requests_per_minute: arguments.apiera_limit, ..Options::default() };
    let front = if arguments.aws { None } else { Some(bind(arguments.listen)?) };
    let cloud = Cloud::start(arguments.data.as_deref(), &sources, apiera).await?;
    let cloud = Arc::new(cloud);
    let folder = arguments.data.clone().unwrap_or_else(|| DEFAULT_FOLDER.into());
    let environment = cloud.write_environment(&folder, front.as_ref().map(Front::local_addr))?;

    let functions = match &arguments.invoke {
        Some(url) => Some(Functions::Invoked(Invoked::new(url))),
        None if arguments.aws => None,
        None => {
            let metrics = metrics(&cloud, arguments.data.as_deref())?;
            let parts = Parts::of(&cloud, sources.clone(), metrics);
            Some(Functions::Here(Arc::new(parts.wire(&cloud.resources)?)))
        }
    };
    let mut running = Running::nothing();
    running.expire(&cloud);
    if let Some(functions) = &functions {
        running.poll(&cloud, functions);
        running.sweep(Duration::from_secs(arguments.sweep_every), functions);
        if let Some(front) = front {
            running.serve(front, functions);
        }
    }
    let say = |text: &str| say(text, arguments.json);
    say(&welcome(&arguments, &cloud, &running, &sources, &environment, Clock::system().now())?);
    tokio::signal::ctrl_c().await?;
    say(match arguments.data {
        Some(_) => "\nstopped; the tables are kept\n",
        None => "\nstopped; the tables were in memory and are gone (--data DIR keeps them)\n",
    });
    Ok(())
}

/// Metrics go where nobody reads them, or are kept beside the tables: `DIR/metrics.jsonl`.
fn metrics(cloud: &Cloud, data: Option<&Path>) -> Result<Metrics, Box<dyn Error>> {
    let table = &cloud.resources.inbox_table;
    let Some(folder) = data else { return Ok(Metrics::to(table, |_| ())) };
    let path = folder.join("metrics.jsonl");
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    // One write a line, so that lines of two tasks do not mix.
    Ok(Metrics::to(table, move |line| drop((&file).write_all(format!("{line}\n").as_bytes()))))
}

fn bind(address: SocketAddr) -> Result<Front, Box<dyn Error>> {
    Front::bind(address).map_err(|error| {
        let hint = "choose another address with --listen, or a free port with --listen 127.0.0.1:0";
        format!("cannot listen on {address} ({error}); {hint}").into()
    })
}

fn listen_to_logs(json: bool) {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok();
    if json {
        shared::logs::to_stdout(level.as_deref());
        return;
    }
    // The engine warns of every condition that is refused, which is how duplicates are found.
    let quiet =
        shared::logs::filter(level.as_deref()).with_target("dynoxide", tracing::Level::ERROR);
    tracing_subscriber::registry().with(quiet).with(Console).init();
    shared::logs::quiet_panics();
}

fn welcome(
    arguments: &Arguments,
    cloud: &Cloud,
    running: &Running,
    sources: &Sources,
    environment: &Path,
    now: Timestamp,
) -> Result<String, std::fmt::Error> {
    let mut text = String::from("\nwebhook inbox, all of it on this machine\n\n");
    if let Some(address) = running.address() {
        writeln!(text, "  deliver to       http://{address}/webhooks/{{source}}")?;
    }
    writeln!(text, "  DynamoDB         {}", cloud.engines.dynamodb_url())?;
    writeln!(text, "  SQS              {}", cloud.engines.sqs_url())?;
    writeln!(text, "  Secrets Manager  {}", cloud.engines.secrets_url())?;
    writeln!(text, "  Apiera (fake)    {}", cloud.apiera.url())?;
    match &arguments.data {
        Some(folder) => writeln!(text, "  state            kept in {}", folder.display())?,
        None => writeln!(text, "  state            in memory; keep it with --data DIR")?,
    }
    writeln!(text, "  environment      {}  (set -a; . FILE; set +a)", environment.display())?;
    writeln!(text, "\nsigning secrets (public, for local use only)\n")?;
    for profile in sources.iter() {
        writeln!(text, "  {:<16} {}", profile.name, local_secret(profile))?;
    }
    match running.address() {
        Some(address) => {
            let base = format!("http://{address}");
            writeln!(
                text,
                "\none signed delivery of each producer, for another terminal; run again, it is a duplicate\n"
            )?;
            for profile in sources.iter() {
                let id = format!("try_{}", now.secs());
                writeln!(text, "{}\n", samples::curl(profile, &base, &id, now))?;
            }
            writeln!(text, "what came of it: the business table\n\n{}\n", scan(cloud))?;
            writeln!(text, "waiting for deliveries; Ctrl-C stops")?;
        }
        None => {
            writeln!(text, "\nonly the AWS services run here; Ctrl-C stops")?;
            if let Some(url) = &arguments.invoke {
                writeln!(text, "processor and sweeper are invoked at {url}")?;
            }
        }
    }
    Ok(text)
}

/// Reads the business table with nothing but curl.
fn scan(cloud: &Cloud) -> String {
    format!(
        "curl -s --aws-sigv4 aws:amz:us-east-1:dynamodb --user local:local {} \
         -H 'x-amz-target: DynamoDB_20120810.Scan' -H 'content-type: application/x-amz-json-1.0' \
         -d '{{\"TableName\":\"{}\"}}'",
        cloud.engines.dynamodb_url(),
        cloud.resources.business_table,
    )
}

/// To the terminal: beside the log lines, or out of their way where they are for a machine. A closed
/// one is no reason to stop.
fn say(text: &str, json: bool) {
    let _ = match json {
        true => std::io::stderr().lock().write_all(text.as_bytes()),
        false => std::io::stdout().lock().write_all(text.as_bytes()),
    };
}
