//! A secret as it is written down.

use std::fmt;

use shared::secret::{Secret, SecretError, SecretRule};

/// The text of a signing secret. `Debug` does not show it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(String);

impl SecretText {
    /// A text that is a secret.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the store, for the producer, and for making keys.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The secret, as the functions read it.
    pub(crate) fn decode(&self, rule: SecretRule) -> Result<Secret, SecretError> {
        Secret::decode(&self.0, rule)
    }

    /// What names it: its fingerprint, or why it has none.
    pub(crate) fn name(&self, rule: SecretRule) -> String {
        match self.decode(rule) {
            Ok(secret) => secret.fingerprint().to_string(),
            Err(error) => format!("(unusable: {error})"),
        }
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretText({} bytes)", self.0.len())
    }
}
