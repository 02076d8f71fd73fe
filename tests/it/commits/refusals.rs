//! Effects that refuse, and effects that never can be.

use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, TransactWriteItem};
use local::cloud::Cloud;
use local::provision::Resources;
use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::{Value, json};
use shared::effects::{Change, Effects, OnRefused};
use shared::source::Sources;

use crate::runs::bench::{Bench, Fate, secs};
use crate::support::Delivery;
use crate::support::world::{Item, number, string};

type Make = fn(&Context, &Resources) -> Effects;

/// With a handler for everything, which may know the tables.
async fn bench_of(make: Make) -> Bench {
    let registry = move |cloud: &Cloud| {
        let tables = cloud.resources.clone();
        Registry::default().on("kallglot", "job.run", move |_: Event<Value>, ctx: Context| {
            let effects = make(&ctx, &tables);
            async move { Ok::<_, HandlerError>(effects) }
        })
    };
    Bench::with(Sources::builtin().unwrap(), registry).await
}

async fn run_one(bench: &Bench, id: &str) -> Item {
    let key = format!("kallglot#{id}");
    bench.store(&[&key]).await;
    assert_eq!(bench.run(&key).await, Fate::Deleted, "{key}");
    bench.row(&key).await
}

#[tokio::test]
async fn an_effect_that_is_there_already_ends_the_event_and_changes_nothing() {
    let bench = bench_of(|ctx, _| {
        let totals = Change::of("acme", "totals").add("payments", 1);
        ctx.effects().put_if_absent("acme", "payment", [("n", 1.into())]).update(totals)
    })
    .await;
    assert_eq!(string(&run_one(&bench, "1").await, "outcome"), "applied");
    let before = bench.world.effects().await;
    let row = run_one(&bench, "2").await;
    assert_eq!((string(&row, "status"), string(&row, "outcome")), ("done", "already_applied"));
    assert!(number(&row, "expires_at") > 0 && !row.contains_key("due_at"));
    assert_eq!(bench.world.effects().await, before);
    assert_eq!(bench.world.metric("AlreadyApplied", Some("kallglot")), 1.0);
    assert_eq!(bench.world.metric("HandlerError", None), 0.0);
}

#[tokio::test]
async fn a_condition_of_the_handlers_own_that_refuses_runs_the_event_again() {
    let bench = bench_of(|ctx, tables| {
        let key = |name: &str| AttributeValue::S(name.to_owned());
        let check = ConditionCheck::builder()
            .table_name(&tables.business_table)
            .key("pk", key("door"))
            .key("sk", key("open"))
            .condition_expression("attribute_exists(pk)");
        let check = TransactWriteItem::builder().condition_check(check.build().unwrap()).build();
        let change = Change::of("acme", "totals").add("payments", 1);
        ctx.effects().with(check, OnRefused::Retry).update(change)
    })
    .await;
    bench.store(&["kallglot#1"]).await;
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    let row = bench.row("kallglot#1").await;
    // It uses up an attempt: a condition that never holds must come to an end.
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 1));
    assert_eq!(string(&row, "last_error"), "an effect's condition refused");
    assert!(bench.world.effect("acme", "totals").await.is_none());
    let table = &bench.world.cloud.resources.business_table;
    let door = bench.world.dynamodb().put_item().table_name(table);
    let door = door.item("pk", AttributeValue::S("door".into()));
    door.item("sk", AttributeValue::S("open".into())).send().await.unwrap();
    bench.dial.forward(secs(60));
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(number(&bench.world.effect("acme", "totals").await.unwrap(), "payments"), 1);
}

fn session(event_type: &str, id: &str, created_at: i64) -> Delivery {
    let at = aws_smithy_types::DateTime::from_secs(created_at);
    let at = at.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap();
    Delivery::kallglot(id, event_type, &at, &json!({"id": "s", "status": event_type}))
}

#[tokio::test]
async fn an_event_that_comes_too_late_is_stale_and_ties_are_decided_by_rank() {
    let bench = Bench::new(processor::handlers::all()).await;
    let now = bench.dial.now().secs();
    for (n, (event_type, at, outcome, shown)) in [
        ("session.started", now - 60, "applied", "session.started"),
        ("session.created", now - 61, "stale", "session.started"),
        ("session.created", now - 60, "stale", "session.started"),
        ("session.started", now - 60, "stale", "session.started"),
        ("session.ended", now - 60, "applied", "session.ended"),
        ("session.provider.connected", now - 60, "stale", "session.ended"),
        // The newest event counts, whatever its rank.
        ("session.created", now - 59, "applied", "session.created"),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("kallglot#{n}");
        assert_eq!(bench.deliver(&session(event_type, &n.to_string(), at)).await, 200);
        assert_eq!(bench.run(&key).await, Fate::Deleted);
        let row = bench.row(&key).await;
        assert_eq!((string(&row, "status"), string(&row, "outcome")), ("done", outcome), "{n}");
        assert_eq!(number(&row, "occurred_at"), at * 1000);
        let state = bench.world.effect("kallglot#s", "state").await.unwrap();
        assert_eq!(string(&state, "status"), shown, "{n}");
    }
    assert_eq!(bench.world.metric("Stale", Some("kallglot")), 4.0);
    assert_eq!(bench.world.metric("HandlerError", None), 0.0);
}

#[tokio::test]
async fn an_event_from_the_future_fails_and_does_not_freeze_its_entity() {
    let bench = Bench::new(processor::handlers::all()).await;
    let now = bench.dial.now().secs();
    assert_eq!(bench.deliver(&session("session.ended", "1", now + 360)).await, 200);
    assert_eq!(bench.deliver(&session("session.ended", "2", now + 240)).await, 200);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    let row = bench.row("kallglot#1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "permanent"));
    assert!(string(&row, "last_error").contains("five minutes in the future"));
    assert_eq!(bench.world.effects().await.len(), 0);
    assert_eq!(bench.run("kallglot#2").await, Fate::Deleted);
    assert_eq!(string(&bench.row("kallglot#2").await, "outcome"), "applied");
}

#[tokio::test]
async fn effects_that_dynamodb_would_never_take_fail_with_a_clear_reason() {
    let cases: [(&str, Make); 6] = [
        ("two effects on one item", |ctx, _| {
            let change = Change::of("a", "b").add("n", 1);
            ctx.effects().put("a", "b", []).update(change)
        }),
        ("100 effects; one event may have 99", |ctx, _| {
            (0..100).fold(ctx.effects(), |effects, n| effects.put("a", &n.to_string(), []))
        }),
        ("an effect on the inbox table", |_, tables| {
            Effects::on(&tables.inbox_table).put("x", "y", [])
        }),
        ("effects of ", |ctx, _| {
            let large = "x".repeat(380_000);
            (0..12).fold(ctx.effects(), |effects, n| {
                effects.put("a", &n.to_string(), [("x", large.as_str().into())])
            })
        }),
        ("the effects are refused (", |ctx, _| ctx.effects().put("", "x", [])),
        ("the effects are refused (", |ctx, _| {
            ctx.effects().update(Change::of("a", "b").set("n", 1).set("n", 2))
        }),
    ];
    for (why, make) in cases {
        let bench = bench_of(make).await;
        let row = run_one(&bench, "1").await;
        let shown = (string(&row, "status"), string(&row, "error_kind"));
        assert_eq!(shown, ("failed", "permanent"), "{why}");
        assert!(string(&row, "last_error").starts_with(why), "{}", string(&row, "last_error"));
        assert_eq!(bench.world.effects().await.len(), 0, "{why}");
    }
}

#[tokio::test]
async fn an_event_may_have_as_many_effects_as_a_transaction_takes() {
    let bench = bench_of(|ctx, _| {
        (0..99).fold(ctx.effects(), |effects, n| effects.put("a", &n.to_string(), []))
    })
    .await;
    assert_eq!(string(&run_one(&bench, "1").await, "outcome"), "applied");
    assert_eq!(bench.world.effects().await.len(), 99);
}

#[tokio::test]
async fn an_effect_that_names_the_inbox_table_by_its_arn_is_refused_too() {
    let bench = bench_of(|_, tables| {
        let arn = format!("arn:aws:dynamodb:us-east-1:000000000000:table/{}", tables.inbox_table);
        Effects::on(&arn).put("x", "y", [])
    })
    .await;
    let row = run_one(&bench, "1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "permanent"));
    assert!(string(&row, "last_error").starts_with("an effect on the inbox table"), "{row:?}");
}
