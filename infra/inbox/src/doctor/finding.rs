//! What was found, and what could not be looked at.

use std::fmt;

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// Events are lost or stand still, now or with the next mishap.
    Critical,
    /// Events are late, work is done twice, or money is spent for nothing.
    Warning,
    /// Worth knowing.
    Notice,
}

/// One thing that should be otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// A word for it, which stays the same.
    pub(super) code: &'static str,
    /// What is so.
    pub(super) what: String,
    /// Why that loses events or money.
    pub(super) why: String,
    /// The next command to type.
    pub(super) next: String,
}

/// Everything found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    checks: u32,
    unchecked: Vec<Unchecked>,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Unchecked {
    /// What.
    pub(super) what: String,
    /// How to look at it.
    pub(super) next: String,
}

impl Findings {
    /// One check; what it says if it finds something.
    pub(super) fn check(&mut self, finding: Option<Finding>) {
        self.checks += 1;
        self.list.extend(finding);
    }

    /// Something that cannot be looked at from here.
    pub(super) fn unchecked(&mut self, what: impl Into<String>, next: impl Into<String>) {
        self.unchecked.push(Unchecked { what: what.into(), next: next.into() });
    }

    /// The worst first.
    pub(super) fn sorted(&self) -> Vec<&Finding> {
        let mut list: Vec<_> = self.list.iter().collect();
        list.sort_by_key(|finding| finding.severity);
        list
    }

    /// How many checks were made.
    pub(super) fn checks(&self) -> u32 {
        self.checks
    }

    /// What could not be looked at.
    pub(super) fn not_checked(&self) -> &[Unchecked] {
        &self.unchecked
    }
}

impl Severity {
    /// A finding of this severity.
    pub(super) fn finding(
        self,
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> Finding {
        let (what, why, next) = (what.into(), why.into(), next.into());
        Finding { severity: self, code, what, why, next }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Notice => "notice",
        })
    }
}
