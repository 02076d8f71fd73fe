//! Keys that a signature may have been made with.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use shared::key::SourceName;
use shared::secret::SecretRule;

use super::candidate::{Candidate, Candidates};
use super::mistake::Mistake;
use crate::secrets::SecretText;

/// A secret that we know, and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) whose: Whose,
    pub(super) text: SecretText,
}

/// Whose secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Given on the command line.
    Given,
    /// An active one of the source that the request is for.
    Active,
    /// One that the source had before its last change.
    Previous(SourceName),
    /// An active one of another source.
    Other(SourceName),
}

/// How else a secret's text may become a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The text's own bytes, a prefix like `whsec_` included.
    Text,
    /// The text's own bytes behind its prefix.
    Bare,
    /// Base64 undone.
    Base64Undone,
    /// Hex undone.
    HexUndone,
    /// Base64 of it.
    Base64Done,
    /// Hex of it.
    HexDone,
    /// A newline at its end.
    Newline,
    /// Without the white space that surrounds the text given.
    Trimmed,
    /// With quotes around it, or without those that are there.
    Quotes,
    /// Without the `v1,` that some portals write in front of it.
    Unlisted,
    /// Percent-encoding undone, or `+` taken for a blank.
    PercentUndone,
    /// Without the padding at its end.
    Unpadded,
    /// In upper or lower case.
    Case,
    /// The JSON document that keeps it.
    Document,
    /// No bytes at all.
    Empty,
}

impl Whose {
    /// Whose, in a word or two.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Given => "given".into(),
            Self::Active => "active".into(),
            Self::Previous(_) => "before the last change".into(),
            Self::Other(source) => source.to_string(),
        }
    }

    pub(super) fn next(&self, source: &str) -> String {
        match self {
            Self::Given | Self::Active => format!("inbox secrets list {source}"),
            Self::Previous(_) => format!(
                "the sender still signs with it: give it the new one, or take the old one back: \
                 inbox secrets add {source}"
            ),
            Self::Other(other) => format!(
                "the sender has the secret of {other}, or the delivery is meant for \
                 /webhooks/{other}; compare: inbox secrets list"
            ),
        }
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => f.write_str("a secret that was given"),
            Self::Active => f.write_str("an active secret of the source"),
            Self::Previous(source) => {
                write!(f, "the secret that {source} had before its last change, active no more")
            }
            Self::Other(source) => write!(f, "the secret of another source: {source}"),
        }
    }
}

impl Form {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Text | Self::Bare => "secret_raw",
            Self::Base64Undone | Self::HexUndone => "secret_decoded",
            Self::Base64Done | Self::HexDone => "secret_encoded",
            Self::Newline | Self::Trimmed => "secret_space",
            Self::Quotes => "secret_quotes",
            Self::Unlisted => "secret_prefix",
            Self::PercentUndone | Self::Unpadded | Self::Case => "secret_changed",
            Self::Document => "secret_document",
            Self::Empty => "secret_empty",
        }
    }

    pub(super) fn next(self, source: &str) -> String {
        let rule = |rule: &str| {
            format!(
                "the sender must use the secret as {source} documents it; if it is right, write \
                 secret = \"{rule}\" under [{source}.signature] in sources.toml"
            )
        };
        match self {
            Self::Text => rule("text"),
            Self::Base64Undone => rule("base64"),
            Self::Bare
            | Self::HexUndone
            | Self::Base64Done
            | Self::HexDone
            | Self::PercentUndone
            | Self::Unpadded
            | Self::Case => "the sender must use the secret as it was given to it".into(),
            Self::Newline | Self::Trimmed | Self::Quotes | Self::Unlisted => {
                "look how the secret was copied: white space, quotes and a v1, become part of a key"
                    .into()
            }
            Self::Document => "give the sender the secret alone, not the JSON that keeps it".into(),
            Self::Empty => "the sender has no secret: look at its configuration".into(),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "its text as it is, prefix included and not decoded",
            Self::Bare => "the text behind its prefix, not decoded",
            Self::Base64Undone => "base64 was undone",
            Self::HexUndone => "hex was undone",
            Self::Base64Done => "base64 of it",
            Self::HexDone => "hex of it",
            Self::Newline => "with a newline at the end",
            Self::Trimmed => "without the white space around the secret as we have it",
            Self::Quotes => "with quotes around it that do not belong there, or without",
            Self::Unlisted => "without the \"v1,\" in front of it",
            Self::PercentUndone => "percent-encoding was undone, or + became a blank",
            Self::Unpadded => "without the = at its end",
            Self::Case => "its letters are in another case",
            Self::Document => "the whole JSON document that keeps it",
            Self::Empty => "it is empty",
        })
    }
}

/// Every key that the known secrets may stand for, the likelier ones first.
pub(super) fn candidates(known: &[Known], rule: SecretRule) -> Vec<Candidate<Vec<u8>>> {
    let mut keys = Candidates::new();
    for known in known {
        let (whose, cost) = match &known.whose {
            Whose::Given | Whose::Active => (vec![], 0),
            whose => (vec![Mistake::Secret(whose.clone())], 1),
        };
        let text = known.text.reveal();
        if let Ok(key) = rule.key(text) {
            keys.add(Candidate { value: key, mistakes: whose.clone(), cost });
        }
        for (form, key, more) in forms(text, rule) {
            let mistakes = whose.iter().cloned().chain([Mistake::Key(form)]).collect();
            keys.add(Candidate { value: key, mistakes, cost: cost + more });
        }
    }
    keys.add(Candidate::wrong(vec![], Mistake::Key(Form::Empty), 2));
    keys.finish()
}

/// Other keys that one text may stand for, each with how unlikely it is.
fn forms(text: &str, rule: SecretRule) -> Vec<(Form, Vec<u8>, u8)> {
    let mut forms = vec![];
    let trimmed = text.trim();
    let unquoted = trimmed.trim_matches(['"', '\'']);
    // `v1,whsec_…` is copied from some portals.
    let unlisted = unquoted.split_once(',').map_or(unquoted, |(_, secret)| secret);
    for (form, text) in
        [(Form::Trimmed, trimmed), (Form::Quotes, unquoted), (Form::Unlisted, unlisted)]
    {
        forms.extend(rule.key(text).ok().map(|key| (form, key, 1)));
    }
    let bare = unlisted.split_once('_').map_or(unlisted, |(_, bare)| bare);
    let whsec = unlisted.strip_prefix("whsec_").unwrap_or(unlisted);
    forms.push((Form::Text, text.into(), 1));
    forms.extend(unbase64(whsec).map(|key| (Form::Base64Undone, key, 1)));
    forms.push((Form::Bare, whsec.into(), 1));
    forms.extend(unhex(unlisted).map(|key| (Form::HexUndone, key, 1)));
    forms.extend(unhex(bare).map(|key| (Form::HexUndone, key, 1)));
    forms.push((Form::Text, unlisted.into(), 1));
    forms.push((Form::Text, format!("whsec_{whsec}").into(), 1));
    forms.push((Form::Bare, bare.into(), 1));
    forms.push((Form::Newline, format!("{trimmed}\n").into(), 1));
    forms.push((Form::Newline, format!("{trimmed}\r\n").into(), 2));
    forms.push((Form::Newline, format!("{trimmed} ").into(), 2));
    forms.push((Form::Quotes, format!("\"{trimmed}\"").into(), 1));
    forms.push((Form::Base64Done, STANDARD.encode(unlisted).into(), 1));
    forms.push((Form::Base64Done, STANDARD.encode(whsec).into(), 2));
    if let Ok(key) = rule.key(unlisted) {
        forms.push((Form::Base64Done, STANDARD.encode(&key).into(), 2));
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        forms.push((Form::HexDone, hex.into(), 1));
        let twice = str::from_utf8(&key).ok().and_then(unbase64);
        forms.extend(twice.map(|key| (Form::Base64Undone, key, 2)));
        forms.push((Form::Newline, [&key[..], b"\n"].concat(), 1));
    }
    let percent = super::bodies::percent_decode(unlisted);
    forms.push((Form::PercentUndone, percent, 1));
    forms.push((Form::PercentUndone, unlisted.replace('+', " ").into(), 2));
    forms.push((Form::Unpadded, unlisted.trim_end_matches('=').into(), 1));
    forms.push((Form::Case, unlisted.to_lowercase().into(), 2));
    forms.push((Form::Case, unlisted.to_uppercase().into(), 2));
    forms.extend(unbase64(bare).map(|key| (Form::Base64Undone, key, 2)));
    forms.push((Form::Document, serde_json::json!({ "secrets": [text] }).to_string().into(), 2));
    forms.retain(|(_, key, _)| !key.is_empty());
    forms
}

/// Base64 in any of its spellings, undone.
pub(super) fn unbase64(text: &str) -> Option<Vec<u8>> {
    let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    engines.into_iter().find_map(|engine| engine.decode(text).ok())
}

/// Hex undone; nothing for what is none.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(nibble(*high)? << 4 | nibble(*low)?).ok(),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}
