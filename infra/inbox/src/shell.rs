//! Words as a shell reads them, for commands that are typed next.

/// One word for a POSIX shell: as it is where nothing in it means anything, else in quotes.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,~".contains(c);
    let opens_well = !text.starts_with(['~', '=']);
    if !text.is_empty() && opens_well && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An id behind a command: one that looks like a flag comes behind `--`.
pub(crate) fn id(id: &str) -> String {
    if id.starts_with('-') { format!("-- {}", word(id)) } else { word(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_something_into_it() {
        for (text, quoted) in [
            ("evt_1", "evt_1"),
            ("a#b", "'a#b'"),
            ("two words", "'two words'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
            ("~x", "'~x'"),
            ("é😀", "'é😀'"),
        ] {
            assert_eq!(word(text), quoted);
        }
        assert_eq!(id("-n"), "-- -n");
    }
}
