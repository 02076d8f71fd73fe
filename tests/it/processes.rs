//! The real functions as real processes: started as Lambda starts them, killed at random, and their
//! calls to AWS led through a proxy that refuses, loses and delays. Afterwards the tables are read,
//! and hold what the simulation's invariants say.
//!
//! In the order of a delivery: [`plan`] draws the events, [`senders`] deliver them by their
//! producers' rules, [`fleet`] keeps the processes, [`proxy`] is what they take for AWS, [`chaos`]
//! says what goes wrong, [`journal`] keeps what was seen, [`tally`] says who was killed where,
//! [`tables`] reads what is left, and [`check`] judges.
//!
//! Everything is as deployed but for two things. The queues' visibility timeout is short, so that
//! the messages of a dead process come back within this test: they come back while its lease still
//! holds, which is the harder case. And the producers deliver again three hundred times sooner than
//! their rules say. Leases, due dates and back-offs take their time: that is why this takes minutes.
//!
//! `cargo test -p tests --test it processes -- --ignored --nocapture` shows what was killed where.
//! Another seed: `PROCESSES_SEED=7`.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

mod chaos;
mod check;
mod fleet;
mod journal;
mod plan;
mod proxy;
mod senders;
mod tables;
mod tally;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use local::apiera::Options;
use local::cloud::Cloud;
use local::front::Front;
use local::mapping::Mapping;
use serde_json::json;
use shared::aws::CallBudget;
use shared::source::Sources;
use tokio::task::JoinSet;

use self::chaos::Chaos;
use self::check::{Checked, End, Violation};
use self::fleet::{Fleet, Function};
use self::journal::Journal;
use self::proxy::Proxy;
use self::senders::{Senders, Told};
use self::tables::Tables;
use self::tally::{Doing, shown};
use crate::simulation::producer::Verdict;

/// Batches of the standard queue and of the FIFO queue that are processed at once.
const BATCHES: usize = 4;
const ORDERED_BATCHES: usize = 2;
/// How long a received message is hidden.
const VISIBILITY_S: u32 = 12;
/// Within this time events are fired.
const FIRING: Duration = Duration::from_secs(100);
/// Until then processes are killed and calls meet faults: long enough for the sweeper to send again
/// what was left in the first seconds, and to die of it.
const STORM: Duration = Duration::from_secs(130);
/// How often a process is killed at a moment that no call decides.
const KILL_EVERY: Duration = Duration::from_millis(330);
const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// So long after that everything has come to rest: a row that died twice is due for the third time
/// four minutes later.
const REST: Duration = Duration::from_secs(400);
const KILLS_MIN: u32 = 500;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes and wants the machine for itself"]
async fn killed_processes_lose_nothing_and_double_nothing() {
    let seed = std::env::var("PROCESSES_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut run = Run::start(seed).await;
    let events = plan::events(&mut fastrand::Rng::with_seed(seed), FIRING);
    println!("seed {seed}: {} events", events.len());
    let told = run.senders.clone().deliver(events).await;
    println!("delivered after {:.0} s", run.journal.elapsed().as_secs_f64());
    let tables = run.rest().await;
    run.tasks.abort_all();
    let checked = End { tables: &tables, told: &told, journal: &run.journal }.check();
    run.print(&told);
    let checked = checked.unwrap_or_else(|violation| run.report(&violation, &tables, &told));
    println!("at rest after {:.0} s: {checked:?}", run.journal.elapsed().as_secs_f64());
    run.enough(&checked);
}

/// One run's parts.
struct Run {
    seed: u64,
    cloud: Arc<Cloud>,
    chaos: Arc<Chaos>,
    journal: Arc<Journal>,
    proxy: Arc<Proxy>,
    fleet: Arc<Fleet>,
    senders: Arc<Senders>,
    tasks: JoinSet<()>,
    said: PathBuf,
}

impl Run {
    async fn start(seed: u64) -> Self {
        let sources = Sources::builtin().unwrap();
        let apiera = Options { requests_per_minute: 1_000, ..Options::default() };
        let cloud = Arc::new(Cloud::start(None, &sources, apiera).await.unwrap());
        hide_shortly(&cloud).await;
        let journal = Arc::new(Journal::new());
        let chaos = Arc::new(Chaos::of(seed, STORM));
        let engines = &cloud.engines;
        let services = [engines.dynamodb_url(), engines.sqs_url(), engines.secrets_url()];
        let proxy = Proxy::new(services, chaos.clone(), journal.clone());
        let (listener, address) = Proxy::bind().await;
        let mut variables = cloud.environment();
        for (name, value) in &mut variables {
            if name.starts_with("AWS_ENDPOINT_URL") {
                *value = format!("http://{address}");
            }
        }
        let said = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("processes.log");
        let fleet = Fleet::start(&variables, &lines(&said), chaos.clone(), journal.clone());
        let front = Front::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let senders =
            Senders::to(front.local_addr(), cloud.clone(), chaos.clone(), journal.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(proxy.clone().serve(listener, fleet.clone()));
        let deliveries = fleet.clone();
        tasks.spawn(front.serve(move |event| {
            let fleet = deliveries.clone();
            async move { fleet.invoke(Function::Ingress, Doing::Delivery, event).await }
        }));
        poll(&mut tasks, &cloud, &fleet);
        tasks.spawn(sweep(fleet.clone()));
        tasks.spawn(storm(fleet.clone(), chaos.clone()));
        Self { seed, cloud, chaos, journal, proxy, fleet, senders, tasks, said }
    }

    /// Waits until nothing goes wrong any more and nothing is on its way.
    async fn rest(&self) -> Tables {
        while !self.chaos.is_over() {
            tokio::time::sleep(SWEEP_EVERY).await;
        }
        // The last slow call.
        tokio::time::sleep(chaos::SLOWEST).await;
        let began = self.journal.elapsed();
        loop {
            let tables = Tables::read(&self.cloud).await;
            if tables.is_at_rest() || self.journal.elapsed() > began + REST {
                return tables;
            }
            tokio::time::sleep(SWEEP_EVERY).await;
        }
    }

    fn print(&self, told: &[Told]) {
        let tally = self.fleet.tally();
        let deliveries: usize = told.iter().map(|told| told.deliveries.len()).sum();
        let acked = told.iter().filter(|told| told.acked).count();
        let given_up = told.iter().filter(|told| told.ended == Some(Verdict::GivenUp)).count();
        println!("{deliveries} deliveries; {acked} events acknowledged, {given_up} given up");
        println!("\n{:>6}  killed while", "");
        for (place, count) in &tally.kills {
            println!("{count:>6}  {:<10} {}", place.0.name(), shown(*place));
        }
        for function in Function::ALL {
            println!("{:>6}  {}", tally.of(function), function.name());
        }
        println!("{:>6}  in all; {} timed out", tally.all(), tally.timeouts);
        println!("\n{:>6}  faults", "");
        for ((fault, step), count) in self.proxy.struck() {
            println!("{count:>6}  {fault:?}: {step}");
        }
    }

    fn enough(&self, checked: &Checked) {
        let tally = self.fleet.tally();
        assert_eq!(tally.by_themselves, Vec::<String>::new(), "processes ended by themselves");
        assert!(tally.all() >= KILLS_MIN, "only {} kills", tally.all());
        for function in Function::ALL {
            assert!(tally.of(function) >= 10, "{} was hardly killed", function.name());
        }
        assert!(checked.lines > 50 && checked.in_order > 50, "{checked:?}");
        assert!(checked.sent_again > 20, "{checked:?}");
    }

    /// What was seen of a violation, and how to see it again.
    fn report(&self, violation: &Violation, tables: &Tables, told: &[Told]) -> ! {
        let key = violation.key.as_deref();
        let event = told.iter().find(|told| Some(told.fired.key.as_str()) == key);
        let row = key.and_then(|key| tables.rows.get(key)).map(tables::shown);
        panic!(
            "{} {}\n  event  {}\n  row    {}\n  seen of it\n{}  last of all\n{}  \
             the processes' own words: {}\n  \
             again: PROCESSES_SEED={} cargo test -p tests --test it processes -- --nocapture\n",
            key.unwrap_or_default(),
            violation.what,
            event.map(Told::shown).unwrap_or_default(),
            row.unwrap_or_default(),
            key.map(|key| self.journal.last(Some(key), 40)).unwrap_or_default(),
            self.journal.last(None, 15),
            self.said.display(),
            self.seed,
        )
    }
}

/// A client for this machine.
fn http() -> reqwest::Client {
    // An error says that somebody has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Messages of a dead process come back soon.
async fn hide_shortly(cloud: &Cloud) {
    let sqs = cloud.clients(CallBudget::BACKGROUND).sqs;
    for queue in [&cloud.resources.queue_url, &cloud.resources.fifo_queue_url] {
        let set = sqs.set_queue_attributes().queue_url(queue);
        let set = set.attributes(QueueAttributeName::VisibilityTimeout, VISIBILITY_S.to_string());
        set.send().await.unwrap();
    }
}

/// What the processes say goes into a file.
fn lines(said: &PathBuf) -> bench::runtime_api::Lines {
    let file = std::fs::File::create(said).unwrap();
    Arc::new(move |line| drop((&file).write_all(format!("{line}\n").as_bytes())))
}

fn poll(tasks: &mut JoinSet<()>, cloud: &Cloud, fleet: &Arc<Fleet>) {
    // A long poll must not run into the budget of a call.
    let patient =
        CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(30) };
    let resources = &cloud.resources;
    let queues = [
        (&resources.queue_url, &resources.queue_arn, BATCHES, Doing::Batch),
        (&resources.fifo_queue_url, &resources.fifo_queue_arn, ORDERED_BATCHES, Doing::Ordered),
    ];
    for (url, arn, concurrency, doing) in queues {
        let mapping = Mapping {
            sqs: cloud.clients(patient).sqs,
            queue_url: url.clone(),
            queue_arn: arn.clone(),
            batch_size: 10,
            concurrency,
        };
        let fleet = fleet.clone();
        tasks.spawn(mapping.run(move |event| {
            let fleet = fleet.clone();
            async move { fleet.invoke(Function::Processor, doing, event).await }
        }));
    }
}

/// Kills at moments that no call decides, as long as things may go wrong: longer where too few have
/// been killed by then.
async fn storm(fleet: Arc<Fleet>, chaos: Arc<Chaos>) {
    tokio::join!(fleet.kill_at_random(KILL_EVERY), async {
        tokio::time::sleep(STORM).await;
        while fleet.tally().all() < KILLS_MIN {
            tokio::time::sleep(SWEEP_EVERY).await;
        }
        chaos.ends();
    });
}

async fn sweep(fleet: Arc<Fleet>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        // One that failed or died is followed by the next.
        let _ = fleet.invoke(Function::Sweeper, Doing::Sweep, json!({})).await;
    }
}
