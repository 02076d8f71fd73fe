//! One sweep: read the shards, send what is due, look after bodies, publish the gauges.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use shared::fault::Fault;
use shared::inbox::decide::needs_renewal;
use shared::inbox::{DueRow, ErrorKind, Inbox, Pushed, Row};
use shared::key::SourceName;
use shared::limits::{BODY_RENEW_BEFORE, BODY_RETENTION, QUEUE_DEPTH_MAX, SWEEP_SENDS_MIN};
use shared::metrics::{Metric, Under};
use shared::queue::{Pointer, SENDS_PER_BATCH, SendFault};
use shared::source::{Ordering, Profile};
use shared::time::Timestamp;

use crate::Sweeper;
use crate::shard::{self, Shard};

/// A sweep stops sending this long before its invocation ends.
const MARGIN: Duration = Duration::from_secs(5);
/// The bodies of paused sources are looked after by the sweeps of one minute of the day. A body has
/// 30 days left when that becomes necessary.
const PAUSED_VISIT_EVERY_S: i64 = 86_400;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events sent again.
    pub sent: usize,
    /// Events ended because all their attempts were used up.
    pub given_up: usize,
    /// Bodies renewed.
    pub renewed: usize,
}

/// A sweep that did not get to everything. What it did stays done; the next one goes on.
#[derive(Debug, thiserror::Error)]
#[error("sweep incomplete: {faults} shards or rows could not be looked at, first: {first}")]
pub struct SweepError {
    faults: usize,
    first: Fault,
}

/// How many sends are left, per queue and per source.
struct Budget {
    standard: usize,
    fifo: usize,
    sent: HashMap<SourceName, usize>,
}

impl Sweeper {
    /// Sweeps once, until `deadline` at the latest.
    ///
    /// # Errors
    /// Something could not be looked at.
    pub async fn sweep(&self, deadline: Timestamp) -> Result<Report, SweepError> {
        let now = self.clock.now();
        let mut run = Run { sweeper: self, now, report: Report::default(), faults: vec![] };
        let until = deadline.minus(MARGIN);
        let mut shards = vec![];
        for profile in self.sources.iter() {
            shards.extend(run.unfinished(profile, until).await);
            run.failed(profile, until).await;
        }
        let mut budget = self.budget().await;
        run.send_rounds(&mut shards, &mut budget, until).await;
        run.publish(&budget).await;
        let Run { report, mut faults, .. } = run;
        tracing::info!(
            sent = report.sent,
            given_up = report.given_up,
            renewed = report.renewed,
            faults = faults.len(),
            "sweep"
        );
        if faults.is_empty() {
            self.metrics.count(Metric::SweepSucceeded, Under::Inbox, self.clock.now());
            return Ok(report);
        }
        Err(SweepError { faults: faults.len(), first: faults.remove(0) })
    }

    /// A sweeper that multiplies a backlog never lets it drain: it sends only into short queues.
    async fn budget(&self) -> Budget {
        let room = async |ordering| match self.queues.depth(ordering).await {
            Ok(depth) => QUEUE_DEPTH_MAX.saturating_sub(depth),
            Err(fault) => {
                tracing::warn!(%fault, "depth of the queue is not known; sending little");
                0
            }
        };
        Budget {
            standard: room(Ordering::None).await,
            fifo: room(Ordering::PerType).await,
            sent: HashMap::new(),
        }
    }
}

/// One sweep in progress.
struct Run<'s> {
    sweeper: &'s Sweeper,
    now: Timestamp,
    report: Report,
    faults: Vec<Fault>,
}

impl<'s> Run<'s> {
    /// Reads a source's shards and publishes what they hold. Gives those that may be sent.
    async fn unfinished(&mut self, profile: &'s Profile, until: Timestamp) -> Vec<Shard<'s>> {
        let inbox = &self.sweeper.inbox;
        let names: Vec<String> = Inbox::due_shards(&profile.name).collect();
        let read = names.iter().map(|name| shard::read(inbox, profile, name, self.now));
        let mut shards = vec![];
        for read in join_all(read).await {
            shards.extend(self.noted(read));
        }
        if shards.len() == names.len() {
            self.gauge(profile, &shards);
        }
        let control = inbox.control(&profile.name).await;
        // Without an answer the source may be paused: the next sweep looks again.
        let Some(control) = self.noted(control) else { return vec![] };
        if control.may_send(self.now) {
            return shards;
        }
        if control.paused && self.now.secs() % PAUSED_VISIT_EVERY_S < 60 {
            self.look_after_paused(&names, until).await;
        }
        vec![]
    }

    fn gauge(&self, profile: &Profile, shards: &[Shard<'_>]) {
        let count: usize = shards.iter().map(|shard| shard.count).sum();
        let oldest = shards.iter().filter_map(|shard| shard.oldest).min();
        let age = oldest.map_or(0, |oldest| self.now.since(oldest).as_secs());
        let capped = shards.iter().any(|shard| shard.capped);
        if capped {
            tracing::warn!(source = %profile.name, count, "gauges are a lower bound");
        }
        #[expect(clippy::cast_precision_loss, reason = "counts and seconds far below 2^52")]
        let values = [
            (Metric::Unfinished, count as f64),
            (Metric::OldestUnfinishedAge, age as f64),
            (Metric::GaugesCapped, f64::from(u8::from(capped))),
        ];
        self.sweeper.metrics.emit(Under::Source(&profile.name), &values, self.now);
    }

    /// Counts a source's failed rows, and visits those whose body may need it.
    async fn failed(&mut self, profile: &Profile, until: Timestamp) {
        let inbox = &self.sweeper.inbox;
        let name = Inbox::failed_shard(&profile.name);
        let read = shard::read(inbox, profile, &name, self.now).await;
        let Some(shard) = self.noted(read) else { return };
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let count = [(Metric::FailedRows, shard.count as f64)];
        self.sweeper.metrics.emit(Under::Source(&profile.name), &count, self.now);
        for seen in shard.due {
            if self.sweeper.clock.now() >= until {
                tracing::warn!("no time left; the next sweep visits the rest");
                return;
            }
            let row = self.noted(inbox.row(&seen.key).await).flatten();
            let Some(mut row) = row.filter(|row| row.error_kind.is_some()) else { continue };
            if row.error_kind != Some(ErrorKind::Unusable) && !self.renew(&mut row).await {
                continue;
            }
            let visited = inbox.visited(&row, self.now).await;
            self.noted(visited);
        }
    }

    /// Bodies must outlive a pause, however long, and however many there are.
    async fn look_after_paused(&mut self, shards: &[String], until: Timestamp) {
        let old = self.now.minus(BODY_RETENTION - BODY_RENEW_BEFORE);
        for name in shards {
            let mut from = None;
            loop {
                let page = self.sweeper.inbox.page(name, from).await;
                let Some(page) = self.noted(page) else { break };
                for seen in page.rows.iter().filter(|seen| seen.received_at <= old) {
                    if self.sweeper.clock.now() >= until {
                        tracing::warn!("no time left; bodies of a paused source wait a day");
                        return;
                    }
                    let row = self.sweeper.inbox.row(&seen.key).await;
                    if let Some(mut row) = self.noted(row).flatten() {
                        self.renew(&mut row).await;
                    }
                }
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
    }

    /// `false`: it was needed and could not be done.
    async fn renew(&mut self, row: &mut Row) -> bool {
        if !needs_renewal(&row.body, self.now) {
            return true;
        }
        let renewed = self.sweeper.inbox.renew_body(row, self.now).await;
        let renewed = self.noted(renewed).is_some();
        self.report.renewed += usize::from(renewed);
        renewed
    }

    /// Round after round, a few from each shard, until all is sent or the budget is spent.
    async fn send_rounds(
        &mut self,
        shards: &mut [Shard<'_>],
        budget: &mut Budget,
        until: Timestamp,
    ) {
        loop {
            let mut moved = false;
            for shard in &mut *shards {
                let allowed = budget.left(shard.profile).min(SENDS_PER_BATCH);
                let rows: Vec<_> = (0..allowed).map_while(|_| shard.due.pop_front()).collect();
                if rows.is_empty() {
                    continue;
                }
                if self.sweeper.clock.now() >= until {
                    tracing::warn!("no time left; the rest is for the next sweep");
                    return;
                }
                moved = true;
                let sent = self.send(shard.profile, &rows).await;
                budget.spend(shard.profile, sent);
            }
            if !moved {
                return;
            }
        }
    }

    /// Pushes rows forward and sends those that were still due.
    async fn send(&mut self, profile: &Profile, rows: &[DueRow]) -> usize {
        let Sweeper { inbox, queues, .. } = self.sweeper;
        let now = self.sweeper.clock.now();
        let pushes = rows.iter().map(|row| inbox.push_due(row, profile, now));
        let mut pointers = vec![];
        for pushed in join_all(pushes).await {
            // A row that a transaction holds is in somebody's hands: nothing that was missed.
            if matches!(pushed, Err(Fault::Conflict { .. })) {
                continue;
            }
            match self.noted(pushed) {
                Some(Pushed::Send(mut row)) => {
                    self.renew(&mut row).await;
                    let Row { key, event_type, .. } = *row;
                    pointers.push(Pointer { key, event_type });
                }
                Some(Pushed::UsedUp(row)) => self.give_up(profile, &row, now).await,
                Some(Pushed::No) | None => {}
            }
        }
        if pointers.is_empty() {
            return 0;
        }
        let answers = queues.send_batch(&pointers, profile.ordering).await;
        for (pointer, answer) in pointers.iter().zip(answers) {
            match answer {
                Ok(()) => self.report.sent += 1,
                Err(SendFault::Fault(fault)) => self.faults.push(fault),
                Err(SendFault::Invalid(code)) => {
                    tracing::error!(key = %pointer.key, code, "the queue calls the pointer invalid");
                    let under = Under::Source(&profile.name);
                    self.sweeper.metrics.count(Metric::Unsendable, under, now);
                    let parked = inbox.park_unsendable(&pointer.key, now).await;
                    if self.noted(parked) == Some(true) {
                        self.sweeper.metrics.count(Metric::Failed, under, now);
                    }
                }
            }
        }
        pointers.len()
    }

    async fn give_up(&mut self, profile: &Profile, row: &Row, now: Timestamp) {
        let given_up = self.sweeper.inbox.give_up(row, profile.ordering, now).await;
        if self.noted(given_up) == Some(true) {
            tracing::error!(key = %row.key, status = "failed", kind = "exhausted", "event failed");
            self.report.given_up += 1;
            self.sweeper.metrics.count(Metric::Failed, Under::Source(&profile.name), now);
        }
    }

    async fn publish(&mut self, budget: &Budget) {
        let Sweeper { inbox, metrics, .. } = self.sweeper;
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        for (source, sent) in &budget.sent {
            metrics.emit(Under::Source(source), &[(Metric::Swept, *sent as f64)], self.now);
        }
        // A gauge alone: a sweep that did its work is not to raise the alarm of one that did not.
        let size = inbox.size().await;
        let size = size.inspect_err(|fault| tracing::warn!(%fault, "size of the inbox not known"));
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        if let Ok(size) = size {
            metrics.emit(Under::Inbox, &[(Metric::InboxSize, size as f64)], self.now);
        }
    }

    fn noted<T>(&mut self, done: Result<T, Fault>) -> Option<T> {
        done.map_err(|fault| {
            tracing::error!(%fault, "sweep goes on without this");
            self.faults.push(fault);
        })
        .ok()
    }
}

impl Budget {
    /// What the source may still send: what its queue takes, or its own few at any depth.
    fn left(&mut self, profile: &Profile) -> usize {
        let sent = self.sent.get(&profile.name).copied().unwrap_or(0);
        let own = SWEEP_SENDS_MIN.saturating_sub(sent);
        (*self.queue(profile)).max(own)
    }

    fn spend(&mut self, profile: &Profile, sends: usize) {
        let queue = self.queue(profile);
        *queue = queue.saturating_sub(sends);
        *self.sent.entry(profile.name.clone()).or_default() += sends;
    }

    fn queue(&mut self, profile: &Profile) -> &mut usize {
        match profile.ordering {
            Ordering::None => &mut self.standard,
            Ordering::PerType => &mut self.fifo,
        }
    }
}
