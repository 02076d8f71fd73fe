//! Secrets that come from the command line, a file or the environment.

use std::path::{Path, PathBuf};

use super::text::SecretText;
use crate::exit::Failure;

/// Other secrets than those of the inbox
#[derive(Clone, clap::Args)]
pub(crate) struct GivenSecrets {
    /// A signing secret in the place of the inbox's own; better in a file, or in INBOX_SECRET
    #[arg(long = "secret", value_name = "SECRET", env = "INBOX_SECRET", hide_env_values = true)]
    secret: Vec<String>,
    /// A file that holds one: its text, or {"secrets":["…"]}
    #[arg(long, value_name = "FILE")]
    secret_file: Vec<PathBuf>,
}

impl std::fmt::Debug for GivenSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GivenSecrets({})", self.secret.len() + self.secret_file.len())
    }
}

impl GivenSecrets {
    /// All of them, in the order given.
    pub(crate) fn read(&self) -> Result<Vec<SecretText>, Failure> {
        let mut secrets: Vec<_> = self.secret.iter().flat_map(|text| of_text(text)).collect();
        for path in &self.secret_file {
            secrets.extend(of_file(path)?);
        }
        match secrets.iter().all(|secret| !secret.reveal().is_empty()) {
            true => Ok(secrets),
            false => Err(Failure::usage(
                "a secret that was given is empty",
                "look at --secret, --secret-file and the variable INBOX_SECRET",
            )),
        }
    }
}

fn of_file(path: &Path) -> Result<Vec<SecretText>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), "inbox --help")
    })?;
    // An editor's newline at the end is none of the secret.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(of_text(line.strip_suffix('\r').unwrap_or(line)))
}

/// The secrets of a document as Secrets Manager keeps it, or the one secret that the text is.
fn of_text(text: &str) -> Vec<SecretText> {
    super::vault::read(text).unwrap_or_else(|| vec![SecretText::new(text)])
}
