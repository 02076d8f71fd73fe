//! How a run ends when its handler does not simply succeed: back-off, refunds, failures.

pub(crate) mod bench;
pub(crate) mod script;

mod alone;
mod batches;
mod claims;

use processor::handler::{Context, Event, HandlerError, Registry};
use shared::effects::Effects;
use shared::limits::{
    ATTEMPTS_MAX, ATTEMPTS_MAX_ORDERED, BACKOFF_MAX, DUE_FIRST, MESSAGE_WAIT_MAX, RECEIVES_KEPT,
    RECEIVES_MAX_FIFO, RELEASES_MAX_AGE,
};
use shared::source::Ordering;

use self::bench::{Bench, Fate, secs};
use self::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

fn retry() -> Step {
    Step::Error(HandlerError::retry("the ledger is closed"))
}

fn rate_limited(after: Option<std::time::Duration>) -> Step {
    Step::Error(HandlerError::rate_limited("slow down", after))
}

#[tokio::test]
async fn a_retryable_error_backs_off_and_the_sweeper_looks_two_minutes_later() {
    for (key, least, most) in [("kallglot#1", 0, 2), ("kudos#1", 4, 8)] {
        let script = Script::of([retry()]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.faulty.heal();
        let before = bench.dial.now();
        assert_eq!(bench.run(key).await, Fate::ComesBack);
        assert_eq!(bench.faulty.calls("ChangeMessageVisibility"), 1, "{key}");
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 1));
        assert_eq!(string(&row, "last_error"), "the ledger is closed");
        assert!(!row.contains_key("lease_owner"));
        let until = number(&row, "lease_until");
        assert!(until >= before.plus(secs(least)).millis(), "{key}");
        assert!(until <= bench.dial.now().plus(secs(most)).millis(), "{key}");
        assert_eq!(number(&row, "due_at") - until, i64::try_from(DUE_FIRST.as_millis()).unwrap());
        bench.dial.forward(secs(most + 1));
        assert_eq!(bench.run(key).await, Fate::Deleted);
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 2));
        assert!(!row.contains_key("last_error") && !row.contains_key("lease_until"));
        assert_eq!((bench.applied(key).await, script.ran().len()), (1, 2));
    }
}

#[tokio::test]
async fn a_wait_that_no_message_keeps_is_the_sweepers() {
    let long = MESSAGE_WAIT_MAX + secs(1);
    let wait = |after| Step::Error(HandlerError::Retry { why: "later".into(), after: Some(after) });
    let script = Script::of([wait(MESSAGE_WAIT_MAX), wait(long)]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kallglot#2"]).await;
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
    let row = bench.row("kallglot#1").await;
    assert_eq!(number(&row, "due_at") - number(&row, "lease_until"), 120_000);
    let before = bench.dial.now();
    assert_eq!(bench.run("kallglot#2").await, Fate::Deleted);
    let row = bench.row("kallglot#2").await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 1));
    assert_eq!(number(&row, "due_at"), number(&row, "lease_until"));
    assert!(number(&row, "due_at") >= before.plus(long).millis());
}

#[tokio::test]
async fn errors_use_up_the_attempts_and_then_the_event_is_kept_as_exhausted() {
    for (key, most) in [("kallglot#1", ATTEMPTS_MAX), ("kudos#1", ATTEMPTS_MAX_ORDERED)] {
        let script = Script::of((0..most).map(|_| retry()));
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        for _ in 1..most {
            assert_eq!(bench.run(key).await, Fate::ComesBack);
            assert_eq!(string(&bench.row(key).await, "status"), "pending");
            bench.dial.forward(BACKOFF_MAX);
        }
        assert_eq!(bench.run(key).await, Fate::Deleted);
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "exhausted"));
        assert_eq!(string(&row, "last_error"), "the ledger is closed");
        assert_eq!(number(&row, "attempts"), i64::from(most));
        for gone in ["lease_owner", "lease_until", "expires_at"] {
            assert!(!row.contains_key(gone), "{gone}");
        }
        let source = key.split('#').next().unwrap();
        assert_eq!(bench.listed(&format!("failed#{source}")).await, [key]);
        assert_eq!(bench.world.metric("Failed", Some(source)), 1.0);
        assert_eq!(bench.run(key).await, Fate::Deleted, "a late copy is acknowledged");
        assert_eq!((bench.applied(key).await, script.ran().len()), (0, most as usize));
    }
}

#[tokio::test]
async fn a_permanent_error_fails_at_once_with_its_reason() {
    let script = Script::of([Step::Error(HandlerError::permanent("no such tenant"))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    let row = bench.row("kudos#1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "permanent"));
    assert_eq!((string(&row, "last_error"), number(&row, "attempts")), ("no such tenant", 1));
    assert!(number(&row, "finished_at") > 0 && !row.contains_key("expires_at"));
    assert_eq!(bench.listed("failed#kudos").await, ["kudos#1"]);
    assert_eq!(bench.world.metric("Failed", Some("kudos")), 1.0);
}

#[tokio::test]
async fn a_failure_whose_answer_is_lost_is_counted_all_the_same() {
    let script = Script::of([Step::Error(HandlerError::permanent("no such tenant"))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    // The claim is the first update, the failure the second.
    bench.faulty.plan(|operation, seen| match (operation, seen) {
        ("UpdateItem", 1) => Fault::AnswerLost,
        _ => Fault::None,
    });
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    assert_eq!(bench.faulty.calls("UpdateItem"), 3, "the SDK's retry met its own row");
    assert_eq!(string(&bench.row("kudos#1").await, "status"), "failed");
    assert_eq!(bench.world.metric("Failed", Some("kudos")), 1.0);
    assert_eq!(bench.world.metric("LeaseLost", Some("kudos")), 0.0);
}

/// A commit that timed out may still hold the row for a moment.
#[tokio::test]
async fn a_release_that_meets_a_transaction_waits_its_turn() {
    for (key, ever) in [("kallglot#1", false), ("kudos#1", false), ("kudos#1", true)] {
        let script = Script::of([retry()]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        // The claim is the first update, the release those that follow.
        bench.faulty.plan(move |operation, seen| match (operation, seen) {
            ("UpdateItem", 1 | 2) => Fault::Refused("TransactionConflictException"),
            ("UpdateItem", 3..) if ever => Fault::Refused("TransactionConflictException"),
            _ => Fault::None,
        });
        assert_eq!(bench.run(key).await, Fate::ComesBack, "{key}");
        let status = if ever { "processing" } else { "pending" };
        assert_eq!(string(&bench.row(key).await, "status"), status, "{key}");
        let asked = bench.faulty.calls("ChangeMessageVisibility");
        assert_eq!(asked, 1, "{key}: back after its wait or the lease, not after six minutes");
    }
}

#[tokio::test]
async fn a_release_whose_answer_is_lost_brings_the_message_back_in_time() {
    for key in ["kallglot#1", "kudos#1"] {
        let script = Script::of([retry()]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        bench.faulty.plan(|operation, seen| match (operation, seen) {
            ("UpdateItem", 1) => Fault::AnswerLost,
            _ => Fault::None,
        });
        assert_eq!(bench.run(key).await, Fate::ComesBack, "{key}");
        let asked = bench.faulty.calls("ChangeMessageVisibility");
        assert_eq!(asked, 1, "{key}: back after its back-off, not after six minutes");
        assert_eq!(bench.world.metric("LeaseLost", None), 0.0, "{key}");
    }
}

#[tokio::test]
async fn a_rate_limit_uses_up_no_attempt_but_72_hours_bound_it() {
    let script = Script::of((0..20).map(|_| rate_limited(None)));
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    let first = bench.dial.now();
    for _ in 0..19 {
        assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
        let row = bench.row("kallglot#1").await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 0));
        assert_eq!(string(&row, "last_error"), "slow down");
        bench.dial.forward(BACKOFF_MAX);
    }
    bench.dial.forward(RELEASES_MAX_AGE - bench.dial.now().since(first) - secs(60));
    assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack, "a minute less than 72 hours");
    script.next(rate_limited(None));
    bench.dial.forward(BACKOFF_MAX);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    let row = bench.row("kallglot#1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "exhausted"));
    assert_eq!(script.ran().len(), 21);
}

#[tokio::test]
async fn a_message_that_was_received_often_is_left_to_the_sweeper_before_it_is_a_dead_letter() {
    for (key, receives, fate) in [
        ("kallglot#1", RECEIVES_KEPT - 1, Fate::ComesBack),
        ("kallglot#1", RECEIVES_KEPT, Fate::Deleted),
        // Another message would lose the event's place in its group.
        ("kudos#1", RECEIVES_MAX_FIFO, Fate::ComesBack),
    ] {
        let script = Script::of([rate_limited(None)]);
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        let mut message = bench.message(key);
        message["attributes"]["ApproximateReceiveCount"] = receives.to_string().into();
        let back = bench.process(&[message]).await;
        assert_eq!(back.is_empty(), fate == Fate::Deleted, "{key} {receives}");
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 0), "{key}");
        let later = number(&row, "due_at") - number(&row, "lease_until");
        assert_eq!(later, if fate == Fate::Deleted { 0 } else { 120_000 }, "{key} {receives}");
    }
}

#[tokio::test]
async fn what_is_left_to_the_sweeper_is_sent_when_its_wait_is_over() {
    let script = Script::of([rate_limited(Some(secs(40)))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.queued(Ordering::None).await;
    let mut worn = bench.message("kallglot#1");
    worn["attributes"]["ApproximateReceiveCount"] = RECEIVES_KEPT.to_string().into();
    assert_eq!(bench.process(&[worn]).await, [""; 0]);
    assert_eq!(bench.sweep().await.unwrap().sent, 0, "it still waits");
    bench.dial.forward(secs(81));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
    assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#1").await, 1);
}

#[tokio::test]
async fn an_outage_makes_no_dead_letter_of_a_message_that_was_received_often() {
    for refused in ["GetItem", "UpdateItem"] {
        for (key, worn_goes) in [("kallglot#1", true), ("kudos#1", false)] {
            let script = Script::default();
            let bench = Bench::scripted(&script).await;
            bench.store(&[key]).await;
            let row = bench.row(key).await;
            bench.faulty.plan(move |operation, _| match operation == refused {
                true => Fault::Refused("AccessDeniedException"),
                false => Fault::None,
            });
            let mut worn = bench.message(key);
            worn["attributes"]["ApproximateReceiveCount"] = RECEIVES_KEPT.to_string().into();
            let back = bench.process(&[worn]).await;
            assert_eq!(back.is_empty(), worn_goes, "{key}, {refused} refused");
            assert_eq!(bench.row(key).await, row, "it stays due");
            bench.faulty.heal();
            bench.dial.forward(DUE_FIRST);
            assert_eq!(bench.sweep().await.unwrap().sent, 1, "{key}");
            assert_eq!((bench.run(key).await, bench.applied(key).await), (Fate::Deleted, 1));
        }
    }
}

#[tokio::test]
async fn a_rate_limit_waits_at_least_as_long_as_the_other_side_says() {
    let script = Script::of([rate_limited(Some(secs(40))), rate_limited(Some(secs(3600)))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kallglot#2"]).await;
    for (key, wait, fate) in
        [("kallglot#1", 40, Fate::ComesBack), ("kallglot#2", 3600, Fate::Deleted)]
    {
        let before = bench.dial.now();
        assert_eq!(bench.run(key).await, fate);
        let until = number(&bench.row(key).await, "lease_until");
        assert!(until >= before.plus(secs(wait)).millis(), "{key}");
        assert!(until <= bench.dial.now().plus(2 * secs(wait)).millis(), "{key}");
    }
}

#[tokio::test]
async fn no_rate_limit_parks_an_event_for_longer_than_the_72_hours() {
    let script = Script::of([rate_limited(Some(100 * secs(86_400)))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1"]).await;
    bench.run("kallglot#1").await;
    let latest = bench.dial.now().plus(RELEASES_MAX_AGE).millis();
    let row = bench.row("kallglot#1").await;
    assert!(number(&row, "lease_until") <= latest && number(&row, "due_at") <= latest + 120_000);
}

#[tokio::test]
async fn an_absurd_retry_after_is_one_records_trouble_and_not_the_batchs() {
    let absurd = Some(std::time::Duration::from_secs(u64::MAX));
    let script = Script::of([rate_limited(absurd)]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kallglot#1", "kallglot#2"]).await;
    bench.process(&[bench.message("kallglot#1"), bench.message("kallglot#2")]).await;
    assert_eq!(string(&bench.row("kallglot#1").await, "status"), "pending");
    assert_eq!(string(&bench.row("kallglot#2").await, "status"), "done");
}

#[derive(serde::Deserialize)]
struct Payment {
    amount_cents: i64,
}

#[tokio::test]
async fn a_payload_that_does_not_fit_names_the_place_and_not_the_value() {
    async fn paid(event: Event<Payment>, ctx: Context) -> Result<Effects, HandlerError> {
        assert!(event.data.amount_cents >= 0);
        Ok(ctx.effects())
    }
    let bench = Bench::new(Registry::default().on("kudos", "job.run", paid)).await;
    let body = serde_json::json!({
        "event_id": "1", "event_type": "job.run", "data": {"amount_cents": "canary-4111"},
    });
    assert_eq!(bench.deliver(&bench.kudos(&body)).await, 200);
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    let row = bench.row("kudos#1").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "permanent"));
    assert_eq!(string(&row, "last_error"), "payload: data.amount_cents: is not i64");
}
