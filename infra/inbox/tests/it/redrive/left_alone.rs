//! What a redrive does not touch, and what it says about it.

use std::time::Duration;

use serde_json::json;

use crate::support::table::n;
use crate::support::world::{number, string, text};
use crate::support::{Delivery, Incident, Tool, World};

fn now_ms() -> i64 {
    shared::time::Clock::system().now().millis()
}

/// A row in each state, all of one source; nothing runs.
async fn states() -> (World, Tool) {
    let world = World::new().await.serve();
    let tool = Tool::of(&world);
    world.deliver(&Delivery::payment("pending", 100)).await;
    let ended = |status: &str| vec![("status", text(status)), ("finished_at", n(now_ms() - 5_000))];
    let with = |mut ended: Vec<_>, more: &[(&'static str, _)]| {
        ended.extend(more.iter().cloned());
        ended
    };
    let failed = |kind: &str| {
        let shard = ("due_shard", text("failed#kudos"));
        with(ended("failed"), &[("error_kind", text(kind)), shard])
    };
    let expires = |secs: i64| ("expires_at", n(now_ms() / 1_000 + secs));
    let ignored = with(ended("ignored"), &[("outcome", text("no_handler"))]);
    for (id, attributes) in [
        ("held", vec![("status", text("processing")), ("lease_until", n(now_ms() + 60_000))]),
        ("dead", vec![("status", text("processing")), ("lease_until", n(now_ms() - 60_000))]),
        ("done", with(ended("done"), &[("outcome", text("applied")), expires(60)])),
        ("dropped", with(ended("dropped"), &[expires(60)])),
        ("ignored", with(ignored.clone(), &[expires(60)])),
        ("expired", with(ignored, &[expires(-60)])),
        ("unusable", with(failed("unusable"), &[expires(60)])),
        ("forgotten", failed("beyond_memory")),
        ("unsendable", failed("unsendable")),
        ("failed", failed("permanent")),
    ] {
        world.multiply("kudos#pending", [id.to_owned()].into_iter()).await;
        world.set(&format!("kudos#{id}"), &attributes).await;
    }
    (world, tool)
}

#[tokio::test(flavor = "multi_thread")]
async fn named_events_are_told_one_by_one() {
    let (world, tool) = states().await;
    for (id, code, said) in [
        ("pending", 0, "left alone: not finished"),
        ("held", 0, "left alone: not finished"),
        ("dead", 0, "left alone: not finished"),
        ("done", 0, "left alone: done already"),
        ("dropped", 0, "left alone: dropped by an operator"),
        ("ignored", 1, "left alone: ignored, not failed"),
        ("expired", 1, "left alone: ignored, not failed"),
        ("unusable", 1, "left alone: unusable"),
        ("nowhere", 1, "not there: no such row"),
        ("forgotten", 0, "runs again"),
        ("unsendable", 0, "runs again"),
        ("failed", 0, "runs again"),
    ] {
        let key = format!("kudos#{id}");
        let before = world.row(&key).await;
        let dry = tool.run(&["redrive", "--dry-run", "kudos", id]).await;
        assert_eq!(
            (dry.code, world.row(&key).await),
            (Some(code), before.clone()),
            "{id}: {dry:?}"
        );
        let ran = tool.run(&["redrive", "kudos", id]).await;
        assert_eq!(ran.code, Some(code), "{id}: {ran:?}");
        assert!(ran.stdout.starts_with(&format!("{key}  {said}")), "{id}: {ran:?}");
        let after = world.row(&key).await;
        assert_eq!(after == before, said != "runs again", "{id}");
        if said == "runs again" {
            assert_eq!(string(&after.unwrap(), "status"), "pending", "{id}");
        } else {
            assert!(!dry.stdout.contains("1 event would"), "{id}: {dry:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_event_is_left_to_its_end() {
    let (world, tool) = states().await;
    let ignored = ["--ignored", "--type", "payment.*"];
    for id in ["expired", "failed"] {
        let before = world.row(&format!("kudos#{id}")).await;
        let said = tool.run(&[&["redrive", "kudos", id], &ignored[..]].concat()).await;
        assert_eq!(said.code, Some(1), "{said:?}");
        assert_eq!(world.row(&format!("kudos#{id}")).await, before);
    }
    let said = tool.json(&[&["redrive", "--source", "kudos"], &ignored[..]].concat()).await;
    assert_eq!((&said["selected"], &said["redriven"]), (&json!(2), &json!(1)), "{said}");
    assert_eq!(said["left_alone"], json!({"expired": 1}));
}

/// Whether an event that is older than the memory has run, nobody here can tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_filter_takes_what_may_have_run_before_only_by_its_kind() {
    let (world, tool) = states().await;
    let said = tool.run(&["redrive", "--source", "kudos", "--dry-run"]).await;
    assert!(said.stdout.contains("2 events would be run again"), "{said:?}");
    assert!(said.stdout.contains("1 left alone: unusable"), "{said:?}");
    assert!(said.stdout.contains("1 passed over: beyond_memory"), "{said:?}");
    let ten = tool.json(&["redrive", "--source", "kudos", "--limit", "2", "--dry-run"]).await;
    assert_eq!(ten["selected"], json!(2), "what is passed over uses up no limit: {ten}");
    let said = tool.json(&["redrive", "--source", "kudos"]).await;
    assert_eq!((&said["redriven"], &said["beyond_memory_passed_over"]), (&json!(2), &json!(1)));
    let row = world.row("kudos#forgotten").await.unwrap();
    assert_eq!(string(&row, "status"), "failed");
    let said = tool.json(&["redrive", "--source", "kudos", "--kind", "beyond_memory"]).await;
    assert_eq!(said["redriven"], json!(1));
}

/// A function that remembers a pause throws messages away: none are sent.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_paused_source_wait_for_the_sweeper() {
    let incident = Incident::new().await;
    incident.pay([9_500].into_iter()).await;
    incident.until("failed", 1).await;
    incident.mend();
    assert_eq!(incident.tool.run(&["pause", "kudos"]).await.code, Some(0));
    let said = incident.tool.json(&["redrive", "--source", "kudos"]).await;
    assert_eq!((&said["sent"], &said["left_to_sweeper"]), (&json!(0), &json!(1)));
    let row = incident.world.row("kudos#evt_9500").await.unwrap();
    assert_eq!(string(&row, "status"), "pending");
    let due = number(&row, "due_at") - now_ms();
    assert!((0..=120_000).contains(&due), "due in {due} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_would_soon_expire_is_renewed() {
    let incident = Incident::new().await;
    let data = json!({"tenant": "acme", "amount_cents": 9_500, "note": noise(40_000)});
    let delivery = Delivery::kudos("large", "payment.succeeded", &data);
    incident.world.deliver(&delivery).await;
    incident.until("failed", 1).await;
    let in_a_day = now_ms() / 1_000 + 86_400;
    incident.world.set("kudos#large", &[("body_expires_at", n(in_a_day))]).await;
    incident.mend();
    let said = incident.tool.run(&["redrive", "kudos", "large"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let row = incident.world.until("kudos#large", "done").await;
    let left = number(&row, "body_expires_at") - now_ms() / 1_000;
    assert!(left > Duration::from_secs(89 * 86_400).as_secs().cast_signed(), "{left} s left");
    assert_eq!(incident.booked().await, (1, 9_500));
}

/// Text that does not compress.
fn noise(length: usize) -> String {
    (0..length).map(|_| fastrand::alphanumeric()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_without_a_choice_or_with_two_is_refused() {
    let (world, tool) = states().await;
    let before = world.rows().await.len();
    for args in [
        &["redrive"][..],
        &["redrive", "kudos"],
        &["redrive", "kudos", "failed", "--source", "kallglot"],
        &["redrive", "kudos", "failed", "--type", "payment.*"],
        &["redrive", "--ignored", "--source", "kudos"],
        &["redrive", "Kudos", "failed"],
        &["redrive", "--source", "kudos", "--rate", "0"],
        &["redrive", "--source", "kudos", "--since", "yesterday"],
        &["redrive", "nobody", "failed"],
    ] {
        let said = tool.run(args).await;
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.stdout.is_empty() && !said.stderr.is_empty(), "{args:?}: {said:?}");
    }
    let failed = world.row("kudos#failed").await.unwrap();
    assert_eq!((string(&failed, "status"), world.rows().await.len()), ("failed", before));
}
