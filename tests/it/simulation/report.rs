//! What people see: progress, a table of what struck where, and a violation with all that is needed
//! to understand and to repeat it.

#![expect(clippy::print_stderr, reason = "this is what people read")]

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stderr};
use std::ops::Range;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::faults::Counts;
use super::run::{Outcome, Scenario};
use super::shrink::{Without, shrink};

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

/// What runs leave out of their plans: `SIM_WITHOUT=part,part`, as a shrunk violation names it.
pub(crate) fn without() -> Without {
    let text = std::env::var("SIM_WITHOUT").unwrap_or_default();
    text.parse().unwrap_or_else(|part| panic!("SIM_WITHOUT: no event and no fault is {part:?}"))
}

/// All runs together.
pub(crate) struct Summary {
    /// How many there will be.
    of: u64,
    began: Instant,
    pub(crate) runs: u64,
    events: usize,
    pub(crate) few_faults: u64,
    /// All traces in one number: the same seeds give the same one everywhere.
    traces: [u8; 8],
    counts: Counts,
    ends: BTreeMap<String, u64>,
    pub(crate) violations: Vec<String>,
}

impl Summary {
    /// Of so many runs, none of them run yet.
    pub(crate) fn of(of: u64) -> Self {
        Self {
            of,
            began: Instant::now(),
            runs: 0,
            events: 0,
            few_faults: 0,
            traces: [0; 8],
            counts: Counts::new(),
            ends: BTreeMap::new(),
            violations: vec![],
        }
    }

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
            self.violations.push(format!("seed {}: {what}", outcome.seed));
        }
        // In any order, so that threads do not matter.
        let digest = Sha256::digest(outcome.trace.join("\n"));
        self.traces.iter_mut().zip(digest).for_each(|(sum, byte)| *sum ^= byte);
        self.progress();
    }

    /// A bar that moves on a terminal, else a line for each twentieth of the way.
    fn progress(&self) {
        let Self { of, runs, violations, .. } = self;
        let secs = self.began.elapsed().as_secs();
        let left = secs * (of - runs) / runs;
        let done = usize::try_from(runs * 20 / of).unwrap_or(20);
        let line = format!(
            "[{:<20}] {runs} of {of} runs, {} violations, {secs} s, about {left} s to go",
            "#".repeat(done),
            violations.len()
        );
        if stderr().is_terminal() {
            eprint!("\r{line} ");
        } else if runs.is_multiple_of(of.div_ceil(20)) {
            eprintln!("{line}");
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

/// One violation as small as it can be made: what, the end of the trace as far as it is about that
/// event, what was left, and how to repeat it.
pub(crate) fn violation(outcome: Outcome, scenario: &Scenario, without: &Without) {
    let (seed, whole) = (outcome.seed, outcome.events);
    let again = |without: &Without| {
        let left_out = match without.to_string() {
            parts if parts.is_empty() => parts,
            parts => format!(" SIM_WITHOUT={parts}"),
        };
        let next = seed + 1;
        eprintln!(
            "again: SIM_SEEDS={seed}..{next}{left_out} cargo test -p tests simulation::seeds -- --nocapture"
        );
    };
    // What was left out by hand is being looked at already.
    if *without != Without::default() {
        print(&outcome);
        return again(without);
    }
    let (smallest, without) = shrink(outcome, scenario);
    print(&smallest);
    eprintln!("  (with {} of {whole} events)", smallest.events);
    again(&without);
}

/// What a violated run shows.
pub(crate) fn print(outcome: &Outcome) {
    let Outcome { seed, violation, trace, .. } = outcome;
    let what = violation.as_deref().unwrap_or_default();
    eprintln!("\nseed {seed}: {what}");
    let words = what.split([' ', ':', ',']);
    let ids: Vec<&str> = words.filter_map(|word| Some(word.split_once('#')?.1)).collect();
    let general = ["paused", "purged", "dies"];
    let about = |line: &&String| {
        ids.is_empty() || ids.iter().chain(&general).any(|word| line.contains(word))
    };
    let lines: Vec<&String> = trace.iter().filter(about).collect();
    for line in lines.iter().skip(lines.len().saturating_sub(TRACE_LINES)) {
        eprintln!("  {line}");
    }
    for row in &outcome.left {
        eprintln!("  left: {row}");
    }
}
