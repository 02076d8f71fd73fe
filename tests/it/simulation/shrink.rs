//! Makes a violation small: leaves out events and faults of a seed's plan as long as the run is
//! still violated in the same way.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::faults::Kind;
use super::plan::{Chaos, Fired};
use super::run::{Outcome, Scenario, run_without};

/// How many runs a shrinking may take.
const RUNS_MAX: usize = 200;

/// One thing that a seed draws and a run can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Event(usize),
    Fault(Kind),
    Outages,
    Purges,
    Pause,
    Rotation,
    HandlersDown,
    Skew,
    Operator,
    LateStorms,
}

const PLANNED: [Part; 8] = [
    Part::Outages,
    Part::Purges,
    Part::Pause,
    Part::Rotation,
    Part::HandlersDown,
    Part::Skew,
    Part::Operator,
    Part::LateStorms,
];

/// What a run leaves out of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Without(BTreeSet<Part>);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(number) => write!(f, "{number}"),
            Self::Fault(kind) => write!(f, "{kind:?}"),
            _ => write!(f, "{self:?}"),
        }
    }
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(Part::to_string).collect();
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Without {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |word: &str| {
            let faults = Kind::drawn().map(Part::Fault);
            let known = PLANNED.into_iter().chain(faults).find(|part| part.to_string() == word);
            known.or_else(|| word.parse().ok().map(Part::Event)).ok_or(word.to_owned())
        };
        text.split(',')
            .filter(|word| !word.is_empty())
            .map(named)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Without {
    /// Takes out of a plan what is left out.
    pub(crate) fn cut(&self, chaos: &mut Chaos, events: &mut Vec<Fired>) {
        for part in &self.0 {
            match part {
                Part::Event(_) => {}
                Part::Fault(kind) => drop(chaos.rates.remove(kind)),
                Part::Outages => chaos.outages.clear(),
                Part::Purges => chaos.purges.clear(),
                Part::Pause => chaos.pause = None,
                Part::Rotation => chaos.rotation = None,
                Part::HandlersDown => chaos.handlers_down_until_ms = 0,
                Part::Skew => chaos.skew_max_ms = 0,
                Part::Operator => chaos.operator_until_ms = None,
                Part::LateStorms => chaos.late_storms.clear(),
            }
        }
        let mut number = 0;
        events.retain(|_| {
            number += 1;
            !self.0.contains(&Part::Event(number - 1))
        });
    }

    fn and(&self, parts: &[Part]) -> Self {
        Self(self.0.iter().chain(parts).copied().collect())
    }
}

/// What kind of violation it is: the same words, whatever the event and the numbers.
fn kind(violation: &str) -> String {
    let words = violation.split([' ', ':']).filter(|word| word.chars().all(char::is_alphabetic));
    words.take(6).collect::<Vec<_>>().join(" ")
}

/// The smallest run found that is violated like this one, and what it leaves out.
pub(crate) fn shrink(outcome: Outcome, scenario: &Scenario) -> (Outcome, Without) {
    let (mut smallest, mut without) = (outcome, Without::default());
    let mut left = candidates(smallest.drawn);
    let mut runs = 0;
    let mut size = left.len().div_ceil(2);
    while size > 0 && runs < RUNS_MAX {
        let mut kept = vec![];
        for parts in left.chunks(size) {
            runs += 1;
            let fewer = without.and(parts);
            let again = run_without(smallest.seed, scenario, &fewer);
            let same = |what: &String| kind(what) == kind(smallest.violation.as_deref().unwrap());
            if again.violation.as_ref().is_some_and(same) {
                (smallest, without) = (again, fewer);
            } else {
                kept.extend_from_slice(parts);
            }
        }
        left = kept;
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    (smallest, without)
}

/// Everything that might be left out; what is about many events first.
fn candidates(events: usize) -> Vec<Part> {
    let faults = Kind::drawn().map(Part::Fault);
    (0..events).map(Part::Event).chain(faults).chain(PLANNED).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mechanism::Mechanism;
    use super::*;

    #[test]
    fn what_is_left_out_is_read_as_it_is_written() {
        let without: Without = "3,17,Refused,Killed,Pause".parse().unwrap();
        assert_eq!(without.to_string().parse::<Without>().unwrap(), without);
        assert_eq!("3,Nothing".parse::<Without>(), Err("Nothing".to_owned()));
    }

    #[test]
    fn a_violation_gets_smaller_and_stays_the_same() {
        // Without the sweeper an accepted event is soon forgotten.
        let scenario = Scenario { chaos: Chaos::of_all_kinds, off: &[Mechanism::Sweeper] };
        let all = Without::default();
        let violated = (0..20).map(|seed| run_without(seed, &scenario, &all));
        let outcome = violated.into_iter().find(|outcome| outcome.violation.is_some()).unwrap();
        let (whole, lines) = (outcome.events, outcome.trace.len());
        let (smallest, without) = shrink(outcome, &scenario);
        assert!(smallest.events * 2 <= whole, "{} of {whole} events", smallest.events);
        assert!(smallest.trace.len() * 2 <= lines, "{} of {lines} lines", smallest.trace.len());
        let again = run_without(smallest.seed, &scenario, &without.to_string().parse().unwrap());
        assert_eq!(again.violation, smallest.violation);
    }
}
