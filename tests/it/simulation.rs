//! The deterministic simulation: the real functions and the real SDK clients over an embedded
//! DynamoDB and an SQS that does all it does not promise against, in virtual time.
//!
//! In the order of a run: [`plan`] draws the events and what goes wrong, [`run`] lets them happen,
//! [`producer`] says when each is delivered again, [`fleet`] runs the functions, [`wire`] is where
//! their calls meet [`faults`], [`mirror`] checks every write and [`check`] the whole at rest.
//! [`net`] takes the product's mechanisms away, one by one, and shows that each is missed.
//!
//! Not here: sockets, so Apiera's handler fetches from memory; what Lambda and API Gateway do
//! besides running a function; throttling for longer than `THROTTLED_MAX_MS` says.
//!
//! One seed is one run: at least twenty events of the three producers, each delivered by its own
//! rules, while calls are refused, repeated, lost and late, messages are lost and doubled, and
//! processes die at any await. The same seed gives the same trace.
//!
//! `cargo test -p tests simulation` runs a few seeds. Any others, on all cores, with a table at the
//! end: `SIM_SEEDS=0..20000 cargo test -p tests simulation::seeds -- --nocapture`.

mod check;
mod engine;
pub(crate) mod faults;
mod fleet;
mod handlers;
mod mechanism;
mod mirror;
mod net;
mod operator;
mod plan;
pub(crate) mod producer;
mod queue;
mod report;
mod run;
mod shrink;
mod sign;
mod sqs;
mod wire;
mod world;

use std::sync::Mutex;

use self::plan::Chaos;
use self::run::{Scenario, run, run_without};

/// How many seeds every `cargo test` runs.
const USUAL: u64 = 200;
const ALL: Scenario = Scenario { chaos: Chaos::of_all_kinds, off: &[] };

#[test]
fn seeds() {
    let range = report::seeds(0..USUAL);
    let without = report::without();
    let summary = Mutex::new(report::Summary::of(range.end.saturating_sub(range.start)));
    let seeds = Mutex::new(range);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = seeds.lock().unwrap().next();
                    let Some(seed) = next else { return };
                    let outcome = run_without(seed, &ALL, &without);
                    summary.lock().unwrap().add(&outcome);
                    if outcome.violation.is_some() {
                        report::violation(outcome, &ALL, &without);
                    }
                }
            });
        }
    });
    let summary = summary.into_inner().unwrap();
    summary.print();
    assert_eq!(summary.violations, Vec::<String>::new());
    // A seed may draw next to nothing of everything; more than one in a thousand would be a mistake.
    assert!(summary.few_faults <= 1 + summary.runs / 1000, "runs with fewer than ten faults");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..3 {
        let [one, other] = [(); 2].map(|()| run(seed, &ALL).trace);
        let differs = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(one.len(), other.len(), "seed {seed}");
    }
}
