//! What a person or a program reads: text or JSON on stdout, remarks and progress on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

mod progress;
mod table;

pub(crate) use self::progress::Progress;
pub(crate) use self::table::Table;

/// Where output goes, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    json: bool,
    color: bool,
    stdout_terminal: bool,
    stderr_terminal: bool,
}

/// A meaning that is shown as a colour where colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// As it should not be.
    Bad,
    /// Beside the point.
    Faint,
}

/// A line that came from elsewhere, with what a terminal would obey written out.
pub(crate) fn visible(line: &str) -> String {
    let written = |c: char| match c.is_control() {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    line.chars().map(written).collect()
}

impl Console {
    /// The console of this process. No colours with `NO_COLOR` or without a terminal.
    pub(crate) fn of_process(json: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let (stdout_terminal, stderr_terminal) =
            (io::stdout().is_terminal(), io::stderr().is_terminal());
        let color = stdout_terminal && !no_color && !json;
        Self { json, color, stdout_terminal, stderr_terminal }
    }

    /// JSON is wanted instead of text.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A person looks at stdout.
    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout_terminal
    }

    /// A line of text on stdout.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(crate) fn line(&self, text: impl AsRef<str>) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_ref().as_bytes())?;
        stdout.write_all(b"\n")
    }

    /// Bytes on stdout as they are.
    ///
    /// # Errors
    /// Nobody reads them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// One JSON document on a line of stdout.
    ///
    /// # Errors
    /// Nobody reads it.
    pub(crate) fn document(&self, value: &impl Serialize) -> io::Result<()> {
        self.line(serde_json::to_string(value)?)
    }

    /// A remark beside the output, on stderr.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        // A closed stderr must not stop anything.
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    /// The text in the colour of its meaning, or as it is.
    pub(crate) fn tint(&self, text: &str, tone: Tone) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => 32,
            Tone::Warn => 33,
            Tone::Bad => 31,
            Tone::Faint => 2,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A progress bar on stderr; silent where no person looks.
    pub(crate) fn progress(&self, what: &str, total: Option<u64>) -> Progress {
        Progress::new(what, total, self.stderr_terminal)
    }
}
