//! What was found, said.

use serde_json::json;

use super::finding::{Findings, Severity};
use crate::console::Tone;
use crate::context::Context;
use crate::exit::{Ending, Failure};

/// Prints it; a problem if there is any finding.
pub(super) fn tell(findings: &Findings, context: &Context) -> Result<Ending, Failure> {
    let sorted = findings.sorted();
    if context.console.is_json() {
        context.console.document(&json!({
            "findings": sorted,
            "checks": findings.checks(),
            "not_checked": findings.not_checked(),
        }))?;
    } else {
        context.console.line(text(findings, context))?;
    }
    Ok(if sorted.is_empty() { Ending::Done } else { Ending::Problem })
}

fn text(findings: &Findings, context: &Context) -> String {
    let mut lines = vec![];
    for finding in findings.sorted() {
        let tone = match finding.severity {
            Severity::Critical => Tone::Bad,
            Severity::Warning => Tone::Warn,
            Severity::Notice => Tone::Faint,
        };
        let severity = context.console.tint(&finding.severity.to_string(), tone);
        lines.push(format!("{severity}  {} ({})", finding.what, finding.code));
        lines.push(format!("  why:  {}", finding.why));
        lines.push(format!("  next: {}", finding.next));
    }
    for unchecked in findings.not_checked() {
        let what = format!("not checked  {}", unchecked.what);
        lines.push(context.console.tint(&what, Tone::Faint));
        lines.push(format!("  look: {}", unchecked.next));
    }
    let found = findings.sorted().len();
    let word = if found == 1 { "finding" } else { "findings" };
    lines.push(format!("{} checks, {found} {word}", findings.checks()));
    lines.join("\n")
}
