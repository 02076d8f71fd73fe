//! The redrive itself: ten rows at a time, written and then sent.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use shared::fault::Fault;
use shared::inbox::decide::needs_renewal;
use shared::inbox::{Controls, Inbox, LeftAlone, Redriven, Row, Status};
use shared::key::{EventKey, SourceName};
use shared::queue::{Pointer, Queues, SENDS_PER_BATCH, SendFault};
use shared::source::{Ordering, TypePattern};
use tokio::time::{MissedTickBehavior, interval};

use super::report::{Fate, Report};
use crate::choice::{Candidate, Seen};
use crate::console::Progress;
use crate::context::Context;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::place::Place;

/// Takes events back to `pending` and sends them.
pub(super) struct Redrive<'a> {
    context: &'a Context,
    inbox: Inbox,
    queues: Queues,
    controls: Controls,
    ignored: Option<&'a TypePattern>,
    orderings: BTreeMap<SourceName, Ordering>,
}

impl<'a> Redrive<'a> {
    /// Of failed events, or of ignored ones of this type.
    pub(super) fn new(
        context: &'a Context,
        place: &Place,
        ignored: Option<&'a TypePattern>,
    ) -> Self {
        let inbox = place.inbox();
        let sources = context.sources.iter();
        Self {
            context,
            queues: place.queues(),
            controls: Controls::new(inbox.clone()),
            inbox,
            ignored,
            orderings: sources.map(|profile| (profile.name.clone(), profile.ordering)).collect(),
        }
    }

    /// All of them, no faster than `rate` a second, until interrupted. What was written is sent
    /// before anything ends.
    pub(super) async fn all(
        &self,
        candidates: &[Candidate],
        rate: u32,
        interrupt: &Interrupt,
        mut progress: Progress,
        report: &mut Report,
    ) -> Result<(), Fault> {
        report.selected = candidates.len();
        let together = SENDS_PER_BATCH.min(usize::try_from(rate).unwrap_or(SENDS_PER_BATCH));
        let every = u32::try_from(together).unwrap_or(1);
        let mut ticks = interval(Duration::from_secs(1) * every / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let of_one_source = candidates.chunk_by(|a, b| a.key.source == b.key.source);
        for chunk in of_one_source.flat_map(|of_source| of_source.chunks(together)) {
            ticks.tick().await;
            if interrupt.happened() {
                report.interrupted = true;
                break;
            }
            let done = self.chunk(chunk, report).await;
            progress.step(u64::try_from(chunk.len()).unwrap_or(0));
            if done.is_err() {
                progress.clear();
                return done;
            }
        }
        progress.clear();
        Ok(())
    }

    /// Some events of one source. A fault of one does not keep the others from being sent.
    async fn chunk(&self, chunk: &[Candidate], report: &mut Report) -> Result<(), Fault> {
        let written = join_all(chunk.iter().map(|candidate| self.one(&candidate.key))).await;
        let (mut pointers, mut fault) = (vec![], None);
        for (candidate, written) in chunk.iter().zip(written) {
            match written {
                Ok(Ok(pointer)) => pointers.push(pointer),
                Ok(Err(fate)) => report.note(&candidate.key, fate),
                Err(first) => fault = fault.or(Some(first)),
            }
        }
        if !pointers.is_empty() {
            self.send(&pointers, report).await?;
        }
        fault.map_or(Ok(()), Err)
    }

    /// One event back to `pending`; or what else became of it.
    async fn one(&self, key: &EventKey) -> Result<Result<Pointer, Fate>, Fault> {
        let Some(mut row) = self.inbox.row(key).await? else { return Ok(Err(Fate::Missing)) };
        let now = self.context.now();
        if let Err(why) = LeftAlone::check(&row, self.ignored, now) {
            return Ok(Err(Fate::LeftAlone(why)));
        }
        if needs_renewal(&row.body, now) {
            self.inbox.renew_body(&mut row, now).await?;
        }
        Ok(match self.inbox.redrive(&row, now).await? {
            Redriven::Done => {
                let Row { key, event_type, .. } = row;
                Ok(Pointer { key, event_type })
            }
            Redriven::Moved(status) => Err(moved(status)),
        })
    }

    /// Sends what is `pending` now. What is not sent here, the sweeper sends.
    async fn send(&self, pointers: &[Pointer], report: &mut Report) -> Result<(), Fault> {
        let now = self.context.now();
        let Some(Pointer { key: EventKey { source, .. }, .. }) = pointers.first() else {
            return Ok(());
        };
        // A function that remembers a pause throws the message away.
        if !self.controls.of(source, now).await.is_ok_and(|control| control.may_send(now)) {
            for pointer in pointers {
                report.note(&pointer.key, Fate::Waits);
            }
            return Ok(());
        }
        let ordering = self.orderings.get(source).copied().unwrap_or(Ordering::None);
        let answers = self.queues.send_batch(pointers, ordering).await;
        for (pointer, answer) in pointers.iter().zip(answers) {
            let fate = match answer {
                Ok(()) => Fate::Sent,
                Err(SendFault::Fault(_)) => Fate::Waits,
                Err(SendFault::Invalid(code)) => {
                    self.inbox.park_unsendable(&pointer.key, now).await?;
                    Fate::Unsendable(code)
                }
            };
            report.note(&pointer.key, fate);
        }
        Ok(())
    }

    /// Those that would be run again; the others go into the report.
    pub(super) async fn would(
        &self,
        candidates: Vec<Candidate>,
        report: &mut Report,
    ) -> Result<Vec<Candidate>, Failure> {
        let mut would = vec![];
        for Candidate { key, .. } in candidates {
            match self.inbox.row(&key).await? {
                None => report.note(&key, Fate::Missing),
                Some(row) => match LeftAlone::check(&row, self.ignored, self.context.now()) {
                    Ok(()) => would.push(Candidate { key, seen: Some(Seen::of(&row)) }),
                    Err(why) => report.note(&key, Fate::LeftAlone(why)),
                },
            }
        }
        Ok(would)
    }
}

/// Somebody else was faster: a replay of the producer's, another redrive, or an operator's drop.
fn moved(status: Option<Status>) -> Fate {
    match status {
        None => Fate::Missing,
        Some(Status::Done) => Fate::LeftAlone(LeftAlone::Done),
        Some(Status::Dropped) => Fate::LeftAlone(LeftAlone::Dropped),
        Some(Status::Pending | Status::Processing) => Fate::LeftAlone(LeftAlone::Unfinished),
        // It ran and failed, or was ignored, while we looked: the same command takes it again.
        Some(Status::Failed | Status::Ignored) => Fate::Changed,
    }
}
