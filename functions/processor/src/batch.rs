//! An SQS batch: which records run beside each other, which alone, and what the queue is told.
//!
//! Each record of the standard queue is a lane of its own; the records of one FIFO group are one
//! lane, in order, and stop at the first that does not end. Lanes run beside each other. An event
//! whose last run never came back runs alone, after the others: what killed that run may kill again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::future::join_all;
use shared::inbox::{Claim, Claiming};
use shared::key::EventKey;
use shared::limits::{COMMIT_BUDGET, CONTROL_FRESH, HANDLER_TIMEOUT, RECEIVES_KEPT};
use shared::metrics::{Metric, Under};
use shared::queue::Pointer;
use shared::source::{Ordering, Profile};
use shared::time::Timestamp;

use crate::Processor;
use crate::run::Disposal;

/// A message that could not be claimed because DynamoDB did not answer comes back after this.
const CLAIM_RETRY: Duration = Duration::from_secs(30);
/// A message that did not fit into this invocation comes back after this.
const NEXT_INVOCATION: Duration = Duration::from_secs(1);

/// A batch that cannot be answered record by record: all of it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record without a message id cannot be reported on its own")]
pub struct BatchError;

#[derive(Debug)]
struct Record {
    message_id: String,
    receipt_handle: String,
    ordering: Ordering,
    group: Option<String>,
    receives: u32,
    key: Option<EventKey>,
}

type Lane = VecDeque<Record>;

/// A claimed event that has to run alone, and the records of its group behind it.
struct Alone<'s> {
    profile: &'s Profile,
    record: Record,
    claim: Box<Claim>,
    rest: Lane,
}

/// What became of a lane.
#[derive(Default)]
struct Ended<'s> {
    disposed: Vec<(Record, Disposal)>,
    alone: Option<Alone<'s>>,
}

/// What the first steps with a record gave.
enum Started<'s> {
    Over(Disposal),
    Claimed(&'s Profile, Box<Claim>),
}

impl Processor {
    /// Processes a batch; the answer names the messages that come back.
    ///
    /// # Errors
    /// A record has no message id: nothing was done, and the whole batch comes back.
    pub async fn process(
        &self,
        event: SqsEvent,
        deadline: Timestamp,
    ) -> Result<SqsBatchResponse, BatchError> {
        let records: Option<Vec<Record>> = event.records.into_iter().map(Record::read).collect();
        let lanes = lanes(records.ok_or(BatchError)?);
        let mut disposed = vec![];
        let mut alone = VecDeque::new();
        let ended = join_all(lanes.into_iter().map(|lane| self.run_lane(lane, deadline))).await;
        for lane in ended {
            disposed.extend(lane.disposed);
            alone.extend(lane.alone);
        }
        while let Some(next) = alone.pop_front() {
            let lane = Box::pin(self.run_alone(next, deadline)).await;
            disposed.extend(lane.disposed);
            alone.extend(lane.alone);
        }
        Ok(self.answer(&disposed).await)
    }

    async fn run_lane(&self, mut lane: Lane, deadline: Timestamp) -> Ended<'_> {
        let mut ended = Ended::default();
        while let Some(record) = lane.pop_front() {
            let disposal = match self.start(&record, deadline).await {
                Started::Over(disposal) => disposal,
                Started::Claimed(profile, claim) if claim.is_reclaimed() => {
                    ended.alone = Some(Alone { profile, record, claim, rest: lane });
                    return ended;
                }
                Started::Claimed(profile, claim) => Box::pin(self.run(profile, claim)).await,
            };
            ended.push(record, disposal, &mut lane);
        }
        ended
    }

    async fn run_alone<'s>(&'s self, alone: Alone<'s>, deadline: Timestamp) -> Ended<'s> {
        let Alone { profile, record, claim, mut rest } = alone;
        let disposal = if self.fits(deadline) {
            Box::pin(self.run(profile, claim)).await
        } else {
            self.put_off(profile, &claim).await
        };
        let mut ended = Ended::default();
        ended.push(record, disposal, &mut rest);
        let behind = self.run_lane(rest, deadline).await;
        ended.disposed.extend(behind.disposed);
        ended.alone = behind.alone;
        ended
    }

    /// Everything before the handler: is it ours, is it paused, is there time, may we have it?
    async fn start(&self, record: &Record, deadline: Timestamp) -> Started<'_> {
        let profile = record.key.as_ref().and_then(|key| self.sources.get(key.source.as_str()));
        let (Some(key), Some(profile)) = (&record.key, profile) else {
            tracing::error!(message_id = record.message_id, "message points to no source of ours");
            self.metrics.count(Metric::StrayMessage, Under::Inbox, self.clock.now());
            // It goes to the dead-letter queue, and soon: on the FIFO queue others wait behind it.
            return Started::Over(Disposal::Return(Some(NEXT_INVOCATION)));
        };
        match self.controls.of(&profile.name, self.clock.now()).await {
            Ok(control) if control.paused => {
                tracing::info!(%key, "source is paused; the row stays due");
                return Started::Over(Disposal::Delete);
            }
            Ok(_) => {}
            Err(fault) => {
                tracing::warn!(%key, %fault, "not known whether the source is paused");
                return Started::Over(record.come_back(CONTROL_FRESH));
            }
        }
        if !self.fits(deadline) {
            return Started::Over(record.come_back(NEXT_INVOCATION));
        }
        let now = self.clock.now();
        match self.inbox.claim(key, now).await {
            Ok(Claiming::Won(mut claim)) => {
                if record.is_worn() {
                    claim.wear_out();
                }
                Started::Claimed(profile, claim)
            }
            Ok(Claiming::Finished(status)) => {
                tracing::debug!(%key, %status, "already over");
                Started::Over(Disposal::Delete)
            }
            Ok(Claiming::Busy(until)) => Started::Over(match record.ordering {
                // Another copy, or the sweeper, brings it back.
                Ordering::None => Disposal::Delete,
                Ordering::PerType => Disposal::Return(Some(until.since(now) + NEXT_INVOCATION)),
            }),
            Ok(Claiming::Unknown) => {
                tracing::error!(%key, "message points to no row");
                self.metrics.count(Metric::StrayMessage, Under::Inbox, now);
                Started::Over(Disposal::Delete)
            }
            Err(fault) => {
                tracing::warn!(%key, %fault, "not claimed");
                Started::Over(record.come_back(CLAIM_RETRY))
            }
        }
    }

    /// A handler's whole time and its commit still fit into this invocation.
    fn fits(&self, deadline: Timestamp) -> bool {
        self.clock.now().plus(HANDLER_TIMEOUT + COMMIT_BUDGET) <= deadline
    }

    async fn answer(&self, disposed: &[(Record, Disposal)]) -> SqsBatchResponse {
        let returned = disposed.iter().filter_map(|(record, disposal)| match disposal {
            Disposal::Delete => None,
            Disposal::Return(after) => Some((record, *after)),
        });
        let mut response = SqsBatchResponse::default();
        let mut waits = vec![];
        for (record, after) in returned {
            response.add_failure(record.message_id.clone());
            waits.extend(after.map(|after| async move {
                let handle = &record.receipt_handle;
                if let Err(fault) = self.queues.come_back(handle, record.ordering, after).await {
                    tracing::warn!(%fault, "message comes back when its visibility timeout ends");
                }
            }));
        }
        join_all(waits).await;
        response
    }
}

impl Ended<'_> {
    /// Notes what became of a record; of a FIFO group, what is behind one that comes back comes back
    /// untouched, at the same time.
    fn push(&mut self, record: Record, disposal: Disposal, behind: &mut Lane) {
        self.disposed.push((record, disposal));
        if matches!(disposal, Disposal::Return(_)) {
            self.disposed.extend(behind.drain(..).map(|record| (record, disposal)));
        }
    }
}

impl Record {
    /// Nothing for a record without a message id.
    fn read(message: SqsMessage) -> Option<Self> {
        let fifo = message.event_source_arn.is_some_and(|arn| arn.ends_with(".fifo"));
        let mut attributes = message.attributes;
        let receives = attributes.remove("ApproximateReceiveCount");
        Some(Self {
            message_id: message.message_id.filter(|id| !id.is_empty())?,
            receipt_handle: message.receipt_handle.unwrap_or_default(),
            ordering: if fifo { Ordering::PerType } else { Ordering::None },
            group: attributes.remove("MessageGroupId").filter(|_| fifo),
            receives: receives.and_then(|count| count.parse().ok()).unwrap_or(1),
            key: message.body.and_then(|body| Pointer::parse(&body).ok()),
        })
    }

    /// What becomes of it when nothing could be done. The row stays due, also without a message.
    fn come_back(&self, after: Duration) -> Disposal {
        if self.is_worn() { Disposal::Delete } else { Disposal::Return(Some(after)) }
    }

    /// It is on its way to the dead-letter queue. On the FIFO queue it holds a place, and stays.
    fn is_worn(&self) -> bool {
        self.ordering == Ordering::None && self.receives >= RECEIVES_KEPT
    }
}

fn lanes(records: Vec<Record>) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = vec![];
    let mut by_group: HashMap<String, usize> = HashMap::new();
    for record in records {
        match &record.group {
            None => lanes.push(Lane::from([record])),
            Some(group) => {
                let lane = *by_group.entry(group.clone()).or_insert_with(|| {
                    lanes.push(Lane::new());
                    lanes.len() - 1
                });
                lanes[lane].push_back(record);
            }
        }
    }
    lanes
}
