//! One JSON text in the ways that serialisers write it.
//!
//! Keys keep their order and tokens their spelling unless a style changes them, so that two styles
//! that agree on a text give the same bytes.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper than any event, and far from the end of the stack.
const DEPTH_MAX: usize = 64;

/// A JSON text, read but not understood.
#[derive(Debug)]
pub(super) enum Tree<'t> {
    /// A number, `true`, `false` or `null`, as it was written.
    Plain(Cow<'t, str>),
    /// A string with its quotes, as it was written.
    Text(&'t str),
    /// An array.
    List(Vec<Self>),
    /// An object: keys with their quotes.
    Map(Vec<(&'t str, Self)>),
}

/// How a serialiser writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) layout: Layout,
    pub(super) strings: Strings,
    pub(super) numbers: Numbers,
    pub(super) sorted: bool,
    pub(super) final_newline: bool,
}

/// White space between tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// None: JavaScript, Go, Rust, PHP, Java.
    Compact,
    /// One space after `,` and `:`, all in one line: Python.
    Spaced,
    /// One space after `:` alone, or after `,` alone.
    HalfSpaced { colon: bool },
    /// A line for each value, indented by this.
    Pretty(&'static str),
    /// The same, with lines that end in CRLF: .NET on Windows.
    PrettyCrlf(&'static str),
    /// The same as Pretty, with a space on both sides of `:`, and lists in one line: Jackson.
    Jackson,
}

/// How strings are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strings {
    /// As they were.
    AsWritten,
    /// Only what must be.
    Utf8,
    /// Everything beyond ASCII as `\uXXXX`.
    Ascii { upper: bool },
    /// `/` as `\/`, and everything beyond ASCII as `\uXXXX` or not: PHP.
    Slashes { ascii: bool },
    /// `<`, `>`, `&`, U+2028 and U+2029 as `\uXXXX`: Go, Rails.
    Html,
    /// As Html, and `=` and `'` too: Gson.
    HtmlMore,
    /// Upper-case `\uXXXX` for all but plain ASCII: System.Text.Json.
    DotNet,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// As they were.
    AsWritten,
    /// Through a double, whole ones without a fraction: JavaScript.
    JavaScript,
    /// Fractions through a double, whole ones with `.0`: Python.
    Python,
}

const LAYOUTS: [Layout; 11] = [
    Layout::Compact,
    Layout::Spaced,
    Layout::Pretty("  "),
    Layout::Pretty("    "),
    Layout::Pretty("\t"),
    Layout::Jackson,
    Layout::HalfSpaced { colon: true },
    Layout::HalfSpaced { colon: false },
    Layout::Pretty(" "),
    Layout::PrettyCrlf("  "),
    Layout::PrettyCrlf("    "),
];

const STRINGS: [Strings; 9] = [
    Strings::AsWritten,
    Strings::Utf8,
    Strings::Ascii { upper: false },
    Strings::Slashes { ascii: true },
    Strings::Slashes { ascii: false },
    Strings::Html,
    Strings::Ascii { upper: true },
    Strings::DotNet,
    Strings::HtmlMore,
];

impl Style {
    const fn of(layout: Layout, strings: Strings) -> Self {
        let numbers = Numbers::AsWritten;
        Self { layout, strings, numbers, sorted: false, final_newline: false }
    }

    /// Compact and spaced, nothing else changed.
    pub(super) const PLAIN: [Self; 2] = [
        Self::of(Layout::Compact, Strings::AsWritten),
        Self::of(Layout::Spaced, Strings::AsWritten),
    ];

    /// What the usual libraries write by default.
    pub(super) const USUAL: [Self; 9] = [
        Self::of(Layout::Compact, Strings::AsWritten),
        Self::of(Layout::Compact, Strings::Utf8),
        Self::of(Layout::Spaced, Strings::Ascii { upper: false }),
        Self::of(Layout::Compact, Strings::Slashes { ascii: true }),
        Self::of(Layout::Compact, Strings::Html),
        Self::of(Layout::Pretty("  "), Strings::Utf8),
        Self::of(Layout::PrettyCrlf("  "), Strings::Utf8),
        Self::of(Layout::Pretty("  "), Strings::Ascii { upper: false }),
        Self::of(Layout::Pretty("    "), Strings::Ascii { upper: false }),
    ];

    /// Every style, the likelier ones first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        const NUMBERS: [Numbers; 3] = [Numbers::AsWritten, Numbers::JavaScript, Numbers::Python];
        [false, true].into_iter().flat_map(|final_newline| {
            NUMBERS.into_iter().flat_map(move |numbers| {
                [false, true].into_iter().flat_map(move |sorted| {
                    STRINGS.into_iter().flat_map(move |strings| {
                        LAYOUTS.into_iter().map(move |layout| Self {
                            layout,
                            strings,
                            numbers,
                            sorted,
                            final_newline,
                        })
                    })
                })
            })
        })
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.layout {
            Layout::Compact => "compact, without white space",
            Layout::Spaced => "in one line with a space after each , and : (as Python writes it)",
            Layout::HalfSpaced { colon: true } => "in one line with a space after each :",
            Layout::HalfSpaced { colon: false } => "in one line with a space after each ,",
            Layout::Pretty("\t") => "over several lines, indented by tabs",
            Layout::Pretty(" ") => "over several lines, indented by 1",
            Layout::Pretty("    ") => "over several lines, indented by 4",
            Layout::Pretty(_) => "over several lines, indented by 2",
            Layout::PrettyCrlf("    ") => "over several lines that end in CRLF, indented by 4",
            Layout::PrettyCrlf(_) => "over several lines that end in CRLF, indented by 2",
            Layout::Jackson => "over several lines, as Jackson writes it",
        })?;
        if self.sorted {
            f.write_str(", keys sorted")?;
        }
        f.write_str(match self.strings {
            Strings::AsWritten => "",
            Strings::Utf8 => ", strings escaped only where they must be",
            Strings::Ascii { upper: false } => ", non-ASCII as \\uxxxx",
            Strings::Ascii { upper: true } => ", non-ASCII as \\uXXXX in upper case",
            Strings::Slashes { ascii: true } => ", / as \\/ and non-ASCII as \\uxxxx (PHP)",
            Strings::Slashes { ascii: false } => ", / as \\/",
            Strings::Html => ", < > & as \\u003c (Go, Rails)",
            Strings::HtmlMore => ", < > & = ' as \\u003c (Gson)",
            Strings::DotNet => ", escaped as .NET does",
        })?;
        f.write_str(match self.numbers {
            Numbers::AsWritten => "",
            Numbers::JavaScript => ", numbers as JavaScript writes them",
            Numbers::Python => ", numbers as Python writes them",
        })?;
        f.write_str(if self.final_newline { ", a newline at the end" } else { "" })
    }
}

impl<'t> Tree<'t> {
    /// Reads one JSON value; nothing for what is none, or too deep.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let value: &RawValue = serde_json::from_str(text).ok()?;
        Self::of(value.get(), DEPTH_MAX)
    }

    fn of(text: &'t str, depth: usize) -> Option<Self> {
        let deeper = depth.checked_sub(1)?;
        Some(match text.as_bytes().first()? {
            b'"' => Self::Text(text),
            b'[' => {
                let values: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                let values = values.into_iter().map(|value| Self::of(value.get(), deeper));
                Self::List(values.collect::<Option<_>>()?)
            }
            b'{' => {
                let entries = entries(text)?.into_iter();
                let entries = entries.map(|(key, value)| Some((key, Self::of(value, deeper)?)));
                Self::Map(entries.collect::<Option<_>>()?)
            }
            _ => Self::Plain(text.into()),
        })
    }

    /// Whether a style could change anything but white space around it.
    pub(super) fn is_composed(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_))
    }

    /// Writes it in a style.
    pub(super) fn write(&self, style: Style) -> String {
        let mut out = String::new();
        self.append(&mut out, style, 0);
        if style.final_newline {
            out.push('\n');
        }
        out
    }

    fn append(&self, out: &mut String, style: Style, depth: usize) {
        match self {
            Self::Plain(text) => out.push_str(&number(text, style.numbers)),
            Self::Text(text) => out.push_str(&string(text, style.strings)),
            Self::List(values) if style.layout == Layout::Jackson => {
                out.push('[');
                for (i, value) in values.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { " " });
                    value.append(out, style, depth);
                }
                out.push_str(" ]");
            }
            Self::List(values) => {
                let parts = values.iter().map(|value| (None, value));
                members(out, ('[', ']'), parts, style, depth);
            }
            Self::Map(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                if style.sorted {
                    entries.sort_by_key(|(key, _)| string(key, Strings::Utf8).into_owned());
                }
                let parts = entries.into_iter().map(|(key, value)| (Some(*key), value));
                members(out, ('{', '}'), parts, style, depth);
            }
        }
    }
}

fn members<'m, 't: 'm>(
    out: &mut String,
    (open, close): (char, char),
    parts: impl Iterator<Item = (Option<&'t str>, &'m Tree<'t>)>,
    style: Style,
    depth: usize,
) {
    let (indent, colon, comma) = match style.layout {
        Layout::Compact => (None, ":", ","),
        Layout::Spaced => (None, ": ", ", "),
        Layout::HalfSpaced { colon: true } => (None, ": ", ","),
        Layout::HalfSpaced { colon: false } => (None, ":", ", "),
        Layout::Pretty(indent) | Layout::PrettyCrlf(indent) => (Some(indent), ": ", ","),
        Layout::Jackson => (Some("  "), " : ", ","),
    };
    let line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent {
            let crlf = matches!(style.layout, Layout::PrettyCrlf(_));
            out.push_str(if crlf { "\r\n" } else { "\n" });
            out.extend(std::iter::repeat_n(indent, depth));
        }
    };
    out.push(open);
    let mut any = false;
    for (key, value) in parts {
        out.push_str(if any { comma } else { "" });
        any = true;
        line(out, depth + 1);
        if let Some(key) = key {
            out.push_str(&string(key, style.strings));
            out.push_str(colon);
        }
        value.append(out, style, depth + 1);
    }
    match (any, style.layout) {
        (true, _) => line(out, depth),
        (false, Layout::Jackson) => out.push(' '),
        (false, _) => {}
    }
    out.push(close);
}

fn number(text: &str, numbers: Numbers) -> Cow<'_, str> {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let is_whole = !text.contains(['.', 'e', 'E']);
    match (numbers, text.parse::<f64>()) {
        (Numbers::JavaScript, Ok(value)) if is_number => format!("{value}").into(),
        (Numbers::Python, Ok(value)) if is_number && !is_whole => format!("{value:?}").into(),
        _ => text.into(),
    }
}

/// A string token escaped anew. A lone surrogate stays as it was written.
fn string(token: &str, strings: Strings) -> Cow<'_, str> {
    if strings == Strings::AsWritten {
        return token.into();
    }
    let Ok(text) = serde_json::from_str::<Cow<'_, str>>(token) else { return token.into() };
    let mut out = String::with_capacity(token.len());
    out.push('"');
    text.chars().for_each(|c| escape(&mut out, c, strings));
    out.push('"');
    out.into()
}

fn escape(out: &mut String, c: char, strings: Strings) {
    let dot_net = strings == Strings::DotNet;
    let hex = match strings {
        Strings::AsWritten | Strings::Utf8 | Strings::Slashes { ascii: false } => false,
        Strings::Ascii { .. } | Strings::Slashes { ascii: true } => !c.is_ascii(),
        Strings::Html => matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
        Strings::HtmlMore => matches!(c, '<' | '>' | '&' | '=' | '\'' | '\u{2028}' | '\u{2029}'),
        Strings::DotNet => !c.is_ascii() || "\"'<>&+`\u{7f}".contains(c),
    };
    let slashes = matches!(strings, Strings::Slashes { .. });
    match c {
        _ if hex => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = match strings {
                    Strings::Ascii { upper: true } | Strings::DotNet => {
                        write!(out, "\\u{unit:04X}")
                    }
                    _ => write!(out, "\\u{unit:04x}"),
                };
            }
        }
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '/' if slashes => out.push_str("\\/"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..'\u{20}' if dot_net => drop(write!(out, "\\u{:04X}", c as u32)),
        '\0'..'\u{20}' => drop(write!(out, "\\u{:04x}", c as u32)),
        _ => out.push(c),
    }
}

/// The entries of an object in the order they were written, keys with their quotes.
pub(super) fn entries(text: &str) -> Option<Vec<(&str, &str)>> {
    serde_json::Deserializer::from_str(text).deserialize_map(Entries).ok()
}

struct Entries;

impl<'t> Visitor<'t> for Entries {
    type Value = Vec<(&'t str, &'t str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = vec![];
        while let Some((key, value)) = map.next_entry::<&'t RawValue, &'t RawValue>()? {
            entries.push((key.get(), value.get()));
        }
        Ok(entries)
    }
}
