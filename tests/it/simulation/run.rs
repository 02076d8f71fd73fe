//! One run: a seed, everything that it draws, and what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use local::provision::Resources;
use serde_json::json;
use tokio::task::JoinHandle;

use super::check;
use super::engine::Engine;
use super::faults::{Counts, Kind};
use super::fleet::Fleet;
use super::mechanism::Mechanism;
use super::mirror::{Does, Mirror, observe, shown};
use super::operator::{Operator, rotate};
use super::plan::{Chaos, Fired, ask_late, events, told};
use super::producer::{Producer, Verdict};
use super::queue::Queue;
use super::shrink::Without;
use super::sign::{first_secret, stored};
use super::world::{EPOCH_MS, State, World, number, text};

const DAY_MS: i64 = 86_400_000;
/// What is not at rest so long after the last fault will never be: 72 hours bound all that does not
/// use up attempts.
const PATIENCE_MS: i64 = 80 * 3_600_000;
/// DynamoDB removes what has expired "within a few days".
const TTL_LATE_MAX_MS: i64 = 2 * DAY_MS;

/// What is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) chaos: fn(&mut fastrand::Rng) -> Chaos,
    pub(crate) off: &'static [Mechanism],
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) violation: Option<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) counts: Counts,
    pub(crate) events: usize,
    /// How many events the seed drew, whatever the run left out.
    pub(crate) drawn: usize,
    /// What was not at rest at the end of a violated run: rows, and messages.
    pub(crate) left: Vec<String>,
    pub(crate) ends: BTreeMap<String, u64>,
    /// The most sends of one event, and of all.
    pub(crate) sends: (u32, u32),
}

/// Runs one seed.
pub(crate) fn run(seed: u64, scenario: &Scenario) -> Outcome {
    run_without(seed, scenario, &Without::default())
}

/// Runs one seed and leaves out some of what it draws.
pub(crate) fn run_without(seed: u64, scenario: &Scenario, without: &Without) -> Outcome {
    // The product and the SDK draw their jitter from the thread's own dice.
    fastrand::seed(seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut chaos = (scenario.chaos)(&mut rng);
    let mut events = events(&mut rng, chaos.span_ms, chaos.crowd);
    if chaos.long_days > 0 {
        ask_late(&mut rng, &mut events);
    }
    let drawn = events.len();
    without.cut(&mut chaos, &mut events);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let world = runtime.block_on(async {
        let (engine, resources) = Engine::start().await;
        let state = state(engine, &resources, rng, &chaos, &events, scenario.off);
        let world = World::new(state);
        simulate(&world, resources, chaos, &events).await;
        world
    });
    drop(runtime);
    let mut state = world.state();
    let mut ends = BTreeMap::new();
    for row in state.mirror.events.keys().filter_map(|key| state.mirror.row(key)) {
        let end =
            format!("{} {}{}", text(row, "status"), text(row, "outcome"), text(row, "error_kind"));
        *ends.entry(end).or_default() += 1;
    }
    let rows = state.mirror.rows().filter(|(_, row)| !row["due_at"].is_null());
    let rows: Vec<String> = rows.map(|(_, row)| shown(row)).collect();
    let messages = state.standard.bodies().chain(state.fifo.bodies());
    let left = rows.into_iter().chain(messages.map(|body| format!("message {body}"))).collect();
    let sends = state.mirror.events.values().map(|told| told.sends);
    let sends = (sends.clone().max().unwrap_or(0), sends.sum());
    Outcome {
        seed,
        left,
        violation: state.violation.take(),
        trace: std::mem::take(&mut state.trace),
        counts: std::mem::take(&mut state.counts),
        events: events.len(),
        drawn,
        ends,
        sends,
    }
}

fn state(
    engine: Engine,
    resources: &Resources,
    rng: fastrand::Rng,
    chaos: &Chaos,
    events: &[Fired],
    off: &'static [Mechanism],
) -> State {
    let signing: BTreeMap<_, _> =
        Producer::ALL.iter().map(|producer| (*producer, vec![first_secret(*producer)])).collect();
    let secret = |(producer, secrets): (&Producer, &Vec<String>)| {
        (format!("local/{}", producer.source()), stored(*producer, secrets))
    };
    State {
        rng,
        engine: Arc::new(engine),
        standard: Queue::new(false),
        fifo: Queue::new(true),
        secrets: signing.iter().map(secret).collect(),
        rates: chaos.rates.clone(),
        outages: chaos.outages.clone(),
        storms: chaos.storms(),
        off,
        steps: chaos.steps,
        mirror: Mirror {
            inbox_table: resources.inbox_table.clone(),
            business_table: resources.business_table.clone(),
            events: told(events),
            blameless: chaos.blameless,
            ..Mirror::default()
        },
        counts: Counts::new(),
        last_step: BTreeMap::new(),
        trace: vec![],
        violation: None,
        products: BTreeMap::new(),
        signing,
        endpoints: BTreeMap::new(),
        handlers_down_until_ms: chaos.handlers_down_until_ms,
        handler_ms: chaos.handler_ms,
    }
}

async fn simulate(world: &Arc<World>, resources: Resources, chaos: Chaos, events: &[Fired]) {
    let fleet = Fleet::new(world, resources, chaos.skew_max_ms);
    let mut background: Vec<JoinHandle<()>> = vec![];
    for fifo in [false, false, true, true] {
        background.push(tokio::spawn(fleet.clone().poll(fifo)));
    }
    if !world.state().off.contains(&Mechanism::Sweeper) {
        background.push(tokio::spawn(sweep(fleet.clone())));
    }
    background.push(tokio::spawn(expire(world.clone())));
    for (fifo, at_ms) in chaos.purges.clone() {
        background.push(tokio::spawn(purge(world.clone(), fifo, at_ms)));
    }
    let mut rest_ms = EPOCH_MS + chaos.span_ms.max(chaos.handlers_down_until_ms - EPOCH_MS);
    let operator = Operator::new(&fleet);
    if let Some((producer, from_ms, to_ms)) = chaos.pause {
        rest_ms = rest_ms.max(to_ms);
        background.push(tokio::spawn(operator.clone().pause(producer, from_ms, to_ms)));
    }
    if let Some((producer, at_ms)) = chaos.rotation {
        background.push(tokio::spawn(rotate(world.clone(), producer, at_ms)));
    }
    if let Some(until_ms) = chaos.operator_until_ms {
        rest_ms = rest_ms.max(until_ms);
        background.push(tokio::spawn(operator.look_after_failures(until_ms)));
    }
    let mut producers: Vec<JoinHandle<()>> = vec![];
    for fired in events {
        producers.push(tokio::spawn(produce(fleet.clone(), fired.clone())));
    }
    while !world.is_violated() && producers.iter().any(|task| !task.is_finished()) {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    world.until(rest_ms).await;
    let patience_ms = world.now_ms() + PATIENCE_MS;
    while !world.is_violated() && !check::is_at_rest(&world.state()) {
        tokio::time::sleep(Duration::from_secs(60)).await;
        if world.now_ms() > patience_ms {
            break;
        }
    }
    let now = world.now_ms();
    check::at_rest(&mut world.state(), now);
    if chaos.long_days > 0 && !world.is_violated() {
        let end_ms = now + chaos.long_days * DAY_MS;
        world.until(end_ms).await;
        check::at_rest(&mut world.state(), end_ms);
        check::after_expiry(&mut world.state(), now, end_ms);
    }
    for task in background.into_iter().chain(producers) {
        task.abort();
    }
}

/// A producer delivers an event until it is told that it may stop, or stops by its own rules.
async fn produce(fleet: Arc<Fleet>, fired: Fired) {
    let world = fleet.world.clone();
    world.until(fired.at_ms).await;
    if let Does::Fetch { product } = &fired.does {
        // The event follows a change.
        let change = (world.now_ms(), fired.payload.id.clone());
        world.state().products.insert(product.clone(), change);
    }
    deliver(&fleet, &fired, fired.at_ms).await;
    for at_ms in &fired.replays_ms {
        world.until(*at_ms).await;
        world.tell(&format!("{} is asked for again", fired.key));
        deliver(&fleet, &fired, fired.at_ms).await;
    }
}

async fn deliver(fleet: &Fleet, fired: &Fired, first_ms: i64) {
    let world = &fleet.world;
    let producer = fired.payload.producer;
    for attempt in 1.. {
        let began_ms = world.now_ms();
        let secrets = world.state().signing[&producer].clone();
        let request = fired.payload.request(&secrets, attempt, began_ms, first_ms);
        let call = fleet.deliver(request);
        let heard = tokio::time::timeout(producer.timeout(), call).await.ok().flatten();
        let now = world.now_ms();
        let wait = {
            let mut state = world.state();
            let random = state.rng.f64();
            let verdict = producer.verdict(attempt, heard, random);
            let status = heard.map_or(0, |heard| heard.status);
            let line = format!("{} attempt {attempt}: {status} {verdict:?}", fired.key);
            state.tell(now, &line);
            let endpoint = state.endpoints.entry(producer).or_default();
            let given_up = endpoint.note(producer, verdict, now);
            let stored = state.mirror.rows().any(|(key, _)| *key == fired.key);
            let told = state.mirror.events.get_mut(&fired.key).unwrap();
            told.deliveries += 1;
            told.acked |= verdict == Verdict::Delivered;
            // That Kudos hears 400 to what cannot be used is its contract.
            let fair = fired.does == Does::Unusable && producer == Producer::Kudos && status == 400;
            match verdict {
                Verdict::Again(wait) => wait,
                Verdict::Delivered => return,
                Verdict::Terminal { .. } if fair => return,
                // It did not hear us, all the way to its last attempt. The event is here.
                Verdict::GivenUp if stored && given_up.is_none() => return,
                Verdict::Terminal { .. } | Verdict::GivenUp => {
                    let how = given_up.unwrap_or("the delivery is lost");
                    let what = format!("{} ends after {status}: {how}", fired.key);
                    state.violated(now, &what);
                    return;
                }
            }
        };
        tokio::time::sleep(wait).await;
    }
}

/// The schedule: every minute, but for those in which nothing can be due.
async fn sweep(fleet: Arc<Fleet>) {
    const MINUTE_MS: i64 = 60_000;
    let world = fleet.world.clone();
    let mut last_ms = EPOCH_MS;
    loop {
        let earliest_ms = last_ms + MINUTE_MS;
        let due_ms = next_due(&world.state().mirror, world.now_ms());
        let written = world.written.notified();
        let Some(due_ms) = due_ms else {
            written.await;
            continue;
        };
        let at_ms = (due_ms + MINUTE_MS - 1).div_euclid(MINUTE_MS) * MINUTE_MS;
        let at_ms = at_ms.max(earliest_ms);
        if at_ms > world.now_ms() {
            let wait = u64::try_from(at_ms - world.now_ms()).unwrap_or(0);
            let _ = tokio::time::timeout(Duration::from_millis(wait), written).await;
            continue;
        }
        last_ms = world.now_ms().div_euclid(MINUTE_MS) * MINUTE_MS;
        fleet.sweep().await;
    }
}

/// When the sweeper has something to do: the first row that it may send or must visit, and the
/// first minutes of each day while a source is paused.
fn next_due(mirror: &Mirror, now_ms: i64) -> Option<i64> {
    let paused = |source: &str| {
        let control = mirror.items.get(&format!("~control#{source}"));
        control.is_some_and(|control| control["paused"]["BOOL"] == json!(true))
    };
    let due = mirror.rows().filter_map(|(key, row)| {
        let due = number(row, "due_at")?;
        let source = key.split('#').next()?;
        let waits = text(row, "status") != "failed" && paused(source);
        let today = now_ms.div_euclid(DAY_MS) * DAY_MS;
        let first_minutes = now_ms - today < 120_000;
        Some(match (waits, first_minutes) {
            (false, _) => due,
            (true, true) => now_ms,
            (true, false) => today + DAY_MS,
        })
    });
    due.min()
}

/// TTL: what has expired is removed, up to two days late.
async fn expire(world: Arc<World>) {
    loop {
        tokio::time::sleep(Duration::from_secs(12 * 3600)).await;
        let now = world.now_ms();
        let mut state = world.state();
        let expired: Vec<(String, i64)> = state
            .mirror
            .items
            .iter()
            .filter_map(|(key, item)| {
                let late_ms = now - number(item, "expires_at")? * 1000;
                (late_ms > 0).then(|| (key.clone(), late_ms))
            })
            .collect();
        for (key, late_ms) in expired {
            if late_ms < TTL_LATE_MAX_MS && state.rng.f64() < 0.7 {
                state.count(Kind::ExpiresLate, "row or body");
                continue;
            }
            let told = if key.starts_with("~body") { "~body" } else { &key };
            state.tell(now, &format!("{told} expires"));
            check::may_expire(&mut state, &key, now);
            let request = json!({
                "TableName": state.mirror.inbox_table, "Key": {"pk": {"S": key}},
            });
            state.engine.ask("DeleteItem", &request);
            observe(&mut state, "DeleteItem", &request, now);
        }
    }
}

async fn purge(world: Arc<World>, fifo: bool, at_ms: i64) {
    world.until(at_ms).await;
    let now = world.now_ms();
    let mut state = world.state();
    let count = state.queue(fifo).purge();
    state.count(Kind::Purged, "queue");
    state.tell(now, &format!("{count} messages are purged"));
}
