//! One record's trouble is never the batch's.

use processor::handler::HandlerError;

use super::bench::{Bench, Fate, days};
use super::script::{Script, Step};
use crate::support::Fault;
use crate::support::world::{number, string};

const FIVE: [&str; 5] = ["kallglot#1", "kallglot#2", "kallglot#3", "kallglot#4", "kallglot#5"];

#[tokio::test]
async fn a_panic_is_the_error_of_one_record() {
    let script = Script::of([Step::Effect, Step::Panic]);
    let bench = Bench::scripted(&script).await;
    bench.store(&FIVE).await;
    let back = bench.process(&FIVE.map(|key| bench.message(key))).await;
    assert_eq!(back.len(), 1);
    let row = bench.row(&back[0]).await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 1));
    assert_eq!(string(&row, "last_error"), "the handler panicked");
    for key in FIVE.iter().filter(|key| **key != back[0]) {
        assert_eq!(bench.applied(key).await, 1, "{key}");
    }
    assert_eq!(bench.world.metric("HandlerError", Some("kallglot")), 1.0);
    bench.dial.forward(days(1));
    assert_eq!(bench.run(&back[0]).await, Fate::Deleted);
    assert_eq!(bench.applied(&back[0]).await, 1);
}

#[tokio::test]
async fn a_handler_that_never_ends_is_an_error_and_the_others_are_done() {
    let script = Script::of([Step::Hang]);
    let bench = Bench::scripted(&script).await;
    bench.store(&FIVE[..2]).await;
    let back = bench.process(&[bench.message(FIVE[0]), bench.message(FIVE[1])]).await;
    assert_eq!(back.len(), 1);
    let row = bench.row(&back[0]).await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("pending", 1));
    assert_eq!(string(&row, "last_error"), "the handler ran out of time");
    let applied = (bench.applied(FIVE[0]).await, bench.applied(FIVE[1]).await);
    assert!(matches!(applied, (0, 1) | (1, 0)), "{applied:?}");
}

#[tokio::test]
async fn in_a_fifo_group_everything_behind_a_failed_record_comes_back_untouched() {
    let retry = Step::Error(HandlerError::retry("the ledger is closed"));
    let script = Script::of([Step::Effect]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1", "kudos#2", "kudos#3", "kudos#4"]).await;
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    script.next(retry);
    let untouched = bench.row("kudos#3").await;
    bench.faulty.heal();
    let records = ["kudos#1", "kudos#2", "kudos#3", "kudos#4"].map(|key| bench.message(key));
    assert_eq!(bench.process(&records).await, ["kudos#2", "kudos#3", "kudos#4"]);
    assert_eq!(bench.row("kudos#3").await, untouched);
    assert_eq!(bench.faulty.calls("ChangeMessageVisibility"), 3, "all three at the same time");
    assert_eq!(script.ran(), ["kudos#1", "kudos#2"]);
}

#[tokio::test]
async fn a_fifo_group_goes_on_behind_a_record_that_failed_for_good() {
    let script = Script::of([Step::Error(HandlerError::permanent("never"))]);
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1", "kudos#2"]).await;
    let records = ["kudos#1", "kudos#2"].map(|key| bench.message(key));
    assert_eq!(bench.process(&records).await, [""; 0]);
    assert_eq!(string(&bench.row("kudos#1").await, "status"), "failed");
    assert_eq!(string(&bench.row("kudos#2").await, "status"), "done");
    assert_eq!(script.ran(), ["kudos#1", "kudos#2"], "in their order");
}

#[tokio::test]
async fn throttling_on_the_way_to_the_body_uses_up_no_attempt() {
    for (fault, attempts) in [
        (Fault::Refused("ThrottlingException"), 0),
        (Fault::Refused("ProvisionedThroughputExceededException"), 0),
        (Fault::Failed, 1),
    ] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        let noise: String = std::iter::repeat_with(fastrand::alphanumeric).take(5000).collect();
        let body = serde_json::json!({"id": "1", "type": "job.run", "data": {"noise": noise}});
        assert_eq!(bench.deliver(&bench.kallglot(&body)).await, 200);
        bench.faulty.plan(move |operation, _| match operation {
            "BatchGetItem" => fault,
            _ => Fault::None,
        });
        assert_eq!(bench.run("kallglot#1").await, Fate::ComesBack);
        assert!(bench.faulty.calls("BatchGetItem") > 0, "the body is not in the row");
        let row = bench.row("kallglot#1").await;
        let shown = (string(&row, "status"), number(&row, "attempts"));
        assert_eq!(shown, ("pending", attempts), "{fault:?}");
        assert_eq!(script.ran().len(), 0);
        bench.faulty.heal();
        bench.dial.forward(days(1));
        assert_eq!(bench.run("kallglot#1").await, Fate::Deleted);
        assert_eq!(bench.applied("kallglot#1").await, 1);
    }
}

#[tokio::test]
async fn a_record_without_an_id_returns_the_whole_batch_untouched() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&FIVE[..1]).await;
    let mut nameless = bench.message(FIVE[0]);
    nameless["messageId"] = serde_json::Value::Null;
    let event = serde_json::json!({"Records": [bench.message(FIVE[0]), nameless]});
    assert!(bench.world.functions.processor(event).await.is_err());
    assert_eq!(script.ran().len(), 0);
    assert_eq!(number(&bench.row(FIVE[0]).await, "attempts"), 0);
}
