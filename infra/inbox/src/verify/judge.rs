//! The product's verdict, and what explains a refusal.

use shared::delivery::{Content, Verified};
use shared::key::{EventId, EventType};
use shared::secret::{Fingerprint, Secret, SecretSet};
use shared::signature::{self, Part, Raw, Refusal, Scheme, TimestampAt};
use shared::source::Profile;
use shared::time::Timestamp;

use super::capture::Capture;
use super::keys::{Known, Whose};
use super::mistake::{self, Mistake};
use super::{claims, hints, search};
use crate::secrets::document;

/// What came of a captured request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It verifies.
    Right(Right),
    /// It is refused.
    Wrong(Wrong),
}

/// A request that verifies.
#[derive(Debug)]
pub(super) struct Right {
    /// The secret that made the signature.
    pub(super) signed_by: Fingerprint,
    /// A newer secret is active too, and did not make it.
    pub(super) by_older: bool,
    /// When it was signed, where a time is signed.
    pub(super) signed_at: Option<Timestamp>,
    /// The event's id.
    pub(super) id: EventId,
    /// Its type, as far as it shows one.
    pub(super) event_type: Option<EventType>,
    /// Why no handler can use it all the same.
    pub(super) unusable: Option<String>,
}

/// A request that is refused.
#[derive(Debug)]
pub(super) struct Wrong {
    /// What the functions log.
    pub(super) refusal: Refusal,
    /// The mistakes that together explain it; none if nothing does.
    pub(super) mistakes: Vec<Mistake>,
    /// They make the signature right; else they are only what is plain to see.
    pub(super) explained: bool,
    /// What is odd about it, where nothing explains it.
    pub(super) hints: Vec<String>,
    /// How many guesses were made.
    pub(super) guesses: usize,
    /// Names of the secrets that were tried, and whose they are.
    pub(super) tried: Vec<String>,
}

/// Checks as the functions do; looks for the mistakes if they would refuse.
pub(super) fn judge(
    profile: &Profile,
    capture: &Capture,
    known: &[Known],
    at: Timestamp,
) -> Verdict {
    let scheme = &profile.scheme;
    let mut raw = capture.raw();
    raw.rename(scheme);
    let own = known.iter().filter(|known| matches!(known.whose, Whose::Given | Whose::Active));
    let own = own.filter_map(|known| Some((known, known.text.decode(scheme.secret).ok()?)));
    let (texts, secrets): (Vec<&Known>, Vec<Secret>) = own.unzip();
    match signature::verify(scheme, &secrets, &raw, at) {
        Ok(by) => {
            let used = secrets.iter().position(|secret| *secret.fingerprint() == by.signed_by);
            let text = used.and_then(|at| texts.get(at)).map(|known| known.text.clone());
            let json = document(text.as_slice());
            let right = read(profile, &raw, &json, at, capture, by.by_older_only);
            right.map_or_else(|refusal| wrong(refusal, profile, capture, known, at), Verdict::Right)
        }
        Err(refusal) => wrong(refusal, profile, capture, known, at),
    }
}

fn read(
    profile: &Profile,
    raw: &Raw,
    secret: &str,
    at: Timestamp,
    capture: &Capture,
    by_older: bool,
) -> Result<Right, Refusal> {
    let set = SecretSet::parse(secret, profile.scheme.secret).map_err(|_| Refusal::Mismatch)?;
    let delivery = Verified::check(profile, &set, raw, at)?.read();
    let unusable = match delivery.content() {
        Content::Unusable(why, _) => Some(why.to_string()),
        Content::Event(_) | Content::Handshake(_) => None,
    };
    Ok(Right {
        signed_by: delivery.made_by().signed_by.clone(),
        by_older,
        signed_at: signed_at(&profile.scheme, capture),
        id: delivery.key().id.clone(),
        event_type: delivery.event_type().cloned(),
        unusable,
    })
}

fn wrong(
    refusal: Refusal,
    profile: &Profile,
    capture: &Capture,
    known: &[Known],
    at: Timestamp,
) -> Verdict {
    let scheme = &profile.scheme;
    let search = search::search(scheme, capture, known);
    let explained = search.found.is_some();
    let mut mistakes = search.found.unwrap_or_default();
    if !explained {
        mistakes.extend(missing(scheme, capture).map(Mistake::HeaderMissing));
    }
    if let Some(time) = out_of_time(scheme, capture, at) {
        mistakes.push(time);
    }
    if let Refusal::Malformed(reason) = refusal {
        let twice = repeated(scheme, capture);
        let said = |mistake: &Mistake| {
            mistake.is_about_header() || matches!(mistake, Mistake::Function(_))
        };
        let said = mistakes.iter().any(said);
        mistakes.extend(twice.iter().cloned().map(Mistake::HeaderTwice));
        if twice.is_empty() && !said {
            mistakes.push(Mistake::Grammar(reason));
        }
    }
    mistake::sort(&mut mistakes);
    let hints = if explained {
        vec![]
    } else {
        hints::hints(scheme, capture, search.any_digest, search.gave_up)
    };
    let tried = known
        .iter()
        .map(|known| format!("{} ({})", known.text.name(scheme.secret), known.whose.short()));
    let (guesses, tried) = (search.guesses, tried.collect());
    Verdict::Wrong(Wrong { refusal, mistakes, explained, hints, guesses, tried })
}

/// The text of the signed time, where the scheme has it.
fn time_text(scheme: &Scheme, capture: &Capture) -> Option<String> {
    let mut times = claims::times(scheme, capture).into_iter();
    times.find(|time| time.cost == 0).map(|time| time.value)
}

fn signed_at(scheme: &Scheme, capture: &Capture) -> Option<Timestamp> {
    time_text(scheme, capture)?.parse().ok().map(Timestamp::from_secs)
}

/// What is wrong with the signed time, whatever else is.
fn out_of_time(scheme: &Scheme, capture: &Capture, at: Timestamp) -> Option<Mistake> {
    let text = time_text(scheme, capture)?;
    let number: i64 = text.parse().ok()?;
    let tolerance = scheme.tolerance.as_secs();
    let off = at.secs().abs_diff(number);
    match text.len() {
        13.. => Some(Mistake::Millis),
        _ if off <= tolerance => None,
        _ if number < at.secs() => Some(Mistake::Stale { secs: off, tolerance }),
        _ => Some(Mistake::Ahead { secs: off, tolerance }),
    }
}

/// Headers of the scheme that are not there, under any of their names.
fn missing<'s>(scheme: &'s Scheme, capture: &'s Capture) -> impl Iterator<Item = String> + 's {
    let is_there = |name: &str| claims::named(scheme, capture, name).next().is_some();
    let names = once_each(scheme).into_iter().chain([scheme.header.as_str()]);
    names.filter(move |name| !is_there(name)).map(str::to_owned)
}

/// Headers of the scheme that may come once, and are there more often.
fn repeated(scheme: &Scheme, capture: &Capture) -> Vec<String> {
    let names = once_each(scheme).into_iter();
    names.filter(|name| capture.values(name).count() > 1).map(str::to_owned).collect()
}

/// Headers of the scheme that come once.
fn once_each(scheme: &Scheme) -> Vec<&str> {
    let signed = scheme.signed.iter().filter_map(|part| match part {
        Part::Header(name) => Some(name),
        Part::Text(_) | Part::Timestamp | Part::Body => None,
    });
    let time = scheme.timestamp.iter().filter_map(|at| match at {
        TimestampAt::Header(name) => Some(name),
        TimestampAt::Tag(_) => None,
    });
    signed.chain(time).map(|name| name.as_str()).collect()
}
