//! `inbox secrets list`.

use serde_json::{Value, json};
use shared::key::SourceName;
use shared::limits::SECRETS_MAX;
use shared::source::Profile;
use shared::time::Timestamp;

use super::text::SecretText;
use super::uses::Uses;
use super::vault::{Kept, Vault};
use crate::console::{Table, Tone};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::when;

/// Name the active secrets by their fingerprints, and say when each was last used
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  inbox --local secrets list kudos\n\n\
    Exit code 1: a source has no secret, or one that no delivery can be verified with.")]
pub(super) struct Args {
    /// Only this source
    #[arg(value_name = "SOURCE", value_parser = SourceName::parse)]
    source: Option<SourceName>,
}

/// One secret, as it is listed.
#[derive(Debug)]
struct Line {
    source: SourceName,
    fingerprint: Option<String>,
    place: &'static str,
    used_at: Option<Timestamp>,
    added_at: Option<Timestamp>,
    fault: Option<String>,
}

/// Reads and lists.
pub(super) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let place = context.place().await?;
    let profiles: Vec<&Profile> = match &args.source {
        Some(source) => vec![context.profile(source)?],
        None => context.sources.iter().collect(),
    };
    let vault = Vault::of(place);
    let mut lines = vec![];
    for profile in profiles {
        let kept = vault.current(&profile.name).await?;
        let uses = Uses::new(place.inbox().secret_uses(&profile.name).await?);
        lines.extend(of_source(profile, &kept, &uses));
    }
    if context.console.is_json() {
        context.console.document(&lines.iter().map(Line::json).collect::<Vec<_>>())?;
    } else {
        context.console.line(text(&lines, context))?;
    }
    let sound = lines.iter().all(|line| line.fault.is_none());
    Ok(if sound { Ending::Done } else { Ending::Problem })
}

fn of_source(profile: &Profile, kept: &Kept, uses: &Uses) -> Vec<Line> {
    let blank = |fault: &str| Line {
        source: profile.name.clone(),
        fingerprint: None,
        place: "",
        used_at: None,
        added_at: None,
        fault: Some(fault.to_owned()),
    };
    let list = match kept {
        Kept::Nothing => return vec![blank("no secret: every delivery is answered 503")],
        Kept::Deleted => return vec![blank("marked for deletion: every delivery is answered 503")],
        Kept::Unreadable { .. } => {
            return vec![blank("not {\"secrets\":[\"…\"]}: every delivery is answered 503")];
        }
        Kept::List(list) => list,
    };
    let many = list.secrets.len();
    if many == 0 || many > SECRETS_MAX {
        let fault = format!("holds {many} secrets, not one or two: every delivery is answered 503");
        return vec![blank(&fault)];
    }
    let line = |(i, secret): (usize, &SecretText)| {
        let decoded = secret.decode(profile.scheme.secret);
        let used_at = decoded.as_ref().ok().and_then(|secret| uses.of(secret.fingerprint()));
        Line {
            fingerprint: decoded.as_ref().ok().map(|secret| secret.fingerprint().to_string()),
            place: if i == 0 { "newest" } else { "older" },
            used_at,
            added_at: list.written_at.filter(|_| i == 0).map(Timestamp::from_secs),
            fault: decoded.err().map(|error| error.to_string()),
            ..blank("")
        }
    };
    list.secrets.iter().enumerate().map(line).collect()
}

impl Line {
    fn json(&self) -> Value {
        json!({
            "source": self.source.as_str(),
            "fingerprint": self.fingerprint,
            "place": self.place,
            "last_used": self.used_at.map(when::second),
            "last_changed": self.added_at.map(when::second),
            "fault": self.fault,
        })
    }
}

fn text(lines: &[Line], context: &Context) -> String {
    let now = context.now();
    let mut table = Table::new(&["source", "fingerprint", "", "last used", "last changed", ""]);
    for line in lines {
        let ago = |at: Option<Timestamp>, none: &str| {
            at.map_or_else(|| none.to_owned(), |at| when::from_now(at, now))
        };
        table.row([
            line.source.to_string(),
            line.fingerprint.clone().unwrap_or_else(|| "-".into()),
            line.place.to_owned(),
            ago(line.used_at, if line.fault.is_some() { "" } else { "never" }),
            ago(line.added_at, ""),
            line.fault.clone().unwrap_or_default(),
        ]);
        table.tone(5, Tone::Bad);
    }
    table.text(&context.console)
}
