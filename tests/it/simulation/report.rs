//! What people see: progress, a table of what struck where, and a violation with all that is needed
//! to understand and to repeat it.

#![expect(clippy::print_stderr, reason = "this is what people read")]

use std::collections::BTreeMap;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::faults::Counts;
use super::run::Outcome;

/// Lines of the trace that are shown.
const TRACE_LINES: usize = 60;

/// The seeds to run: `SIM_SEEDS=from..to`, or these.
pub(crate) fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("SIM_SEEDS") else { return usual };
    let range = text.split_once("..").map(|(from, to)| (from.parse(), to.parse()));
    match range {
        Some((Ok(from), Ok(to))) => from..to,
        _ => panic!("SIM_SEEDS={text:?} (expected from..to)"),
    }
}

/// All runs together.
#[derive(Default)]
pub(crate) struct Summary {
    runs: u64,
    events: usize,
    pub(crate) few_faults: u64,
    /// All traces in one number: the same seeds give the same one everywhere.
    traces: [u8; 8],
    counts: Counts,
    ends: BTreeMap<String, u64>,
    pub(crate) violations: Vec<String>,
}

impl Summary {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.events += outcome.events;
        self.few_faults += u64::from(outcome.counts.values().sum::<u64>() < 10);
        for (pair, count) in &outcome.counts {
            *self.counts.entry(pair.clone()).or_default() += count;
        }
        for (end, count) in &outcome.ends {
            *self.ends.entry(end.clone()).or_default() += count;
        }
        if let Some(what) = &outcome.violation {
            print(outcome);
            self.violations.push(format!("seed {}: {what}", outcome.seed));
        }
        // In any order, so that threads do not matter.
        let digest = Sha256::digest(outcome.trace.join("\n"));
        self.traces.iter_mut().zip(digest).for_each(|(sum, byte)| *sum ^= byte);
        if self.runs.is_multiple_of(20) {
            eprintln!("{} runs, {} violations", self.runs, self.violations.len());
        }
    }

    pub(crate) fn print(&self) {
        eprintln!("\n{:<16} {:<28} {:>8}", "fault", "step", "struck");
        for ((kind, step), count) in &self.counts {
            eprintln!("{:<16} {step:<28} {count:>8}", format!("{kind:?}"));
        }
        eprintln!("\n{:<36} {:>8}", "end of an event", "rows");
        for (end, count) in &self.ends {
            eprintln!("{end:<36} {count:>8}");
        }
        let Self { runs, events, few_faults, violations, .. } = self;
        eprintln!("\ntraces {:016x}", u64::from_be_bytes(self.traces));
        eprintln!(
            "{runs} runs, {events} events, {} violations, {few_faults} runs with under 10 faults",
            violations.len()
        );
    }
}

/// One violation: what, the end of the trace as far as it is about that event, what was left, and
/// how to repeat it.
pub(crate) fn print(outcome: &Outcome) {
    let Outcome { seed, violation, trace, .. } = outcome;
    let what = violation.as_deref().unwrap_or_default();
    eprintln!("\nseed {seed}: {what}");
    let key = what.split([' ', ':']).find(|word| word.contains('#'));
    let about = |line: &&String| match key.and_then(|key| key.split_once('#')) {
        Some((_, id)) => line.contains(id) || line.contains("paused") || line.contains("purged"),
        None => true,
    };
    let lines: Vec<&String> = trace.iter().filter(about).collect();
    for line in lines.iter().skip(lines.len().saturating_sub(TRACE_LINES)) {
        eprintln!("  {line}");
    }
    for row in &outcome.left {
        eprintln!("  left: {row}");
    }
    let next = seed + 1;
    eprintln!(
        "again: SIM_SEEDS={seed}..{next} cargo test -p tests simulation::seeds -- --nocapture"
    );
}
