//! What is known of one producer.

use std::time::Duration;

use http::{HeaderName, StatusCode};

use crate::key::{EventType, SourceName};
use crate::limits::INGRESS_BUDGET;
use crate::signature::{Part, Scheme};

/// One table of `sources.toml`.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name in the address and in keys.
    pub name: SourceName,
    /// Its name for people.
    pub title: String,
    /// How it signs.
    pub scheme: Scheme,
    /// Where the parts of an event are.
    pub event: EventRule,
    /// What it makes of our answers.
    pub contract: Contract,
    /// Whether its events keep an order.
    pub ordering: Ordering,
}

/// Where the parts of an event are found.
#[derive(Clone, Debug)]
pub struct EventRule {
    /// The dedupe key.
    pub id: IdRule,
    /// Why an id that no signature covers is accepted.
    pub unsigned_id: Option<String>,
    /// A question that is answered and not stored.
    pub handshake: Option<Handshake>,
    /// A header that repeats the id; one that disagrees is counted.
    pub id_copy: Option<HeaderName>,
    /// The event type.
    pub event_type: Field,
    /// The signed time of the event, if the producer gives one.
    pub time: Option<Field>,
    /// The top-level field that handlers receive; `None` is the whole body.
    pub payload: Option<String>,
    /// A header that counts deliveries.
    pub attempt: Option<Attempt>,
    /// Types that may come without an id, and the header that then names the delivery.
    pub fallback_id: Vec<(String, HeaderName)>,
    /// Types that may be named in metrics although no handler names them.
    pub types: Vec<String>,
    /// Types that are stored as `ignored` and never queued.
    pub ignored: Vec<TypePattern>,
}

/// A question a producer asks of a new endpoint (Slack's `url_verification`): an authentic delivery
/// whose field has this value is answered with the text of another field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The field that tells, from the top level down.
    pub field: Vec<String>,
    /// Its value.
    pub value: String,
    /// The field whose text is the answer.
    pub echo: Vec<String>,
}

/// Where the dedupe key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdRule {
    /// A field of the signed body, or a header.
    At(Field),
    /// The digest of the body: no id is signed.
    Digest,
}

/// A place in a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A field of the JSON body: names from the top level down.
    Body(Vec<String>),
    /// A header.
    Header(HeaderName),
}

/// A header that counts the deliveries of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The header.
    pub header: HeaderName,
    /// Its value on the first delivery.
    pub first: u32,
}

/// What a producer makes of our answers, and how it wants to be told.
#[derive(Clone, Debug)]
pub struct Contract {
    /// It gives up on an answer after this. Whole seconds.
    pub timeout: Duration,
    /// After which answers it delivers again.
    pub retries: Retries,
    /// The answer to an authentic delivery that cannot be used.
    pub unusable: StatusCode,
    /// Every delivery is answered 410: the subscription is to be paused.
    pub gone: bool,
}

/// The answers after which a producer delivers again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Single codes.
    pub codes: Vec<u16>,
    /// Whole classes, by their first digit.
    pub classes: Vec<u16>,
}

impl Retries {
    /// Whether the producer delivers again after this answer.
    pub fn include(&self, status: StatusCode) -> bool {
        self.codes.contains(&status.as_u16()) || self.classes.contains(&(status.as_u16() / 100))
    }
}

/// Whether a producer's events keep an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// None: the standard queue.
    None,
    /// Within one event type: the FIFO queue, a group per type.
    PerType,
}

/// `payment.succeeded`, or `payment.*` for every type below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypePattern {
    /// This very type.
    Exact(String),
    /// Every type that begins with this; the dot is part of it.
    Below(String),
}

impl TypePattern {
    /// Reads a pattern. A star anywhere but in a closing `.*` is an ordinary character.
    pub fn parse(pattern: &str) -> Self {
        match pattern.strip_suffix('*') {
            Some(prefix) if prefix.ends_with('.') => Self::Below(prefix.to_owned()),
            _ => Self::Exact(pattern.to_owned()),
        }
    }

    /// Whether this type is meant.
    pub fn matches(&self, event_type: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == event_type,
            Self::Below(prefix) => event_type.starts_with(prefix.as_str()),
        }
    }
}

impl Profile {
    /// How long our answer may take: a second less than the producer waits.
    pub fn answer_budget(&self) -> Duration {
        INGRESS_BUDGET.min(self.contract.timeout.saturating_sub(Duration::from_secs(1)))
    }

    /// Whether events of this type are stored as `ignored`.
    pub fn ignores(&self, event_type: &EventType) -> bool {
        self.event.ignored.iter().any(|pattern| pattern.matches(event_type.as_str()))
    }

    /// Whether the signature covers the dedupe key.
    pub fn signs_id(&self) -> bool {
        self.event.id.is_signed_by(&self.scheme)
    }
}

impl IdRule {
    /// Whether a signature of this scheme covers the id.
    pub fn is_signed_by(&self, scheme: &Scheme) -> bool {
        match self {
            Self::At(Field::Body(_)) | Self::Digest => true,
            Self::At(Field::Header(name)) => scheme.signed.contains(&Part::Header(name.clone())),
        }
    }
}
