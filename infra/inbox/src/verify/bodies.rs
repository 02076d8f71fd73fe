//! Bodies that may have been signed in the place of the one in the file.

use std::collections::HashSet;
use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::candidate::{Candidate, Candidates};
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

/// How the signed bytes differ from the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// They end with a newline that the file lacks.
    NewlineLost { crlf: bool },
    /// The file ends with a newline that was not signed.
    NewlineAdded,
    /// Their lines end in CRLF, the file's in LF; or the other way round.
    LineEnds { crlf: bool },
    /// They are the file without any of its newlines.
    OneLine,
    /// White space around the body was not signed.
    Trimmed,
    /// They begin with a byte order mark that the file lacks, or the file with one of its own.
    Bom { signed: bool },
    /// The file holds base64 of them.
    Base64Undone,
    /// The body's base64 was signed.
    Base64Done,
    /// The file holds them compressed.
    Inflated,
    /// The file begins with the request's headers.
    HeadersInFile,
    /// They are the value of a form's field.
    FormValue(String),
    /// The file is percent-encoded.
    FormDecoded,
    /// They are a form whose field holds the body.
    FormEncoded(&'static str),
    /// The file is a JSON string that holds them.
    Unquoted,
    /// They are a JSON string that holds the body.
    Quoted,
    /// The file is a JSON document that holds them in this field.
    Wrapped(String),
    /// They are this field of the body alone.
    Field(String),
    /// The file was read in another character set than UTF-8, and written as UTF-8.
    Mojibake,
    /// The escapes of its strings were undone by a shell.
    Unescaped,
    /// The file shows the body as a program prints it: Python's bytes, Node's Buffer, hex, HTML.
    Printed(&'static str),
    /// The file still has the frames of chunked transfer.
    Chunked,
    /// What was signed is empty.
    Empty,
    /// An object was signed as JavaScript prints it.
    ObjectObject,
}

impl Change {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::NewlineLost { .. } => "newline_missing",
            Self::NewlineAdded => "newline_extra",
            Self::LineEnds { .. } | Self::OneLine => "line_ends",
            Self::Trimmed => "white_space",
            Self::Bom { .. } => "bom",
            Self::Base64Undone => "base64_not_undone",
            Self::Base64Done => "base64_signed",
            Self::Inflated => "compressed",
            Self::HeadersInFile => "headers_in_body",
            Self::FormValue(_) | Self::FormDecoded | Self::FormEncoded(_) => "form",
            Self::Unquoted | Self::Quoted => "json_string",
            Self::Wrapped(_) => "wrapped_body",
            Self::Field(_) => "part_of_body",
            Self::Mojibake => "character_set",
            Self::Unescaped => "escapes_undone",
            Self::Printed(_) => "printed_body",
            Self::Chunked => "chunked",
            Self::Empty => "empty_body",
            Self::ObjectObject => "object_object",
        }
    }

    pub(super) fn next(&self) -> String {
        match self {
            Self::NewlineLost { .. } | Self::NewlineAdded | Self::Trimmed => {
                "look what trims or ends lines: editors and echo add a newline, curl -d and many \
                 loggers drop it; capture with curl --data-binary, write with printf %s"
            }
            Self::LineEnds { .. } | Self::OneLine => {
                "capture the bytes as they came: editors and curl -d change line ends"
            }
            Self::Bom { .. } => "write the file without a byte order mark, or send the one signed",
            Self::Base64Undone => {
                "undo base64 before the check (isBase64Encoded): base64 -d < FILE > BODY"
            }
            Self::Base64Done => "sign the bytes that are sent, not their base64",
            Self::Inflated => {
                "undo the compression before the check, or switch it off in front of us"
            }
            Self::HeadersInFile => "give the headers with --headers and only the body with --body",
            Self::FormValue(_) | Self::FormDecoded | Self::FormEncoded(_) => {
                "sender and receiver must agree on the content type; verify the raw form, undecoded"
            }
            Self::Unquoted | Self::Wrapped(_) => "take the body out of what the log wrapped it in",
            Self::Quoted => "the sender serialises twice: sign the text that is sent",
            Self::Field(_) => "the sender must sign the whole body",
            Self::Mojibake => "read and write the body as bytes, not as text",
            Self::Unescaped => "write the file with printf %s, not with echo",
            Self::Printed(_) => "write the bytes themselves into the file, not how they are shown",
            Self::Chunked => "capture the body after the transfer encoding is undone",
            Self::Empty | Self::ObjectObject => {
                "the sender signs before it has the body: sign the bytes that are sent"
            }
        }
        .into()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewlineLost { crlf: false } => {
                f.write_str("the signed body ends with a newline, the file does not")
            }
            Self::NewlineLost { crlf: true } => {
                f.write_str("the signed body ends with CRLF, the file does not")
            }
            Self::NewlineAdded => {
                f.write_str("the file ends with a newline, the signed body does not")
            }
            Self::LineEnds { crlf: true } => {
                f.write_str("lines end in CRLF in the signed body, in LF in the file")
            }
            Self::LineEnds { crlf: false } => {
                f.write_str("lines end in LF in the signed body, in CRLF in the file")
            }
            Self::OneLine => f.write_str("the signed body has none of the file's newlines"),
            Self::Trimmed => f.write_str("the white space around the body was not signed"),
            Self::Bom { signed: true } => {
                f.write_str("the signed body begins with a byte order mark, the file does not")
            }
            Self::Bom { signed: false } => {
                f.write_str("the file begins with a byte order mark that was not signed")
            }
            Self::Base64Undone => f.write_str("the file is base64 of the signed body"),
            Self::Base64Done => f.write_str("the body's base64 was signed, not the body"),
            Self::Inflated => f.write_str("the file is compressed, the signed body is not"),
            Self::HeadersInFile => f.write_str("the file begins with headers, not with the body"),
            Self::FormValue(name) => {
                write!(f, "the file is a form; the value of its field {name} was signed")
            }
            Self::FormDecoded => f.write_str("the file is percent-encoded, the signed body is not"),
            Self::FormEncoded(name) => {
                write!(f, "a form was signed that holds the body in its field {name}")
            }
            Self::Unquoted => f.write_str("the file is a JSON string that holds the signed body"),
            Self::Quoted => f.write_str("the body was signed as a JSON string, serialised twice"),
            Self::Wrapped(name) => {
                write!(f, "the file holds the signed body as text in its field {name}")
            }
            Self::Field(name) => write!(f, "only the body's field {name} was signed"),
            Self::Mojibake => {
                f.write_str("the body was read as Latin-1 and written as UTF-8 on its way")
            }
            Self::Unescaped => {
                f.write_str("escapes like \\n in the signed body are bytes in the file")
            }
            Self::Printed(how) => write!(f, "the file shows the body as {how}"),
            Self::Chunked => f.write_str("the file holds the frames of chunked transfer"),
            Self::Empty => f.write_str("an empty body was signed"),
            Self::ObjectObject => f.write_str("the text [object Object] was signed"),
        }
    }
}

/// Every body that may have been signed, the likelier ones first.
pub(super) fn candidates(body: &[u8]) -> Vec<Candidate<Vec<u8>>> {
    let mut bodies = Bodies { found: Candidates::new(), weight: 0, restyled: HashSet::new() };
    bodies.add(Candidate::right(body.to_vec()));
    let once = changes(body);
    for (change, bytes, cost) in &once {
        bodies.add(Candidate::wrong(bytes.clone(), Mistake::Body(change.clone()), *cost));
    }
    bodies.restyle(body, &[], 1);
    for (first, bytes, cost) in &once {
        for (second, bytes, more) in if *cost == 1 { changes(bytes) } else { vec![] } {
            let mistakes = [first.clone(), second].map(Mistake::Body).to_vec();
            bodies.add(Candidate { value: bytes, mistakes, cost: cost + more });
        }
    }
    bodies.rewrite(body);
    for (change, bytes, cost) in &once {
        if *cost == 1 {
            bodies.restyle(bytes, &[Mistake::Body(change.clone())], 2);
        }
    }
    bodies.found.finish()
}

struct Bodies {
    found: Candidates<Vec<u8>>,
    weight: usize,
    /// Texts that have been written in every style.
    restyled: HashSet<String>,
}

impl Bodies {
    fn add(&mut self, candidate: Candidate<Vec<u8>>) {
        self.weight += candidate.value.len();
        if self.weight <= BYTES_MAX {
            self.found.add(candidate);
        }
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
}

impl Bodies {
    /// The same JSON with what a sorting or rounding writer has lost.
    fn rewrite(&mut self, body: &[u8]) {
        let tree = str::from_utf8(body).ok().and_then(Tree::read);
        for (rewrite, text) in tree.iter().flat_map(json_orders::rewrites) {
            self.add(Candidate::wrong(text.into(), Mistake::Rewritten(rewrite), 3));
        }
    }
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
    changes.extend(latin1(text).map(|bytes| (Change::Mojibake, bytes, 1)));
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
