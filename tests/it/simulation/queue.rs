//! An SQS that does whatever SQS does not promise not to do. A standard queue duplicates, delays
//! and reorders; a FIFO queue keeps the order of a group, and gives none of it while one is in
//! flight.

use std::collections::BTreeMap;

use shared::limits::{RECEIVES_MAX, RECEIVES_MAX_FIFO};

/// Messages are kept this long (the template's `MessageRetentionPeriod`).
const RETENTION_MS: i64 = 345_600_000;
/// Visibility timeout of both queues.
const VISIBILITY_MS: i64 = 360_000;
/// For how long a deduplication id is remembered.
const DEDUPLICATION_MS: i64 = 300_000;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) body: String,
    pub(crate) group: Option<String>,
    pub(crate) receives: u32,
    pub(crate) handle: u64,
    sent_ms: i64,
    visible_ms: i64,
}

/// One queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    fifo: bool,
    messages: Vec<Message>,
    seen: BTreeMap<String, i64>,
    next: u64,
    pub(crate) dead: Vec<String>,
}

/// Chances of what may happen when messages are taken out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Odds {
    pub(crate) out_of_order: f64,
    pub(crate) twice: f64,
}

/// A batch, and what happened to it.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) messages: Vec<Message>,
    pub(crate) reordered: bool,
    pub(crate) doubled: u64,
}

impl Queue {
    pub(crate) fn new(fifo: bool) -> Self {
        Self { fifo, ..Self::default() }
    }

    /// Takes a message; `false`: it is a repetition that FIFO swallows.
    pub(crate) fn send(
        &mut self,
        body: &str,
        group: Option<&str>,
        deduplication: Option<&str>,
        now_ms: i64,
        delay_ms: i64,
    ) -> bool {
        self.seen.retain(|_, at| now_ms - *at < DEDUPLICATION_MS);
        if let Some(id) = deduplication
            && self.seen.insert(id.to_owned(), now_ms).is_some()
        {
            return false;
        }
        self.next += 1;
        self.messages.push(Message {
            id: self.next,
            body: body.to_owned(),
            group: group.map(str::to_owned),
            receives: 0,
            handle: 0,
            sent_ms: now_ms,
            visible_ms: now_ms + delay_ms,
        });
        true
    }

    /// Takes up to ten messages out, hidden for the visibility timeout.
    pub(crate) fn receive(&mut self, now_ms: i64, odds: Odds, rng: &mut fastrand::Rng) -> Received {
        self.messages.retain(|message| now_ms - message.sent_ms < RETENTION_MS);
        let mut received = Received::default();
        let mut blocked: Vec<Option<String>> = vec![];
        let mut candidates = vec![];
        for (index, message) in self.messages.iter().enumerate() {
            if message.visible_ms > now_ms {
                blocked.extend(self.fifo.then(|| message.group.clone()));
            } else if !(self.fifo && blocked.contains(&message.group)) {
                candidates.push(index);
            }
        }
        // A group that has one in flight gives none, wherever that one stands.
        candidates.retain(|index| !(self.fifo && blocked.contains(&self.messages[*index].group)));
        if !self.fifo && candidates.len() > 1 && rng.f64() < odds.out_of_order {
            rng.shuffle(&mut candidates);
            received.reordered = true;
        }
        candidates.truncate(rng.usize(1..=10));
        for index in candidates {
            self.next += 1;
            let message = &mut self.messages[index];
            message.receives += 1;
            message.handle = self.next;
            let twice = !self.fifo && rng.f64() < odds.twice;
            message.visible_ms = now_ms + if twice { 1 } else { VISIBILITY_MS };
            received.doubled += u64::from(twice);
            received.messages.push(message.clone());
        }
        self.bury();
        received
    }

    fn bury(&mut self) {
        let most = if self.fifo { RECEIVES_MAX_FIFO } else { RECEIVES_MAX };
        let (dead, live) =
            std::mem::take(&mut self.messages).into_iter().partition(|m| m.receives > most);
        self.messages = live;
        let dead: Vec<Message> = dead;
        self.dead.extend(dead.into_iter().map(|message| message.body));
    }

    /// Removes a received message. A FIFO queue wants the newest handle, before it runs out.
    pub(crate) fn delete(&mut self, id: u64, handle: u64, now_ms: i64) {
        let held = |m: &Message| m.handle == handle && m.visible_ms > now_ms;
        let fifo = self.fifo;
        self.messages.retain(|message| message.id != id || (fifo && !held(message)));
    }

    /// Lets a message come back after this; only its newest handle can.
    pub(crate) fn give_back(&mut self, handle: u64, now_ms: i64, after_ms: i64) {
        if let Some(message) = self.messages.iter_mut().find(|m| m.handle == handle) {
            message.visible_ms = now_ms + after_ms;
        }
    }

    /// When there is something to receive, as far as the queue itself knows.
    pub(crate) fn next_visible(&self) -> Option<i64> {
        self.messages.iter().map(|message| message.visible_ms).min()
    }

    pub(crate) fn purge(&mut self) -> usize {
        std::mem::take(&mut self.messages).len()
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = String> {
        self.messages.iter().map(|m| format!("{} (visible at {} ms)", m.body, m.visible_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &mut Queue, now_ms: i64) -> Vec<Message> {
        let mut rng = fastrand::Rng::with_seed(3);
        (0..10).flat_map(|_| queue.receive(now_ms, Odds::default(), &mut rng).messages).collect()
    }

    #[test]
    fn a_group_waits_behind_one_in_flight_and_keeps_its_order() {
        let mut queue = Queue::new(true);
        for (body, group) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
            assert!(queue.send(body, Some(group), Some(body), 0, 0));
        }
        assert!(!queue.send("a1", Some("a"), Some("a1"), 1, 0), "swallowed");
        let mut rng = fastrand::Rng::with_seed(1);
        let mut first = vec![];
        while first.len() < 3 {
            let more = queue.receive(0, Odds::default(), &mut rng).messages;
            if more.is_empty() {
                break;
            }
            first.extend(more);
        }
        let a1 = first.iter().find(|message| message.body == "a1").unwrap();
        queue.give_back(a1.handle, 0, 5_000);
        assert!(take(&mut queue, 4_999).iter().all(|message| message.body == "b1"));
        let back: Vec<_> = take(&mut queue, 400_000).into_iter().map(|m| m.body).collect();
        let of_a: Vec<_> = back.iter().filter(|body| body.starts_with('a')).collect();
        assert_eq!(of_a.first().map(|body| body.as_str()), Some("a1"));
    }

    #[test]
    fn a_message_comes_back_until_it_is_deleted_or_too_old() {
        let mut queue = Queue::new(false);
        queue.send("m", None, None, 0, 0);
        assert_eq!(take(&mut queue, 0).len(), 1);
        assert_eq!(take(&mut queue, VISIBILITY_MS - 1).len(), 0);
        let again = take(&mut queue, VISIBILITY_MS);
        assert_eq!(again[0].receives, 2);
        queue.delete(again[0].id, again[0].handle, VISIBILITY_MS);
        assert_eq!(queue.len(), 0);
        queue.send("m", None, None, 0, 0);
        assert_eq!(take(&mut queue, RETENTION_MS).len(), 0);
    }
}
