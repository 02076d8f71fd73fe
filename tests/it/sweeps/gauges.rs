//! What a sweep tells about the inbox, and that it does not call itself a success when it saw less.

use processor::handler::HandlerError;
use serde_json::Value;
use shared::source::Ordering;

use super::{DUE, store_unsent};
use crate::runs::bench::{Bench, secs};
use crate::runs::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

/// The last value of a gauge.
fn gauge(bench: &Bench, name: &str, source: Option<&str>) -> Option<f64> {
    let lines = bench.world.metric_lines();
    let of = |line: &&Value| line.get("source").and_then(Value::as_str) == source;
    lines.iter().filter(of).rev().find_map(|line| line[name].as_f64())
}

#[tokio::test]
async fn a_sweep_publishes_how_much_there_is_and_how_old() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kallglot#2", "kallglot#3"]).await;
    bench.run("kallglot#1").await;
    script.next(Step::Error(HandlerError::permanent("no")));
    bench.run("kallglot#2").await;
    bench.dial.forward(secs(500));
    bench.store(&["kallglot#4"]).await;
    bench.crash(&script, "kallglot#4").await;
    bench.sweep().await.unwrap();
    let of = |name, source| gauge(&bench, name, Some(source)).unwrap();
    assert_eq!(of("Unfinished", "kallglot"), 2.0, "one pending, one processing");
    assert!((500.0..560.0).contains(&of("OldestUnfinishedAge", "kallglot")));
    assert_eq!((of("FailedRows", "kallglot"), of("GaugesCapped", "kallglot")), (1.0, 0.0));
    for source in ["kudos", "apiera"] {
        assert_eq!((of("Unfinished", source), of("FailedRows", source)), (0.0, 0.0));
        assert_eq!(of("OldestUnfinishedAge", source), 0.0);
    }
    assert!(gauge(&bench, "InboxSize", None).unwrap() >= 4.0);
    assert_eq!(bench.world.metric("SweepSucceeded", None), 1.0);
}

#[tokio::test]
async fn a_shard_that_cannot_be_read_is_an_error_and_the_others_are_swept() {
    let bench = Bench::scripted(&Script::default()).await;
    // Enough for every shard of both to hold one.
    let keys = |source: &str| (0..20).map(|n| format!("{source}#{n}")).collect::<Vec<_>>();
    for source in ["apiera", "kallglot"] {
        let keys = keys(source);
        store_unsent(&bench, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    bench.dial.forward(DUE);
    // The sources are read in the order of their names: the first shard is one of Apiera's.
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("Query", 0) => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    let error = bench.sweep().await.unwrap_err().to_string();
    assert!(error.contains("Query was refused (AccessDeniedException)"), "{error}");
    assert_eq!(bench.world.metric("SweepSucceeded", None), 0.0);
    assert_eq!(
        gauge(&bench, "Unfinished", Some("apiera")),
        None,
        "no number rather than a wrong one"
    );
    assert_eq!(gauge(&bench, "Unfinished", Some("kallglot")), Some(20.0));
    assert_eq!(bench.world.metric("Swept", Some("kallglot")), 20.0);
    let others = bench.world.metric("Swept", Some("apiera"));
    assert!((1.0..20.0).contains(&others), "{others}");
    bench.faulty.heal();
    bench.sweep().await.unwrap();
    assert_eq!(bench.world.metric("Swept", Some("apiera")), 20.0);
    assert_eq!(bench.world.metric("SweepSucceeded", None), 1.0);
    assert_eq!(bench.queued(Ordering::None).await.len(), 40);
}

#[tokio::test]
async fn failed_rows_that_cannot_be_counted_are_an_error_too() {
    let bench = Bench::scripted(&Script::default()).await;
    // Four shards of unfinished events come before the failed ones.
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("Query", 4) => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    assert!(bench.sweep().await.is_err());
    assert_eq!(gauge(&bench, "FailedRows", Some("apiera")), None);
    assert_eq!(gauge(&bench, "FailedRows", Some("kudos")), Some(0.0));
    assert_eq!(bench.world.metric("SweepSucceeded", None), 0.0);
}

#[tokio::test]
async fn a_sweep_without_time_sends_nothing_and_leaves_the_rows_due() {
    let bench = Bench::scripted(&Script::default()).await;
    store_unsent(&bench, &["kallglot#1"]).await;
    bench.dial.forward(DUE);
    let row = bench.row("kallglot#1").await;
    let soon = bench.dial.now().plus(secs(1));
    let report = Box::pin(bench.world.here().sweeper.sweep(soon)).await.unwrap();
    assert_eq!(report.sent, 0);
    assert_eq!(bench.row("kallglot#1").await, row);
}

#[tokio::test]
async fn only_finished_rows_expire_and_that_in_whole_seconds() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    let keys = ["kallglot#done", "kallglot#pending", "kallglot#held", "kallglot#failed"];
    bench.store(&keys).await;
    bench.run(keys[0]).await;
    bench.crash(&script, keys[2]).await;
    script.next(Step::Error(HandlerError::permanent("no")));
    bench.run(keys[3]).await;
    for (key, status) in keys.into_iter().zip(["done", "pending", "processing", "failed"]) {
        let row = bench.row(key).await;
        assert_eq!(string(&row, "status"), status);
        assert_eq!(row.contains_key("expires_at"), status == "done", "{key}");
        assert_eq!(row.contains_key("due_at"), status != "done", "{key}");
    }
    let row = bench.row(keys[0]).await;
    let expires = number(&row, "expires_at");
    assert_eq!(expires, number(&row, "finished_at") / 1000 + 30 * 86_400);
    assert_eq!(expires.to_string().len(), 10, "TTL counts seconds");
}
