//! A producer's replay of an event that failed here is a request to run it again.

use processor::handler::HandlerError;
use shared::limits::RERUN_AFTER;
use shared::source::Ordering;

use super::{sent_again, settled};
use crate::runs::bench::{Bench, Fate, days, secs};
use crate::runs::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

/// An event that has failed for good: permanently or by using up all its attempts.
async fn failed(key: &str, kind: &str) -> (Script, Bench) {
    let script = match kind {
        "permanent" => Script::of([Step::Error(HandlerError::permanent("no such tenant"))]),
        _ => Script::of((0..12).map(|_| Step::Error(HandlerError::retry("closed")))),
    };
    let bench = Bench::scripted(&script).await;
    bench.store(&[key]).await;
    while string(&bench.row(key).await, "status") != "failed" {
        bench.run(key).await;
        bench.dial.forward(secs(900));
    }
    bench.dial.forward(secs(1));
    assert_eq!(string(&bench.row(key).await, "error_kind"), kind);
    (script, bench)
}

#[tokio::test]
async fn a_replay_of_what_failed_here_an_hour_ago_runs_it_again_from_the_start() {
    for kind in ["permanent", "exhausted"] {
        let key = "kallglot#1";
        let (script, bench) = failed(key, kind).await;
        let ran = script.ran().len();
        settled(&bench, key).await;
        let finished = number(&bench.row(key).await, "finished_at");
        bench.dial.forward(RERUN_AFTER);
        assert!(bench.dial.now().millis() - finished > 3_600_000);
        let before = bench.dial.now();
        let row = sent_again(&bench, key).await;
        let counts = (number(&row, "attempts"), number(&row, "sends"));
        assert_eq!((string(&row, "status"), counts), ("pending", (0, 1)));
        assert!(number(&row, "due_at") >= before.plus(secs(120)).millis());
        assert!(string(&row, "due_shard").starts_with("kallglot#"));
        for gone in [
            "lease_owner",
            "lease_until",
            "first_claimed_at",
            "finished_at",
            "error_kind",
            "last_error",
            "expires_at",
            "outcome",
        ] {
            assert!(!row.contains_key(gone), "{gone}");
        }
        assert_eq!(bench.listed("failed#kallglot").await, [""; 0]);
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(string(&bench.row(key).await, "outcome"), "applied");
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, ran + 1));
    }
}

#[tokio::test]
async fn no_replay_runs_what_failed_in_an_ordered_source() {
    let (script, bench) = failed("kudos#1", "permanent").await;
    bench.dial.forward(days(1));
    settled(&bench, "kudos#1").await;
    assert_eq!(script.ran().len(), 1);
}

#[tokio::test]
async fn two_replays_at_once_run_a_failed_event_once() {
    let (script, bench) = failed("kallglot#1", "permanent").await;
    bench.dial.forward(RERUN_AFTER);
    bench.faulty.heal();
    let delivery = bench.job("kallglot#1");
    let answers = futures_util::future::join_all((0..5).map(|_| bench.deliver(&delivery))).await;
    assert_eq!(answers, [200; 5]);
    assert_eq!(bench.faulty.calls("SendMessage"), 1);
    for _ in 0..3 {
        assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    }
    assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 2));
}

#[tokio::test]
async fn a_rerun_whose_answer_is_lost_is_not_lost() {
    let (_, bench) = failed("kallglot#1", "permanent").await;
    bench.dial.forward(RERUN_AFTER);
    bench.queued(Ordering::None).await;
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 0) => Fault::AnswerLost,
        _ => Fault::None,
    });
    bench.store(&["kallglot#1"]).await;
    assert_eq!(bench.faulty.calls("SendMessage"), 1, "the repetition met the replay's own write");
    assert_eq!(string(&bench.row("kallglot#1").await, "status"), "pending");
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
}
