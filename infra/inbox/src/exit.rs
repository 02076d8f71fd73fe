//! How a command ends: its exit code, and what a person reads when it could not do its work.

use std::io::{self, Write as _};
use std::process::ExitCode;

use shared::fault::Fault;

use crate::place::Kind;

/// A command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Exit code 0.
    Done,
    /// It found what should not be: exit code 1.
    Problem,
}

/// A command that could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line asks for what cannot be: exit code 2.
    #[error("{what}\nnext: {next}")]
    Usage {
        /// What is wrong.
        what: String,
        /// The next command to type.
        next: String,
    },
    /// The inbox, or something that belongs to it, does not answer or is not there: exit code 3.
    #[error("{what}\nnext: {next}")]
    Unreachable {
        /// What happened.
        what: String,
        /// The next command to type.
        next: String,
    },
    /// A call to AWS that was not done: exit code 3.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Whoever read our output has gone: nothing is left to say, and nothing is wrong.
    #[error("nobody reads the output any more")]
    Closed,
}

impl Failure {
    /// A mistake on the command line.
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), next: next.into() }
    }

    /// Something that cannot be reached.
    pub(crate) fn unreachable(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Unreachable { what: what.into(), next: next.into() }
    }

    /// Says it on stderr; gives the exit code. `place` is the inbox that it is about, if known.
    pub(crate) fn tell(&self, place: Option<&Kind>) -> ExitCode {
        let (code, said) = match self {
            Self::Closed => return ExitCode::SUCCESS,
            Self::Usage { .. } => (2, self.to_string()),
            Self::Unreachable { .. } => (3, self.to_string()),
            Self::Fault(fault) => (3, said_of(fault, place)),
        };
        // A closed stderr must not stop anything.
        let _ = writeln!(io::stderr().lock(), "inbox: {said}");
        ExitCode::from(code)
    }
}

/// Output that cannot be written: a closed pipe, or a full disk behind one.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::unreachable(format!("cannot write the output: {error}"), "df -h ."),
        }
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Problem => Self::from(1),
        }
    }
}

fn said_of(fault: &Fault, place: Option<&Kind>) -> String {
    let next = match (fault, place) {
        (Fault::Throttled { .. } | Fault::Conflict { .. }, _) => {
            "the same command again, in a minute"
        }
        (_, Some(Kind::Local(_))) => {
            "cargo run -p local, if it does not run; it writes a new endpoints.env"
        }
        (Fault::Refused { .. }, _) => {
            "aws sts get-caller-identity, and look whether it may do this"
        }
        (Fault::Unanswered { .. }, _) => "aws sts get-caller-identity, and look at the Region",
    };
    match place {
        Some(place) => format!("{place}: {fault}\nnext: {next}"),
        None => format!("{fault}\nnext: {next}"),
    }
}
