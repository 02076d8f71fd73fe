//! Bodies as programs print them, undone.

/// What the text shows, and how; each only where the text looks like it.
pub(super) fn printed(text: &str) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let text = text.trim();
    let ways: [(&'static str, Option<Vec<u8>>); 6] = [
        ("Python prints bytes: b'…'", python_bytes(text)),
        ("Python prints a dict: {'…': …}", python_dict(text)),
        ("Node prints a Buffer", node_buffer(text)),
        ("hex digits", hex(text)),
        ("HTML: &quot;", html(text)),
        ("a shell quotes it: '…'", shell(text)),
    ];
    ways.into_iter().filter_map(|(how, bytes)| Some((how, bytes?)))
}

fn python_bytes(text: &str) -> Option<Vec<u8>> {
    let quoted = text.strip_prefix('b')?;
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let (mut out, mut rest) = (vec![], inner);
    while let Some(c) = rest.chars().next() {
        let escaped = rest.strip_prefix('\\').and_then(|code| {
            let byte = match code.chars().next()? {
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'x' => return Some((u8::from_str_radix(code.get(1..3)?, 16).ok()?, 4)),
                other => u8::try_from(other).ok()?,
            };
            Some((byte, 2))
        });
        match escaped {
            Some((byte, length)) => {
                out.push(byte);
                rest = rest.get(length..)?;
            }
            None => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Some(out)
}

/// A dict without quotes in its strings.
pub(super) fn python_dict(text: &str) -> Option<Vec<u8>> {
    let is_dict = text.starts_with(['{', '[']) && text.contains('\'') && !text.contains('"');
    is_dict.then(|| {
        let words = [("True", "true"), ("False", "false"), ("None", "null")];
        let json = words.iter().fold(text.replace('\'', "\""), |text, (python, json)| {
            let text = text.replace(&format!(": {python}"), &format!(": {json}"));
            text.replace(&format!(", {python}"), &format!(", {json}"))
        });
        json.into()
    })
}

/// `{"type":"Buffer","data":[…]}`, or `<Buffer 7b 22 …>`.
fn node_buffer(text: &str) -> Option<Vec<u8>> {
    if let Some(bytes) = text.strip_prefix("<Buffer ").and_then(|rest| rest.strip_suffix('>')) {
        return hex(bytes);
    }
    #[derive(serde::Deserialize)]
    struct Buffer {
        #[serde(rename = "type")]
        kind: String,
        data: Vec<u8>,
    }
    let buffer: Option<Buffer> = serde_json::from_str(text).ok();
    let list = || serde_json::from_str::<Vec<u8>>(text).ok();
    buffer.filter(|buffer| buffer.kind == "Buffer").map(|buffer| buffer.data).or_else(list)
}

/// Hex digits, with blanks between them or without.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != ':').collect();
    super::keys::unhex(&digits)
}

fn html(text: &str) -> Option<Vec<u8>> {
    let entities = [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    let known = entities.iter().any(|(entity, _)| text.contains(entity));
    known.then(|| {
        entities.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c)).into()
    })
}

/// In single quotes, where no JSON text is.
fn shell(text: &str) -> Option<Vec<u8>> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inner.replace(r"'\''", "'").into())
}

/// UTF-16 as UTF-8, with a byte order mark or where every other byte of its start is zero.
pub(super) fn utf16(body: &[u8]) -> Option<Vec<u8>> {
    let (bytes, big) = match body {
        [0xff, 0xfe, rest @ ..] => (rest, false),
        [0xfe, 0xff, rest @ ..] => (rest, true),
        [0, b, ..] if *b != 0 => (body, true),
        [b, 0, ..] if *b != 0 => (body, false),
        _ => return None,
    };
    let unit = |pair: &[u8]| match pair {
        [first, second] if big => u16::from_be_bytes([*first, *second]),
        [first, second] => u16::from_le_bytes([*first, *second]),
        _ => 0xfffd,
    };
    let units: Vec<u16> = bytes.chunks(2).map(unit).collect();
    String::from_utf16(&units).ok().map(String::into_bytes)
}

/// Bytes of Windows-1252 as UTF-8; what is UTF-8 already is none.
pub(super) fn windows1252(body: &[u8]) -> Option<Vec<u8>> {
    let text = || body.iter().map(|byte| windows1252_char(*byte)).collect::<String>();
    str::from_utf8(body).is_err().then(|| text().into())
}

/// The bytes that a reader of Windows-1252 took for this text.
pub(super) fn read_as_windows1252(text: &str) -> Option<Vec<u8>> {
    let byte = |c: char| match u8::try_from(u32::from(c)) {
        Ok(byte @ (0..=0x7f | 0xa0..=0xff)) => Some(byte),
        _ => (0x80..=0x9f).find(|byte| windows1252_char(*byte) == c),
    };
    let bytes = text.chars().map(byte).collect::<Option<Vec<u8>>>();
    bytes.filter(|bytes| !bytes.is_ascii())
}

/// As browsers decode it: Latin-1, but for 0x80 to 0x9f.
fn windows1252_char(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The JSON documents that stand in a text with something else around them: a log line, a capture
/// that holds the answer too.
pub(super) fn embedded(text: &str) -> Vec<&str> {
    const LOOKED_AT: usize = 8;
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at).take(LOOKED_AT);
    let found = starts.filter_map(|at| {
        let mut values =
            serde_json::Deserializer::from_str(&text[at..]).into_iter::<serde::de::IgnoredAny>();
        values.next()?.ok()?;
        Some(&text[at..at + values.byte_offset()])
    });
    found.filter(|found| found.len() < text.trim().len() && found.len() > 2).collect()
}

/// The body inside the frames of chunked transfer (RFC 9112, 7.1).
pub(super) fn dechunked(body: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut out) = (body, vec![]);
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = str::from_utf8(&rest[..end]).ok()?.trim();
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 1..];
        if size == 0 {
            return Some(out).filter(|out| !out.is_empty());
        }
        out.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?;
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}
