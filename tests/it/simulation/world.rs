//! What all parts of one run share: the virtual clock, the seeded dice, the services, what was told
//! to producers, and the first violation.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use shared::time::{Clock, Timestamp};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::engine::Engine;
use super::faults::{Counts, Kind, Rates};
use super::mechanism::Mechanism;
use super::mirror::Mirror;
use super::producer::{Endpoint, Producer};
use super::queue::Queue;

/// Where every run begins: 2027-01-15 08:00 UTC.
pub(crate) const EPOCH_MS: i64 = 1_800_000_000_000;

/// One run's world.
pub(crate) struct World {
    began: Instant,
    state: Mutex<State>,
    /// Something was sent.
    pub(crate) queued: Notify,
    /// A row was written.
    pub(crate) written: Notify,
}

/// A time in which a service answers almost nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) service: &'static str,
    pub(crate) kind: Kind,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// The mutable part.
pub(crate) struct State {
    pub(crate) rng: fastrand::Rng,
    pub(crate) engine: Arc<Engine>,
    pub(crate) standard: Queue,
    pub(crate) fifo: Queue,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) rates: Rates,
    pub(crate) outages: Vec<Outage>,
    /// When things go wrong.
    pub(crate) storms: Vec<Range<i64>>,
    pub(crate) off: &'static [Mechanism],
    /// Only these steps of calls meet faults, if any are named.
    pub(crate) steps: &'static [&'static str],
    pub(crate) mirror: Mirror,
    pub(crate) counts: Counts,
    pub(crate) last_step: BTreeMap<u32, &'static str>,
    pub(crate) trace: Vec<String>,
    pub(crate) violation: Option<String>,
    /// What Apiera's API would show: when a product changed last, and its name.
    pub(crate) products: BTreeMap<String, (i64, String)>,
    /// The secrets that each producer signs with now.
    pub(crate) signing: BTreeMap<Producer, Vec<String>>,
    pub(crate) endpoints: BTreeMap<Producer, Endpoint>,
    /// Handlers fail until then, all of them.
    pub(crate) handlers_down_until_ms: i64,
    pub(crate) handler_ms: u64,
}

impl World {
    pub(crate) fn new(state: State) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            state: Mutex::new(state),
            queued: Notify::new(),
            written: Notify::new(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The true time; functions see it with a skew of their own.
    pub(crate) fn now_ms(&self) -> i64 {
        EPOCH_MS + i64::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    /// A function's clock.
    pub(crate) fn clock(self: &Arc<Self>, skew_ms: i64) -> Clock {
        let world = self.clone();
        Clock::from_fn(move || Timestamp::from_millis(world.now_ms() + skew_ms))
    }

    /// Waits until this moment, if it is still to come.
    pub(crate) async fn until(&self, at_ms: i64) {
        let wait = u64::try_from(at_ms - self.now_ms()).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }

    /// Whether this kind of fault strikes now; counted if it does.
    pub(crate) fn strikes(&self, kind: Kind, step: &str) -> bool {
        let now = self.now_ms();
        self.state().strikes(kind, step, now)
    }

    pub(crate) fn tell(&self, line: &str) {
        let now = self.now_ms();
        self.state().tell(now, line);
    }

    pub(crate) fn is_violated(&self) -> bool {
        self.state().violation.is_some()
    }
}

impl State {
    /// How likely a kind of fault is now.
    pub(crate) fn rate(&self, kind: Kind, now_ms: i64) -> f64 {
        let stormy = self.storms.iter().any(|storm| storm.contains(&now_ms));
        self.rates.get(&kind).copied().filter(|_| stormy).unwrap_or(0.0)
    }

    pub(crate) fn strikes(&mut self, kind: Kind, step: &str, now_ms: i64) -> bool {
        let rate = self.rate(kind, now_ms);
        let struck = rate > 0.0 && self.rng.f64() < rate;
        if struck {
            self.count(kind, step);
        }
        struck
    }

    pub(crate) fn count(&mut self, kind: Kind, step: &str) {
        *self.counts.entry((kind, step.to_owned())).or_default() += 1;
    }

    pub(crate) fn tell(&mut self, now_ms: i64, line: &str) {
        let at = now_ms - EPOCH_MS;
        self.trace.push(format!("{:>10}.{:03} {line}", at / 1000, at % 1000));
    }

    /// Only the first violation is kept: what follows it may only be its consequence.
    pub(crate) fn violated(&mut self, now_ms: i64, what: &str) {
        self.tell(now_ms, &format!("VIOLATION {what}"));
        if self.violation.is_none() {
            self.violation = Some(what.to_owned());
        }
    }

    pub(crate) fn queue(&mut self, fifo: bool) -> &mut Queue {
        if fifo { &mut self.fifo } else { &mut self.standard }
    }
}

/// A text attribute of an item as DynamoDB writes it, or nothing.
pub(crate) fn text<'i>(item: &'i Value, name: &str) -> &'i str {
    item[name]["S"].as_str().unwrap_or_default()
}

/// A number attribute.
pub(crate) fn number(item: &Value, name: &str) -> Option<i64> {
    item[name]["N"].as_str()?.parse().ok()
}
