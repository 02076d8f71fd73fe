//! Signing secrets: there, readable, and not those that everybody knows.

use shared::limits::SECRETS_MAX;
use shared::secret::SecretRule;
use shared::source::Profile;

use super::finding::{Finding, Findings, Severity};
use crate::context::Context;
use crate::exit::Failure;
use crate::place::{Kind, Place};
use crate::secrets::{Kept, SecretText, Vault};

/// Shorter keys can be guessed.
const KEY_BYTES_MIN: usize = 16;

/// The secret of every source.
pub(super) async fn look(
    place: &Place,
    context: &Context,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let vault = Vault::of(place);
    let is_local = matches!(place.kind, Kind::Local(_));
    for profile in context.sources.iter() {
        let kept = vault.current(&profile.name).await?;
        let name = vault.name(&profile.name);
        findings.check(usable(&kept, &name, profile, context));
        for secret in kept.secrets() {
            findings.check(decodable(secret, profile, context));
            findings.check(if is_local { None } else { strong(secret, profile, context) });
        }
    }
    Ok(())
}

/// Whether any delivery can be verified.
pub(super) fn usable(
    kept: &Kept,
    name: &str,
    profile: &Profile,
    context: &Context,
) -> Option<Finding> {
    let source = &profile.name;
    let what = match kept {
        Kept::Nothing => format!("the secret {name} does not exist"),
        Kept::Deleted => format!("the secret {name} is marked for deletion"),
        Kept::Unreadable { .. } => format!("the secret {name} is not {{\"secrets\":[\"…\"]}}"),
        Kept::List(list) if list.secrets.is_empty() => format!("the secret {name} lists none"),
        Kept::List(list) if list.secrets.len() > SECRETS_MAX => {
            format!("the secret {name} lists {}, not one or two", list.secrets.len())
        }
        Kept::List(_) => return None,
    };
    let next = match kept {
        Kept::Deleted => format!("aws secretsmanager restore-secret --secret-id {name}"),
        Kept::Nothing => context.command(&format!("secrets add {source}")),
        _ => context.command(&format!("secrets add {source} --replace")),
    };
    let why = format!(
        "every delivery of {} is answered 503, and it gives up after its last attempt",
        profile.title
    );
    Some(Severity::Critical.finding("secret_unusable", what, why, next))
}

fn decodable(secret: &SecretText, profile: &Profile, context: &Context) -> Option<Finding> {
    let error = secret.decode(profile.scheme.secret).err()?;
    let source = &profile.name;
    Some(Severity::Critical.finding(
        "secret_malformed",
        format!("a secret of {source} {error}"),
        "deliveries signed with it are answered 503 until the producer gives up",
        context.command(&format!("secrets list {source}")),
    ))
}

fn strong(secret: &SecretText, profile: &Profile, context: &Context) -> Option<Finding> {
    let key = profile.scheme.secret.key(secret.reveal()).ok()?;
    let source = &profile.name;
    let next = context.command(&format!("secrets add {source}"));
    if key == local_key(profile) {
        return Some(Severity::Critical.finding(
            "secret_public",
            format!("a secret of {source} is the local run's, which is public"),
            "anybody can sign events that your handlers will run",
            next,
        ));
    }
    (key.len() < KEY_BYTES_MIN).then(|| {
        Severity::Warning.finding(
            "secret_short",
            format!("a secret of {source} has {} bytes", key.len()),
            "a key this short can be guessed from one captured delivery",
            next,
        )
    })
}

/// What `cargo run -p local` signs with, whatever the rule makes of it.
fn local_key(profile: &Profile) -> Vec<u8> {
    match profile.scheme.secret {
        SecretRule::Text | SecretRule::Base64 => format!("{}-local-secret", profile.name).into(),
    }
}
