//! What goes wrong, and how often: the dice of one seed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::proxy::Service;

/// What happens to one call to AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The connection is closed before anything is read from it.
    Refused,
    /// The service fails (500), and does nothing.
    Failed,
    /// The service asks for less, and does nothing.
    Throttled,
    /// The request is taken and lost: nothing happens, and nobody answers.
    Swallowed,
    /// It happens, and the connection breaks before the answer.
    AnswerLost,
    /// It happens later than anybody waits for.
    Slow,
}

/// How often each fault meets a call by itself.
const RATES: [(Fault, f64); 5] = [
    (Fault::Failed, 0.010),
    (Fault::Throttled, 0.006),
    (Fault::Swallowed, 0.004),
    (Fault::AnswerLost, 0.012),
    (Fault::Slow, 0.004),
];
/// How often a connection is refused.
pub(crate) const REFUSED: f64 = 0.03;
/// Beyond what one attempt of a call may take, and mostly beyond all of them together.
const SLOW: Duration = Duration::from_secs(2);
pub(crate) const SLOWEST: Duration = Duration::from_secs(8);

/// How many times a service is down for a while, and how long.
const OUTAGES: usize = 8;
const OUTAGE_MS: std::ops::Range<u64> = 1_000..4_000;
/// How many of its calls fail then.
const DOWN: f64 = 0.9;

/// Dice, and whether they are thrown.
#[derive(Debug)]
pub(crate) struct Chaos {
    began: Instant,
    outages: Vec<Outage>,
    rng: Mutex<fastrand::Rng>,
    calm: AtomicBool,
}

/// A time in which a service answers almost nothing.
#[derive(Clone, Copy, Debug)]
struct Outage {
    service: Service,
    fault: Fault,
    from: Duration,
    to: Duration,
}

impl Chaos {
    /// The dice of a seed; services are down at times within `span` from now.
    pub(crate) fn of(seed: u64, span: Duration) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let outages = (0..OUTAGES).map(|number| {
            let from = span.mul_f64(rng.f64());
            let faults = [Fault::Failed, Fault::Throttled, Fault::Swallowed, Fault::AnswerLost];
            Outage {
                service: Service::ALL[number % Service::ALL.len()],
                fault: faults[rng.usize(0..faults.len())],
                from,
                to: from + Duration::from_millis(rng.u64(OUTAGE_MS)),
            }
        });
        let outages = outages.collect();
        Self { began: Instant::now(), outages, rng: rng.into(), calm: false.into() }
    }

    /// Nothing goes wrong from here on.
    pub(crate) fn ends(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    /// Throws the dice; never strikes once it is calm.
    pub(crate) fn strikes(&self, probability: f64) -> bool {
        !self.is_over() && self.draw(fastrand::Rng::f64) < probability
    }

    /// What happens to the next call of a service.
    pub(crate) fn fault(&self, service: Service) -> Option<Fault> {
        if self.is_over() {
            return None;
        }
        let mut dice = self.draw(fastrand::Rng::f64);
        let now = self.began.elapsed();
        let down = |outage: &&Outage| outage.service == service && outage.covers(now);
        if let Some(outage) = self.outages.iter().find(down)
            && dice < DOWN
        {
            return Some(outage.fault);
        }
        RATES.into_iter().find_map(|(fault, rate)| {
            dice -= rate;
            (dice < 0.0).then_some(fault)
        })
    }

    /// How much later a slow call happens.
    pub(crate) fn slowness(&self) -> Duration {
        SLOW + (SLOWEST - SLOW).mul_f64(self.draw(fastrand::Rng::f64))
    }

    pub(crate) fn draw<T>(&self, from: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        from(&mut self.rng.lock().unwrap())
    }
}

impl Outage {
    fn covers(&self, now: Duration) -> bool {
        (self.from..self.to).contains(&now)
    }
}
