//! How long the inbox remembers, against how late a producer may deliver again.

use std::time::Duration;

use shared::source::Profile;

use super::finding::{Finding, Findings, Severity};
use crate::context::Context;
use crate::when;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// How long after an event its producer may still deliver it, in seconds.
struct Span {
    /// By its own schedule.
    retries: u64,
    /// By hand, in its portal; `None` where no limit is known.
    replay: Option<u64>,
}

/// Every source.
pub(super) fn look(context: &Context, retention: Duration, findings: &mut Findings) {
    for profile in context.sources.iter() {
        findings.check(remembers(profile, retention));
    }
}

/// What is documented of a producer, known by the header of its signature.
fn span(profile: &Profile) -> Option<Span> {
    let (retries, replay) = match profile.scheme.header.as_str() {
        // Six attempts; how old a replayed event may be is not documented.
        "x-kudos-signature" => (2 * HOUR, None),
        // Eight attempts; retries by hand for 30 days.
        "kallglot-signature" => (42 * HOUR, Some(32 * DAY)),
        // Eleven attempts (Apiera); ten over 75 hours (Standard Webhooks).
        "webhook-signature" => (76 * HOUR, None),
        "stripe-signature" => (3 * DAY, Some(30 * DAY)),
        "x-hub-signature-256" => (0, Some(7 * DAY)),
        "x-slack-signature" => (HOUR, Some(HOUR)),
        "x-shopify-hmac-sha256" => (4 * HOUR, Some(DAY)),
        _ => return None,
    };
    Some(Span { retries, replay })
}

/// A signed time protects on its own: older events are parked, not run.
pub(super) fn remembers(profile: &Profile, retention: Duration) -> Option<Finding> {
    let span = span(profile)?;
    let days = retention.as_secs() / DAY;
    let (source, title) = (&profile.name, &profile.title);
    let next = "deploy with a larger RetentionDays; 35 is long enough for every documented span";
    if retention.as_secs() < span.retries {
        return Some(Severity::Critical.finding(
            "memory",
            format!(
                "finished events are remembered for {days} days, {title} repeats for {}",
                when::length(Duration::from_secs(span.retries))
            ),
            format!(
                "a late retry of {source} is taken for a new event, and its effects happen twice"
            ),
            next,
        ));
    }
    let replay = span.replay.filter(|_| profile.event.time.is_none())?;
    (retention.as_secs() < replay).then(|| {
        Severity::Warning.finding(
            "memory",
            format!(
                "finished events are remembered for {days} days, {title} can be asked for older \
                 ones for {}",
                when::length(Duration::from_secs(replay))
            ),
            format!(
                "{source} signs no time: a replay that is older is run again, and only the \
                 handler's own keys protect"
            ),
            next,
        )
    })
}
