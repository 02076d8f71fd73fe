//! Bodies in items of their own outlive their ninety days for as long as the event needs them.

use std::time::Duration;

use processor::handler::HandlerError;
use serde_json::json;

use super::DUE;
use crate::runs::bench::{Bench, Fate, days, secs};
use crate::runs::script::{Script, Step};
use crate::support::world::{Item, number, string, text};

const DAY_S: i64 = 86_400;

/// Stores an event whose body takes two items; its bytes.
async fn store_large(bench: &Bench, id: &str) -> Vec<u8> {
    let noise: String = std::iter::repeat_with(fastrand::alphanumeric).take(600_000).collect();
    let body = json!({"id": id, "type": "job.run", "data": {"noise": noise}});
    assert_eq!(bench.deliver(&bench.kallglot(&body)).await, 200);
    let row = bench.row(&format!("kallglot#{id}")).await;
    assert_eq!(number(&row, "body_parts"), 2);
    body.to_string().into_bytes()
}

/// The row's and its body items' own expiry, which must agree.
async fn expiry(bench: &Bench, key: &str) -> i64 {
    let row = bench.row(key).await;
    for part in 0..number(&row, "body_parts") {
        let item = format!("~body#{}#{part}", string(&row, "receipt"));
        let item: Item = bench.world.row(&item).await.unwrap();
        assert_eq!(item["expires_at"], row["body_expires_at"], "{key} {part}");
    }
    number(&row, "body_expires_at")
}

/// The body has its full time again, and is what it was.
async fn assert_renewed(bench: &Bench, key: &str, body: &[u8]) {
    let left = expiry(bench, key).await - bench.dial.now().secs();
    assert!((90 * DAY_S - 60..=90 * DAY_S).contains(&left), "{left}");
    assert!(bench.payload(key).await == body, "another payload");
}

#[tokio::test]
async fn the_body_of_an_event_that_is_sent_is_renewed_when_30_days_are_left() {
    let bench = Bench::scripted(&Script::default()).await;
    let body = store_large(&bench, "1").await;
    let stored = expiry(&bench, "kallglot#1").await;
    bench.dial.forward(days(59));
    let report = bench.sweep().await.unwrap();
    assert_eq!((report.sent, report.renewed), (1, 0));
    assert_eq!(expiry(&bench, "kallglot#1").await, stored);
    bench.dial.forward(days(2));
    let report = bench.sweep().await.unwrap();
    assert_eq!((report.sent, report.renewed), (1, 1));
    assert_renewed(&bench, "kallglot#1", &body).await;
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn the_body_of_a_failed_event_is_renewed_by_its_visits() {
    let script = Script::of([Step::Error(HandlerError::permanent("no"))]);
    let bench = Bench::scripted(&script).await;
    let body = store_large(&bench, "1").await;
    bench.run("kallglot#1").await;
    let visit = number(&bench.row("kallglot#1").await, "due_at");
    assert_eq!(visit / 1000, expiry(&bench, "kallglot#1").await - 30 * DAY_S);
    bench.dial.forward(days(59));
    assert_eq!(bench.sweep().await.unwrap().renewed, 0);
    for _ in 0..3 {
        bench.dial.forward(days(61));
        assert_eq!(bench.sweep().await.unwrap().renewed, 1);
        assert_renewed(&bench, "kallglot#1", &body).await;
        let row = bench.row("kallglot#1").await;
        assert_eq!(string(&row, "status"), "failed");
        assert!(number(&row, "due_at") > bench.dial.now().plus(days(59)).millis());
        assert_eq!(bench.sweep().await.unwrap().renewed, 0, "visited");
    }
    assert_eq!(bench.listed("failed#kallglot").await, ["kallglot#1"]);
}

#[tokio::test]
async fn bodies_of_a_paused_source_outlive_the_pause() {
    let bench = Bench::scripted(&Script::default()).await;
    let body = store_large(&bench, "1").await;
    bench.pause("kallglot", true).await;
    // Once a day: at the day's first minute.
    let to_next_day = || {
        let past = bench.dial.now().secs() % DAY_S;
        Duration::from_secs(u64::try_from(DAY_S - past).unwrap())
    };
    bench.dial.forward(days(58) + to_next_day());
    assert_eq!(bench.sweep().await.unwrap().renewed, 0);
    bench.dial.forward(days(2) + to_next_day());
    let report = bench.sweep().await.unwrap();
    assert_eq!((report.sent, report.renewed), (0, 1));
    assert_renewed(&bench, "kallglot#1", &body).await;
    bench.pause("kallglot", false).await;
    bench.dial.forward(secs(11));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn the_body_of_an_event_that_waits_for_long_is_there_when_the_wait_is_over() {
    let wait = HandlerError::rate_limited("come back next season", Some(days(91)));
    let bench = Bench::scripted(&Script::of([Step::Error(wait)])).await;
    store_large(&bench, "1").await;
    bench.run("kallglot#1").await;
    for _ in 0..100 {
        bench.dial.forward(days(2));
        bench.sweep().await.unwrap();
        // What has run out may be removed at any time from now on.
        let left = expiry(&bench, "kallglot#1").await - bench.dial.now().secs();
        assert!(left > 0, "the body of an unfinished event has expired");
        if bench.run("kallglot#1").await == Fate::Deleted && bench.applied("kallglot#1").await == 1
        {
            return;
        }
        let status = string(&bench.row("kallglot#1").await, "status").to_owned();
        assert_eq!(status, "pending");
    }
    panic!("not done after 200 days");
}

#[tokio::test]
async fn a_sweep_without_time_leaves_the_visits_to_the_next_one() {
    let script = Script::of([Step::Error(HandlerError::permanent("no"))]);
    let bench = Bench::scripted(&script).await;
    store_large(&bench, "1").await;
    bench.run("kallglot#1").await;
    bench.dial.forward(days(61));
    let row = bench.row("kallglot#1").await;
    let now = bench.dial.now();
    let report = Box::pin(bench.world.here().sweeper.sweep(now)).await.unwrap();
    assert_eq!((report.renewed, bench.row("kallglot#1").await), (0, row));
    assert_eq!(bench.sweep().await.unwrap().renewed, 1);
}

#[tokio::test]
async fn a_body_that_is_gone_fails_its_event_and_not_every_sweep_from_then_on() {
    let bench = Bench::scripted(&Script::default()).await;
    store_large(&bench, "1").await;
    let row = bench.row("kallglot#1").await;
    let table = &bench.world.cloud.resources.inbox_table;
    let part = format!("~body#{}#1", string(&row, "receipt"));
    let delete = bench.world.dynamodb().delete_item().table_name(table);
    delete.key("pk", text(&part)).send().await.unwrap();
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    let row = bench.row("kallglot#1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "permanent"));
    assert_eq!(string(&row, "last_error"), "body item 1 is missing");
    bench.dial.forward(days(61));
    // The first visit may complain. A sweeper that never succeeds again hides every other fault.
    let _ = bench.sweep().await;
    bench.dial.forward(DUE);
    assert!(bench.sweep().await.is_ok());
}
