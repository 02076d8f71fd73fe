//! Bodies that may have been signed in the place of the one in the file.

use std::collections::HashSet;
use std::hash::{Hash as _, Hasher as _};
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::candidate::Candidate;
use super::change::Change;
use super::json::{self, Style, Tree};
use super::json_orders;
use super::keys::unbase64;
use super::mistake::Mistake;
use super::printed;

/// What all candidates together may weigh: a large body is tried in fewer ways.
const BYTES_MAX: usize = 96 * 1024 * 1024;
/// What a compressed body may grow to.
const INFLATED_MAX: u64 = 16 * 1024 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What all mistakes in a body may cost together.
const COST_MAX: usize = 3;

/// Bodies that may have been signed, by how unlikely they are. The unlikelier ones are many, and are
/// made only when they are asked for.
#[derive(Debug)]
pub(super) struct Bodies<'b> {
    body: &'b [u8],
    /// What one change makes of the body.
    once: Vec<(Change, Vec<u8>, u8)>,
    tiers: [Vec<Candidate<Vec<u8>>>; COST_MAX + 1],
    made: usize,
    seen: HashSet<u64>,
    /// Texts that have been written in every style.
    restyled: HashSet<String>,
    /// Texts whose keys have been put in every order.
    rewritten: HashSet<String>,
    weight: usize,
}

impl<'b> Bodies<'b> {
    /// None yet.
    pub(super) fn of(body: &'b [u8]) -> Self {
        Self {
            body,
            once: changes(body),
            tiers: Default::default(),
            made: 0,
            seen: HashSet::new(),
            restyled: HashSet::new(),
            rewritten: HashSet::new(),
            weight: 0,
        }
    }

    /// Makes all of up to this cost.
    pub(super) fn make(&mut self, cost: u8) {
        while self.made <= COST_MAX.min(usize::from(cost)) {
            match self.made {
                0 => self.add(Candidate::right(self.body.to_vec())),
                1 => {
                    self.changed(1);
                    self.restyle(self.body, &[], 1);
                }
                2 => {
                    self.changed(2);
                    self.changed_again();
                }
                _ => self.rewrite(),
            }
            self.made += 1;
        }
    }

    /// Those that were made of exactly this cost, the likelier ones first.
    pub(super) fn of_cost(&self, cost: u8) -> &[Candidate<Vec<u8>>] {
        self.tiers.get(usize::from(cost)).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, candidate: Candidate<Vec<u8>>) {
        self.weight += candidate.value.len();
        let tier = usize::from(candidate.cost).min(COST_MAX);
        if self.weight <= BYTES_MAX && self.seen.insert(hash(&candidate.value)) {
            self.tiers[tier].push(candidate);
        }
    }

    fn changed(&mut self, wanted: u8) {
        let once = std::mem::take(&mut self.once);
        for (change, bytes, cost) in once.iter().filter(|(_, _, cost)| *cost == wanted) {
            self.add(Candidate::wrong(bytes.clone(), Mistake::Body(change.clone()), *cost));
        }
        self.once = once;
    }

    /// Another change on top of each usual one.
    fn changed_again(&mut self) {
        let once = std::mem::take(&mut self.once);
        let usual = || once.iter().filter(|(_, _, cost)| *cost == 1);
        for (first, bytes, _) in usual() {
            if self.weight > BYTES_MAX {
                break;
            }
            for (second, bytes, more) in changes(bytes) {
                let mistakes = [first.clone(), second].map(Mistake::Body).to_vec();
                self.add(Candidate { value: bytes, mistakes, cost: 1 + more });
            }
        }
        for (change, bytes, _) in usual() {
            self.restyle(bytes, &[Mistake::Body(change.clone())], 2);
        }
        self.once = once;
    }

    /// The same JSON in every style.
    fn restyle(&mut self, body: &[u8], before: &[Mistake], cost: u8) {
        let Ok(text) = str::from_utf8(body).map(str::trim) else { return };
        let tree = Tree::read(text).filter(Tree::is_composed);
        let Some(tree) = tree.filter(|_| self.restyled.insert(text.to_owned())) else { return };
        for style in Style::all() {
            if self.weight > BYTES_MAX {
                return;
            }
            let mistakes = before.iter().cloned().chain([Mistake::Reserialised(style)]).collect();
            self.add(Candidate { value: tree.write(style).into(), mistakes, cost });
        }
    }

    /// The same JSON with what a sorting or rounding writer has lost: the body's, and that of what
    /// one or two changes make of it.
    fn rewrite(&mut self) {
        self.rewrite_one(self.body, &[]);
        let changed = |candidate: &&Candidate<Vec<u8>>| {
            candidate.mistakes.iter().all(|mistake| matches!(mistake, Mistake::Body(_)))
        };
        let usual = self.tiers[1].iter().chain(&self.tiers[2]).filter(changed);
        let usual: Vec<Candidate<Vec<u8>>> = usual.cloned().collect();
        for Candidate { value, mistakes, .. } in &usual {
            self.restyle(value, mistakes, 3);
        }
        for Candidate { value, mistakes, .. } in &usual {
            self.rewrite_one(value, mistakes);
        }
    }

    fn rewrite_one(&mut self, body: &[u8], before: &[Mistake]) {
        let Ok(text) = str::from_utf8(body).map(str::trim) else { return };
        let tree = Tree::read(text).filter(Tree::is_composed);
        let Some(tree) = tree.filter(|_| self.rewritten.insert(text.to_owned())) else { return };
        if self.weight > BYTES_MAX {
            return;
        }
        for (rewrite, text) in json_orders::rewrites(&tree) {
            let mistakes = before.iter().cloned().chain([Mistake::Rewritten(rewrite)]).collect();
            self.add(Candidate { value: text.into(), mistakes, cost: 3 });
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// What one change makes of a body, with how unlikely it is.
fn changes(body: &[u8]) -> Vec<(Change, Vec<u8>, u8)> {
    let mut changes = white_space(body);
    changes.extend(transport(body));
    if let Ok(text) = str::from_utf8(body) {
        changes.extend(of_text(text));
    }
    changes.push((Change::Empty, vec![], 2));
    changes.push((Change::ObjectObject, b"[object Object]".to_vec(), 2));
    changes
}

fn white_space(body: &[u8]) -> Vec<(Change, Vec<u8>, u8)> {
    let mut changes = vec![];
    if let Some(line) = body.strip_suffix(b"\n") {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        changes.push((Change::NewlineAdded, line.to_vec(), 1));
        changes.push((Change::NewlineAdded, body[..body.len() - 1].to_vec(), 1));
    }
    changes.push((Change::NewlineLost { crlf: false }, [body, b"\n"].concat(), 1));
    changes.push((Change::NewlineLost { crlf: true }, [body, b"\r\n"].concat(), 1));
    changes.push((Change::Trimmed, body.trim_ascii_end().to_vec(), 1));
    changes.push((Change::Trimmed, body.trim_ascii().to_vec(), 1));
    if body.contains(&b'\n') {
        let lines: Vec<&[u8]> = body.split(|b| *b == b'\n').collect();
        let bare = |line: &&[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        let bare: Vec<_> = lines.iter().map(bare).collect();
        changes.push((Change::LineEnds { crlf: false }, bare.join(&b"\n"[..]), 1));
        changes.push((Change::LineEnds { crlf: true }, bare.join(&b"\r\n"[..]), 1));
        changes.push((Change::OneLine, bare.concat(), 1));
    }
    match body.strip_prefix(BOM) {
        Some(rest) => changes.push((Change::Bom { signed: false }, rest.to_vec(), 1)),
        None => changes.push((Change::Bom { signed: true }, [BOM, body].concat(), 1)),
    }
    changes
}

fn transport(body: &[u8]) -> Vec<(Change, Vec<u8>, u8)> {
    let mut changes = vec![];
    let text = str::from_utf8(body).ok().map(str::trim);
    let plain = text.filter(|text| text.len() > 3).map(|text| text.replace(['\r', '\n'], ""));
    let plain = plain.and_then(|text| unbase64(&text));
    changes.extend(plain.map(|bytes| (Change::Base64Undone, bytes, 1)));
    changes.push((Change::Base64Done, STANDARD.encode(body).into(), 1));
    let sets =
        [("UTF-16", printed::utf16(body)), ("Latin-1 or Windows-1252", printed::windows1252(body))];
    for (set, bytes) in sets {
        changes.extend(bytes.map(|bytes| (Change::Transcoded(set), bytes, 1)));
    }
    changes.extend(inflate(body).map(|bytes| (Change::Inflated, bytes, 1)));
    changes.extend(printed::dechunked(body).map(|bytes| (Change::Chunked, bytes, 1)));
    if body.starts_with(b"POST ") || body.starts_with(b"HTTP/") {
        let after = |end: &[u8]| {
            let at = body.windows(end.len()).position(|window| window == end)?;
            Some(body[at + end.len()..].to_vec())
        };
        let rest = after(b"\r\n\r\n").or_else(|| after(b"\n\n"));
        changes.extend(rest.map(|bytes| (Change::HeadersInFile, bytes, 1)));
    }
    changes
}

fn of_text(text: &str) -> Vec<(Change, Vec<u8>, u8)> {
    let mut changes = vec![];
    for pair in text.trim().split('&') {
        if let Some((name, value)) = pair.split_once('=').filter(|(name, _)| is_field(name)) {
            changes.push((Change::FormValue(name.into()), percent_decode(value), 1));
        }
    }
    if text.contains('%') {
        changes.push((Change::FormDecoded, percent_decode(text), 1));
    }
    // A form that was decoded, but for its field's name.
    let form = text.trim_end().split_once('=').filter(|(name, _)| is_field(name));
    changes.extend(form.map(|(name, value)| {
        let form = format!("{name}={}", percent_encode(value));
        (Change::PercentUndone, form.into(), 1)
    }));
    for name in ["payload", "data", "body", "json"] {
        let form = format!("{name}={}", percent_encode(text));
        changes.push((Change::FormEncoded(name), form.into(), 2));
    }
    if let Ok(inner) = serde_json::from_str::<String>(text) {
        changes.push((Change::Unquoted, inner.into(), 1));
    }
    let quoted = serde_json::Value::from(text).to_string();
    let unquoted = quoted.trim_matches('"').to_owned();
    let ascii = Tree::read(&quoted).map(|token| token.write(Style::USUAL[2]));
    changes.extend(ascii.map(|token| (Change::Quoted, token.into(), 1)));
    changes.push((Change::Quoted, quoted.into(), 1));
    if let Ok(inner) = serde_json::from_str::<String>(&format!("\"{text}\"")) {
        changes.push((Change::Unquoted, inner.into(), 1));
    }
    changes.push((Change::Quoted, unquoted.into(), 2));
    let entries = json::entries(text).unwrap_or_default();
    changes.extend(entries.iter().flat_map(|(name, value)| field(name, value)));
    changes.extend(printed::printed(text).map(|(how, bytes)| (Change::Printed(how), bytes, 1)));
    let embedded = printed::embedded(text).into_iter();
    changes.extend(embedded.map(|found| (Change::Embedded, found.into(), 1)));
    changes.extend(percent_done(text).map(|done| (Change::PercentUndone, done.into(), 2)));
    changes.extend(latin1(text).map(|bytes| (Change::Mojibake, bytes, 1)));
    let windows = printed::read_as_windows1252(text);
    changes.extend(windows.map(|bytes| (Change::Mojibake, bytes, 1)));
    let doubled: String = text.bytes().map(char::from).collect();
    changes.push((Change::Mojibake, doubled.into(), 2));
    if text.trim_end().contains(['\n', '\t', '\r']) {
        let escaped =
            text.trim_end().replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
        changes.push((Change::Unescaped, escaped.into(), 1));
    }
    changes
}

/// A field of the body: the text that it holds, or itself alone.
fn field(name: &str, value: &str) -> Vec<(Change, Vec<u8>, u8)> {
    let name = name.trim_matches('"').to_owned();
    if let Ok(inner) = serde_json::from_str::<String>(value) {
        return vec![(Change::Wrapped(name), inner.into(), 1)];
    }
    let Some(tree) = Tree::read(value).filter(Tree::is_composed) else { return vec![] };
    let styled = Style::PLAIN.map(|style| tree.write(style));
    let all = std::iter::once(value.to_owned()).chain(styled);
    all.map(|text| (Change::Field(name.clone()), text.into(), 1)).collect()
}

fn is_field(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(fits)
}

/// The bytes that a reader of Latin-1 saw, where the text could be made of them.
fn latin1(text: &str) -> Option<Vec<u8>> {
    let bytes = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<_>>>();
    bytes.filter(|bytes| !bytes.is_ascii())
}

/// Gzip, zlib or raw deflate, undone.
fn inflate(body: &[u8]) -> Option<Vec<u8>> {
    let read = |decoder: &mut dyn std::io::Read| {
        let mut bytes = vec![];
        let read = decoder.take(INFLATED_MAX).read_to_end(&mut bytes);
        read.is_ok().then_some(bytes).filter(|bytes| !bytes.is_empty())
    };
    match body {
        [0x1f, 0x8b, ..] => read(&mut flate2::read::GzDecoder::new(body)),
        [0x78, ..] => read(&mut flate2::read::ZlibDecoder::new(body)),
        _ => read(&mut flate2::read::DeflateDecoder::new(body)),
    }
}

/// The text with percent-encoding in its strings, in the ways in which it may have been.
fn percent_done(text: &str) -> impl Iterator<Item = String> + use<'_> {
    let of = |blank: &str, beyond_ascii: bool| -> String {
        let mut in_string = false;
        let done = text.split_inclusive('"').map(|piece| {
            let encoded = piece.chars().map(|c| match c {
                ' ' if in_string => blank.to_owned(),
                c if in_string && beyond_ascii && !c.is_ascii() => percent_encode(&c.to_string()),
                c => c.to_string(),
            });
            let encoded: String = encoded.collect();
            let closes = piece.ends_with('"') && !piece.ends_with("\\\"");
            in_string ^= closes;
            encoded
        });
        done.collect()
    };
    let ways = [("%20", false), ("+", false), ("%20", true), ("+", true), (" ", true)];
    let done: Vec<String> = ways.into_iter().map(|(blank, beyond)| of(blank, beyond)).collect();
    done.into_iter().filter(move |done| done != text)
}

pub(super) fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).and_then(|code| str::from_utf8(code).ok());
        match (byte, code.and_then(|code| u8::from_str_radix(code, 16).ok())) {
            (b'%', Some(decoded)) => {
                out.push(decoded);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

fn percent_encode(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b' ' => "+".to_owned(),
        b'*' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}
