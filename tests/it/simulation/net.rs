//! The net must catch: with a mechanism taken away the simulation finds a violation, and in the
//! same runs with the mechanism in its place it finds none.

#![expect(clippy::print_stderr, reason = "for people")]

use super::faults::{Kind, Rates};
use super::mechanism::Mechanism::{self, *};
use super::plan::Chaos;
use super::producer::Producer;
use super::run::{Scenario, run};
use super::world::{EPOCH_MS, Outage};

const MINUTE_MS: i64 = 60_000;

/// A mechanism, what else is missing in both cases, and what goes wrong.
struct Case {
    mechanism: Mechanism,
    without: &'static [Mechanism],
    with: &'static [Mechanism],
    chaos: fn(&mut fastrand::Rng) -> Chaos,
    /// Of how many seeds one has to show it.
    seeds: u64,
}

fn only(rates: &[(Kind, f64)]) -> Chaos {
    let rates: Rates = rates.iter().copied().collect();
    Chaos { rates, span_ms: 30 * MINUTE_MS, ..Chaos::default() }
}

fn kills(_: &mut fastrand::Rng) -> Chaos {
    only(&[(Kind::Killed, 0.5)])
}

fn lost_puts(_: &mut fastrand::Rng) -> Chaos {
    Chaos { steps: &["put"], ..only(&[(Kind::AnswerLost, 0.2)]) }
}

fn handler_errors(_: &mut fastrand::Rng) -> Chaos {
    // Together, so that a group is often in one batch.
    Chaos { span_ms: MINUTE_MS, handler_ms: 3_000, ..only(&[(Kind::Handler, 0.5)]) }
}

fn slow_commits(_: &mut fastrand::Rng) -> Chaos {
    let steps = &["commit", "finish", "release", "fail"];
    Chaos { steps, ..only(&[(Kind::Slow, 0.5), (Kind::Killed, 0.1), (Kind::Duplicated, 0.3)]) }
}

fn throttled_commits(_: &mut fastrand::Rng) -> Chaos {
    let outage = Outage {
        service: "dynamodb",
        kind: Kind::Throttled,
        from_ms: EPOCH_MS,
        to_ms: EPOCH_MS + 30 * MINUTE_MS,
    };
    Chaos { outages: vec![outage], steps: &["commit"], blameless: true, ..only(&[]) }
}

fn short_outage(_: &mut fastrand::Rng) -> Chaos {
    let handlers_down_until_ms = EPOCH_MS + 3 * MINUTE_MS;
    Chaos { handlers_down_until_ms, blameless: true, ..only(&[]) }
}

fn long_pause(rng: &mut fastrand::Rng) -> Chaos {
    let producer = [Producer::Kudos, Producer::Kallglot][rng.usize(0..2)];
    let to_ms = EPOCH_MS + 110 * 86_400_000;
    Chaos { pause: Some((producer, EPOCH_MS, to_ms)), ..only(&[]) }
}

const CASES: &[Case] = &[
    Case { mechanism: Refund, without: &[Refund], with: &[], chaos: throttled_commits, seeds: 20 },
    Case { mechanism: BackOff, without: &[BackOff], with: &[], chaos: short_outage, seeds: 50 },
    Case {
        mechanism: GroupStop,
        without: &[GroupStop],
        with: &[],
        chaos: handler_errors,
        seeds: 100,
    },
    Case { mechanism: DigestKey, without: &[DigestKey], with: &[], chaos: kills, seeds: 20 },
    Case {
        mechanism: Sweeper,
        without: &[Sweeper],
        with: &[],
        chaos: Chaos::of_all_kinds,
        seeds: 20,
    },
    Case { mechanism: Fence, without: &[Fence], with: &[], chaos: slow_commits, seeds: 200 },
    Case {
        mechanism: DuplicateState,
        without: &[Sweeper, DuplicateState],
        with: &[Sweeper],
        chaos: kills,
        seeds: 50,
    },
    Case {
        mechanism: Receipt,
        without: &[Sweeper, Receipt],
        with: &[Sweeper],
        chaos: lost_puts,
        seeds: 50,
    },
    Case {
        mechanism: ExpiryWhenFinished,
        without: &[ExpiryWhenFinished],
        with: &[],
        chaos: Chaos::of_all_kinds,
        seeds: 10,
    },
    Case {
        mechanism: BodyRenewal,
        without: &[BodyRenewal],
        with: &[],
        chaos: long_pause,
        seeds: 20,
    },
];

fn backlog(_: &mut fastrand::Rng) -> Chaos {
    Chaos { crowd: 1_100, handler_ms: 12_000, ..only(&[]) }
}

/// Sends of the sweeper and of all others for each hundred events of a backlog.
fn sends_per_hundred(off: &'static [Mechanism]) -> usize {
    let outcome = run(0, &Scenario { chaos: backlog, off });
    assert_eq!(outcome.violation, None);
    let (most, all) = outcome.sends;
    eprintln!("{off:?}: {} events, {all} sends, {most} of one", outcome.events);
    all as usize * 100 / outcome.events
}

/// The sweeper adds less than one send for each event of a backlog that takes twenty times as long
/// to drain as it took to come: the depth gate sees to that.
#[test]
fn a_backlog_drains() {
    assert!(sends_per_hundred(&[]) <= 200);
    assert!(sends_per_hundred(&[DepthGate]) > 200);
}

#[test]
fn each_mechanism_is_needed() {
    let mut missed = vec![];
    for Case { mechanism, without, with, chaos, seeds } in CASES {
        let with = Scenario { chaos: *chaos, off: with };
        let without = Scenario { chaos: *chaos, off: without };
        let found = (0..*seeds).find_map(|seed| {
            let outcome = run(seed, &without);
            Some((seed, outcome.violation?))
        });
        let Some((seed, what)) = found else {
            missed.push(format!("{mechanism:?}: no violation in {seeds} seeds"));
            continue;
        };
        eprintln!("{mechanism:?}: {} seeds: {what}", seed + 1);
        // The same seed, and a few before it, with the mechanism in its place.
        for seed in seed.saturating_sub(3)..=seed {
            let outcome = run(seed, &with);
            if outcome.violation.is_some() {
                super::report::print(&outcome);
                missed.push(format!("{mechanism:?}: violated all the same by seed {seed}"));
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}
