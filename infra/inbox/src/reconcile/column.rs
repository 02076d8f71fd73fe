//! Which column of an export holds the events' ids.

use std::fmt;

use shared::source::{Field, IdRule, Profile};

/// Names of it in exports, the surest first. A bare `id` may be a delivery's, and a `webhook_id` an
/// endpoint's.
const USUAL: [&str; 8] = [
    "event_id",
    "message_id",
    "msg_id",
    "notification_id",
    "id",
    "webhook_id",
    "delivery_id",
    "uuid",
];

/// The column that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    named: Option<&'a str>,
    /// What the source itself calls it.
    own: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// The one that was named, or else one that is called as ids usually are.
    pub(super) fn of(named: Option<&'a str>, profile: Option<&'a Profile>) -> Self {
        let own = match profile.map(|profile| &profile.event.id) {
            Some(IdRule::At(Field::Body(path))) => path.last().map(String::as_str),
            Some(IdRule::At(Field::Header(name))) => Some(name.as_str()),
            Some(IdRule::Digest) | None => None,
        };
        Self { named, own }
    }

    /// The column that was named on the command line.
    pub(super) fn named(&self) -> Option<&'a str> {
        self.named
    }

    /// Where it is among these.
    pub(super) fn pick<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<usize> {
        let names: Vec<&str> = names.into_iter().collect();
        let like = |wanted: &str| names.iter().position(|name| plain(name) == plain(wanted));
        match self.named {
            Some(named) => names.iter().position(|name| *name == named).or_else(|| like(named)),
            None => {
                let own = self.own.filter(|own| plain(own) != "id");
                own.into_iter().chain(USUAL).find_map(like)
            }
        }
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named {
            Some(named) => write!(f, "column {named}"),
            None => write!(f, "column that is called as ids usually are ({})", USUAL.join(", ")),
        }
    }
}

/// `Event ID`, `eventId` and `event-id` are one name.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
