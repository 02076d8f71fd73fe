//! One function on the bed: what its start, its first and its later invocations cost.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use shared::time::Clock;

use crate::bed::Bed;
use crate::delivery::{Deliveries, batch};
use crate::runtime_api::{Answer, End, Environment, InvokeError, Launch};
use crate::samples::Samples;
use crate::usage;

/// An invocation is over long before, or something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);
/// Events in one batch of the processor.
const BATCH: usize = 10;

/// A measurement that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The process cannot be started or asked.
    #[error("cannot measure {0}")]
    System(String, #[source] io::Error),
    /// It ended by itself.
    #[error("{0}")]
    Ended(String, #[source] End),
    /// It gave no answer.
    #[error("{0} gave no answer")]
    Unanswered(String, #[source] InvokeError),
    /// It answered, and not as it should: what was measured is not the work.
    #[error("{function} answered {answer}")]
    Wrong {
        /// The function.
        function: String,
        /// What it said.
        answer: String,
    },
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Processes started.
    pub starts: usize,
    /// Samples of warm work in one process.
    pub blocks: usize,
    /// Events in one sample.
    pub events: usize,
}

/// What one function costs. Times are CPU of the whole process, in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Costs {
    /// From exec to the first request for an event.
    pub init: Samples,
    /// The first event.
    pub first: Samples,
    /// Both.
    pub cold: Samples,
    /// One event of the many that follow.
    pub warm: Samples,
    /// The most memory resident, in bytes.
    pub memory: Samples,
}

/// A function that runs on the bed.
pub(crate) struct Running<'b> {
    name: String,
    environment: Environment,
    bed: &'b Bed,
}

impl<'b> Running<'b> {
    pub(crate) async fn start(bed: &'b Bed, launch: &Launch) -> Result<Self, MeasureError> {
        let name = launch.function.clone();
        let environment = Environment::start(launch)
            .await
            .map_err(|error| MeasureError::System(name.clone(), error))?;
        let running = Self { name, environment, bed };
        running.idle().await?;
        Ok(running)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.environment.pid()
    }

    async fn idle(&self) -> Result<(), MeasureError> {
        let idle = tokio::time::timeout(PATIENCE, self.environment.idle()).await;
        match idle {
            Ok(Ok(())) => Ok(()),
            Ok(Err(end)) => Err(MeasureError::Ended(self.name.clone(), end)),
            Err(_) => Err(self.wrong("nothing: it never asked for an event")),
        }
    }

    /// CPU so far, in microseconds.
    pub(crate) fn cpu(&self) -> Result<f64, MeasureError> {
        let cpu = usage::cpu(self.environment.pid());
        cpu.map(|cpu| cpu.as_secs_f64() * 1e6)
            .map_err(|e| MeasureError::System(self.name.clone(), e))
    }

    #[expect(clippy::cast_precision_loss, reason = "megabytes")]
    fn memory(&self) -> Result<f64, MeasureError> {
        let peak = usage::peak_memory(self.environment.pid());
        peak.map(|bytes| bytes as f64).map_err(|e| MeasureError::System(self.name.clone(), e))
    }

    /// One invocation, with all that it does before it asks for the next.
    async fn invoke(&self, event: String) -> Result<Value, MeasureError> {
        let answer = self.answer(event).await?;
        self.idle().await?;
        Ok(answer)
    }

    /// One invocation, until it answers.
    pub(crate) async fn answer(&self, event: String) -> Result<Value, MeasureError> {
        let answer = self.environment.invoke(event, PATIENCE).await;
        match answer.map_err(|e| MeasureError::Unanswered(self.name.clone(), e))? {
            Answer::Response(body) => Ok(serde_json::from_slice(&body).unwrap_or_default()),
            Answer::Error(body) => Err(self.wrong(&String::from_utf8_lossy(&body))),
        }
    }

    /// A delivery that must be answered 200.
    pub(crate) async fn deliver(&self, event: String) -> Result<(), MeasureError> {
        let answer = self.invoke(event).await?;
        if answer["statusCode"] == 200 { Ok(()) } else { Err(self.wrong(&answer.to_string())) }
    }

    /// A batch that must be done in full.
    async fn process(&self, ids: &[String]) -> Result<(), MeasureError> {
        let arn = &self.bed.cloud.resources.queue_arn;
        let answer = self.invoke(batch(ids, arn)).await?;
        let all = answer["batchItemFailures"].as_array().is_some_and(Vec::is_empty);
        if all { Ok(()) } else { Err(self.wrong(&answer.to_string())) }
    }

    fn wrong(&self, answer: &str) -> MeasureError {
        MeasureError::Wrong { function: self.name.clone(), answer: answer.to_owned() }
    }
}

/// A function, and where it runs.
pub struct Subject<'b> {
    /// Its services.
    pub bed: &'b Bed,
    /// How it starts.
    pub launch: Launch,
}

/// Functions that take deliveries: ours, and others to compare with. They take turns, in an order that
/// changes each time: what else the machine does weighs on all of them, and none always comes behind
/// the one that leaves the least in the CPU's caches.
///
/// # Errors
/// One of them did not do its work.
pub async fn receivers(
    subjects: &[Subject<'_>],
    body: usize,
    effort: Effort,
) -> Result<Vec<Costs>, MeasureError> {
    let clock = Clock::system();
    let mut deliveries = Deliveries::new(&format!("{:08x}", fastrand::u32(..)));
    let mut next = || deliveries.next(body, clock.now()).event();
    let mut all = vec![Costs::default(); subjects.len()];
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for _ in 0..effort.starts {
        fastrand::shuffle(&mut order);
        for &turn in &order {
            let (Subject { bed, launch }, costs) = (&subjects[turn], &mut all[turn]);
            let running = Running::start(bed, launch).await?;
            let init = running.cpu()?;
            running.deliver(next()).await?;
            costs.started(init, running.cpu()?);
            costs.memory.push(running.memory()?);
        }
    }
    if effort.blocks == 0 {
        return Ok(all);
    }
    let mut running = vec![];
    for Subject { bed, launch } in subjects {
        running.push(Running::start(bed, launch).await?);
    }
    for block in 0..=effort.blocks {
        fastrand::shuffle(&mut order);
        for &turn in &order {
            let (running, costs) = (&running[turn], &mut all[turn]);
            let before = running.cpu()?;
            for _ in 0..effort.events {
                running.deliver(next()).await?;
            }
            // The first block is for caches, allocator and compiler to settle.
            if block > 0 {
                costs.warm.push(per(running.cpu()? - before, effort.events));
            }
        }
    }
    for (running, costs) in running.iter().zip(&mut all) {
        costs.memory.push(running.memory()?);
    }
    Ok(all)
}

/// The processor with batches of ten; events are stored by `ingress` first.
///
/// # Errors
/// One of the two did not do its work.
pub async fn processor(
    subject: &Subject<'_>,
    ingress: &Launch,
    body: usize,
    effort: Effort,
) -> Result<Costs, MeasureError> {
    let Subject { bed, launch } = subject;
    let mut costs = Costs::default();
    let mut backlog = Backlog::start(bed, ingress, body).await?;
    for _ in 0..effort.starts {
        let ids = backlog.next().await?;
        let running = Running::start(bed, launch).await?;
        let init = running.cpu()?;
        running.process(&ids).await?;
        costs.started(init, running.cpu()?);
        costs.memory.push(running.memory()?);
    }
    if effort.blocks == 0 {
        return Ok(costs);
    }
    let running = Running::start(bed, launch).await?;
    let batches = effort.events.div_ceil(BATCH);
    for block in 0..=effort.blocks {
        let mut spent = 0.0;
        for _ in 0..batches {
            let ids = backlog.next().await?;
            let before = running.cpu()?;
            running.process(&ids).await?;
            spent += running.cpu()? - before;
        }
        if block > 0 {
            costs.warm.push(per(spent, batches * BATCH));
        }
    }
    costs.memory.push(running.memory()?);
    Ok(costs)
}

/// Stores events for the processor.
struct Backlog<'b> {
    ingress: Running<'b>,
    deliveries: Deliveries,
    body: usize,
}

impl<'b> Backlog<'b> {
    async fn start(bed: &'b Bed, ingress: &Launch, body: usize) -> Result<Self, MeasureError> {
        let ingress = Running::start(bed, ingress).await?;
        let deliveries = Deliveries::new(&format!("{:08x}", fastrand::u32(..)));
        Ok(Self { ingress, deliveries, body })
    }

    /// The ids of a batch of new events.
    async fn next(&mut self) -> Result<Vec<String>, MeasureError> {
        let mut ids = vec![];
        for _ in 0..BATCH {
            let delivery = self.deliveries.next(self.body, Clock::system().now());
            self.ingress.deliver(delivery.event()).await?;
            ids.push(delivery.id);
        }
        Ok(ids)
    }
}

impl Costs {
    fn started(&mut self, init: f64, cold: f64) {
        self.init.push(init);
        self.first.push(cold - init);
        self.cold.push(cold);
    }
}

#[expect(clippy::cast_precision_loss, reason = "thousands of events")]
fn per(spent: f64, events: usize) -> f64 {
    spent / events as f64
}
