//! Batches of pointers: which records come back, byte for byte as Lambda reads the answer.

use serde_json::{Value, json};

use super::desk::{Desk, Fate, pointer, secs};
use super::producers::{Apiera, Kallglot, Kudos, Post, Producer};
use crate::support::world::{number, string};

const NONE: &str = r#"{"batchItemFailures":[]}"#;

/// A batch with a record for each key; a record is called as its event is.
fn records(desk: &Desk, keys: &[&str], group: &str) -> Vec<Value> {
    let name = |key: &str| key.split_once('#').unwrap().1.to_owned();
    keys.iter().map(|key| desk.record(&name(key), &pointer(key), group)).collect()
}

fn posts(producer: Producer, ids: &[&str]) -> Vec<Post> {
    ids.iter().map(|id| Post::new(producer, id)).collect()
}

// https://github.com/awsdocs/aws-lambda-developer-guide/issues/320
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_names_the_failed_record_in_the_very_letters_that_lambda_reads() {
    let desk = Desk::new().await;
    let keys = desk.store(&posts(Kallglot, &["m1", "m2", "m3"])).await;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    desk.plan("kallglot#m2", [Fate::Retry]);
    let answer = desk.batch(&records(&desk, &keys, "g")).await;
    assert_eq!(answer, r#"{"batchItemFailures":[{"itemIdentifier":"m2"}]}"#);
    desk.turn(secs(60));
    assert_eq!(desk.batch(&records(&desk, &["kallglot#m2"], "g")).await, NONE);
    for key in keys {
        assert_eq!(desk.applied(key).await, 1, "{key}");
    }
    assert_eq!(desk.runs("kallglot#m1").len(), 1, "what succeeded is not run again");
    assert_eq!(desk.batch(&[]).await, NONE, "an empty batch");

    // Several failures, and the message's own id where it is no plain word.
    let ids = ["f1", "f2"];
    desk.store(&posts(Apiera, &ids)).await;
    for id in ids {
        desk.plan(&format!("apiera#{id}"), [Fate::Retry]);
    }
    let uuid = "6f1c2f0e-93e5-4a8e-9d0a-0f6b51c3a9b7";
    let batch =
        [desk.record(uuid, &pointer("apiera#f1"), ""), desk.record("2", &pointer("apiera#f2"), "")];
    let expected = format!(
        r#"{{"batchItemFailures":[{{"itemIdentifier":"{uuid}"}},{{"itemIdentifier":"2"}}]}}"#
    );
    assert_eq!(desk.batch(&batch).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_event_in_two_records_of_a_batch_runs_once() {
    let desk = Desk::new().await;
    for producer in Producer::ALL {
        let key = desk.store(&posts(producer, &["twice"])).await.remove(0);
        let batch =
            [desk.record("m1", &pointer(&key), "g"), desk.record("m2", &pointer(&key), "g")];
        desk.batch(&batch).await;
        assert_eq!((desk.applied(&key).await, desk.runs(&key).len()), (1, 1), "{key}");
    }
}

// https://github.com/aws-powertools/powertools-lambda-python/issues/1927
// https://github.com/brefphp/symfony-messenger/issues/67
#[tokio::test(flavor = "multi_thread")]
async fn a_group_stops_at_its_first_failure_and_goes_on_in_order() {
    let desk = Desk::new().await;
    let keys = ["kudos#a", "kudos#b", "kudos#c", "kudos#d"];
    desk.store(&posts(Kudos, &["a", "b", "c", "d"])).await;
    desk.plan("kudos#b", [Fate::Retry]);
    let failed = ["b", "c", "d"].map(|id| format!(r#"{{"itemIdentifier":"{id}"}}"#)).join(",");
    let failed = format!(r#"{{"batchItemFailures":[{failed}]}}"#);
    assert_eq!(desk.batch(&records(&desk, &keys, "g1")).await, failed);
    for (key, runs, attempts) in
        [("kudos#a", 1, 1), ("kudos#b", 1, 1), ("kudos#c", 0, 0), ("kudos#d", 0, 0)]
    {
        assert_eq!(desk.runs(key).len(), runs, "{key}");
        assert_eq!(number(&desk.row(key).await, "attempts"), attempts, "{key}");
    }
    desk.turn(secs(31));
    assert_eq!(desk.batch(&records(&desk, &keys[1..], "g1")).await, NONE);
    let mut ended = vec![];
    for key in keys {
        ended.push(number(&desk.row(key).await, "finished_at"));
        assert_eq!(desk.applied(key).await, 1);
    }
    assert!(ended.is_sorted(), "{ended:?}");
}

// https://github.com/localstack/localstack/issues/12600
// https://github.com/localstack/localstack/issues/10281
#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_head_holds_its_own_group_and_only_until_its_attempts_are_used_up() {
    let desk = Desk::new().await;
    let ids = |group: &str| (0..4).map(|n| format!("{group}_{n}")).collect::<Vec<_>>();
    let (one, two) = (ids("one"), ids("two"));
    let store: Vec<&str> = one.iter().chain(&two).map(String::as_str).collect();
    desk.store(&posts(Kudos, &store)).await;
    desk.plan("kudos#one_0", [const { Fate::Retry }; 5]);
    let batch = |ids: &[String], group: &str| -> Vec<Value> {
        ids.iter().map(|id| desk.record(id, &pointer(&format!("kudos#{id}")), group)).collect()
    };
    let both = [batch(&one, "g1"), batch(&two, "g2")].concat();
    let back = desk.batch(&both).await;
    assert!(one.iter().all(|id| back.contains(id.as_str())), "{back}");
    assert!(!two.iter().any(|id| back.contains(id.as_str())), "{back}");
    for attempt in 2..=5 {
        desk.turn(secs(31));
        assert_eq!(desk.status("kudos#one_0").await, "pending", "before attempt {attempt}");
        let back = desk.batch(&batch(&one, "g1")).await;
        assert_eq!(back == NONE, attempt == 5, "attempt {attempt}: {back}");
    }
    let head = desk.row("kudos#one_0").await;
    assert_eq!((string(&head, "status"), string(&head, "error_kind")), ("failed", "exhausted"));
    for id in &one[1..] {
        assert_eq!(desk.status(&format!("kudos#{id}")).await, "done", "{id}");
    }
}

// https://github.com/gchq/sleeper/issues/2504
// https://github.com/rails-lambda/lambdakiq/issues/30
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_reported_until_the_attempts_are_used_up_and_then_kept() {
    for (producer, most) in [(Kallglot, 12), (Apiera, 12), (Kudos, 5)] {
        let desk = Desk::new().await;
        let key = desk.store(&posts(producer, &["evt_1"])).await.remove(0);
        desk.plan(&key, std::iter::repeat_with(|| Fate::Retry).take(20));
        for attempt in 1..most {
            assert!(desk.run(&key).await, "attempt {attempt} is reported");
            desk.turn(secs(901));
        }
        assert!(!desk.run(&key).await, "the last one is acknowledged");
        let row = desk.row(&key).await;
        assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "exhausted"));
        assert_eq!(number(&row, "attempts"), most);
        assert_eq!(string(&row, "last_error"), "the ledger is closed");
        assert_eq!(desk.applied(&key).await, 0);
    }
}

// https://github.com/aws-powertools/powertools-lambda-python/issues/1038
// https://github.com/aws-powertools/powertools-lambda/issues/53
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_died_is_run_again_when_its_lease_has_passed() {
    for producer in Producer::ALL {
        for by_sweep in [false, true] {
            let desk = Desk::new().await;
            let key = desk.store(&posts(producer, &["evt_0061"])).await.remove(0);
            desk.plan(&key, [Fate::Hang]);
            tokio::select! {
                _ = desk.run(&key) => panic!("did not hang"),
                () = desk.entered() => {}
            }
            assert_eq!(desk.status(&key).await, "processing");
            desk.turn(secs(74));
            // Too early: FIFO keeps its copy, the standard queue does not need it.
            assert_eq!(desk.run(&key).await, producer == Kudos);
            assert_eq!(desk.runs(&key).len(), 1);
            desk.turn(secs(1));
            if by_sweep {
                desk.turn(secs(300));
                assert_eq!(desk.sweep().await.sent, 1);
                assert_eq!(desk.queued().await.len(), 1);
            }
            assert!(!desk.run(&key).await);
            assert_eq!((desk.status(&key).await.as_str(), desk.applied(&key).await), ("done", 1));
        }
    }
}

// https://github.com/aws-powertools/powertools-lambda-python/issues/8049
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_outlives_its_lease_commits_nothing() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let key = desk.store(&posts(producer, &["evt_1"])).await.remove(0);
        desk.plan(&key, [Fate::Wait]);
        tokio::join!(desk.run(&key), async {
            desk.entered().await;
            desk.turn(secs(76));
            assert!(!desk.run(&key).await, "the second run ends it");
            assert_eq!(desk.applied(&key).await, 1);
            desk.go_on();
        });
        assert_eq!(desk.runs(&key).len(), 2, "both ran");
        assert_eq!((desk.status(&key).await.as_str(), desk.applied(&key).await), ("done", 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_points_nowhere_costs_no_other_record() {
    let desk = Desk::new().await;
    let id = |n: usize| format!("good_{n}");
    for (n, (kind, body, comes_back)) in [
        ("no JSON", "not a pointer".to_owned(), true),
        ("empty", String::new(), true),
        ("a list", "[]".into(), true),
        ("no id", r#"{"source":"kallglot"}"#.into(), true),
        ("no source", r#"{"event_id":"evt_1"}"#.into(), true),
        ("id blank", r#"{"source":"kallglot","event_id":" "}"#.into(), true),
        ("id a number", r#"{"source":"kallglot","event_id":5}"#.into(), true),
        ("half of a pair", r#"{"source":"kallglot","event_id":"\ud83d"}"#.into(), true),
        ("unknown source", r#"{"source":"nobody","event_id":"evt_1"}"#.into(), true),
        ("a whole event", r#"{"id":"evt_1","type":"job.done","data":{}}"#.into(), true),
        ("no such row", pointer("kallglot#never"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let key = desk.store(&posts(Kallglot, &[&id(n)])).await.remove(0);
        let batch = [desk.record("stray", &body, "g"), desk.record("good", &pointer(&key), "g")];
        let answer = desk.batch(&batch).await;
        let stray = r#"{"batchItemFailures":[{"itemIdentifier":"stray"}]}"#;
        assert_eq!(answer, if comes_back { stray } else { NONE }, "{kind}");
        assert_eq!(desk.applied(&key).await, 1, "{kind}");
    }
    assert_eq!(desk.world.metric("StrayMessage", None), 11.0);
    // Read from the message alone: other fields, their order and escapes do not matter.
    let key = desk.store(&posts(Kallglot, &["evt_é"])).await.remove(0);
    let body = json!({"x": [1], "event_id": "evt_é", "source": "kallglot"}).to_string();
    assert_eq!(desk.batch(&[desk.record("m", &body.replace('é', r"\u00e9"), "g")]).await, NONE);
    assert_eq!(desk.applied(&key).await, 1);
}
