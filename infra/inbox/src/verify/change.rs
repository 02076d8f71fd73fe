//! Ways in which a body changes between its signature and a file.

use std::fmt;

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
    /// The file is in this character set, the signed bytes are UTF-8.
    Transcoded(&'static str),
    /// The file holds them with something else before or behind.
    Embedded,
    /// Percent-encoding in its strings was undone.
    PercentUndone,
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
            Self::Mojibake | Self::Transcoded(_) => "character_set",
            Self::Embedded => "more_than_body",
            Self::PercentUndone => "percent_undone",
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
            Self::Mojibake | Self::Transcoded(_) => "read and write the body as bytes, not as text",
            Self::Embedded => "take the body alone out of the log line or the capture",
            Self::PercentUndone => {
                "look what decodes the body before the check: it must not touch JSON"
            }
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
            Self::Transcoded(set) => {
                write!(f, "the file is in {set}, the signed body is UTF-8")
            }
            Self::Embedded => {
                f.write_str("the file holds something else before or behind the signed body")
            }
            Self::PercentUndone => {
                f.write_str("percent-encoding like %20 in the signed body is undone in the file")
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
