//! The functions' processes, as Lambda keeps them: so many environments of each, a new process
//! where one has ended, one event at a time for each. And SIGKILL.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench::runtime_api::{Answer, Environment, InvokeError, Launch};
use serde_json::Value;
use shared::limits::{API_TIMEOUT, INGRESS_TIMEOUT, PROCESSOR_TIMEOUT, SWEEPER_TIMEOUT};
use tokio::sync::mpsc;

use super::chaos::Chaos;
use super::journal::Journal;
use super::tally::{Doing, Stage, Tally, shown};

/// A deployed function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Function {
    Ingress,
    Processor,
    Sweeper,
}

/// One process, from its start to its end.
pub(crate) struct Process {
    /// Also its access key, by which the proxy knows it.
    pub(crate) name: String,
    pub(crate) function: Function,
    environment: Environment,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    doing: Doing,
    call: Option<(&'static str, Stage)>,
    killed: bool,
}

/// All processes.
pub(crate) struct Fleet {
    launches: HashMap<Function, Launch>,
    idle: HashMap<Function, Idle>,
    living: Mutex<HashMap<String, Arc<Process>>>,
    started: Mutex<u32>,
    tally: Mutex<Tally>,
    chaos: Arc<Chaos>,
    journal: Arc<Journal>,
}

/// Those that wait for an event.
struct Idle {
    put: mpsc::UnboundedSender<Arc<Process>>,
    take: tokio::sync::Mutex<mpsc::UnboundedReceiver<Arc<Process>>>,
}

impl Function {
    pub(crate) const ALL: [Self; 3] = [Self::Ingress, Self::Processor, Self::Sweeper];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Processor => "processor",
            Self::Sweeper => "sweeper",
        }
    }

    const fn binary(self) -> &'static str {
        match self {
            Self::Ingress => env!("CARGO_BIN_EXE_ingress-function"),
            Self::Processor => env!("CARGO_BIN_EXE_processor-function"),
            Self::Sweeper => env!("CARGO_BIN_EXE_sweeper-function"),
        }
    }

    /// How many processes there are at once.
    const fn environments(self) -> usize {
        match self {
            Self::Ingress => 4,
            Self::Processor => super::BATCHES + super::ORDERED_BATCHES,
            Self::Sweeper => 1,
        }
    }

    const fn timeout(self) -> Duration {
        match self {
            Self::Ingress => INGRESS_TIMEOUT,
            Self::Processor => PROCESSOR_TIMEOUT,
            Self::Sweeper => SWEEPER_TIMEOUT,
        }
    }

    /// How likely a process is killed at one stage of this call.
    fn danger(self, doing: Doing, step: &str) -> f64 {
        match (self, doing, step) {
            // Each kill of a run holds up its group for the rest of the lease.
            (_, Doing::Ordered, _) => 0.003,
            // The only steps of a sweep that change anything; most sweeps have none.
            (Self::Sweeper, _, "push" | "send batch") => 0.2,
            (Self::Ingress, _, _) => 0.015,
            (Self::Processor | Self::Sweeper, _, _) => 0.006,
        }
    }
}

impl Process {
    /// Notes how far a call has come.
    pub(crate) fn reaches(&self, step: &'static str, stage: Stage) {
        self.state.lock().unwrap().call = Some((step, stage));
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.state.lock().unwrap().killed
    }

    fn begins(&self, doing: Doing) {
        let mut state = self.state.lock().unwrap();
        state.doing = doing;
        state.call = None;
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }
}

impl Fleet {
    /// Starts all processes; they live until the runtime ends.
    pub(crate) fn start(
        variables: &BTreeMap<&'static str, String>,
        lines: &bench::runtime_api::Lines,
        chaos: Arc<Chaos>,
        journal: Arc<Journal>,
    ) -> Arc<Self> {
        let launch = |function: Function| {
            let launch = Launch::new(function.name(), function.binary());
            let launch = variables.iter().fold(launch, |launch, (n, v)| launch.with(n, v.as_str()));
            (function, Launch { lines: Some(lines.clone()), ..launch })
        };
        let idle = |function| {
            let (put, take) = mpsc::unbounded_channel();
            (function, Idle { put, take: take.into() })
        };
        let fleet = Arc::new(Self {
            launches: Function::ALL.map(launch).into(),
            idle: Function::ALL.map(idle).into(),
            living: Mutex::default(),
            started: Mutex::default(),
            tally: Mutex::default(),
            chaos,
            journal,
        });
        for function in Function::ALL {
            for _ in 0..function.environments() {
                tokio::spawn(fleet.clone().keep(function));
            }
        }
        fleet
    }

    /// One environment: a process after the other.
    async fn keep(self: Arc<Self>, function: Function) {
        loop {
            let process = self.launch(function).await;
            self.living.lock().unwrap().insert(process.name.clone(), process.clone());
            if process.environment.idle().await.is_ok() {
                self.rests(&process);
            }
            let end = process.environment.end().await;
            self.living.lock().unwrap().remove(&process.name);
            if end.status.signal().is_none() {
                let what = format!("{} ended by itself: {end}", process.name);
                self.journal.note(&[], &what);
                self.tally.lock().unwrap().by_themselves.push(what);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }

    async fn launch(&self, function: Function) -> Arc<Process> {
        let number = {
            let mut started = self.started.lock().unwrap();
            *started += 1;
            *started
        };
        let name = format!("{}-{number}", function.name());
        let launch = self.launches[&function].clone().with("AWS_ACCESS_KEY_ID", name.as_str());
        let environment = Environment::start(&launch).await.unwrap();
        let state = State { doing: Doing::Init, call: None, killed: false };
        Arc::new(Process { name, function, environment, state: Mutex::new(state) })
    }

    fn rests(&self, process: &Arc<Process>) {
        process.begins(Doing::Idle);
        // The receiver lives as long as the fleet does.
        let _ = self.idle[&process.function].put.send(process.clone());
    }

    /// A living process that has nothing to do.
    async fn idle(&self, function: Function) -> Arc<Process> {
        let mut waiting = self.idle[&function].take.lock().await;
        loop {
            let process = waiting.recv().await.unwrap();
            if !process.is_killed() {
                return process;
            }
        }
    }

    /// Invokes a function, as Lambda does: an invocation whose process ends is lost.
    pub(crate) async fn invoke(
        &self,
        function: Function,
        doing: Doing,
        event: Value,
    ) -> Result<Value, String> {
        // No more of a function run at once than there are environments.
        let idle = tokio::time::timeout(API_TIMEOUT, self.idle(function));
        let process = idle.await.map_err(|_| format!("no {} is free", function.name()))?;
        process.begins(doing);
        let answer = process.environment.invoke(event.to_string(), function.timeout()).await;
        match answer {
            Ok(Answer::Response(bytes)) => {
                self.rests(&process);
                serde_json::from_slice(&bytes).map_err(|error| error.to_string())
            }
            Ok(Answer::Error(bytes)) => {
                self.rests(&process);
                Err(String::from_utf8_lossy(&bytes).into_owned())
            }
            Err(InvokeError::Died(end)) => Err(end.to_string()),
            Err(error @ InvokeError::TimedOut(_)) => {
                self.tally.lock().unwrap().timeouts += 1;
                self.journal.note(&[], &format!("{} timed out", process.name));
                Err(error.to_string())
            }
        }
    }

    /// The process that calls AWS with this access key.
    pub(crate) fn process(&self, access_key: &str) -> Option<Arc<Process>> {
        self.living.lock().unwrap().get(access_key).cloned()
    }

    /// Kills a process at this stage of its call, now and then.
    pub(crate) async fn endangers(&self, process: &Arc<Process>) {
        let State { doing, call, .. } = process.state();
        let step = call.map_or("", |(step, _)| step);
        if self.chaos.strikes(process.function.danger(doing, step)) {
            self.kill(process).await;
        }
    }

    /// Kills one process after the other at moments of nobody's choosing, `every` on average, until
    /// it is calm.
    pub(crate) async fn kill_at_random(&self, every: Duration) {
        while !self.chaos.is_over() {
            let pause = every.mul_f64(self.chaos.draw(|rng| -(1.0 - rng.f64()).ln()));
            tokio::time::sleep(pause).await;
            if let Some(process) = self.victim() {
                self.kill(&process).await;
            }
        }
    }

    /// Any living process: mostly one that is at work, seldom one of the FIFO queue.
    fn victim(&self) -> Option<Arc<Process>> {
        let living: Vec<_> = self.living.lock().unwrap().values().cloned().collect();
        let weight = |process: &Arc<Process>| match process.state().doing {
            _ if process.is_killed() => 0.0,
            Doing::Init => 0.3,
            Doing::Idle => 0.05,
            Doing::Ordered => 0.1,
            Doing::Delivery | Doing::Batch => 1.0,
            Doing::Sweep => 2.0,
        };
        let sum: f64 = living.iter().map(weight).sum();
        let mut at = self.chaos.draw(fastrand::Rng::f64) * sum;
        living
            .iter()
            .find(|process| {
                at -= weight(process);
                at < 0.0
            })
            .cloned()
    }

    /// SIGKILL; when this returns the process is gone.
    pub(crate) async fn kill(&self, process: &Arc<Process>) {
        let place = {
            let mut state = process.state.lock().unwrap();
            if state.killed || self.chaos.is_over() {
                return;
            }
            state.killed = true;
            (process.function, state.doing, state.call)
        };
        self.journal.note(&[], &format!("{} killed, {}", process.name, shown(place)));
        *self.tally.lock().unwrap().kills.entry(place).or_default() += 1;
        process.environment.kill().await;
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally.lock().unwrap().clone()
    }
}
