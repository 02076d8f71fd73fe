//! The sweeper: what should have been finished by now is sent again, and neither too often nor into
//! a queue that is long already.

mod bodies;
mod gauges;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use processor::handler::HandlerError;
use shared::limits::{ATTEMPTS_MAX, ATTEMPTS_MAX_ORDERED, LEASE, QUEUE_DEPTH_MAX};
use shared::source::Ordering;

use crate::runs::bench::{Bench, Fate, secs};
use crate::runs::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

/// Due, and a little more.
const DUE: std::time::Duration = secs(121);

/// Stores events whose send fails.
async fn store_unsent(bench: &Bench, keys: &[&str]) {
    bench.faulty.plan(|operation, _| match operation {
        "SendMessage" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    bench.store(keys).await;
    bench.faulty.heal();
}

#[tokio::test]
async fn an_event_whose_send_failed_is_sent_by_the_sweeper_and_done() {
    for (key, ordering, other) in [
        ("kallglot#1", Ordering::None, Ordering::PerType),
        ("kudos#1", Ordering::PerType, Ordering::None),
    ] {
        let bench = Bench::scripted(&Script::default()).await;
        store_unsent(&bench, &[key]).await;
        assert_eq!(bench.sweep().await.unwrap().sent, 0, "not due yet");
        bench.dial.forward(DUE);
        assert_eq!(bench.sweep().await.unwrap().sent, 1);
        assert_eq!(bench.queued(other).await.len(), 0);
        assert_eq!(bench.queued(ordering).await.len(), 1);
        assert_eq!(bench.world.metric("Swept", key.split('#').next()), 1.0);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.applied(key).await, 1);
        bench.dial.forward(secs(86_400));
        assert_eq!(bench.sweep().await.unwrap().sent, 0, "done is done");
    }
}

#[tokio::test]
async fn an_event_is_sent_again_after_2_4_8_and_then_every_15_minutes() {
    let bench = Bench::scripted(&Script::default()).await;
    bench.store(&["kudos#1"]).await;
    bench.dial.forward(DUE);
    for (sends, minutes) in [(2, 2), (3, 4), (4, 8), (5, 15), (6, 15), (7, 15)] {
        let before = bench.dial.now();
        assert_eq!(bench.sweep().await.unwrap().sent, 1);
        assert_eq!(bench.sweep().await.unwrap().sent, 0, "not due again");
        let row = bench.row("kudos#1").await;
        assert_eq!((number(&row, "sends"), number(&row, "attempts")), (sends, 0));
        let due = number(&row, "due_at");
        assert!(due >= before.plus(secs(60 * minutes)).millis(), "{sends}");
        assert!(due <= bench.dial.now().plus(secs(60 * minutes)).millis(), "{sends}");
        bench.dial.forward(secs(60 * minutes));
    }
    assert_eq!(bench.queued(Ordering::PerType).await.len(), 7, "SQS swallows none of them");
}

#[tokio::test]
async fn a_push_whose_answer_is_lost_is_sent_all_the_same() {
    let bench = Bench::scripted(&Script::default()).await;
    store_unsent(&bench, &["kallglot#1"]).await;
    bench.dial.forward(DUE);
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 0) => Fault::AnswerLost,
        _ => Fault::None,
    });
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.faulty.calls("UpdateItem"), 2);
    assert_eq!(number(&bench.row("kallglot#1").await, "sends"), 2);
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
}

/// The rows that are due during a backlog are those that are being committed.
#[tokio::test]
async fn a_row_that_a_transaction_holds_fails_no_sweep() {
    let bench = Bench::scripted(&Script::default()).await;
    store_unsent(&bench, &["kallglot#1"]).await;
    bench.dial.forward(DUE);
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 0) => Fault::Refused("TransactionConflictException"),
        _ => Fault::None,
    });
    assert_eq!(bench.sweep().await.unwrap().sent, 1, "it waited its turn");
    bench.dial.forward(DUE);
    bench.faulty.plan(|operation, _| match operation {
        "UpdateItem" => Fault::Refused("TransactionConflictException"),
        _ => Fault::None,
    });
    assert_eq!(bench.sweep().await.unwrap().sent, 0, "the next sweep sees what became of it");
    assert_eq!(bench.world.metric("SweepSucceeded", None), 2.0);
}

#[tokio::test]
async fn an_event_that_is_held_or_backs_off_is_not_sent() {
    let wait = HandlerError::Retry { why: "later".into(), after: Some(secs(600)) };
    let script = Script::of([Step::Error(wait)]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kallglot#2"]).await;
    bench.dial.forward(secs(110));
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    bench.crash(&script, "kallglot#2").await;
    bench.dial.forward(secs(20));
    let rows = (bench.row("kallglot#1").await, bench.row("kallglot#2").await);
    let now = bench.dial.now().millis();
    assert!(number(&rows.1, "due_at") < now && number(&rows.1, "lease_until") > now);
    assert_eq!(bench.sweep().await.unwrap().sent, 0);
    assert_eq!((bench.row("kallglot#1").await, bench.row("kallglot#2").await), rows);
    bench.dial.forward(LEASE);
    assert_eq!(bench.sweep().await.unwrap().sent, 1, "the run died");
    bench.dial.forward(secs(630));
    assert_eq!(bench.sweep().await.unwrap().sent, 2, "and the back-off is over");
}

#[tokio::test]
async fn a_wait_of_more_than_15_minutes_ends_with_a_message_from_the_sweeper() {
    let wait = HandlerError::rate_limited("slow down", Some(secs(3600)));
    let script = Script::of([Step::Error(wait)]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.queued(Ordering::None).await;
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    bench.dial.forward(secs(3599));
    assert_eq!(bench.sweep().await.unwrap().sent, 0);
    bench.dial.forward(secs(3601));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn an_event_whose_attempts_are_used_up_by_dead_runs_is_given_up() {
    for (key, most) in [("kallglot#1", ATTEMPTS_MAX), ("kudos#1", ATTEMPTS_MAX_ORDERED)] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        for attempt in 1..=most {
            bench.crash(&script, key).await;
            bench.dial.forward(LEASE + secs(900));
            let report = bench.sweep().await.unwrap();
            let last = usize::from(attempt == most);
            assert_eq!((report.given_up, report.sent), (last, 1 - last), "{key} {attempt}");
        }
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "exhausted"));
        assert!(!row.contains_key("lease_owner") && !string(&row, "last_error").is_empty());
        let source = key.split('#').next().unwrap();
        assert_eq!(bench.world.metric("Failed", Some(source)), 1.0);
        assert_eq!(bench.listed(&format!("failed#{source}")).await, [key]);
        assert_eq!((bench.applied(key).await, script.ran().len()), (0, most as usize));
    }
}

async fn fill_standard_queue(bench: &Bench, messages: usize) {
    let url = &bench.world.cloud.resources.queue_url;
    let sqs = bench.world.sqs();
    for _ in 0..messages.div_ceil(10) {
        let entries = (0..10).map(|id| {
            let entry = SendMessageBatchRequestEntry::builder().id(id.to_string());
            entry.message_body("{}").build().unwrap()
        });
        let send = sqs.send_message_batch().queue_url(url);
        let sent = send.set_entries(Some(entries.collect())).send().await.unwrap();
        assert_eq!(sent.successful().len(), 10);
    }
}

#[tokio::test]
async fn into_a_deep_queue_each_source_sends_only_its_ten() {
    let bench = Bench::scripted(&Script::default()).await;
    let keys = |source: &str| (0..15).map(|n| format!("{source}#{n}")).collect::<Vec<_>>();
    for source in ["kallglot", "apiera", "kudos"] {
        let keys = keys(source);
        store_unsent(&bench, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    fill_standard_queue(&bench, QUEUE_DEPTH_MAX).await;
    bench.dial.forward(DUE);
    let report = bench.sweep().await.unwrap();
    let swept = |source| bench.world.metric("Swept", Some(source));
    assert_eq!([swept("kallglot"), swept("apiera")], [10.0, 10.0]);
    assert_eq!(swept("kudos"), 15.0, "its queue is short");
    assert_eq!(report.sent, 35);
    assert_eq!(bench.sweep().await.unwrap().sent, 10, "the other five of each");
}

#[tokio::test]
async fn a_queue_is_filled_up_and_no_further() {
    let bench = Bench::scripted(&Script::default()).await;
    let keys: Vec<_> = (0..30).map(|n| format!("kallglot#{n}")).collect();
    store_unsent(&bench, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    fill_standard_queue(&bench, QUEUE_DEPTH_MAX - 20).await;
    bench.dial.forward(DUE);
    assert_eq!(bench.sweep().await.unwrap().sent, 20);
    assert_eq!(bench.sweep().await.unwrap().sent, 10, "a source's own, at any depth");
}

#[tokio::test]
async fn while_the_depth_is_not_known_little_is_sent() {
    let bench = Bench::scripted(&Script::default()).await;
    let keys: Vec<_> = (0..12).map(|n| format!("kallglot#{n}")).collect();
    store_unsent(&bench, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    bench.dial.forward(DUE);
    bench.faulty.plan(|operation, _| match operation {
        "GetQueueAttributes" => Fault::Refused("AccessDenied"),
        _ => Fault::None,
    });
    assert_eq!(bench.sweep().await.unwrap().sent, 10);
    bench.faulty.heal();
    assert_eq!(bench.sweep().await.unwrap().sent, 2);
}

#[tokio::test]
async fn events_of_a_paused_source_wait_and_after_a_resume_for_the_processors_memory() {
    let bench = Bench::scripted(&Script::default()).await;
    store_unsent(&bench, &["kallglot#1", "apiera#1"]).await;
    bench.pause("kallglot", true).await;
    bench.dial.forward(DUE);
    let row = bench.row("kallglot#1").await;
    assert_eq!(bench.sweep().await.unwrap().sent, 1, "Apiera's");
    assert_eq!(bench.row("kallglot#1").await, row, "pending, and still due");
    bench.pause("kallglot", false).await;
    assert_eq!(bench.sweep().await.unwrap().sent, 0, "a processor may still remember the pause");
    bench.dial.forward(secs(11));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn a_source_of_which_nobody_knows_whether_it_is_paused_waits_for_the_next_sweep() {
    let bench = Bench::scripted(&Script::default()).await;
    let keys = ["kudos#1", "kallglot#1", "apiera#1"];
    store_unsent(&bench, &keys).await;
    bench.pause("kallglot", true).await;
    bench.dial.forward(DUE);
    let row = bench.row("kallglot#1").await;
    // The sweeper reads nothing but control items like this.
    bench.faulty.plan(|operation, _| match operation {
        "GetItem" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    assert!(bench.sweep().await.is_err(), "incomplete");
    assert_eq!(bench.faulty.calls("GetItem"), keys.len());
    assert_eq!(bench.faulty.calls("SendMessageBatch"), 0);
    assert_eq!(bench.world.metric("SweepSucceeded", None), 0.0);
    bench.faulty.heal();
    assert_eq!(bench.sweep().await.unwrap().sent, 2);
    assert_eq!(bench.row("kallglot#1").await, row, "paused all the time");
}

#[tokio::test]
async fn a_send_that_fails_is_an_error_of_the_sweep_and_tried_again() {
    let bench = Bench::scripted(&Script::default()).await;
    store_unsent(&bench, &["kallglot#1"]).await;
    bench.dial.forward(DUE);
    bench.faulty.plan(|operation, _| match operation {
        "SendMessageBatch" => Fault::Refused("AccessDenied"),
        _ => Fault::None,
    });
    assert!(bench.sweep().await.is_err());
    assert_eq!(bench.world.metric("SweepSucceeded", None), 0.0);
    bench.faulty.heal();
    bench.dial.forward(DUE);
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
}
