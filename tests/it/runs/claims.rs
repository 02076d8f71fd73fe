//! What a claim does to a row, and what happens to a message whose row cannot be claimed.

use shared::key::SourceName;
use shared::limits::{COMMIT_BUDGET, HANDLER_TIMEOUT, LEASE};

use super::bench::{Bench, Fate, secs};
use super::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

#[tokio::test]
async fn a_claim_counts_an_attempt_and_holds_the_row_for_a_lease() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    let stored = bench.row("kallglot#1").await;
    assert_eq!((string(&stored, "status"), number(&stored, "attempts")), ("pending", 0));
    let before = bench.dial.now();
    bench.crash(&script, "kallglot#1").await;
    let row = bench.row("kallglot#1").await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("processing", 1));
    assert_eq!(string(&row, "lease_owner").len(), 32);
    let until = number(&row, "lease_until");
    assert_eq!(until - number(&row, "first_claimed_at"), 75_000);
    assert!(until >= before.plus(LEASE).millis());
    assert_eq!(row["due_at"], stored["due_at"], "moving an index key costs two more units");
    bench.dial.forward(LEASE);
    bench.crash(&script, "kallglot#1").await;
    let again = bench.row("kallglot#1").await;
    assert_eq!(number(&again, "attempts"), 2);
    assert_ne!(again["lease_owner"], row["lease_owner"]);
    assert_eq!(again["first_claimed_at"], row["first_claimed_at"]);
}

#[tokio::test]
async fn a_copy_of_a_held_event_is_deleted_but_given_back_to_a_fifo_queue() {
    for (key, fate, visibility) in
        [("kallglot#1", Fate::Deleted, 0), ("kudos#1", Fate::ComesBack, 1)]
    {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.crash(&script, key).await;
        let row = bench.row(key).await;
        bench.faulty.heal();
        assert_eq!(bench.run(key).await, fate);
        assert_eq!(bench.faulty.calls("ChangeMessageVisibility"), visibility, "{key}");
        assert_eq!(bench.row(key).await, row);
        assert_eq!(script.ran().len(), 1);
    }
}

#[tokio::test]
async fn a_copy_of_an_event_that_backs_off_does_not_run_it_early() {
    for (key, fate) in [("kallglot#1", Fate::Deleted), ("kudos#1", Fate::ComesBack)] {
        let wait =
            processor::handler::HandlerError::Retry { why: "later".into(), after: Some(secs(60)) };
        let script = Script::of([Step::Error(wait)]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        assert_eq!(bench.run(key).await, Fate::ComesBack);
        let row = bench.row(key).await;
        assert_eq!(bench.run(key).await, fate);
        assert_eq!((bench.row(key).await, script.ran().len()), (row, 1));
        bench.dial.forward(secs(60));
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 2));
    }
}

#[tokio::test]
async fn a_finished_event_is_acknowledged_and_not_run_again() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    let row = bench.row("kudos#1").await;
    bench.dial.forward(secs(3600));
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    assert_eq!((bench.row("kudos#1").await, script.ran().len()), (row, 1));
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_still_runs_once() {
    for lost in [1, 2] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&["kallglot#1"]).await;
        bench.faulty.plan(move |operation, seen| match operation {
            "UpdateItem" if seen < lost => Fault::AnswerLost,
            _ => Fault::None,
        });
        assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
        let row = bench.row("kallglot#1").await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 1));
        assert_eq!((bench.applied("kallglot#1").await, script.ran().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_claim_that_is_never_answered_costs_an_attempt_and_no_event() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.faulty.plan(|operation, _| match operation {
        "UpdateItem" => Fault::AnswerLost,
        _ => Fault::None,
    });
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    assert_eq!(script.ran().len(), 0);
    bench.faulty.heal();
    bench.dial.forward(LEASE);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    let row = bench.row("kallglot#1").await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 2));
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn nothing_is_claimed_that_could_not_be_committed_in_time() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kudos#1"]).await;
    let rows = (bench.row("kallglot#1").await, bench.row("kudos#1").await);
    bench.faulty.heal();
    let records = [bench.message("kallglot#1"), bench.message("kudos#1")];
    let needed = HANDLER_TIMEOUT + COMMIT_BUDGET;
    let too_soon = bench.dial.now().plus(needed - secs(1));
    assert_eq!(bench.process_until(&records, too_soon).await, ["kallglot#1", "kudos#1"]);
    assert_eq!(bench.faulty.calls("UpdateItem"), 0);
    assert_eq!(bench.faulty.calls("ChangeMessageVisibility"), 2);
    assert_eq!((bench.row("kallglot#1").await, bench.row("kudos#1").await), rows);
    let enough = bench.dial.now().plus(needed + secs(30));
    assert_eq!(bench.process_until(&records, enough).await, [""; 0]);
    assert_eq!(script.ran().len(), 2);
}

#[tokio::test]
async fn pointers_of_a_paused_source_are_acknowledged_unclaimed() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        let source = key.split('#').next().unwrap();
        bench.pause(source, true).await;
        bench.store(&[key]).await;
        let row = bench.row(key).await;
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!(bench.row(key).await, row, "pending, and still due");
        assert!(number(&row, "due_at") > 0);
        bench.pause(source, false).await;
        bench.dial.forward(secs(10));
        assert_eq!(bench.run(key).await, Fate::Deleted);
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 1));
    }
}

#[tokio::test]
async fn while_the_control_item_cannot_be_read_the_last_known_pause_stands() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.pause("kallglot", true).await;
    bench.store(&["kallglot#1"]).await;
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    bench.faulty.plan(|operation, _| match operation {
        "GetItem" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    bench.dial.forward(secs(60));
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(script.ran().len(), 0);
}

#[tokio::test]
async fn what_was_never_read_of_a_pause_is_not_taken_for_a_go_on() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.pause(key.split('#').next().unwrap(), true).await;
        bench.store(&[key]).await;
        let row = bench.row(key).await;
        bench.faulty.plan(|operation, _| match operation {
            "GetItem" => Fault::Refused("AccessDeniedException"),
            _ => Fault::None,
        });
        assert_eq!(bench.process(&[bench.message(key), bench.message(key)]).await, [key, key]);
        assert_eq!(bench.faulty.calls("ChangeMessageVisibility"), 2, "soon: {key}");
        assert_eq!(bench.faulty.calls("GetItem"), 1, "one answer for the whole batch");
        bench.dial.forward(secs(10));
        assert_eq!(bench.run(key).await, Fate::ComesBack);
        assert_eq!(bench.row(key).await, row, "unclaimed");
        bench.faulty.heal();
        bench.dial.forward(secs(10));
        assert_eq!(bench.run(key).await, Fate::Deleted, "it is paused");
        assert_eq!((bench.row(key).await, script.ran().len()), (row, 0));
    }
}

#[tokio::test]
async fn a_source_that_was_never_paused_goes_on_when_its_control_item_can_be_read_again() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.faulty.plan(|operation, _| match operation {
        "GetItem" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    bench.faulty.heal();
    bench.dial.forward(secs(10));
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn a_pause_that_arrives_after_the_resume_does_not_stop_the_source_again() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    let source = SourceName::parse("kallglot").unwrap();
    let asked_at = bench.dial.now();
    assert!(bench.inbox().pause(&source, true, asked_at).await.unwrap());
    bench.dial.forward(secs(60));
    let resumed_at = bench.dial.now();
    assert!(bench.inbox().pause(&source, false, resumed_at).await.unwrap());
    assert!(!bench.inbox().pause(&source, true, asked_at).await.unwrap(), "a late repetition");
    assert!(!bench.inbox().control(&source).await.unwrap().paused);
    assert!(bench.inbox().pause(&source, false, resumed_at).await.unwrap(), "the SDK's own");
}

#[tokio::test]
async fn a_message_that_leads_nowhere_is_counted_and_disturbs_nobody() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    let mut garbage = bench.message("kallglot#garbage");
    garbage["body"] = "not a pointer".into();
    let records = [
        garbage,
        bench.message("nobody#1"),
        bench.message("kallglot#no-such-row"),
        bench.message("kallglot#1"),
    ];
    // Nothing can be recorded about the first two, so they go on to the dead-letter queue.
    assert_eq!(bench.process(&records).await, ["kallglot#garbage", "nobody#1"]);
    assert_eq!(bench.world.metric("StrayMessage", None), 3.0);
    assert_eq!(string(&bench.row("kallglot#1").await, "status"), "done");
}
