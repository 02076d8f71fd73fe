//! `inbox send`: deliveries as a producer makes them.

mod event;
mod producer;
mod sign;
mod summary;
mod volley;

#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::key::{EventId, EventType, SourceName, Token};
use shared::source::Profile;

use self::event::Template;
use self::producer::Sender;
use self::sign::{Keys, SignError};
use self::volley::Volley;
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::secrets::{GivenSecrets, SecretText, Vault};
use crate::when;

/// Send deliveries, signed and headed as a producer's
///
/// Every delivery is an event of its own, unless --id names one. Answers are what the producer
/// would hear: redirects are not followed, and its timeout is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose delivery
    #[arg(value_name = "SOURCE", value_parser = SourceName::parse)]
    source: SourceName,
    /// The event type [default: one that the source's handlers take]
    #[arg(long = "type", value_name = "TYPE", value_parser = event_type)]
    event_type: Option<EventType>,
    /// The payload, or a whole body with its own id and type; `-` is stdin. In it {id} becomes the
    /// event's id, and an n in braces the delivery's number [default: one that fits the type]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The event's id; with --count, all deliveries are of this one event
    #[arg(long, value_name = "ID", value_parser = EventId::parse)]
    id: Option<EventId>,
    #[command(flatten)]
    secrets: GivenSecrets,
    /// Sign with both active secrets, as a producer does during a rotation
    #[arg(long)]
    dual_sign: bool,
    /// How many deliveries
    #[arg(long, value_name = "N", default_value = "1")]
    count: NonZeroU32,
    /// How many a second [default: as fast as answers come]
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// How many at the same time
    #[arg(long, value_name = "N", default_value = "64")]
    concurrency: NonZeroUsize,
    /// Signed this long ago, as in 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "0s")]
    age: Duration,
    /// Which attempt of the producer it is, from 1
    #[arg(long, value_name = "N", default_value = "1")]
    attempt: NonZeroU32,
    /// Change a byte of the body after signing: every answer must be 401
    #[arg(long)]
    tamper: bool,
    /// Where to, instead of the inbox's own address
    #[arg(long, value_name = "URL", value_parser = url)]
    url: Option<reqwest::Url>,
}

const EXAMPLES: &str = "\
Examples:
  inbox --local send kudos                       one payment.succeeded
  inbox --local send kallglot --type session.ended --data session.json
  inbox --local send kudos --count 3000 --rate 300
                                                 300 events a second for ten seconds
  inbox --local send kudos --id evt_1 --count 3  one event, delivered three times
  inbox --stack webhook-inbox-dev send apiera --attempt 3
  inbox send kudos --url https://example.org/webhooks/kudos --secret-file s.txt

Exit codes: 0 every answer was 2xx (with --tamper: 401), 1 one was not, 2 usage, 3 no answer.";

fn event_type(text: &str) -> Result<EventType, shared::key::NameError> {
    EventType::parse(text)
}

/// A length of time; a bare number is in seconds.
fn age(text: &str) -> Result<Duration, &'static str> {
    text.parse().map(Duration::from_secs).or_else(|_| when::duration(text))
}

fn url(text: &str) -> Result<reqwest::Url, String> {
    match reqwest::Url::parse(text) {
        Ok(url) if url.has_host() && matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err("expected a URL, as in https://example.org/webhooks/kudos".into()),
    }
}

/// Sends, counts, says.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let profile = context.profile(&args.source)?;
    let sender = Sender {
        template: template(args, profile)?,
        keys: keys(args, profile, context).await?,
        age: args.age,
        attempt: args.attempt.get(),
        tamper: args.tamper,
        profile,
    };
    let url = url_of(args, profile, context).await?;
    let volley = Volley {
        count: args.count.get(),
        rate: args.rate.map(NonZeroU32::get),
        concurrency: args.concurrency.get(),
        client: volley::client(profile, &url)?,
        url,
    };
    let tally = volley.fire(&sender, context).await;
    summary::tell(&tally, args.tamper, profile, &sender.template, context)
}

fn template(args: &Args, profile: &Profile) -> Result<Template, Failure> {
    let data = args.data.as_deref().map(read).transpose()?;
    let event_type = args.event_type.as_ref().map(EventType::as_str);
    let run = Token::fresh().as_str().get(..10).unwrap_or_default().to_owned();
    let id = args.id.as_ref().map(EventId::as_str);
    let template = Template::new(profile, event_type, id, data, &run);
    template.map_err(|error| Failure::usage(error.to_string(), "inbox send --help"))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        let mut bytes = vec![];
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let read = read.map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), "inbox send --help")
    })?;
    // An empty file may be meant; an empty pipe is what a command before it has left.
    if read.is_empty() && path == Path::new("-") {
        return Err(Failure::usage("nothing came on stdin", "inbox send --help"));
    }
    Ok(read)
}

/// What the producer signs with: the secrets given, or those of the inbox; one, or both.
async fn keys(args: &Args, profile: &Profile, context: &Context) -> Result<Keys, Failure> {
    let given = args.secrets.read()?;
    let source = &profile.name;
    let list = context.command(&format!("secrets list {source}"));
    let secrets: Vec<SecretText> = if given.is_empty() {
        let kept = Vault::of(context.place().await?).current(source).await?;
        kept.secrets().to_vec()
    } else {
        given
    };
    Keys::new(&profile.scheme, &secrets, args.dual_sign).map_err(|error| {
        let next = match error {
            SignError::One => "inbox send --help".to_owned(),
            _ => list,
        };
        Failure::usage(format!("{source}: {error}"), next)
    })
}

async fn url_of(
    args: &Args,
    profile: &Profile,
    context: &Context,
) -> Result<reqwest::Url, Failure> {
    if let Some(url) = &args.url {
        return Ok(url.clone());
    }
    let place = context.place().await?;
    let known = place.webhook_url(&profile.name).and_then(|text| text.parse().ok());
    known.ok_or_else(|| {
        let what = format!("{} does not say where deliveries are taken", place.kind);
        Failure::usage(what, format!("inbox send {} --url URL", profile.name))
    })
}
