//! An event whose last run never came back runs alone: what killed that run may kill again.

use std::sync::{Arc, Mutex, OnceLock};

use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::Value;
use shared::effects::Effects;
use shared::limits::{ATTEMPTS_MAX, ATTEMPTS_MAX_ORDERED, DUE_FIRST, LEASE};
use shared::source::Ordering;
use tokio::sync::Barrier;

use super::bench::{Bench, Fate, secs};
use super::script::Script;
use crate::support::world::{number, string};
use crate::support::{Dial, Fault, Faulty};

/// Begins and ends of runs, in their order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, what: &str, event: &Event<Value>) {
        self.0.lock().unwrap().push(format!("{what} {}", event.key.id));
    }
}

/// What the handlers get to know once the bench is there.
type Stage = Arc<OnceLock<(Dial, Faulty)>>;

/// Events whose id begins with `dead` never end on their first attempt. The `others` of a batch
/// wait for each other inside their handlers; then, if the invocation is to be `slow`, until so
/// many events are claimed, and after that the clock has moved by 40 seconds.
fn registry(diary: &Diary, others: usize, slow: Option<usize>, stage: &Stage) -> Registry {
    let (diary, stage) = (diary.clone(), stage.clone());
    let barrier = Arc::new(Barrier::new(others));
    let handler = move |event: Event<Value>, ctx: Context| {
        let (diary, barrier, stage) = (diary.clone(), barrier.clone(), stage.clone());
        async move {
            diary.note("begin", &event);
            if event.key.id.as_str().starts_with("dead") {
                if ctx.attempt == 1 {
                    std::future::pending::<()>().await;
                }
            } else if let (true, Some(claims)) = (barrier.wait().await.is_leader(), slow) {
                let (dial, faulty) = stage.get().unwrap();
                while faulty.calls("UpdateItem") < claims {
                    tokio::task::yield_now().await;
                }
                dial.forward(secs(40));
            }
            // Whoever runs beside this one gets its chance to be seen.
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            diary.note("end", &event);
            Ok::<Effects, HandlerError>(ctx.effects())
        }
    };
    Registry::default().on("kallglot", "job.run", handler.clone()).on("kudos", "job.run", handler)
}

/// A bench on which the runs of these events have died, and their leases have run out.
async fn after_deaths(diary: &Diary, others: usize, slow: Option<usize>, dead: &[&str]) -> Bench {
    let stage = Stage::default();
    let bench = Bench::new(registry(diary, others, slow, &stage)).await;
    stage.set((bench.dial.clone(), bench.faulty.clone())).unwrap();
    bench.store(dead).await;
    for key in dead {
        let begun = diary.0.lock().unwrap().len();
        let begins = async {
            while diary.0.lock().unwrap().len() == begun {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            fate = bench.run(key) => panic!("{key} did not die: {fate:?}"),
            () = begins => {}
        }
    }
    bench.dial.forward(LEASE);
    diary.0.lock().unwrap().clear();
    bench
}

#[tokio::test]
async fn a_reclaimed_event_runs_after_the_others_and_beside_nobody() {
    let diary = Diary::default();
    let dead = ["kallglot#dead-1", "kallglot#dead-2"];
    let bench = after_deaths(&diary, 2, None, &dead).await;
    bench.store(&["kallglot#a", "kallglot#b"]).await;
    let keys = [dead[0], "kallglot#a", dead[1], "kallglot#b"];
    let records = keys.map(|key| bench.message(key));
    assert_eq!(bench.process(&records).await, [""; 0]);
    let diary = diary.0.lock().unwrap().clone();
    // The barrier proves that the first two ran beside each other; of these only the order is free.
    assert!(diary[..2].iter().all(|line| line.starts_with("begin")), "{diary:?}");
    assert!(diary[..4].iter().all(|line| !line.contains("dead")), "{diary:?}");
    let alone = ["begin dead-1", "end dead-1", "begin dead-2", "end dead-2"];
    assert_eq!(diary[4..], alone, "{diary:?}");
    for key in keys {
        assert_eq!(string(&bench.row(key).await, "status"), "done");
    }
}

#[tokio::test]
async fn in_a_fifo_group_the_rest_waits_behind_a_reclaimed_event() {
    let diary = Diary::default();
    let bench = after_deaths(&diary, 1, None, &["kudos#dead"]).await;
    bench.store(&["kudos#behind", "kudos#other"]).await;
    let records = [
        bench.message_of("kudos#dead", "a"),
        bench.message_of("kudos#behind", "a"),
        bench.message_of("kudos#other", "b"),
    ];
    assert_eq!(bench.process(&records).await, [""; 0]);
    let expected =
        ["begin other", "end other", "begin dead", "end dead", "begin behind", "end behind"];
    assert_eq!(*diary.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_reclaimed_event_for_which_no_time_is_left_is_given_back_with_its_attempt() {
    let diary = Diary::default();
    // After 40 of its 60 seconds an invocation has no room for a handler and its commit.
    let dead = ["kallglot#dead", "kudos#dead"];
    let bench = after_deaths(&diary, 1, Some(3), &dead).await;
    bench.store(&["kallglot#a", "kudos#behind"]).await;
    bench.faulty.heal();
    let records = [
        bench.message("kallglot#dead"),
        bench.message("kallglot#a"),
        bench.message("kudos#dead"),
        bench.message("kudos#behind"),
    ];
    let mut back = bench.process(&records).await;
    back.sort();
    assert_eq!(back, ["kallglot#dead", "kudos#behind", "kudos#dead"]);
    assert_eq!(*diary.0.lock().unwrap(), ["begin a", "end a"]);
    for key in dead {
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), number(&row, "attempts")), ("processing", 1), "{key}");
        assert!(!row.contains_key("lease_owner"), "{key}");
        assert!(number(&row, "lease_until") <= bench.dial.now().millis(), "{key}");
    }
    assert_eq!(number(&bench.row("kudos#behind").await, "attempts"), 0);
    assert_eq!(bench.run("kallglot#dead").await, Fate::Deleted);
    let row = bench.row("kallglot#dead").await;
    assert_eq!((string(&row, "status"), number(&row, "attempts")), ("done", 2));
}

/// An invocation that has no time left once it has claimed this event.
async fn put_off(bench: &Bench, key: &str) {
    let dial = bench.dial.clone();
    bench.faulty.plan(move |operation, seen| {
        if (operation, seen) == ("UpdateItem", 0) {
            dial.forward(secs(40));
        }
        Fault::None
    });
    assert_eq!(bench.run(key).await, Fate::ComesBack);
    bench.faulty.heal();
}

#[tokio::test]
async fn a_reclaimed_event_that_was_put_off_still_runs_alone() {
    let diary = Diary::default();
    let dead = "kallglot#dead";
    let bench = after_deaths(&diary, 1, None, &[dead]).await;
    bench.store(&["kallglot#a"]).await;
    for _ in 0..3 {
        put_off(&bench, dead).await;
        assert_eq!(number(&bench.row(dead).await, "attempts"), 1, "each time it is refunded");
    }
    let records = [bench.message(dead), bench.message("kallglot#a")];
    assert_eq!(bench.process(&records).await, [""; 0]);
    let expected = ["begin a", "end a", "begin dead", "end dead"];
    assert_eq!(*diary.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn the_sweeper_sends_what_was_put_off_like_anything_that_is_due() {
    let diary = Diary::default();
    let dead = "kallglot#dead";
    let bench = after_deaths(&diary, 1, None, &[dead]).await;
    put_off(&bench, dead).await;
    bench.queued(Ordering::None).await;
    assert_eq!(bench.sweep().await.unwrap().sent, 0, "its message comes back first");
    bench.dial.forward(DUE_FIRST + secs(1));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.queued(Ordering::None).await.len(), 1);
    assert_eq!(bench.run(dead).await, Fate::Deleted);
    assert_eq!(string(&bench.row(dead).await, "status"), "done");
}

#[tokio::test]
async fn an_event_whose_runs_all_died_fails_without_another_run() {
    for (key, most) in [("kallglot#1", ATTEMPTS_MAX), ("kudos#1", ATTEMPTS_MAX_ORDERED)] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        bench.store(&[key]).await;
        for _ in 0..most {
            bench.crash(&script, key).await;
            bench.dial.forward(LEASE);
        }
        assert_eq!(string(&bench.row(key).await, "status"), "processing");
        assert_eq!(bench.run(key).await, Fate::Deleted);
        let row = bench.row(key).await;
        assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "exhausted"));
        assert_eq!((bench.applied(key).await, script.ran().len()), (0, most as usize));
    }
}

#[tokio::test]
async fn the_last_attempt_still_counts_after_deaths() {
    let script = Script::default();
    let bench = Bench::scripted(&script).await;
    bench.store(&["kudos#1"]).await;
    for _ in 1..ATTEMPTS_MAX_ORDERED {
        bench.crash(&script, "kudos#1").await;
        bench.dial.forward(LEASE);
    }
    assert_eq!(bench.run("kudos#1").await, Fate::Deleted);
    assert_eq!(string(&bench.row("kudos#1").await, "status"), "done");
    assert_eq!(bench.applied("kudos#1").await, 1);
}
