//! The people who run the receiver, with the product's own writes: they stop a source and take it up
//! again, rotate secrets, have failed events run again and give others up.

use std::sync::Arc;
use std::time::Duration;

use local::provision::Resources;
use shared::aws::{CallBudget, Clients};
use shared::inbox::{Dropped, Inbox, LeftAlone, Redriven};
use shared::key::{EventKey, SourceName};
use shared::limits::RETENTION_DAYS;
use shared::queue::{Pointer, Queues};
use shared::source::Sources;
use shared::time::Timestamp;

use super::faults::Kind;
use super::fleet::Fleet;
use super::producer::Producer;
use super::sign::{first_secret, stored};
use super::world::{World, text};

/// Where the operator's own calls stand in the trace.
const NODE: u32 = 9_999;

/// Somebody with the operator's tool.
#[derive(Clone)]
pub(crate) struct Operator {
    world: Arc<World>,
    sources: Sources,
    inbox: Inbox,
    queues: Queues,
}

impl Operator {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        let clients = Clients::new(&fleet.config(NODE), CallBudget::BACKGROUND);
        let Resources { inbox_table, queue_url, fifo_queue_url, .. } = &fleet.resources;
        let remembered = Duration::from_secs(86_400 * u64::from(RETENTION_DAYS));
        Self {
            world: fleet.world.clone(),
            sources: Sources::builtin().unwrap(),
            inbox: Inbox::new(clients.dynamodb, inbox_table, remembered),
            queues: Queues::new(clients.sqs, queue_url, fifo_queue_url),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.world.now_ms())
    }

    /// Stops a source, and takes it up again: as often as it takes until the tool says that it did.
    pub(crate) async fn pause(self, producer: Producer, from_ms: i64, to_ms: i64) {
        let source = SourceName::parse(producer.source()).unwrap();
        for (at_ms, paused) in [(from_ms, true), (to_ms, false)] {
            self.world.until(at_ms).await;
            while !matches!(self.inbox.pause(&source, paused, self.now()).await, Ok(true)) {
                self.world.tell(&format!("{source} not paused or resumed yet"));
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
            let mut state = self.world.state();
            state.count(Kind::PausedSource, if paused { "pause" } else { "resume" });
            drop(state);
            self.world.tell(&format!("{source} paused: {paused}"));
            self.world.written.notify_waiters();
        }
    }

    /// Looks at what has failed every now and then, has some of it run again and drops some. Does
    /// not look twice at what could not be done: the next time comes.
    pub(crate) async fn look_after_failures(self, until_ms: i64) {
        while self.world.now_ms() < until_ms {
            let minutes = self.world.state().rng.u64(10..90);
            tokio::time::sleep(Duration::from_secs(60 * minutes)).await;
            for key in self.failed() {
                let dice = self.world.state().rng.u32(0..4);
                match dice {
                    0 => {}
                    1 => self.give_up(&key).await,
                    _ => self.redrive(&key).await,
                }
            }
        }
    }

    fn failed(&self) -> Vec<EventKey> {
        let state = self.world.state();
        let failed = state.mirror.rows().filter(|(_, row)| text(row, "status") == "failed");
        failed.filter_map(|(key, _)| EventKey::parse(key)).collect()
    }

    async fn redrive(&self, key: &EventKey) {
        let Ok(Some(row)) = self.inbox.row(key).await else { return };
        if LeftAlone::check(&row, None, self.now()).is_err() {
            return;
        }
        // Even what nobody hears of may have happened.
        self.world.state().mirror.asked_again(&key.to_string());
        let redriven = self.inbox.redrive(&row, self.now()).await;
        self.world.tell(&format!("operator redrives {key}: {redriven:?}"));
        if let Ok(Redriven::Done) = redriven {
            let ordering = self.sources.get(key.source.as_str()).unwrap().ordering;
            let pointer = Pointer { key: row.key, event_type: row.event_type };
            // The sweeper sends what is not sent here.
            let _ = self.queues.send(&pointer, ordering).await;
        }
    }

    async fn give_up(&self, key: &EventKey) {
        let Ok(Some(row)) = self.inbox.row(key).await else { return };
        self.world.state().mirror.given_up(&key.to_string());
        let dropped = self.inbox.drop_event(&row, "nobody needs it", self.now()).await;
        if !matches!(dropped, Ok(Dropped::Done)) {
            self.world.tell(&format!("operator drops {key}: {dropped:?}"));
        }
    }
}

/// An overlap, as Kudos describes it: our store knows the new secret first, the producer signs with
/// it a little later (Kudos with both), and the old one is revoked last.
pub(crate) async fn rotate(world: Arc<World>, producer: Producer, at_ms: i64) {
    let (old, new) = (first_secret(producer), format!("{}-rotated", producer.source()));
    let name = format!("local/{}", producer.source());
    let both = [new.clone(), old.clone()];
    let signs: [&[String]; 3] = match producer {
        Producer::Kudos => [&both[1..], &[old.clone(), new.clone()], &both[..1]],
        Producer::Kallglot | Producer::Apiera => [&both[1..], &both[..1], &both[..1]],
    };
    let mut at_ms = at_ms;
    for (step, signs) in signs.into_iter().enumerate() {
        world.until(at_ms).await;
        let now = world.now_ms();
        let mut state = world.state();
        state.secrets.insert(name.clone(), stored(producer, &both));
        state.signing.insert(producer, signs.to_vec());
        at_ms += state.rng.i64(5_000..90_000);
        state.count(Kind::Rotated, producer.source());
        state.tell(now, &format!("{} rotates, step {step}", producer.source()));
    }
    // Long after the last delivery with the old one.
    world.until(at_ms + 600_000).await;
    world.state().secrets.insert(name, stored(producer, &both[..1]));
}
