//! When secrets were last used, and whether one can go.

use std::collections::HashMap;
use std::time::Duration;

use shared::limits::{SECRET_USE_EVERY, SECRETS_FRESH};
use shared::secret::Fingerprint;
use shared::signature::Scheme;
use shared::time::Timestamp;

/// What signs no time may be delivered long after it was signed (Shopify documents an hour).
const UNTIMED: Duration = Duration::from_secs(3600);

/// When each secret of a source last made a signature.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(HashMap<String, Timestamp>);

/// Why a secret cannot go yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StillUsed {
    /// Deliveries were signed with it after the last one that was signed with the other.
    Newest { at: Timestamp, other: Option<Timestamp> },
    /// It has been replaced, but what it signed may still be on its way.
    OnItsWay { at: Timestamp, until: Timestamp },
}

impl Uses {
    /// As the control item tells them.
    pub(super) fn new(uses: HashMap<String, Timestamp>) -> Self {
        Self(uses)
    }

    /// When this one was last used, to within a minute.
    pub(super) fn of(&self, secret: &Fingerprint) -> Option<Timestamp> {
        self.0.get(secret.as_str()).copied()
    }

    /// Whether deliveries still need `secret` while `other` stays.
    pub(super) fn still_used(
        &self,
        secret: &Fingerprint,
        other: Option<&Fingerprint>,
        scheme: &Scheme,
        now: Timestamp,
    ) -> Option<StillUsed> {
        let at = self.of(secret)?;
        let other = other.and_then(|other| self.of(other));
        if other.is_none_or(|other| other <= at) {
            return Some(StillUsed::Newest { at, other });
        }
        let until = at.plus(quiet(scheme));
        (until > now).then_some(StillUsed::OnItsWay { at, until })
    }
}

/// For so long a secret must not have been used: uses are noted once a minute, copies are a minute
/// old, and a delivery may be as old as the scheme tolerates.
pub(super) fn quiet(scheme: &Scheme) -> Duration {
    let on_its_way = match &scheme.timestamp {
        Some(_) => scheme.tolerance,
        None => UNTIMED,
    };
    on_its_way + SECRET_USE_EVERY + SECRETS_FRESH
}
