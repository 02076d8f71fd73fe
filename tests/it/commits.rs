//! Effects happen once, together with the event's end, whatever crashes and however many copies are
//! in flight.

mod refusals;

use futures_util::future::join_all;
use shared::limits::{BACKOFF_MAX, LEASE};
use shared::source::Ordering;

use crate::runs::bench::{Bench, Fate, secs};
use crate::runs::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

#[tokio::test]
async fn a_run_whose_lease_was_taken_over_applies_nothing() {
    // On the FIFO queue a copy of a finished event is acknowledged as well.
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::of([Step::Wait]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        let second = async {
            script.entered().await;
            bench.dial.forward(LEASE);
            let fate = bench.run(key).await;
            script.go_on();
            fate
        };
        assert_eq!(tokio::join!(bench.run(key), second), (Fate::Deleted, Fate::Deleted));
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 2));
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 2));
        let source = key.split('#').next();
        assert_eq!(bench.world.metric("Applied", source), 1.0);
        assert_eq!(bench.world.metric("LeaseLost", source), 1.0);
    }
}

#[tokio::test]
async fn a_run_that_is_late_while_another_still_runs_applies_nothing() {
    for (key, late) in [("kallglot#1", Fate::Deleted), ("kudos#1", Fate::ComesBack)] {
        let script = Script::of([Step::Wait]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        let takes_over = async {
            script.entered().await;
            bench.dial.forward(LEASE);
            bench.crash(&script, key).await;
            script.go_on();
        };
        let (fate, ()) = tokio::join!(bench.run(key), takes_over);
        // A FIFO group waits for the one who has the event.
        assert_eq!((fate, bench.applied(key).await), (late, 0), "{key}");
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("processing", 2));
        bench.dial.forward(LEASE);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.applied(key).await, 1);
    }
}

#[tokio::test]
async fn a_late_error_does_not_touch_the_row_of_the_run_that_took_over() {
    let late = processor::handler::HandlerError::permanent("too late");
    let script = Script::of([Step::WaitThenError(late)]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    let second = async {
        script.entered().await;
        bench.dial.forward(LEASE);
        bench.run("kallglot#1").await;
        let row = bench.row("kallglot#1").await;
        script.go_on();
        row
    };
    let (fate, row) = tokio::join!(bench.run("kallglot#1"), second);
    assert_eq!((fate, string(&row, "status")), (Fate::Deleted, "done"));
    assert_eq!(bench.row("kallglot#1").await, row);
}

#[tokio::test]
async fn a_late_run_commits_if_nobody_took_over() {
    let script = Script::of([Step::Wait]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    let late = async {
        script.entered().await;
        bench.dial.forward(10 * LEASE);
        script.go_on();
    };
    assert_eq!(tokio::join!(bench.run("kallglot#1"), late).0, Fate::Deleted);
    assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_that_are_processed_at_the_same_time_have_one_effect() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kudos#1"]).await;
    let copies = |key: &'static str| (0..8).map(move |_| key);
    join_all(copies("kallglot#1").chain(copies("kudos#1")).map(|key| bench.run(key))).await;
    let twice = [bench.message("kallglot#1"), bench.message("kallglot#1")];
    assert_eq!(bench.process(&twice).await, [""; 0]);
    for key in ["kallglot#1", "kudos#1"] {
        assert_eq!(bench.applied(key).await, 1, "{key}");
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 1));
    }
    assert_eq!(script.ran().len(), 2);
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_happened_once() {
    for lost in [1, 2] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&["kudos#1"]).await;
        bench.faulty.plan(move |operation, seen| match operation {
            "TransactWriteItems" if seen < lost => Fault::AnswerLost,
            _ => Fault::None,
        });
        assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
        assert_eq!(bench.faulty.calls("TransactWriteItems"), lost + 1);
        assert_eq!((bench.applied("kudos#1").await, script.ran().len()), (1, 1));
        assert_eq!(string(&bench.row("kudos#1").await, "outcome"), "applied");
        assert_eq!(bench.world.metric("Applied", Some("kudos")), 1.0);
    }
}

#[tokio::test]
async fn a_commit_that_is_never_answered_happened_once_and_is_acknowledged() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.faulty.plan(|operation, _| match operation {
            "TransactWriteItems" => Fault::AnswerLost,
            _ => Fault::None,
        });
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.faulty.calls("TransactWriteItems"), 3);
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), string(&row, "outcome")), ("done", "applied"));
        let counted = ["Applied", "LeaseLost"].map(|name| bench.world.metric(name, None));
        assert_eq!(counted, [1.0, 0.0], "{key}: the release found the run's own end");
        bench.faulty.heal();
        bench.dial.forward(LEASE + BACKOFF_MAX);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_handler_without_effects_pays_for_no_transaction() {
    let script = Script::of([Step::Nothing]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    bench.faulty.heal();
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    assert_eq!(bench.faulty.calls("TransactWriteItems"), 0);
    assert_eq!(bench.faulty.calls("UpdateItem"), 2, "the claim and the end");
    let row = bench.row("kudos#1").await;
    assert_eq!((string(&row, "status"), string(&row, "outcome")), ("done", "applied"));
}

#[tokio::test]
async fn an_end_without_effects_whose_answer_is_lost_is_counted_once_as_applied() {
    let script = Script::of([Step::Nothing]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 1) => Fault::AnswerLost,
        _ => Fault::None,
    });
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    assert_eq!(string(&bench.row("kudos#1").await, "status"), "done");
    assert_eq!(bench.world.metric("Applied", Some("kudos")), 1.0);
    assert_eq!(bench.world.metric("LeaseLost", Some("kudos")), 0.0);
}

#[tokio::test]
async fn conflicts_and_throttling_of_the_commit_use_up_no_attempt() {
    for code in [
        "TransactionConflictException",
        "TransactionInProgressException",
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
    ] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&["kallglot#1"]).await;
        bench.faulty.plan(move |operation, _| match operation {
            "TransactWriteItems" => Fault::Refused(code),
            _ => Fault::None,
        });
        assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack, "{code}");
        let row = bench.row("kallglot#1").await;
        let shown = (string(&row, "status"), number(&row, "attempts"));
        assert_eq!(shown, ("pending", 0), "{code}");
        assert!(!string(&row, "last_error").is_empty(), "{code}");
        bench.faulty.heal();
        bench.dial.forward(secs(60));
        assert_eq!(bench.run("kallglot#1").await, Fate::Deleted, "{code}");
        assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 2), "{code}");
    }
}

#[tokio::test]
async fn when_dynamodb_is_down_at_the_commit_nothing_is_lost() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
    // The claim still works; nothing after it does, not even the release.
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 0) => Fault::None,
        ("UpdateItem" | "TransactWriteItems", _) => Fault::Failed,
        _ => Fault::None,
    });
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    assert_eq!(string(&bench.row("kallglot#1").await, "status"), "processing");
    assert_eq!(bench.applied("kallglot#1").await, 0);
    bench.faulty.heal();
    // Even if the message itself is gone for good.
    bench.dial.forward(secs(121));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 2));
}

#[tokio::test]
async fn a_crash_between_claim_and_commit_leaves_one_effect_in_the_end() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.crash(&script, key).await;
        assert_eq!(bench.applied(key).await, 0);
        bench.dial.forward(LEASE);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 2));
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 2));
    }
}

#[tokio::test]
async fn a_crash_right_after_the_commit_leaves_one_effect() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    // The transaction happens, and the process dies before it hears of it.
    bench.faulty.plan(|operation, _| match operation {
        "TransactWriteItems" => Fault::AnswerLost,
        _ => Fault::None,
    });
    tokio::select! {
        fate = bench.run("kallglot#1") => panic!("too late: {fate:?}"),
        () = async { while bench.applied("kallglot#1").await == 0 {} } => {}
    }
    bench.faulty.heal();
    bench.dial.forward(LEASE);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 1));
}
