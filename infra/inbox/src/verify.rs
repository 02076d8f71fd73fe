//! `inbox verify`: does a captured request verify, and if not, which usual mistake explains it?

mod bodies;
mod candidate;
mod capture;
mod change;
mod claims;
mod contents;
mod hints;
mod json;
mod json_orders;
mod judge;
mod keys;
mod mistake;
mod printed;
mod report;
mod search;
mod written;

#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use shared::key::SourceName;
use shared::source::Profile;
use shared::time::Timestamp;

use self::capture::Capture;
use self::judge::Verdict;
use self::keys::{Known, Whose};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::secrets::{GivenSecrets, Kept, Vault};

/// Say whether a captured request verifies, and if not, which usual mistake explains it
///
/// The check is the product's own. If it refuses, what people get wrong is tried: other keys,
/// bodies and templates, one mistake before two, until the signature is right. No secret and no
/// whole signature is shown.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The source it was meant for
    #[arg(long, value_name = "SOURCE", value_parser = SourceName::parse)]
    source: SourceName,
    /// The headers: `Name: value` lines, curl -i or -v output, JSON, or an event of API Gateway
    #[arg(long, value_name = "FILE")]
    headers: PathBuf,
    /// The body's bytes; not needed if the file of headers holds it too
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    #[command(flatten)]
    secrets: GivenSecrets,
    /// When it was received: RFC 3339 or Unix seconds [default: what the capture says, else now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Timestamp>,
}

const EXAMPLES: &str = "\
Examples:
  inbox --local verify --source kudos --headers h.txt --body b.json
                             with the secrets of the local run
  inbox --stack webhook-inbox-prod verify --source kallglot --headers event.json
                             an event of API Gateway, which holds the body too
  inbox verify --source apiera --headers h.txt --body b.json --secret-file s.txt --at 1774523060
                             with a secret of your own, at the time it was received

Exit codes: 0 it verifies, 1 it does not, 2 usage, 3 cannot reach the inbox.";

/// RFC 3339, or Unix seconds, or milliseconds.
fn time(text: &str) -> Result<Timestamp, String> {
    let unix = text.parse::<i64>().ok().map(|number| match text.len() {
        0..=11 => Timestamp::from_secs(number),
        _ => Timestamp::from_millis(number),
    });
    let time = unix.or_else(|| shared::envelope::rfc3339(text));
    time.ok_or_else(|| "expected 2026-11-30T16:00:00Z or Unix seconds".into())
}

/// Reads, judges, says.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let profile = context.profile(&args.source)?;
    let capture = read(args)?;
    let known = known(args, profile, context).await?;
    let at = args.at.or(capture.received_at).unwrap_or_else(|| context.now());
    let verdict = judge::judge(profile, &capture, &known, at);
    report::tell(&verdict, profile, context)?;
    Ok(match verdict {
        Verdict::Right(_) => Ending::Done,
        Verdict::Wrong(_) => Ending::Problem,
    })
}

fn read(args: &Args) -> Result<Capture, Failure> {
    let stdin = |path: &Path| path == Path::new("-");
    if stdin(&args.headers) && args.body.as_deref().is_some_and(stdin) {
        return Err(Failure::usage(
            "headers and body cannot both come from stdin, each in a form of its own",
            "inbox verify --source NAME --headers -, if what comes holds both",
        ));
    }
    let headers = file(&args.headers)?;
    let body = args.body.as_deref().map(file).transpose()?;
    Capture::read(&headers, body).map_err(|error| {
        let path = args.headers.display();
        Failure::usage(format!("{path}: {error}"), "inbox verify --help")
    })
}

fn file(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        let mut bytes = vec![];
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), "inbox verify --help")
    })
}

/// The secrets that were given; else those of the inbox, the source's own first.
async fn known(args: &Args, profile: &Profile, context: &Context) -> Result<Vec<Known>, Failure> {
    let given = args.secrets.read()?;
    if !given.is_empty() {
        return Ok(given.into_iter().map(|text| Known { whose: Whose::Given, text }).collect());
    }
    let place = context.place().await.inspect_err(|_| {
        context.console.note("inbox: without an inbox, give the secret with --secret-file");
    })?;
    let vault = Vault::of(place);
    let mut known = vec![];
    let mut add = |whose: Whose, kept: &Kept| {
        let secrets = kept.secrets().iter();
        known.extend(secrets.map(|text| Known { whose: whose.clone(), text: text.clone() }));
    };
    let own = &profile.name;
    add(Whose::Active, &vault.current(own).await?);
    add(Whose::Previous(own.clone()), &vault.previous(own).await?);
    for other in context.sources.iter().map(|other| &other.name).filter(|name| *name != own) {
        match vault.current(other).await {
            Ok(kept) => add(Whose::Other(other.clone()), &kept),
            Err(fault) => context.console.note(format!("the secret of {other}: {fault}")),
        }
    }
    Ok(known)
}
