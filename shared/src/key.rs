//! Names of things, checked once: a source, an event, a type, a random token.

use std::fmt;

use crate::limits::{ID_BYTES_MAX, TYPE_BYTES_MAX};

/// Why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, or nothing but white space.
    #[error("is blank")]
    Blank,
    /// Over the limit of its kind.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// A control character, or for a source anything outside `[a-z0-9-]`.
    #[error("has a character that is not allowed")]
    Character,
    /// An id that only the inbox itself makes.
    #[error("is like those that the inbox makes from digests")]
    Reserved,
}

/// What ids made from a body's digest begin with.
const DIGEST: &str = "sha256:";

/// A producer's name in `sources.toml`: `[a-z0-9-]{1,32}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName(Box<str>);

impl SourceName {
    /// Checks the name.
    ///
    /// # Errors
    /// Blank, over 32 bytes, or a character outside `[a-z0-9-]`.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let fits = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
        match name {
            "" => Err(NameError::Blank),
            _ if name.len() > 32 => Err(NameError::TooLong(32)),
            _ if !name.bytes().all(fits) => Err(NameError::Character),
            _ => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A producer's id for an event: 1 to 256 bytes of UTF-8 that are not blank and hold no control
/// character. Two ids are the same when their bytes are: nothing is normalised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventId(Box<str>);

impl EventId {
    /// Checks the id.
    ///
    /// # Errors
    /// Blank, over [`ID_BYTES_MAX`], or a control character.
    pub fn parse(id: &str) -> Result<Self, NameError> {
        checked(id, ID_BYTES_MAX).map(Self)
    }

    /// An id that a producer gave. One exactly like those below could stand in the way of a delivery
    /// without an id, and is none.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), or it ends like an id of ours.
    pub fn of_producer(id: &str) -> Result<Self, NameError> {
        let digest = id.rsplit('#').next().and_then(|end| end.strip_prefix(DIGEST));
        if digest.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())) {
            return Err(NameError::Reserved);
        }
        Self::parse(id)
    }

    /// The id that stands in for one that is missing or unfit: the digest of the body.
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self(format!("{DIGEST}{}", hex(digest)).into())
    }

    /// The id of a type that may come without one: what the producer calls the delivery, where it
    /// does, and the digest of the body.
    pub fn of_delivery(delivery: Option<&str>, digest: &[u8; 32]) -> Self {
        let delivery = delivery.filter(|d| checked(d, ID_BYTES_MAX - 72).is_ok());
        match delivery {
            Some(delivery) => Self(format!("{delivery}#{DIGEST}{}", hex(digest)).into()),
            None => Self::of_digest(digest),
        }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A producer's name for a kind of event: 1 to 128 bytes, not blank, no control character.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventType(Box<str>);

impl EventType {
    /// Checks the type.
    ///
    /// # Errors
    /// Blank, over [`TYPE_BYTES_MAX`], or a control character.
    pub fn parse(event_type: &str) -> Result<Self, NameError> {
        checked(event_type, TYPE_BYTES_MAX).map(Self)
    }

    /// The type.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn checked(text: &str, bytes_max: usize) -> Result<Box<str>, NameError> {
    match text {
        _ if text.trim().is_empty() => Err(NameError::Blank),
        _ if text.len() > bytes_max => Err(NameError::TooLong(bytes_max)),
        _ if text.chars().any(char::is_control) => Err(NameError::Character),
        _ => Ok(text.into()),
    }
}

/// One event of one source, everywhere: the row's key, the name in logs.
///
/// ```
/// # use shared::key::{EventId, EventKey, SourceName};
/// let key = EventKey {
///     source: SourceName::parse("kudos").unwrap(),
///     id: EventId::parse("evt_1").unwrap(),
/// };
/// assert_eq!(key.to_string(), "kudos#evt_1");
/// assert_eq!(EventKey::parse("kudos#evt_1"), Some(key));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    /// Whose event.
    pub source: SourceName,
    /// Which event.
    pub id: EventId,
}

impl EventKey {
    /// Reads what `Display` writes; nothing for any other text (keys with `~` are ours).
    pub fn parse(key: &str) -> Option<Self> {
        let (source, id) = key.split_once('#')?;
        Some(Self { source: SourceName::parse(source).ok()?, id: EventId::parse(id).ok()? })
    }
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.source, self.id)
    }
}

macro_rules! displayed {
    ($($name:ident)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
displayed!(SourceName EventId EventType Token);

/// 128 random bits in hex: a receipt, or the owner of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token(Box<str>);

impl Token {
    /// A token nobody else has.
    pub fn fresh() -> Self {
        let mut bytes = [0; 16];
        #[expect(
            clippy::expect_used,
            reason = "an operating system without random numbers cannot run this program"
        )]
        getrandom::fill(&mut bytes).expect("random numbers from the operating system");
        Self(hex(&bytes).into())
    }

    /// A token as it was stored.
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes as lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_lower_case_letters_digits_and_dashes() {
        for good in ["kudos", "a", "my-crm-2", &"x".repeat(32)] {
            assert!(SourceName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Kudos", "a_b", "a#b", "~control", "ü", &"x".repeat(33)] {
            assert!(SourceName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_id_is_bytes_without_control_characters() {
        for good in ["evt_1", "a b/../c#d", &"😀".repeat(64), &"x".repeat(256), "\u{e9}vt"] {
            assert!(EventId::parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", NameError::Blank),
            ("   ", NameError::Blank),
            ("\u{a0}", NameError::Blank),
            ("a\nb", NameError::Character),
            (&"x".repeat(257), NameError::TooLong(256)),
        ] {
            assert_eq!(EventId::parse(bad), Err(why));
        }
        assert_ne!(EventId::parse("\u{e9}"), EventId::parse("e\u{301}"));
    }

    #[test]
    fn a_key_reads_back_whatever_its_id_holds() {
        let key = EventKey::parse("kudos#a#b").unwrap();
        assert_eq!((key.source.as_str(), key.id.as_str()), ("kudos", "a#b"));
        assert_eq!(EventKey::parse("~control#kudos"), None);
        assert_eq!(EventKey::parse("kudos"), None);
    }

    #[test]
    fn ids_made_from_a_body_fit_and_tokens_differ() {
        let id = EventId::of_delivery(Some(&"w".repeat(184)), &[7; 32]);
        assert!(EventId::parse(id.as_str()).is_ok());
        assert_eq!(
            EventId::of_delivery(Some(&"w".repeat(185)), &[7; 32]),
            EventId::of_digest(&[7; 32])
        );
        assert_ne!(Token::fresh(), Token::fresh());
        assert_eq!(Token::fresh().as_str().len(), 32);
    }
}
