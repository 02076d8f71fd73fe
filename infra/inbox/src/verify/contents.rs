//! What may have been signed: the template of the scheme, and those of others.

use sha2::{Digest as _, Sha256};
use shared::signature::{Part, Scheme};

use super::candidate::{Candidate, Candidates};
use super::capture::Capture;
use super::claims;
use super::mistake::Mistake;

/// Signed bytes: something, the body in one form, something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Content {
    before: String,
    body: BodyAs,
    after: String,
}

/// How the body is in the signed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BodyAs {
    Bytes,
    Sha256,
    Nothing,
}

/// What well-known schemes sign.
const KNOWN: [&str; 7] = [
    "{timestamp}.{body}",
    "{body}",
    "{id}.{timestamp}.{body}",
    "v0:{timestamp}:{body}",
    "{timestamp}{body}",
    "{timestamp}:{body}",
    "{id}{timestamp}{body}",
];

/// What has been seen elsewhere, or is easily got wrong.
const SEEN: [&str; 26] = [
    "{id}.{body}",
    "{timestamp}.{id}.{body}",
    "{body}.{timestamp}",
    "{body}{timestamp}",
    "{body}:{timestamp}",
    "{body}.{timestamp}.{id}",
    "{timestamp}\n{body}",
    "{timestamp}|{body}",
    "{timestamp},{body}",
    "{timestamp}-{body}",
    "{timestamp}_{body}",
    "{timestamp} {body}",
    "{timestamp}. {body}",
    "{id}:{timestamp}:{body}",
    "{id}|{timestamp}|{body}",
    "{id}\n{timestamp}\n{body}",
    "{id}{body}",
    "t={timestamp}.{body}",
    "t={timestamp},{body}",
    "v1.{timestamp}.{body}",
    "v1:{timestamp}:{body}",
    "{timestamp}.{sha256}",
    "{id}.{timestamp}.{sha256}",
    "{sha256}",
    "{timestamp}",
    "{id}.{timestamp}",
];

impl Content {
    fn of(template: &str, time: &str, id: &str) -> Self {
        let (body, parts) = match (template.split_once("{body}"), template.split_once("{sha256}")) {
            (Some(parts), _) => (BodyAs::Bytes, parts),
            (None, Some(parts)) => (BodyAs::Sha256, parts),
            (None, None) => (BodyAs::Nothing, (template, "")),
        };
        let put = |text: &str| text.replace("{timestamp}", time).replace("{id}", id);
        Self { before: put(parts.0), body, after: put(parts.1) }
    }

    /// Hands over the signed bytes, piece by piece.
    pub(super) fn feed(&self, body: &[u8], mut to: impl FnMut(&[u8])) {
        to(self.before.as_bytes());
        match self.body {
            BodyAs::Bytes => to(body),
            BodyAs::Sha256 => {
                let hex: String =
                    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
                to(hex.as_bytes());
            }
            BodyAs::Nothing => {}
        }
        to(self.after.as_bytes());
    }

    /// Whether other bodies give other bytes.
    pub(super) fn has_body(&self) -> bool {
        self.body != BodyAs::Nothing
    }
}

/// Everything that may have been signed, what the scheme says first.
pub(super) fn candidates(scheme: &Scheme, capture: &Capture) -> Vec<Candidate<Content>> {
    let id_header = scheme.signed.iter().find_map(|part| match part {
        Part::Header(name) => Some(name.as_str()),
        _ => None,
    });
    let places = Places {
        times: claims::times(scheme, capture),
        ids: claims::ids(scheme, capture, id_header.unwrap_or_default()),
        has_time: scheme.timestamp.is_some(),
        id_header,
    };
    let own = template(scheme);
    let mut contents = Candidates::new();
    for content in places.fill(&own, None, 0) {
        contents.add(content);
    }
    for (texts, cost) in [(&KNOWN[..], 1), (&SEEN[..], 2)] {
        for text in texts.iter().filter(|text| **text != own) {
            places
                .fill(text, Some(&own), cost)
                .into_iter()
                .for_each(|content| contents.add(content));
        }
    }
    contents.finish()
}

/// Where times and ids were found.
struct Places<'s> {
    times: Vec<Candidate<String>>,
    ids: Vec<Candidate<String>>,
    has_time: bool,
    id_header: Option<&'s str>,
}

impl Places<'_> {
    /// A template with every time and every id; a foreign one stands in the place of `expected`.
    fn fill(&self, template: &str, expected: Option<&str>, cost: u8) -> Vec<Candidate<Content>> {
        let nothing = [Candidate::right(String::new())];
        let times = if names_time(template) { &self.times[..] } else { &nothing };
        let ids = if template.contains("{id}") { &self.ids[..] } else { &nothing };
        let pairs = times.iter().flat_map(|time| ids.iter().map(move |id| (time, id)));
        let filled = pairs.map(|(time, id)| {
            let signed = expected.map(|expected| Mistake::Signed {
                really: self.shown(template, id),
                expected: self.shown(expected, id),
            });
            // Where the scheme has no such place, none is wrong.
            let of_time = [time].into_iter().filter(|_| self.has_time);
            let of_id = [id].into_iter().filter(|_| self.id_header.is_some());
            let found: Vec<_> = of_time.chain(of_id).collect();
            let mistakes = found.iter().flat_map(|found| found.mistakes.iter().cloned());
            Candidate {
                value: Content::of(template, &time.value, &id.value),
                mistakes: signed.into_iter().chain(mistakes).collect(),
                cost: cost + found.iter().map(|found| found.cost).sum::<u8>(),
            }
        });
        filled.collect()
    }

    /// A template as `sources.toml` would write it.
    fn shown(&self, template: &str, id: &Candidate<String>) -> String {
        let id = match (self.id_header, id.mistakes.first()) {
            (Some(name), _) => format!("{{header:{name}}}"),
            (None, Some(Mistake::ValueAt { found, .. })) => format!("{{{found}}}"),
            _ => "{id}".to_owned(),
        };
        let text = template.replace("{id}", &id).replace('\n', "\\n");
        text.replace("{sha256}", "SHA-256 of {body} in hex")
    }
}

fn names_time(template: &str) -> bool {
    template.contains("{timestamp}")
}

/// The scheme's template; headers are `{id}`, of which no scheme has two.
fn template(scheme: &Scheme) -> String {
    let parts = scheme.signed.iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Timestamp => "{timestamp}",
        Part::Header(_) => "{id}",
        Part::Body => "{body}",
    });
    parts.collect()
}
