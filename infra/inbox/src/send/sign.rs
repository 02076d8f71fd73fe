//! Signing as a producer does: the same scheme that the functions check, the other way round.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderName;
use sha2::Sha256;
use shared::secret::SecretError;
use shared::signature::{Encoding, Form, Part, Scheme, TimestampAt};

use crate::secrets::SecretText;

/// What a producer signs with.
#[derive(Clone)]
pub(super) struct Keys(Vec<Hmac<Sha256>>);

/// Why nothing can be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignError {
    /// There is no secret.
    #[error("no secret to sign with; give one with --secret-file")]
    NoSecret,
    /// Both are wanted, and there is one.
    #[error("--dual-sign needs two secrets, and there is one")]
    OneSecret,
    /// The header holds one digest only.
    #[error("its signature header holds one digest; --dual-sign cannot be")]
    One,
    /// The secret is none.
    #[error("the secret {0}")]
    Malformed(#[from] SecretError),
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

impl Keys {
    /// The first of these secrets, the newest; or the first two, the older one first in the header.
    pub(super) fn new(
        scheme: &Scheme,
        secrets: &[SecretText],
        both: bool,
    ) -> Result<Self, SignError> {
        let wanted = match (secrets, both) {
            ([], _) => return Err(SignError::NoSecret),
            ([_], true) => return Err(SignError::OneSecret),
            (_, true) if matches!(scheme.form, Form::Prefix(_)) => return Err(SignError::One),
            ([first, ..], false) => vec![first],
            ([first, second, ..], true) => vec![second, first],
        };
        let keyed = wanted.into_iter().map(|secret| {
            let key = scheme.secret.key(secret.reveal())?;
            #[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104)")]
            Ok(Hmac::new_from_slice(&key).expect("an HMAC key"))
        });
        keyed.collect::<Result<_, SecretError>>().map(Self).map_err(SignError::Malformed)
    }

    /// Adds the headers that carry time and signature; `headers` are those that are signed.
    pub(super) fn sign(
        &self,
        scheme: &Scheme,
        headers: &mut Vec<(HeaderName, String)>,
        body: &[u8],
        unix_seconds: i64,
    ) {
        let time = unix_seconds.to_string();
        if let Some(TimestampAt::Header(name)) = &scheme.timestamp {
            headers.push((name.clone(), time.clone()));
        }
        let digests: Vec<String> =
            self.0.iter().map(|key| digest(key, scheme, headers, body, &time)).collect();
        let value = match &scheme.form {
            Form::Tags(version) => {
                let time = match &scheme.timestamp {
                    Some(TimestampAt::Tag(tag)) => vec![format!("{tag}={time}")],
                    Some(TimestampAt::Header(_)) | None => vec![],
                };
                let digests = digests.iter().map(|digest| format!("{version}={digest}"));
                time.into_iter().chain(digests).collect::<Vec<_>>().join(",")
            }
            Form::Versions(version) => {
                let digests = digests.iter().map(|digest| format!("{version},{digest}"));
                digests.collect::<Vec<_>>().join(" ")
            }
            Form::Prefix(prefix) => format!("{prefix}{}", digests.concat()),
        };
        headers.push((scheme.header.clone(), value));
    }
}

fn digest(
    key: &Hmac<Sha256>,
    scheme: &Scheme,
    headers: &[(HeaderName, String)],
    body: &[u8],
    time: &str,
) -> String {
    let mut mac = key.clone();
    for part in &scheme.signed {
        match part {
            Part::Text(text) => mac.update(text.as_bytes()),
            Part::Timestamp => mac.update(time.as_bytes()),
            Part::Header(name) => {
                let value = headers.iter().find(|(header, _)| header == name);
                mac.update(value.map_or(&[], |(_, value)| value.as_bytes()));
            }
            Part::Body => mac.update(body),
        }
    }
    let digest = mac.finalize().into_bytes();
    match scheme.encoding {
        Encoding::Hex => digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        Encoding::Base64 => STANDARD.encode(digest),
    }
}
