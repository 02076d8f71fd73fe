//! `Name: value` lines as curl, wget, proxies, browsers and debuggers show them.

use super::Read;

/// Reads them; a body may follow behind an empty line.
pub(super) fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    // `curl -v` shows what it sends behind >, and what it is answered behind <.
    let sent = bytes.split(|b| *b == b'\n').any(|line| line.starts_with(b"> "));
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\r', '\n']);
        if sent && line.starts_with("< ") {
            continue;
        }
        if line.trim().is_empty() && !read.headers.is_empty() {
            read.body = Some(rest.to_vec()).filter(|body| !body.is_empty());
            break;
        }
        add(line, &mut read.headers);
    }
    read
}

/// A line is a header, or goes on with the value of the one before.
fn add(line: &str, headers: &mut Vec<(String, String)>) {
    let folded = line.starts_with([' ', '\t']);
    let header = header(line);
    match (headers.last_mut(), header) {
        (Some((_, last)), None) if last.is_empty() => line.trim().clone_into(last),
        (Some((_, last)), _) if folded && !is_quoted(line) => {
            last.push(' ');
            last.push_str(line.trim());
        }
        (_, header) => headers.extend(header),
    }
}

/// A member of an object, as JavaScript prints it.
fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with(['\'', '"'])
}

/// One line; `curl -v` marks what it sends, and `-H '…'` is how it was told to.
fn header(line: &str) -> Option<(String, String)> {
    let line = line.trim().trim_end_matches('\\').trim();
    let line = line.strip_prefix("> ").or_else(|| line.strip_prefix("< ")).unwrap_or(line);
    let told = line.strip_prefix("-H ").or_else(|| line.strip_prefix("--header "));
    let line = told.map_or(line, |told| told.trim().trim_matches(['\'', '"']));
    let (name, value) = parted(line)?;
    let (bare, value) = (name.trim_matches(['\'', '"']), value.trim());
    // Where the name is quoted, so is the value.
    let value = match bare == name {
        true => value,
        false => value.trim_end_matches(',').trim_matches(['\'', '"']),
    };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let fits = !bare.is_empty() && bare.bytes().all(is_name);
    fits.then(|| (bare.to_owned(), value.to_owned()))
}

/// `Name: value`; `Name<tab>value` of a browser, `Name = value`, `HTTP_NAME=value` of a CGI.
fn parted(line: &str) -> Option<(&str, &str)> {
    let by = |sign: &str| line.split_once(sign).map(|(name, value)| (name.trim(), value));
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '\t', '=', '{', ',']);
    let by = |sign: &str| by(sign).filter(|(name, _)| is_name(name));
    by(":")
        .or_else(|| by("\t"))
        .or_else(|| by(" = "))
        .or_else(|| by("=").filter(|(name, _)| name.starts_with("HTTP_") || name.contains('-')))
}
