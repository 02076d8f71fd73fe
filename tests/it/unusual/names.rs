//! Odd ids and types go through to their effects, and none of them reaches a metric's dimensions.

use serde_json::json;
use shared::source::Ordering;

use crate::runs::bench::{Bench, Fate};
use crate::runs::script::{Script, Step};
use crate::support::world::string;
use processor::handler::HandlerError;

#[tokio::test]
async fn odd_ids_go_through_to_their_effects() {
    let full = "x".repeat(256);
    let emoji = "😀".repeat(64);
    let ids = [
        &full,
        &emoji,
        "\"quoted\" and 'quoted'",
        "back\\slash",
        "a/b/../c",
        "a#b##",
        "~control#x",
        "évt e\u{301}",
        "\u{2028}\u{202e}",
        "<script>&amp;",
        " padded ",
        "${jndi:x}",
        "%00%0a",
    ];
    for source in ["kudos", "kallglot"] {
        let script = Script::default();
        let bench = Bench::scripted(&script).await;
        for id in ids {
            let body = json!({
                "event_id": id, "event_type": "job.run", "id": id, "type": "job.run", "data": {},
            });
            let delivery =
                if source == "kudos" { bench.kudos(&body) } else { bench.kallglot(&body) };
            assert_eq!(bench.deliver(&delivery).await, 200, "{id}");
        }
        let ordering = if source == "kudos" { Ordering::PerType } else { Ordering::None };
        let pointers = bench.queued(ordering).await;
        assert_eq!(pointers.len(), ids.len());
        for pointer in &pointers {
            assert!(pointer.is_ascii(), "{pointer}");
            let mut message = bench.message(&format!("{source}#?"));
            message["body"] = pointer.as_str().into();
            assert_eq!(bench.process(&[message]).await, [""; 0], "{pointer}");
        }
        for id in ids {
            let key = format!("{source}#{id}");
            assert_eq!(string(&bench.row(&key).await, "event_id"), id);
            assert_eq!(bench.applied(&key).await, 1, "{key}");
        }
    }
}

#[tokio::test]
async fn odd_types_of_an_ordered_source_have_groups_that_the_queue_takes() {
    let bench = Bench::new(processor::handlers::all()).await;
    let long = "t".repeat(128);
    let types = [&long, "ümläut 😀", "with space", "a\"b\\c", "a/b"];
    for (id, event_type) in types.iter().enumerate() {
        let id = id.to_string();
        let body = json!({"event_id": id, "event_type": event_type, "data": {}});
        assert_eq!(bench.deliver(&bench.kudos(&body)).await, 200, "{event_type}");
        let key = format!("kudos#{id}");
        assert_eq!(string(&bench.row(&key).await, "status"), "pending", "{event_type}");
        assert_eq!(bench.run(&key).await, Fate::Deleted);
        assert_eq!(string(&bench.row(&key).await, "status"), "ignored");
    }
    assert_eq!(bench.queued(Ordering::PerType).await.len(), types.len());
    assert_eq!(bench.world.metric("SendFailed", None), 0.0);
}

#[tokio::test]
async fn a_type_that_a_producer_makes_up_is_in_no_metric() {
    let script = Script::of([
        Step::Effect,
        Step::Error(HandlerError::permanent("no")),
        Step::Error(HandlerError::retry("later")),
    ]);
    let bench = Bench::scripted(&script).await;
    for (id, event_type) in
        [("1", "job.made-up"), ("2", "job.made-up"), ("3", "job.made-up"), ("4", "made-up.x")]
    {
        let body = json!({"id": id, "type": event_type, "data": {}});
        assert_eq!(bench.deliver(&bench.kallglot(&body)).await, 200);
        bench.run(&format!("kallglot#{id}")).await;
    }
    bench.sweep().await.unwrap();
    let lines = bench.world.metric_lines();
    let named: Vec<_> = lines.iter().filter_map(|line| line["event_type"].as_str()).collect();
    assert!(named.contains(&"job.*") && named.contains(&"other"), "{named:?}");
    for line in &lines {
        assert!(!line.to_string().contains("made-up"), "{line}");
    }
    for metric in ["Applied", "Failed", "HandlerError", "Ignored"] {
        assert!(bench.world.metric(metric, Some("kallglot")) >= 1.0, "{metric}");
    }
}
