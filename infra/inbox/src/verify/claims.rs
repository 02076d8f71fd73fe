//! What the headers claim: digests, times and ids, wherever and however they are written.

use shared::signature::{Form, Scheme, TimestampAt};

use super::candidate::{Candidate, Candidates};
use super::capture::Capture;
use super::mistake::Mistake;
use super::written::{Digest, Written};

/// A digest that a header shows, and what is wrong with how it shows it.
pub(super) type Claim = Candidate<Digest>;

impl Claim {
    /// In another header than the signature's.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.mistakes.iter().any(|mistake| matches!(mistake, Mistake::HeaderName { .. }))
    }
}

/// A piece of a header's value.
struct Piece<'h> {
    /// What stands in front: `v1`, `sha256`.
    tag: Option<&'h str>,
    /// What parts the two: `=`, `:`, or nothing but a comma or a blank.
    sign: Option<char>,
    text: &'h str,
}

/// Every digest in the headers, the expected ones first.
pub(super) fn digests(scheme: &Scheme, capture: &Capture) -> Vec<Claim> {
    let mut claims = vec![];
    for (name, value) in &capture.headers {
        let (clean, wrapped) = unwrapped(value, scheme);
        let at = header_mistake(name, scheme);
        for piece in pieces(&clean) {
            let Some(digest) = Digest::read(piece.text) else { continue };
            let mut mistakes: Vec<_> = at.iter().chain(&wrapped).cloned().collect();
            mistakes.extend(tag_mistake(&piece, scheme));
            let expected = Written::of(scheme.encoding);
            if digest.written != expected {
                mistakes.push(Mistake::Encoding { found: digest.written, expected });
            }
            mistakes.extend(digest.cut_at.map(|characters| Mistake::Truncated { characters }));
            let cost = u8::try_from(mistakes.len()).unwrap_or(u8::MAX);
            claims.push(Candidate { value: digest, mistakes, cost });
        }
    }
    claims.sort_by_key(|claim| claim.cost);
    claims
}

fn header_mistake(name: &str, scheme: &Scheme) -> Option<Mistake> {
    let expected = scheme.header.as_str();
    let aliases = scheme.aliases.iter().filter(|(_, to)| *to == scheme.header);
    let mut fits = aliases.map(|(from, _)| from.as_str()).chain([expected]);
    let right = fits.any(|fit| name.eq_ignore_ascii_case(fit));
    (!right).then(|| Mistake::HeaderName { found: name.to_owned(), expected: expected.to_owned() })
}

/// The value without what was put around it on its way into the capture.
fn unwrapped(value: &str, scheme: &Scheme) -> (String, Vec<Mistake>) {
    let mut mistakes = vec![];
    let mut note = |how: &str| mistakes.push(Mistake::Wrapped(how.to_owned()));
    let mut text = value.trim().to_owned();
    if text.contains(['"', '\'', '\\']) {
        note("quotes or backslashes that do not belong there");
        text.retain(|c| !matches!(c, '"' | '\'' | '\\'));
    }
    let decoded = text.replace("%3D", "=").replace("%3d", "=").replace("%2C", ",");
    let decoded = decoded.replace("%2c", ",").replace("%2B", "+").replace("%2F", "/");
    if decoded != text {
        note("percent-encoded");
        text = decoded;
    }
    if text.contains(';') {
        note("; between its parts, expected ,");
        text = text.replace(';', ",");
    }
    let name = format!("{}:", scheme.header);
    if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(&name)) {
        note("the header's name is repeated in its value");
        text = text[name.len()..].trim().to_owned();
    }
    (text, mistakes)
}

/// Elements parted by commas and blanks, each with what stands in front of it.
fn pieces(value: &str) -> Vec<Piece<'_>> {
    let mut pieces = vec![];
    let mut before = None;
    for word in value.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
        match word.split_once(['=', ':']) {
            Some((tag, text)) if !text.trim_matches('=').is_empty() => {
                let sign = word[tag.len()..].chars().next();
                pieces.push(Piece { tag: Some(tag), sign, text });
            }
            _ => pieces.push(Piece { tag: before, sign: None, text: word }),
        }
        before = Some(word);
    }
    pieces
}

fn tag_mistake(piece: &Piece<'_>, scheme: &Scheme) -> Option<Mistake> {
    let shown = |tag: Option<&str>, sign: Option<char>| match tag {
        Some(tag) if tag.len() <= 16 => format!("behind {tag}{}", sign.unwrap_or(',')),
        _ => "alone".to_owned(),
    };
    let (expected, sign) = match &scheme.form {
        Form::Tags(version) => (version.as_str(), Some('=')),
        Form::Versions(version) => (version.as_str(), None),
        Form::Prefix(prefix) => (prefix.trim_end_matches('='), Some('=')),
    };
    let expected = Some(expected).filter(|tag| !tag.is_empty());
    let right = piece.tag == expected && (expected.is_none() || piece.sign == sign);
    (!right).then(|| Mistake::Tag {
        found: shown(piece.tag, piece.sign),
        expected: shown(expected, sign),
    })
}

/// Every text that may be the signed time, the expected one first.
pub(super) fn times(scheme: &Scheme, capture: &Capture) -> Vec<Candidate<String>> {
    let mut times = Candidates::new();
    let expected = match &scheme.timestamp {
        None => "no time".to_owned(),
        Some(TimestampAt::Tag(tag)) => format!("tag:{tag}"),
        Some(TimestampAt::Header(name)) => format!("header:{name}"),
    };
    match &scheme.timestamp {
        None => {}
        Some(TimestampAt::Tag(tag)) => {
            let values = capture.values(scheme.header.as_str());
            for text in values.flat_map(|value| tagged(value, scheme, tag)) {
                times.add(Candidate::right(text));
            }
        }
        Some(TimestampAt::Header(name)) => {
            let values = named(scheme, capture, name.as_str());
            values.for_each(|value| times.add(Candidate::right(value.trim().to_owned())));
        }
    }
    for (name, value) in &capture.headers {
        let found = |place: String| Mistake::TimeAt { found: place, expected: expected.clone() };
        for (tag, text) in all_tagged(value, scheme) {
            // Under its tag in a header of another name, the name is the mistake.
            times.add(match &scheme.timestamp {
                Some(TimestampAt::Tag(own)) if *own == tag => Candidate::right(text),
                _ => Candidate::wrong(text, found(format!("tag:{tag}")), 1),
            });
        }
        let text = value.trim().trim_matches(['"', '\'']);
        if is_time(text) {
            let place = format!("header:{}", name.to_ascii_lowercase());
            times.add(Candidate::wrong(text.to_owned(), found(place), 1));
        }
    }
    let known: Vec<_> = times.as_slice().to_vec();
    for time in known {
        for (text, signed_millis) in other_units(&time.value) {
            let unit = [Mistake::TimeUnit { signed_millis }];
            let mistakes = time.mistakes.iter().cloned().chain(unit).collect();
            times.add(Candidate { value: text, mistakes, cost: time.cost + 1 });
        }
    }
    times.finish()
}

fn tagged(value: &str, scheme: &Scheme, tag: &str) -> Vec<String> {
    let all = all_tagged(value, scheme).into_iter();
    all.filter(|(found, _)| found == tag).map(|(_, text)| text).collect()
}

fn all_tagged(value: &str, scheme: &Scheme) -> Vec<(String, String)> {
    let clean = unwrapped(value, scheme).0;
    let tagged = pieces(&clean).into_iter().filter(|piece| is_time(piece.text));
    tagged.filter_map(|piece| Some((piece.tag?.to_owned(), piece.text.to_owned()))).collect()
}

/// Seconds or milliseconds, or a date.
fn is_time(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']).split('.').next().unwrap_or_default();
    let is_unix = matches!(digits.len(), 9..=14) && digits.bytes().all(|b| b.is_ascii_digit());
    is_unix || shared::envelope::rfc3339(text).is_some()
}

/// The same time in milliseconds, or in seconds, or as seconds where it is a date.
fn other_units(text: &str) -> Vec<(String, bool)> {
    if let Some(time) = shared::envelope::rfc3339(text) {
        return vec![(time.secs().to_string(), false), (time.millis().to_string(), true)];
    }
    match text.len() {
        10 => vec![(format!("{text}000"), true)],
        13 => text.get(..10).map(|secs| (secs.to_owned(), false)).into_iter().collect(),
        _ => vec![],
    }
}

/// Every text that may be in the place of a signed header, the expected one first.
pub(super) fn ids(scheme: &Scheme, capture: &Capture, expected: &str) -> Vec<Candidate<String>> {
    let mut ids = Candidates::new();
    for value in named(scheme, capture, expected) {
        ids.add(Candidate::right(value.trim().to_owned()));
    }
    let mistake = |found: String| Mistake::ValueAt { found, expected: expected.to_owned() };
    for (name, value) in &capture.headers {
        let name = name.to_ascii_lowercase();
        if name.split(['-', '_']).any(|word| matches!(word, "id" | "delivery" | "token")) {
            let text = value.trim().trim_matches(['"', '\'']).to_owned();
            ids.add(Candidate::wrong(text, mistake(format!("header:{name}")), 1));
        }
    }
    let body = str::from_utf8(&capture.body).unwrap_or_default();
    for (name, value) in super::json::entries(body).unwrap_or_default() {
        if let Ok(text) = serde_json::from_str::<String>(value)
            && name.trim_matches('"').ends_with("id")
        {
            let place = format!("body:{}", name.trim_matches('"'));
            ids.add(Candidate::wrong(text, mistake(place), 1));
        }
    }
    ids.finish()
}

/// The values of a header under its name and its other names.
pub(super) fn named<'c>(
    scheme: &'c Scheme,
    capture: &'c Capture,
    name: &'c str,
) -> impl Iterator<Item = &'c str> {
    let aliases = scheme.aliases.iter().filter(move |(_, to)| to.as_str() == name);
    let names = aliases.map(|(from, _)| from.as_str()).chain([name]);
    names.flat_map(|name| capture.values(name))
}
