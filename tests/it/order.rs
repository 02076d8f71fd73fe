//! The order that Kudos promises within one event type, kept while handlers fail; and what a batch
//! answers, record by record.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use futures_util::future::join_all;
use local::apiera::Options;
use local::stack::Parts;
use processor::handler::{Context, Event, HandlerError, Registry};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};
use shared::effects::{Change, Effects};
use shared::limits::PROCESSOR_TIMEOUT;

use crate::support::world::{http, number, string};
use crate::support::{Delivery, Faulty, World, eventually};

const TYPES: [&str; 5] = ["order.a", "order.b", "order.c", "order.d", "order.e"];
const EVENTS_PER_TYPE: i64 = 100;

#[derive(Deserialize)]
struct Numbered {
    seq: i64,
    /// How many attempts fail before one succeeds.
    failures: u32,
}

/// Commits what it saw: its number under its type, and whether the one before it was there.
async fn in_sequence(event: Event<Numbered>, ctx: Context) -> Result<Effects, HandlerError> {
    let Numbered { seq, failures } = event.data;
    let lane = format!("order#{}", event.event_type);
    let last = ctx.get(&lane, "last").await?.map_or(0, |item| number(&item, "seq"));
    if ctx.attempt <= failures {
        // Soon: in a group one waits after the other, and the usual waits are for outages.
        let after = Some(Duration::from_millis(fastrand::u64(0..2_000)));
        return Err(HandlerError::Retry { why: "fails as told".into(), after });
    }
    let effects = ctx
        .effects()
        .put_if_absent(&lane, &format!("{seq:04}"), [("attempt", i64::from(ctx.attempt).into())])
        .update(Change::of(&lane, "last").set("seq", seq));
    if last + 1 == seq {
        return Ok(effects);
    }
    let violation = format!("violation#{}#{seq:04}", event.event_type);
    Ok(effects.put("order#violations", &violation, [("after", last.into())]))
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_follow_the_order_of_sending_within_each_type_while_handlers_fail() {
    let world = World::with(None, Options::default(), |_, parts| Parts {
        handlers: Registry::default().on("kudos", "order.*", in_sequence),
        ..parts
    });
    let world = world.await.serve().poll().sweep();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let dice = Mutex::new(fastrand::Rng::with_seed(seed));
    // Five attempts are allowed, so nobody is ever given up.
    let failures = || match dice.lock().unwrap().u32(..100) {
        0..80 => 0,
        80..93 => 1,
        93..98 => 2,
        _ => 3,
    };
    let lanes = TYPES.map(|event_type| {
        let world = &world;
        async move {
            let mut failed = 0;
            for seq in 1..=EVENTS_PER_TYPE {
                let failures = failures();
                failed += failures;
                let data = json!({"seq": seq, "failures": failures});
                let id = format!("{event_type}-{seq:04}");
                let delivery = Delivery::kudos(&id, event_type, &data);
                assert_eq!(world.post(&delivery).await.status, 200);
            }
            failed
        }
    });
    let failed: u32 = join_all(lanes).await.into_iter().sum();
    let rows = eventually("all rows are done", Duration::from_secs(400), async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let rows = world.rows().await;
        rows.iter().all(|row| string(row, "status") == "done").then_some(rows)
    })
    .await;
    assert_eq!(rows.len(), TYPES.len() * EVENTS_PER_TYPE as usize);
    let resent = world.metric("Swept", Some("kudos"));
    let errors = world.metric("HandlerError", Some("kudos"));
    println!("{errors} failed attempts, {failed} of them planned, {resent} sent by the sweeper");
    assert!(errors > 0.0, "nothing failed, so nothing was shown");
    let effects = world.effects().await;
    let violated = effects.iter().find(|item| string(item, "pk") == "order#violations");
    assert_eq!(violated, None, "seed {seed}");
    assert_eq!(effects.len(), TYPES.len() * (EVENTS_PER_TYPE as usize + 1));
    for event_type in TYPES {
        let of_type = rows.iter().filter(|row| string(row, "event_type") == event_type);
        let finished: BTreeMap<&str, i64> =
            of_type.map(|row| (string(row, "event_id"), number(row, "finished_at"))).collect();
        assert!(finished.values().is_sorted(), "seed {seed}: {event_type}: {finished:?}");
    }
}

/// A world whose handlers fail for the events that a test names; nothing polls.
struct Bench {
    world: World,
    faulty: Faulty,
    failing: Arc<Mutex<HashMap<String, HandlerError>>>,
}

impl Bench {
    async fn new() -> Self {
        let failing: Arc<Mutex<HashMap<String, HandlerError>>> = Arc::default();
        let told = failing.clone();
        let handler = move |event: Event<Value>, ctx: Context| {
            let error = told.lock().unwrap().get(event.key.id.as_str()).cloned();
            let effects = ctx.effects().put_if_absent("batch", event.key.id.as_str(), []);
            std::future::ready(error.map_or(Ok(effects), Err))
        };
        let faulty = Faulty::new();
        let below = faulty.clone();
        let world = World::with(None, Options::default(), |cloud, parts| Parts {
            handlers: Registry::default()
                .on("kudos", "batch.*", handler.clone())
                .on("kallglot", "batch.*", handler),
            background: Clients::new(&cloud.sdk_config(http(&below)), CallBudget::BACKGROUND),
            ..parts
        });
        Self { world: world.await.serve(), faulty, failing }
    }

    /// Stores events, all of this source and type.
    async fn store(&self, source: &str, event_type: &str, ids: &[&str]) {
        for id in ids {
            let at = &crate::support::deliveries::rfc3339_now();
            let delivery = match source {
                "kudos" => Delivery::kudos(id, event_type, &json!({})),
                _ => Delivery::kallglot(id, event_type, at, &json!({})),
            };
            assert_eq!(self.world.post(&delivery).await.status, 200);
        }
    }

    fn fail(&self, id: &str, error: HandlerError) {
        self.failing.lock().unwrap().insert(id.to_owned(), error);
    }

    /// The answer to a batch, byte for byte as Lambda would get it.
    async fn process(&self, records: Vec<Value>) -> String {
        let event: SqsEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
        let here = self.world.here();
        let deadline = here.clock.now().plus(PROCESSOR_TIMEOUT);
        let answer = here.processor.process(event, deadline).await.unwrap();
        serde_json::to_string(&answer).unwrap()
    }

    /// Whether these events are done, or have never been touched.
    async fn assert_status(&self, source: &str, ids: &[&str], status: &str, attempts: i64) {
        for id in ids {
            let row = self.world.row(&format!("{source}#{id}")).await.unwrap();
            let seen = (string(&row, "status"), number(&row, "attempts"));
            assert_eq!(seen, (status, attempts), "{id}");
            let effect = self.world.effect("batch", id).await;
            assert_eq!(effect.is_some(), status == "done", "{id}");
            assert!(!row.contains_key("lease_owner"), "{id}");
        }
    }
}

/// A record of the standard queue, or with a group one of the FIFO queue.
fn record(message_id: &str, body: &str, group: Option<&str>) -> Value {
    let (queue, attributes) = match group {
        Some(group) => ("q.fifo", json!({"MessageGroupId": group})),
        None => ("q", json!({})),
    };
    json!({
        "messageId": message_id,
        "receiptHandle": format!("handle of {message_id}"),
        "body": body,
        "attributes": attributes,
        "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{queue}"),
    })
}

/// A record that points to an event; its message is called as the event is.
fn pointer(source: &str, id: &str, group: Option<&str>) -> Value {
    record(id, &json!({"source": source, "event_id": id}).to_string(), group)
}

fn failures(ids: &[&str]) -> String {
    let ids = ids.iter().map(|id| format!(r#"{{"itemIdentifier":"{id}"}}"#));
    format!(r#"{{"batchItemFailures":[{}]}}"#, ids.collect::<Vec<_>>().join(","))
}

/// An error whose back-off still lasts when the test looks again.
fn retryable() -> HandlerError {
    HandlerError::Retry { why: "fails as told".into(), after: Some(Duration::from_secs(60)) }
}

const TEN: [&str; 10] = ["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"];

#[tokio::test(flavor = "multi_thread")]
async fn in_a_fifo_group_everything_behind_a_failed_record_comes_back_untouched() {
    for failing in [0, 4, 9] {
        let bench = Bench::new().await;
        bench.store("kudos", "batch.a", &TEN).await;
        bench.fail(TEN[failing], retryable());
        let records = || TEN.iter().map(|id| pointer("kudos", id, Some("g"))).collect();
        assert_eq!(bench.process(records()).await, failures(&TEN[failing..]));
        bench.assert_status("kudos", &TEN[..failing], "done", 1).await;
        bench.assert_status("kudos", &[TEN[failing]], "pending", 1).await;
        bench.assert_status("kudos", &TEN[failing + 1..], "pending", 0).await;
        let told = bench.faulty.calls("ChangeMessageVisibility");
        assert_eq!(told, TEN.len() - failing, "each is told when to come back");

        // The same messages again, while the failed one backs off: nobody may pass it.
        assert_eq!(bench.process(records()).await, failures(&TEN[failing..]));
        bench.assert_status("kudos", &TEN[failing + 1..], "pending", 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_failed_for_good_holds_up_nobody_in_its_group() {
    let bench = Bench::new().await;
    bench.store("kudos", "batch.a", &TEN).await;
    bench.fail("e4", HandlerError::permanent("fails as told"));
    let records = TEN.iter().map(|id| pointer("kudos", id, Some("g"))).collect();
    assert_eq!(bench.process(records).await, failures(&[]));
    bench.assert_status("kudos", &["e4"], "failed", 1).await;
    bench.assert_status("kudos", &TEN[..4], "done", 1).await;
    bench.assert_status("kudos", &TEN[5..], "done", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_groups_in_one_batch_do_not_disturb_each_other() {
    let bench = Bench::new().await;
    let (a, b) = TEN.split_at(5);
    bench.store("kudos", "batch.a", a).await;
    bench.store("kudos", "batch.b", b).await;
    bench.fail(a[2], retryable());
    let pairs = a.iter().zip(b);
    let records = pairs
        .flat_map(|(a, b)| [pointer("kudos", a, Some("a")), pointer("kudos", b, Some("b"))])
        .collect();
    assert_eq!(bench.process(records).await, failures(&a[2..]));
    bench.assert_status("kudos", &a[..2], "done", 1).await;
    bench.assert_status("kudos", &a[3..], "pending", 0).await;
    bench.assert_status("kudos", b, "done", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_standard_queue_only_the_failed_record_comes_back() {
    let bench = Bench::new().await;
    bench.store("kallglot", "batch.a", &TEN).await;
    bench.fail("e4", retryable());
    let records: Vec<_> = TEN.iter().map(|id| pointer("kallglot", id, None)).collect();
    let answer = bench.process(records.clone()).await;
    assert_eq!(answer, r#"{"batchItemFailures":[{"itemIdentifier":"e4"}]}"#);
    bench.assert_status("kallglot", &TEN[..4], "done", 1).await;
    bench.assert_status("kallglot", &["e4"], "pending", 1).await;
    bench.assert_status("kallglot", &TEN[5..], "done", 1).await;

    // While it backs off a second copy is not needed: what is due brings it back.
    assert_eq!(bench.process(records).await, r#"{"batchItemFailures":[]}"#);
    bench.assert_status("kallglot", &["e4"], "pending", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_points_nowhere_disturbs_no_other_record() {
    let bench = Bench::new().await;
    bench.store("kallglot", "batch.a", &["good"]).await;
    let unknown_source = json!({"source": "nobody", "event_id": "x"}).to_string();
    let records = vec![
        record("unreadable", "not a pointer", None),
        record("unknown source", &unknown_source, None),
        pointer("kallglot", "no row", None),
        pointer("kallglot", "good", None),
    ];
    // What cannot be read is kept for the dead-letter queue; a row that is not there is over.
    assert_eq!(bench.process(records).await, failures(&["unreadable", "unknown source"]));
    assert_eq!(bench.world.metric("StrayMessage", None), 3.0);
    assert_eq!(bench.world.rows().await.len(), 1, "no row comes into being");
    bench.assert_status("kallglot", &["good"], "done", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_named_fails_the_batch_before_anything_is_done() {
    let bench = Bench::new().await;
    bench.store("kallglot", "batch.a", &["good"]).await;
    let mut nameless = pointer("kallglot", "good", None);
    nameless["messageId"] = json!("");
    let records = json!({ "Records": [pointer("kallglot", "good", None), nameless] });
    let answer = bench.world.functions.processor(records).await;
    assert!(answer.is_err(), "{answer:?}");
    bench.assert_status("kallglot", &["good"], "pending", 0).await;
}
