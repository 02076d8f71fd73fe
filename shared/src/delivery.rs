//! From raw bytes to a delivery that may be stored. The only door is the signature check.

use http::HeaderMap;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::envelope::{self, NotAnEnvelope};
use crate::key::{EventId, EventKey, EventType, NameError};
use crate::limits::HANDSHAKE_BYTES_MAX;
use crate::secret::SecretSet;
use crate::signature::{self, Match, Part, Raw, Refusal};
use crate::source::{Field, IdRule, Profile};
use crate::time::Timestamp;

/// A delivery whose signature holds. Nothing else can be read or stored, and nothing else than the
/// check makes one:
///
/// ```compile_fail
/// # use shared::{delivery::Verified, source::Sources, signature::Raw};
/// let sources = Sources::builtin().unwrap();
/// let raw = Raw { headers: Default::default(), body: Default::default() };
/// let forged = Verified { profile: sources.get("kudos").unwrap(), raw: &raw };
/// ```
#[derive(Debug)]
pub struct Verified<'r> {
    profile: &'r Profile,
    raw: &'r Raw,
    made_by: Match,
}

impl<'r> Verified<'r> {
    /// Checks the signature of a delivery to `profile`.
    ///
    /// # Errors
    /// The reason why it is not believed.
    pub fn check(
        profile: &'r Profile,
        secrets: &SecretSet,
        raw: &'r Raw,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let made_by = signature::verify(&profile.scheme, secrets.secrets(), raw, now)?;
        Ok(Self { profile, raw, made_by })
    }

    /// Reads id and type. Every authentic delivery is worth storing, so this cannot fail: one that
    /// no handler can use says why in its [`Content`].
    pub fn read(self) -> Delivery<'r> {
        let digest: [u8; 32] = Sha256::digest(&self.raw.body).into();
        let handshake = handshake(self.profile, self.raw);
        let parts = Parts::find(self.profile, self.raw);
        let named = parts.as_ref().map_err(|e| Unusable::Body(*e)).and_then(|parts| {
            let event_type = parts.event_type()?;
            Ok((parts.id(&event_type, &digest)?, event_type))
        });
        let (id, content) = match named {
            _ if handshake.is_some() => {
                (EventId::of_digest(&digest), Content::Handshake(handshake.unwrap_or_default()))
            }
            Ok((id, event_type)) => (id, Content::Event(event_type)),
            Err(why) => {
                let seen = parts.as_ref().ok().and_then(|p| p.event_type().ok());
                (EventId::of_digest(&digest), Content::Unusable(why, seen))
            }
        };
        let event = &self.profile.event;
        let header = |name| self.raw.headers.get(name).and_then(|v| v.to_str().ok());
        let copy = event.id_copy.as_ref().and_then(header);
        let attempt = event.attempt.as_ref().and_then(|rule| {
            let value: u32 = header(&rule.header)?.trim().parse().ok()?;
            Some(value.saturating_sub(rule.first).saturating_add(1))
        });
        Delivery {
            id_disagrees: copy.is_some_and(|copy| copy.trim() != id.as_str()),
            occurred_at: parts.ok().and_then(|p| p.time.and_then(envelope::time)),
            key: EventKey { source: self.profile.name.clone(), id },
            attempt,
            content,
            digest,
            verified: self,
        }
    }
}

/// An authentic delivery, read.
#[derive(Debug)]
pub struct Delivery<'r> {
    verified: Verified<'r>,
    key: EventKey,
    content: Content,
    digest: [u8; 32],
    occurred_at: Option<Timestamp>,
    attempt: Option<u32>,
    id_disagrees: bool,
}

/// What an authentic delivery is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An event of this type.
    Event(EventType),
    /// Nothing that a handler could use, with its type as far as it shows one.
    Unusable(Unusable, Option<EventType>),
    /// A question, and what it wants to hear. Nothing to store.
    Handshake(String),
}

/// Why an authentic delivery cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The body is not one JSON object.
    #[error(transparent)]
    Body(NotAnEnvelope),
    /// No id where the profile says.
    #[error("no event id")]
    NoId,
    /// An id that cannot be a key.
    #[error("the event id {0}")]
    UnfitId(NameError),
    /// The id holds the character that parts it from the next signed piece, so the same signature
    /// would fit another id.
    #[error("the event id holds the separator of the signed content")]
    AmbiguousId,
    /// No type where the profile says.
    #[error("no event type")]
    NoType,
    /// A type that is too long or not printable.
    #[error("the event type {0}")]
    UnfitType(NameError),
}

impl<'r> Delivery<'r> {
    /// Whose delivery.
    pub fn profile(&self) -> &'r Profile {
        self.verified.profile
    }

    /// The row's key: the event's id, or the body's digest where it has no usable one.
    pub fn key(&self) -> &EventKey {
        &self.key
    }

    /// What it is.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The type, as far as it shows one.
    pub fn event_type(&self) -> Option<&EventType> {
        match &self.content {
            Content::Event(event_type) => Some(event_type),
            Content::Unusable(_, event_type) => event_type.as_ref(),
            Content::Handshake(_) => None,
        }
    }

    /// The body's bytes, as they were signed.
    pub fn body(&self) -> &'r [u8] {
        &self.verified.raw.body
    }

    /// SHA-256 of the body.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The producer's time of the event, where it signs one.
    pub fn occurred_at(&self) -> Option<Timestamp> {
        self.occurred_at
    }

    /// Which delivery of this event it is by the producer's count, from 1.
    pub fn attempt(&self) -> Option<u32> {
        self.attempt
    }

    /// Which secret made the signature.
    pub fn made_by(&self) -> &Match {
        &self.verified.made_by
    }

    /// A header repeats the id and says something else.
    pub fn id_disagrees(&self) -> bool {
        self.id_disagrees
    }
}

/// The parts of an event, where the profile says they are.
struct Parts<'r> {
    profile: &'r Profile,
    headers: &'r HeaderMap,
    id: Option<&'r RawValue>,
    event_type: Option<&'r RawValue>,
    time: Option<&'r RawValue>,
}

impl<'r> Parts<'r> {
    /// One pass over the body for all three.
    fn find(profile: &'r Profile, raw: &'r Raw) -> Result<Self, NotAnEnvelope> {
        let event = &profile.event;
        let id = match &event.id {
            IdRule::At(field) => Some(field),
            IdRule::Digest => None,
        };
        let wanted = [id, Some(&event.event_type), event.time.as_ref()];
        let paths = wanted.map(path);
        // The payload is looked for only so that one that is there twice is noticed here.
        let payload = event.payload.as_slice();
        // A place that is not in the body has an empty path, and an empty path finds nothing.
        let in_body = paths.into_iter().chain([payload]).filter(|p| !p.is_empty());
        let in_body: Vec<&[String]> = in_body.collect();
        let mut found = envelope::fields(&raw.body, &in_body)?.into_iter();
        let [id, event_type, time] =
            [0, 1, 2].map(|i| if paths[i].is_empty() { None } else { found.next().flatten() });
        Ok(Self { profile, headers: &raw.headers, id, event_type, time })
    }

    fn event_type(&self) -> Result<EventType, Unusable> {
        let text = match &self.profile.event.event_type {
            Field::Header(name) => {
                self.headers.get(name).and_then(|v| v.to_str().ok()).map(|v| v.trim().into())
            }
            Field::Body(_) => self.event_type.and_then(envelope::text),
        };
        EventType::parse(text.ok_or(Unusable::NoType)?.as_ref()).map_err(Unusable::UnfitType)
    }

    fn id(&self, event_type: &EventType, digest: &[u8; 32]) -> Result<EventId, Unusable> {
        let event = &self.profile.event;
        let text = match &event.id {
            IdRule::Digest => return Ok(EventId::of_digest(digest)),
            IdRule::At(Field::Header(name)) => {
                let text = self.headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
                let text = text.ok_or(Unusable::NoId)?;
                if self.profile.follows(name).is_some_and(|separator| text.contains(separator)) {
                    return Err(Unusable::AmbiguousId);
                }
                text.into()
            }
            IdRule::At(Field::Body(_)) => match self.id {
                Some(value) if value.get() != "null" => {
                    envelope::text(value).ok_or(Unusable::UnfitId(NameError::Character))?
                }
                _ => return self.fallback(event_type, digest).ok_or(Unusable::NoId),
            },
        };
        EventId::of_producer(&text).map_err(Unusable::UnfitId)
    }

    fn fallback(&self, event_type: &EventType, digest: &[u8; 32]) -> Option<EventId> {
        let rules = &self.profile.event.fallback_id;
        let (_, header) = rules.iter().find(|(t, _)| t == event_type.as_str())?;
        let delivery = self.headers.get(header).and_then(|v| v.to_str().ok()).map(str::trim);
        Some(EventId::of_delivery(delivery, digest))
    }
}

/// What a question wants to hear, if the delivery is one.
fn handshake(profile: &Profile, raw: &Raw) -> Option<String> {
    let rule = profile.event.handshake.as_ref()?;
    let found = envelope::fields(&raw.body, &[&rule.field, &rule.echo]).ok()?;
    let said = found.first().copied().flatten().and_then(envelope::text)?;
    let echo = found.get(1).copied().flatten().and_then(envelope::text)?;
    (said == rule.value && echo.len() <= HANDSHAKE_BYTES_MAX).then(|| echo.into_owned())
}

fn path(field: Option<&Field>) -> &[String] {
    match field {
        Some(Field::Body(path)) => path,
        Some(Field::Header(_)) | None => &[],
    }
}

impl Profile {
    /// The text that follows a header in what is signed.
    fn follows(&self, header: &http::HeaderName) -> Option<&str> {
        let mut parts =
            self.scheme.signed.iter().skip_while(|p| **p != Part::Header(header.clone()));
        match parts.nth(1) {
            Some(Part::Text(text)) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "delivery/tests.rs"]
mod tests;
