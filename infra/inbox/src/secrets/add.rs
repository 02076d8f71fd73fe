//! `inbox secrets add`.

use std::io::{IsTerminal as _, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use shared::key::SourceName;
use shared::limits::SECRETS_MAX;
use shared::secret::{Secret, SecretRule};
use shared::source::Profile;

use super::text::SecretText;
use super::vault::{Changed, Kept, Vault};
use super::{overtaken, refused, unusable};
use crate::context::Context;
use crate::exit::{Ending, Failure};

/// Add a secret as the newest; the one before it stays active
///
/// Its value is read from stdin, or made with --generate. Deliveries that are signed with either
/// are accepted within seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Whose secret
    #[arg(value_name = "SOURCE", value_parser = SourceName::parse)]
    source: SourceName,
    /// Make a random one, and print it once, as the producer wants it
    #[arg(long)]
    generate: bool,
    /// Put it in the place of a value that no delivery can be verified with
    #[arg(long)]
    replace: bool,
}

const EXAMPLES: &str = "\
Examples:
  read -rs NEW; printf %s \"$NEW\" | inbox --local secrets add kudos
  inbox --local secrets add apiera --generate";

/// Bytes of a generated key: what Standard Webhooks recommends at most is 64, at least 24.
const KEY_BYTES: usize = 32;

/// Reads, checks, writes.
pub(super) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let profile = context.profile(&args.source)?;
    let source = &profile.name;
    let vault = Vault::of(context.place().await?);
    let kept = vault.current(source).await?;
    let rule = profile.scheme.secret;
    let active: Vec<Secret> = kept.secrets().iter().filter_map(|s| s.decode(rule).ok()).collect();
    let replaces = args.replace && active.is_empty();
    match &kept {
        Kept::Deleted => return unusable(context, source, &kept, &vault),
        Kept::Unreadable { .. } if !replaces => return unusable(context, source, &kept, &vault),
        Kept::List(list) if list.secrets.len() >= SECRETS_MAX && !replaces => {
            return full(&list.secrets, profile, context);
        }
        _ => {}
    }
    let text = if args.generate { generate(profile) } else { read(profile, context)? };
    let secret = text.decode(rule).map_err(|error| bad(profile, &error.to_string()))?;
    if active.iter().any(|known| known.fingerprint() == secret.fingerprint()) {
        let what = format!("{} is active already", secret.fingerprint());
        return refused(context, &what, &list_command(profile, context));
    }
    // What cannot be decoded verifies nothing; beside one that can, it may be a mistake to mend.
    let older = kept.secrets().iter().filter(|_| !active.is_empty()).cloned();
    let secrets: Vec<SecretText> = std::iter::once(text.clone()).chain(older).collect();
    match kept.version() {
        None => vault.create(source, &secrets).await?,
        Some(version) => match vault.change(source, version, &secrets).await? {
            Changed::Done => {}
            Changed::Overtaken => return overtaken(context, source),
        },
    }
    told(&kept, &secret, &text, args, profile, context)
}

/// A random secret in the form that the source's scheme takes.
fn generate(profile: &Profile) -> SecretText {
    let mut key = [0; KEY_BYTES];
    #[expect(clippy::expect_used, reason = "without the system's randomness there is no secret")]
    getrandom::fill(&mut key).expect("the system's randomness");
    SecretText::new(match profile.scheme.secret {
        SecretRule::Base64 => format!("whsec_{}", STANDARD.encode(key)),
        SecretRule::Text => key.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// One line of stdin.
fn read(profile: &Profile, context: &Context) -> Result<SecretText, Failure> {
    if std::io::stdin().is_terminal() {
        context.console.note(format!(
            "the new secret of {} (it is shown as you type; `read -rs` in a shell does not), then \
             Enter and Ctrl-D:",
            profile.title
        ));
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(|error| bad(profile, &error.to_string()))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line {
        _ if line.contains(['\n', '\r']) => Err(bad(profile, "is more than one line")),
        _ if line.starts_with("{\"") => {
            Err(bad(profile, "is a JSON document; give the secret alone"))
        }
        _ if line.chars().any(char::is_control) => Err(bad(profile, "holds a control character")),
        _ => Ok(SecretText::new(line)),
    }
}

fn bad(profile: &Profile, why: &str) -> Failure {
    let form = match profile.scheme.secret {
        SecretRule::Base64 => "whsec_ and base64",
        SecretRule::Text => "the text as the producer shows it",
    };
    let what = format!("what came on stdin {why}; {} wants {form}", profile.name);
    Failure::usage(what, format!("printf %s \"$NEW\" | inbox … secrets add {}", profile.name))
}

fn full(secrets: &[SecretText], profile: &Profile, context: &Context) -> Result<Ending, Failure> {
    let names: Vec<String> = secrets.iter().map(|s| s.name(profile.scheme.secret)).collect();
    let what = format!(
        "{} has {} active secrets ({}), and no third can be; revoke one first",
        profile.name,
        secrets.len(),
        names.join(", ")
    );
    let older = names.last().map_or("FINGERPRINT", String::as_str);
    refused(context, &what, &context.command(&format!("secrets revoke {} {older}", profile.name)))
}

fn list_command(profile: &Profile, context: &Context) -> String {
    context.command(&format!("secrets list {}", profile.name))
}

fn told(
    kept: &Kept,
    secret: &Secret,
    text: &SecretText,
    args: &Args,
    profile: &Profile,
    context: &Context,
) -> Result<Ending, Failure> {
    let (source, fingerprint) = (&profile.name, secret.fingerprint());
    let created = matches!(kept, Kept::Nothing);
    let generated = args.generate.then(|| text.reveal());
    if context.console.is_json() {
        context.console.document(&json!({
            "done": true,
            "source": source.as_str(),
            "fingerprint": fingerprint.as_str(),
            "created": created,
            "secret": generated,
        }))?;
        return Ok(Ending::Done);
    }
    let console = &context.console;
    let how = if created { "added as the first of a new secret" } else { "added as the newest" };
    console.note(format!("{fingerprint} {how} of {source}; it is accepted within seconds"));
    if let Some(secret) = generated {
        console.line(secret)?;
        console.note("this is the only time that it is shown: give it to the producer now");
    }
    let title = &profile.title;
    console
        .note(format!("next: let {title} sign with it, then {}", list_command(profile, context)));
    Ok(Ending::Done)
}
