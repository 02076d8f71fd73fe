//! `inbox secrets revoke`.

use serde_json::json;
use shared::key::SourceName;
use shared::secret::{Fingerprint, Secret};
use shared::source::Profile;
use shared::time::Timestamp;

use super::text::SecretText;
use super::uses::{StillUsed, Uses};
use super::vault::{Changed, Kept, List, Vault};
use super::{overtaken, refused, unusable};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::when;

/// Take a secret away: deliveries that are signed with it alone are refused within a minute
///
/// Refused while deliveries are still signed with it, and for the last one of a source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  inbox --local secrets revoke kudos f468807f9579")]
pub(super) struct Args {
    /// Whose secret
    #[arg(value_name = "SOURCE", value_parser = SourceName::parse)]
    source: SourceName,
    /// Its fingerprint, or the start of it
    #[arg(value_name = "FINGERPRINT")]
    fingerprint: String,
    /// Even if deliveries are still signed with it
    #[arg(long)]
    force: bool,
}

/// Reads, weighs, writes.
pub(super) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let profile = context.profile(&args.source)?;
    let place = context.place().await?;
    let vault = Vault::of(place);
    let kept = vault.current(&profile.name).await?;
    let Kept::List(list) = &kept else { return unusable(context, &profile.name, &kept, &vault) };
    let (gone, stays) = match chosen(list, &args.fingerprint, profile) {
        Ok(parted) => parted,
        Err(what) => return refused(context, &what, &list_command(profile, context)),
    };
    if stays.is_empty() {
        let source = &profile.name;
        let what = format!(
            "{} is the last secret of {source}: without it every delivery is answered 503",
            args.fingerprint
        );
        return refused(context, &what, &context.command(&format!("secrets add {source}")));
    }
    let gone = gone.decode(profile.scheme.secret).ok();
    let uses = Uses::new(place.inbox().secret_uses(&profile.name).await?);
    let needed = gone.as_ref().filter(|_| !args.force);
    if let Some(why) = needed.and_then(|gone| needed_still(gone, &stays, &uses, profile, context)) {
        let next = format!("{} until that changes, or --force", list_command(profile, context));
        return refused(context, &why, &next);
    }
    match vault.change(&profile.name, &list.version, &stays).await? {
        Changed::Done => told(gone.as_ref().map(Secret::fingerprint), &stays, profile, context),
        Changed::Overtaken => overtaken(context, &profile.name),
    }
}

/// Why deliveries still need a secret, if they do.
fn needed_still(
    gone: &Secret,
    stays: &[SecretText],
    uses: &Uses,
    profile: &Profile,
    context: &Context,
) -> Option<String> {
    let other = stays.iter().find_map(|secret| secret.decode(profile.scheme.secret).ok());
    let other = other.as_ref().map(Secret::fingerprint);
    let now = context.now();
    let used = uses.still_used(gone.fingerprint(), other, &profile.scheme, now)?;
    Some(still_used(&used, gone.fingerprint(), profile, now))
}

/// The one that is meant, and the rest.
fn chosen<'l>(
    list: &'l List,
    wanted: &str,
    profile: &Profile,
) -> Result<(&'l SecretText, Vec<SecretText>), String> {
    // One that cannot be decoded has no fingerprint, but may have to go all the same.
    let names = list.secrets.iter().enumerate().map(|(i, secret)| {
        let decoded = secret.decode(profile.scheme.secret).ok();
        decoded.map_or_else(|| format!("unusable-{}", i + 1), |s| s.fingerprint().to_string())
    });
    let names: Vec<String> = names.collect();
    let fits = |name: &str| !wanted.is_empty() && name.starts_with(wanted);
    let found: Vec<usize> = (0..names.len()).filter(|i| fits(&names[*i])).collect();
    match found[..] {
        [at] => {
            let rest = list.secrets.iter().enumerate().filter(|(i, _)| *i != at);
            Ok((&list.secrets[at], rest.map(|(_, secret)| secret.clone()).collect()))
        }
        [] => Err(format!(
            "{} has no active secret {wanted}; there are: {}",
            profile.name,
            names.join(", ")
        )),
        _ => Err(format!("{wanted} is the start of several: {}", names.join(", "))),
    }
}

fn still_used(used: &StillUsed, secret: &Fingerprint, profile: &Profile, now: Timestamp) -> String {
    match used {
        StillUsed::Newest { at, other: None } => format!(
            "deliveries of {} are signed with {secret} (last {}), and none has been signed with \
             the other",
            profile.name,
            when::from_now(*at, now)
        ),
        StillUsed::Newest { at, other: Some(other) } => format!(
            "deliveries of {} are still signed with {secret}: last {}; with the other one {}",
            profile.name,
            when::from_now(*at, now),
            when::from_now(*other, now)
        ),
        StillUsed::OnItsWay { at, until } => format!(
            "{secret} was last used {}; what it signed may be on its way for another {}",
            when::from_now(*at, now),
            when::length(until.since(now))
        ),
    }
}

fn list_command(profile: &Profile, context: &Context) -> String {
    context.command(&format!("secrets list {}", profile.name))
}

fn told(
    gone: Option<&Fingerprint>,
    stays: &[SecretText],
    profile: &Profile,
    context: &Context,
) -> Result<Ending, Failure> {
    let source = &profile.name;
    let stays: Vec<String> = stays.iter().map(|s| s.name(profile.scheme.secret)).collect();
    if context.console.is_json() {
        context.console.document(&json!({
            "done": true,
            "source": source.as_str(),
            "revoked": gone.map(Fingerprint::as_str),
            "active": stays,
        }))?;
        return Ok(Ending::Done);
    }
    let gone = gone.map_or("the unusable one", Fingerprint::as_str);
    let (stays, title) = (stays.join(", "), &profile.title);
    context.console.line(format!(
        "{gone} of {source} is revoked; active: {stays}\n\
         deliveries signed with it alone are refused within a minute\n\
         next: revoke it at {title} too"
    ))?;
    Ok(Ending::Done)
}
