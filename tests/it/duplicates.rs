//! A duplicate is answered by the state of its row: it brings back what was lost on the way, and
//! nothing else.

mod reruns;

use processor::handler::HandlerError;
use serde_json::json;
use shared::limits::{LEASE, RESEND_AFTER};
use shared::source::Ordering;

use crate::runs::bench::{Bench, Fate, days, secs};
use crate::runs::script::{Script, Step};
use crate::support::world::{Item, number, string};
use crate::support::{Fault, Faulty};

/// Delivers `key` once more: it is answered 2xx, its row stays as it is, and nothing is sent.
async fn settled(bench: &Bench, key: &str) {
    let (row, before) = (bench.row(key).await, bench.world.metric("Duplicate", None));
    bench.faulty.heal();
    bench.store(&[key]).await;
    assert_eq!(bench.row(key).await, row, "{key}");
    assert_eq!(bench.world.metric("Duplicate", None), before + 1.0, "{key}");
    assert_eq!(bench.faulty.calls("SendMessage"), 0, "{key}");
}

/// Delivers `key` once more: it is answered 2xx and sent once. Gives the row.
async fn sent_again(bench: &Bench, key: &str) -> Item {
    let before = bench.world.metric("Resent", None);
    bench.faulty.heal();
    bench.store(&[key]).await;
    assert_eq!(bench.faulty.calls("SendMessage"), 1, "{key}");
    assert_eq!(bench.world.metric("Resent", None), before + 1.0, "{key}");
    bench.row(key).await
}

fn unsendable_now(faulty: &Faulty) {
    faulty.plan(|operation, _| match operation {
        "SendMessage" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
}

#[tokio::test]
async fn a_young_event_is_left_to_the_request_that_stored_it() {
    for key in ["kallglot#1", "kudos#1", "apiera#1"] {
        let bench = Bench::scripted(&Script::default()).await;
        bench.store(&[key]).await;
        settled(&bench, key).await;
        let source = key.split('#').next();
        assert_eq!(bench.world.metric("Duplicate", source), 1.0);
        assert_eq!(bench.world.metric("Stored", source), 1.0);
    }
}

#[tokio::test]
async fn an_event_whose_request_died_before_the_send_is_sent_by_the_producers_retry() {
    for (key, ordering) in [("kallglot#1", Ordering::None), ("kudos#1", Ordering::PerType)] {
        let bench = Bench::scripted(&Script::default()).await;
        bench.faulty.plan(|operation, _| match operation {
            "SendMessage" => Fault::Hangs,
            _ => Fault::None,
        });
        let delivery = bench.job(key);
        tokio::select! {
            status = bench.deliver(&delivery) => panic!("answered {status}"),
            () = async {
                while bench.faulty.calls("SendMessage") == 0 {
                    tokio::task::yield_now().await;
                }
            } => {}
        }
        bench.faulty.heal();
        let stored = bench.row(key).await;
        assert_eq!((string(&stored, "status"), number(&stored, "sends")), ("pending", 1));
        bench.dial.forward(RESEND_AFTER + secs(1));
        let before = bench.dial.now();
        let row = sent_again(&bench, key).await;
        assert_eq!((string(&row, "status"), number(&row, "sends")), ("pending", 2));
        assert!(number(&row, "due_at") >= before.plus(secs(120)).millis(), "as the sweeper does");
        assert_eq!(row["receipt"], stored["receipt"]);
        assert_eq!(bench.queued(ordering).await.len(), 1);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.applied(key).await, 1);
    }
}

#[tokio::test]
async fn every_late_duplicate_of_an_unfinished_event_is_sent() {
    let bench = Bench::scripted(&Script::default()).await;
    unsendable_now(&bench.faulty);
    bench.store(&["kallglot#1"]).await;
    for sends in 2..5 {
        bench.dial.forward(secs(11));
        let row = sent_again(&bench, "kallglot#1").await;
        assert_eq!(number(&row, "sends"), sends);
    }
}

#[tokio::test]
async fn duplicates_that_come_together_send_no_more_than_they_push() {
    let bench = Bench::scripted(&Script::default()).await;
    unsendable_now(&bench.faulty);
    bench.store(&["kallglot#1"]).await;
    bench.dial.forward(secs(11));
    bench.faulty.heal();
    let delivery = bench.job("kallglot#1");
    let before = bench.row("kallglot#1").await;
    let answers = futures_util::future::join_all((0..10).map(|_| bench.deliver(&delivery))).await;
    assert_eq!(answers, [200; 10]);
    let sends = number(&bench.row("kallglot#1").await, "sends") - number(&before, "sends");
    assert_eq!(i64::try_from(bench.faulty.calls("SendMessage")).unwrap(), sends);
    assert!((1..=10).contains(&sends));
    assert_eq!(bench.world.metric("Resent", None) as i64, sends, "counted is what was sent");
}

/// DynamoDB refuses a put while a transaction writes the row; the embedded engine never does.
#[tokio::test]
async fn a_duplicate_that_meets_the_commit_of_its_event_is_a_duplicate() {
    let bench = Bench::scripted(&Script::default()).await;
    bench.store(&["kallglot#1"]).await;
    bench.run("kallglot#1").await;
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("PutItem", 0 | 1) => Fault::Refused("TransactionConflictException"),
        _ => Fault::None,
    });
    bench.store(&["kallglot#1"]).await;
    assert_eq!(bench.faulty.calls("PutItem"), 3);
    assert_eq!(bench.world.metric("Duplicate", None), 1.0);
    assert_eq!(bench.world.metric("AnsweredFault", None), 0.0);
}

#[tokio::test]
async fn an_event_that_is_held_is_left_alone_until_its_lease_runs_out() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.dial.forward(secs(20));
    bench.crash(&script, "kallglot#1").await;
    settled(&bench, "kallglot#1").await;
    bench.dial.forward(LEASE);
    let row = sent_again(&bench, "kallglot#1").await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("processing", 1));
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn an_event_that_backs_off_is_left_alone() {
    let wait = HandlerError::Retry { why: "later".into(), after: Some(secs(600)) };
    let bench = Bench::scripted(&Script::of([Step::Error(wait)])).await;
    bench.store(&["kallglot#1"]).await;
    bench.run("kallglot#1").await;
    bench.dial.forward(secs(60));
    settled(&bench, "kallglot#1").await;
}

#[tokio::test]
async fn a_finished_event_is_a_duplicate_for_as_long_as_its_row_is_there() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.run(key).await;
        settled(&bench, key).await;
        // Expired, and not yet removed by the TTL: still memory.
        bench.dial.forward(days(31));
        assert!(number(&bench.row(key).await, "expires_at") < bench.dial.now().secs());
        settled(&bench, key).await;
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 1));
    }
}

#[tokio::test]
async fn an_ignored_event_is_a_duplicate() {
    let bench = Bench::new(processor::handlers::all()).await;
    bench.store(&["kallglot#1"]).await;
    bench.run("kallglot#1").await;
    assert_eq!(string(&bench.row("kallglot#1").await, "status"), "ignored");
    bench.dial.forward(secs(7200));
    settled(&bench, "kallglot#1").await;
}

#[tokio::test]
async fn an_unusable_delivery_gets_its_first_answer_again() {
    for (source, status) in [("kudos", 400), ("kallglot", 200)] {
        let bench = Bench::scripted(&Script::default()).await;
        let body = json!({"data": "no id and no type"});
        let mut rows = vec![];
        for _ in 0..2 {
            let delivery =
                if source == "kudos" { bench.kudos(&body) } else { bench.kallglot(&body) };
            bench.faulty.heal();
            assert_eq!(bench.deliver(&delivery).await, status, "{source}");
            assert_eq!(bench.faulty.calls("SendMessage"), 0, "{source}");
            rows.push(bench.world.rows().await);
            bench.dial.forward(secs(7200));
        }
        assert_eq!((rows[0].len(), &rows[0]), (1, &rows[1]));
        assert_eq!(bench.world.metric("Unusable", Some(source)), 2.0);
    }
}

#[tokio::test]
async fn of_two_bodies_with_one_id_the_first_stands_and_the_other_is_counted() {
    let bench = Bench::scripted(&Script::default()).await;
    let body = |n: u8| json!({"event_id": "1", "event_type": "job.run", "data": {"n": n}});
    for n in 1..=3 {
        assert_eq!(bench.deliver(&bench.kudos(&body(n))).await, 200);
    }
    assert_eq!(bench.payload("kudos#1").await, body(1).to_string().as_bytes());
    assert_eq!(bench.world.metric("BodyMismatch", Some("kudos")), 2.0);
    assert_eq!(bench.world.metric("IdMismatch", Some("kudos")), 0.0);
}

#[tokio::test]
async fn a_header_id_that_disagrees_is_counted_and_never_used() {
    let bench = Bench::scripted(&Script::default()).await;
    for (copy, counted) in [("1", 0.0), ("another", 1.0)] {
        let delivery = bench.job("kudos#1").with("X-Kudos-Event-Id", copy);
        assert_eq!(bench.deliver(&delivery).await, 200);
        assert_eq!(bench.world.metric("IdMismatch", Some("kudos")), counted);
    }
    assert_eq!(bench.world.rows().await.len(), 1);
}

#[tokio::test]
async fn two_sources_may_use_one_id() {
    let bench = Bench::scripted(&Script::default()).await;
    let keys = ["kudos#1", "kallglot#1", "apiera#1"];
    bench.store(&keys).await;
    for key in keys {
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.applied(key).await, 1, "{key}");
    }
    assert_eq!(bench.world.metric("Duplicate", None), 0.0);
}
