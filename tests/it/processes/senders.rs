//! The producers at work: each delivers its events over HTTP and delivers again by its own rules,
//! many times faster than they say.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use local::cloud::Cloud;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::chaos::Chaos;
use super::journal::Journal;
use super::plan::{Does, Fired};
use crate::simulation::producer::{Heard, Verdict};
use crate::support::deliveries::rfc3339;

/// How much faster than its rules a producer delivers again.
const FASTER: f64 = 300.0;
/// How many deliveries wait for their answer at once: more than there are environments of the
/// ingress, and not so many that they fail for want of one.
const CONNECTIONS: usize = 6;
/// How often an answer of ours does not reach the producer.
const NOT_HEARD: f64 = 0.03;

/// What a producer knows of one of its events.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) fired: Fired,
    /// A 2xx was heard.
    pub(crate) acked: bool,
    /// It was delivered as often as it ever is, or refused for good.
    pub(crate) ended: Option<Verdict>,
    /// When each delivery was over, and the status that was heard: 0 is no answer.
    pub(crate) deliveries: Vec<(Duration, u16)>,
    /// Which change of a product it tells of, counted over all.
    pub(crate) change: i64,
}

impl Told {
    /// For people: without the body.
    pub(crate) fn shown(&self) -> String {
        let Fired { event_type, does, at, again, .. } = &self.fired;
        let heard = self.deliveries.iter().map(|(at, status)| format!("{at:.3?} {status}"));
        let heard = heard.collect::<Vec<_>>().join(", ");
        format!("{event_type}, {does:?}, fired at {at:.3?}, again {again:.3?}; heard: {heard}")
    }
}

/// All three.
pub(crate) struct Senders {
    front: SocketAddr,
    http: reqwest::Client,
    chaos: Arc<Chaos>,
    journal: Arc<Journal>,
    connections: Semaphore,
    /// Whose API shows the products, and how often one was changed.
    cloud: Arc<Cloud>,
    changes: Mutex<i64>,
}

impl Senders {
    /// Producers that deliver to this front door.
    pub(crate) fn to(
        front: SocketAddr,
        cloud: Arc<Cloud>,
        chaos: Arc<Chaos>,
        journal: Arc<Journal>,
    ) -> Arc<Self> {
        let (http, connections) = (super::http(), Semaphore::new(CONNECTIONS));
        let changes = Mutex::default();
        Arc::new(Self { front, http, chaos, journal, connections, cloud, changes })
    }

    /// Delivers the events; what is known of each at the end. On a busy machine those that have not
    /// had their turn by the end of the storm are left out.
    pub(crate) async fn deliver(self: Arc<Self>, events: Vec<Fired>) -> Vec<Told> {
        let mut tasks = JoinSet::new();
        for fired in events {
            until(&self.journal, fired.at).await;
            tasks.spawn(self.clone().one(fired));
        }
        tasks.join_all().await.into_iter().flatten().collect()
    }

    /// One event, from its firing to the last time somebody asks for it.
    async fn one(self: Arc<Self>, fired: Fired) -> Option<Told> {
        let mut again = fired.again.clone();
        again.sort_unstable();
        drop(self.connections.acquire().await.unwrap());
        if self.chaos.is_over() {
            return None;
        }
        let change = self.change(&fired.does);
        let mut told = Told { fired, acked: false, ended: None, deliveries: vec![], change };
        self.until_heard(&mut told).await;
        for at in again {
            until(&self.journal, at).await;
            if !self.chaos.is_over() {
                self.until_heard(&mut told).await;
            }
        }
        Some(told)
    }

    /// A product changes, which is what its event tells of.
    fn change(&self, does: &Does) -> i64 {
        let Does::Fetch { product, name } = does else { return 0 };
        let mut changes = self.changes.lock().unwrap();
        *changes += 1;
        let shown = json!({
            "uuid": product, "sku": "SKU", "name": name, "status": "active",
            "updatedAt": rfc3339(1_700_000_000 + *changes),
        });
        self.cloud.apiera.set_product(product, shown);
        *changes
    }

    /// Attempts until one is delivered, or no more is made.
    async fn until_heard(&self, told: &mut Told) {
        let producer = told.fired.producer;
        for attempt in 1.. {
            let heard = self.attempt(&told.fired, attempt).await;
            let status = heard.map_or(0, |heard| heard.status);
            told.deliveries.push((self.journal.elapsed(), status));
            let verdict = producer.verdict(attempt, heard, self.chaos.draw(fastrand::Rng::f64));
            match verdict {
                Verdict::Again(delay) => tokio::time::sleep(delay.div_f64(FASTER)).await,
                Verdict::Delivered => {
                    told.acked = true;
                    return;
                }
                Verdict::Terminal { .. } | Verdict::GivenUp => {
                    told.ended = Some(verdict);
                    return;
                }
            }
        }
    }

    /// One request, and what is heard of it in the producer's time.
    async fn attempt(&self, fired: &Fired, attempt: usize) -> Option<Heard> {
        let _connection = self.connections.acquire().await.unwrap();
        let delivery = fired.delivery(attempt);
        let url = format!("http://{}/webhooks/{}", self.front, delivery.source);
        let request = self.http.post(url).timeout(fired.producer.timeout()).body(delivery.body);
        let headers = delivery.headers.iter().map(|(name, value)| (name, value));
        let request = headers.fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.header("content-type", "application/json").send().await;
        let heard = answer.ok().map(|answer| {
            let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
            let secs = after.and_then(|after| after.parse().ok());
            Heard { status: answer.status().as_u16(), retry_after: secs.map(Duration::from_secs) }
        });
        let status = heard.map_or(0, |heard| heard.status);
        let lost = self.chaos.strikes(NOT_HEARD);
        let what =
            format!("delivery {attempt} -> {status}{}", if lost { ", not heard" } else { "" });
        self.journal.note(std::slice::from_ref(&fired.key), &what);
        heard.filter(|_| !lost)
    }
}

async fn until(journal: &Journal, at: Duration) {
    tokio::time::sleep(at.saturating_sub(journal.elapsed())).await;
}
