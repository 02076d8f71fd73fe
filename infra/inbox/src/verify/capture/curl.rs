//! A `curl` command, as browsers and tools copy it.

use super::Read;

/// Headers and body of the command; nothing if the text is none.
pub(super) fn read(text: &str) -> Option<Read> {
    let text = text.trim().trim_start_matches("$ ");
    let mut words = text.starts_with("curl ").then(|| words(text))?.into_iter().skip(1);
    let mut read = Read::default();
    let mut data: Vec<String> = vec![];
    while let Some(word) = words.next() {
        let (option, glued) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
            _ if word.starts_with("-H") && word.len() > 2 => ("-H", Some(word[2..].to_owned())),
            _ => (word.as_str(), None),
        };
        match option {
            "-H" | "--header" => {
                let header = glued.or_else(|| words.next()).unwrap_or_default();
                let header =
                    header.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
                read.headers.extend(header.map(|(name, value)| (name.into(), value.into())));
            }
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" | "--json" => {
                data.extend(glued.or_else(|| words.next()));
            }
            _ => {}
        }
    }
    // What begins with @ names a file, which is not here.
    let here = !data.is_empty() && !data.iter().any(|text| text.starts_with('@'));
    read.body = here.then(|| data.join("&").into());
    Some(read)
}

/// Words as a shell reads them.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word) = (vec![], None::<String>);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let push = |word: &mut Option<String>, c| word.get_or_insert_default().push(c);
        match c {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some('\r') => drop(rest.next_if_eq(&'\n')),
                Some(c) => push(&mut word, c),
            },
            '$' if rest.peek() == Some(&'\'') => {
                rest.next();
                word.get_or_insert_default().push_str(&escaped(&mut rest));
            }
            '\'' => word.get_or_insert_default().extend(rest.by_ref().take_while(|c| *c != '\'')),
            '"' => word.get_or_insert_default().push_str(&double(&mut rest)),
            c if c.is_whitespace() => words.extend(word.take()),
            c => push(&mut word, c),
        }
    }
    words.extend(word);
    words
}

/// Up to the closing double quote.
fn double(rest: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next().filter(|c| *c != '"') {
        match c {
            '\\' => match rest.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                Some('\n') | None => {}
                Some(c) => text.extend(['\\', c]),
            },
            c => text.push(c),
        }
    }
    text
}

/// Up to the closing quote of `$'…'`.
fn escaped(rest: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next().filter(|c| *c != '\'') {
        let c = match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = rest.take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
                Some(c) => c,
                None => break,
            },
            c => c,
        };
        text.push(c);
    }
    text
}
