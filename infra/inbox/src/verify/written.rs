//! Digests as they are written.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use shared::signature::Encoding;

use super::keys::unhex;

/// Fewer bytes than these agree by chance.
const BYTES_MIN: usize = 6;

/// How a digest is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Written {
    /// Hex digits.
    Hex,
    /// Base64, padded, standard alphabet.
    Base64,
    /// Base64 without padding.
    Base64Unpadded,
    /// Base64 with `-` and `_`.
    Base64UrlSafe,
    /// Base64 of hex digits.
    Base64OfHex,
}

/// The bytes of a digest, or only its first ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest {
    pub(super) bytes: Vec<u8>,
    /// So many characters were there, where some are missing.
    pub(super) cut_at: Option<usize>,
    pub(super) written: Written,
}

impl Digest {
    /// Reads what may be a digest; nothing for what cannot be one.
    pub(super) fn read(text: &str) -> Option<Self> {
        // What redacts a digest leaves its start.
        let shown = text.split(['…', '*']).next().unwrap_or(text);
        let shown = shown.split("..").next().unwrap_or(shown);
        Self::hex(shown).or_else(|| Self::base64(shown))
    }

    fn hex(text: &str) -> Option<Self> {
        let even = text.get(..text.len() & !1)?;
        let bytes = unhex(even).filter(|bytes| bytes.len() >= BYTES_MIN)?;
        let whole = is_length(bytes.len()) && even.len() == text.len();
        let cut_at = (!whole).then_some(text.len());
        Some(Self { bytes, cut_at, written: Written::Hex })
    }

    fn base64(text: &str) -> Option<Self> {
        for (written, engine) in [
            (Written::Base64, &STANDARD),
            (Written::Base64Unpadded, &STANDARD_NO_PAD),
            (Written::Base64UrlSafe, &URL_SAFE),
            (Written::Base64UrlSafe, &URL_SAFE_NO_PAD),
        ] {
            match engine.decode(text) {
                Ok(bytes) if is_length(bytes.len()) => {
                    let hex = str::from_utf8(&bytes).ok().and_then(unhex);
                    return Some(match hex.filter(|inner| is_length(inner.len())) {
                        Some(bytes) => Self { bytes, cut_at: None, written: Written::Base64OfHex },
                        None => Self { bytes, cut_at: None, written },
                    });
                }
                _ => {}
            }
        }
        let bare = text.trim_end_matches('=');
        let whole = bare.get(..bare.len() & !3)?;
        for (written, engine) in [(Written::Base64, &STANDARD), (Written::Base64UrlSafe, &URL_SAFE)]
        {
            if let Ok(bytes) = engine.decode(whole)
                && bytes.len() >= BYTES_MIN
            {
                return Some(Self { bytes, cut_at: Some(text.len()), written });
            }
        }
        None
    }

    /// Whether this is that digest, as far as it goes.
    pub(super) fn is(&self, digest: &[u8]) -> bool {
        match self.cut_at {
            None => self.bytes == digest,
            Some(_) => digest.starts_with(&self.bytes) || self.bytes.starts_with(digest),
        }
    }
}

/// SHA-256, SHA-384, SHA-512. What is shorter may be a start of one.
fn is_length(bytes: usize) -> bool {
    matches!(bytes, 32 | 48 | 64)
}

impl Written {
    /// What a scheme expects.
    pub(super) fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Hex => Self::Hex,
            Encoding::Base64 => Self::Base64,
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Base64Unpadded => "base64 without padding",
            Self::Base64UrlSafe => "URL-safe base64",
            Self::Base64OfHex => "base64 of hex digits",
        })
    }
}
