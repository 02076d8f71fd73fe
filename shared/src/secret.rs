//! Signing secrets: how they are written down, decoded, and never shown.

mod store;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

pub use self::store::{Secrets, SecretsFault, SecretsFor};
use crate::key::hex;
use crate::limits::SECRETS_MAX;

/// How the text of a secret becomes the key of the HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretRule {
    /// The text's own bytes, a prefix like `whsec_` included (Kudos, Kallglot, Stripe, GitHub, Slack).
    Text,
    /// Base64 after an optional `whsec_` (Standard Webhooks). Padding may be missing and the
    /// alphabet may be the URL-safe one: both name the same key.
    Base64,
}

impl SecretRule {
    /// The key that a text stands for, for those who sign as a producer does.
    ///
    /// # Errors
    /// As for [`Secret::decode`].
    pub fn key(self, text: &str) -> Result<Vec<u8>, SecretError> {
        let key = match self {
            _ if text.trim() != text => return Err(SecretError::Space),
            Self::Text => text.as_bytes().to_vec(),
            Self::Base64 => {
                let text = text.strip_prefix("whsec_").unwrap_or(text);
                [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD]
                    .into_iter()
                    .find_map(|engine| engine.decode(text).ok())
                    .ok_or(SecretError::Base64)?
            }
        };
        if key.is_empty() { Err(SecretError::Empty) } else { Ok(key) }
    }
}

/// One signing secret. Cannot be printed or serialised; known in logs by its [`Fingerprint`].
///
/// ```compile_fail
/// # use shared::secret::{Secret, SecretRule};
/// println!("{}", Secret::decode("s3cret", SecretRule::Text).unwrap());
/// ```
#[derive(Clone)]
pub struct Secret {
    mac: Hmac<Sha256>,
    fingerprint: Fingerprint,
}

impl Secret {
    /// Reads a secret by the rule of its source.
    ///
    /// # Errors
    /// Empty, surrounded by white space, or not base64 where the rule asks for it (`v1,whsec_…`
    /// copied from a header, for example).
    pub fn decode(text: &str, rule: SecretRule) -> Result<Self, SecretError> {
        let key = rule.key(text)?;
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104)")]
        let mac = Hmac::new_from_slice(&key).expect("an HMAC key");
        let print = Hmac::<Sha256>::chain_update(mac.clone(), b"webhook-inbox fingerprint");
        let print = print.finalize().into_bytes();
        Ok(Self { mac, fingerprint: Fingerprint(hex(&print[..6]).into()) })
    }

    /// An HMAC-SHA256 keyed with this secret, ready for the signed bytes.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        self.mac.clone()
    }

    /// What names this secret without telling it.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.fingerprint)
    }
}

/// Twelve hex digits that name a secret: the start of an HMAC of a fixed text under it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(Box<str>);

impl Fingerprint {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is no secret. Never says the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No key bytes.
    #[error("is empty")]
    Empty,
    /// White space around it, which no producer signs with.
    #[error("has white space around it")]
    Space,
    /// Neither alphabet of base64 reads it.
    #[error("is not base64 (with or without whsec_ in front)")]
    Base64,
}

/// The active secrets of one source, the newest first.
#[derive(Clone, Debug)]
pub struct SecretSet {
    secrets: Vec<Secret>,
    malformed: usize,
}

/// A stored value that holds no secret we can use. Never says the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretSetError {
    /// Not `{"secrets":["…"]}`.
    #[error("the value is not JSON of the form {{\"secrets\":[\"…\"]}}")]
    Form,
    /// None, or more than two.
    #[error("holds {0} secrets, not one or two")]
    Count(usize),
    /// None of them can be decoded.
    #[error("a secret {0}")]
    Malformed(SecretError),
}

impl SecretSet {
    /// Reads the JSON kept in the secret store: `{"secrets":["newest","older"]}`.
    ///
    /// # Errors
    /// Another form, no secret or more than two, or none that the source's rule can decode.
    pub fn parse(json: &str, rule: SecretRule) -> Result<Self, SecretSetError> {
        #[derive(Deserialize)]
        struct Stored {
            secrets: Vec<String>,
        }
        let stored: Stored = serde_json::from_str(json).map_err(|_| SecretSetError::Form)?;
        if stored.secrets.is_empty() || stored.secrets.len() > SECRETS_MAX {
            return Err(SecretSetError::Count(stored.secrets.len()));
        }
        let (mut secrets, mut faults) = (Vec::new(), Vec::new());
        for text in &stored.secrets {
            match Secret::decode(text, rule) {
                Ok(secret) => secrets.push(secret),
                Err(fault) => faults.push(fault),
            }
        }
        match (secrets.as_slice(), faults.as_slice()) {
            ([], [fault, ..]) => Err(SecretSetError::Malformed(*fault)),
            _ => Ok(Self { secrets, malformed: faults.len() }),
        }
    }

    /// The secrets, newest first; one or two.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Whether a signature that none of these made might be right all the same, because one of the
    /// stored secrets could not be decoded.
    pub fn is_incomplete(&self) -> bool {
        self.malformed > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, rule: SecretRule) -> Result<String, SecretError> {
        Secret::decode(text, rule).map(|s| s.fingerprint.to_string())
    }

    #[test]
    fn one_base64_key_has_one_fingerprint_however_it_is_written() {
        let padded = key("whsec_+/+/MfKQ9r8GKYqrTwjUPDE=", SecretRule::Base64).unwrap();
        for same in
            ["+/+/MfKQ9r8GKYqrTwjUPDE", "-_-_MfKQ9r8GKYqrTwjUPDE=", "-_-_MfKQ9r8GKYqrTwjUPDE"]
        {
            assert_eq!(key(same, SecretRule::Base64).as_deref(), Ok(padded.as_str()), "{same}");
        }
        let text = key("whsec_+/+/MfKQ9r8GKYqrTwjUPDE=", SecretRule::Text).unwrap();
        assert_ne!(text, padded);
    }

    #[test]
    fn what_cannot_be_a_key_is_said_at_load() {
        use SecretError::{Base64, Empty, Space};
        for (text, rule, why) in [
            ("", SecretRule::Text, Empty),
            ("whsec_", SecretRule::Base64, Empty),
            ("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", SecretRule::Base64, Base64),
            ("abc\n", SecretRule::Text, Space),
        ] {
            assert_eq!(key(text, rule).unwrap_err(), why, "{text:?}");
        }
    }

    #[test]
    fn a_set_is_one_or_two_secrets_and_survives_one_bad_one() {
        let parse = |json| SecretSet::parse(json, SecretRule::Base64);
        assert_eq!(parse(r#"["a"]"#).unwrap_err(), SecretSetError::Form);
        assert_eq!(parse(r#"{"secrets":[]}"#).unwrap_err(), SecretSetError::Count(0));
        assert_eq!(parse(r#"{"secrets":["YQ","Yg","Yw"]}"#).unwrap_err(), SecretSetError::Count(3));
        let mixed = parse(r#"{"secrets":["YQ","!"]}"#).unwrap();
        assert!(mixed.is_incomplete() && mixed.secrets().len() == 1);
        assert!(matches!(parse(r#"{"secrets":["!"]}"#), Err(SecretSetError::Malformed(_))));
        assert!(!format!("{mixed:?}").contains("YQ"));
    }
}
