//! `inbox redrive`: each event once, whatever is in the way.

mod interrupted;
mod left_alone;
mod races;

use serde_json::json;

use crate::support::world::{number, string, text};
use crate::support::{Delivery, Incident, World};

#[tokio::test(flavor = "multi_thread")]
async fn failed_events_run_again_and_only_they() {
    let incident = Incident::new().await;
    incident.pay((1..=10).map(|n| n * 1_000)).await;
    incident.until("failed", 1).await;
    incident.until("done", 9).await;
    assert_eq!(incident.booked().await, (9, 45_000));

    let dry = incident.tool.run(&["redrive", "--source", "kudos", "--dry-run"]).await;
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(dry.stdout.contains("1 event would be run again"), "{dry:?}");
    assert!(dry.stdout.contains("kudos#evt_10000"), "{dry:?}");
    assert!(dry.stdout.contains("redrive --source kudos\n"), "the next command: {dry:?}");
    assert_eq!(incident.count("failed").await, 1, "nothing was changed");

    incident.mend();
    let said = incident.tool.run(&["redrive", "--source", "kudos"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.starts_with("1 of 1 event run again\n"), "{said:?}");
    incident.until("done", 10).await;
    assert_eq!(incident.booked().await, (10, 55_000));

    // The old run has left nothing behind.
    let row = incident.world.row("kudos#evt_10000").await.unwrap();
    assert_eq!((number(&row, "attempts"), number(&row, "sends")), (1, 1));
    for gone in ["error_kind", "last_error", "due_shard", "due_at", "lease_owner", "lease_until"] {
        assert!(!row.contains_key(gone), "{gone} is still there");
    }

    let again = incident.tool.json(&["redrive", "--source", "kudos"]).await;
    assert_eq!((&again["selected"], &again["redriven"]), (&json!(0), &json!(0)));
    assert_eq!(incident.booked().await, (10, 55_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_mean_what_they_say() {
    let incident = Incident::new().await;
    incident.pay([9_001, 9_002, 9_003].into_iter()).await;
    incident.until("failed", 3).await;
    let world = &incident.world;
    world.set("kudos#evt_9002", &[("error_kind", text("exhausted"))]).await;
    world.set("kudos#evt_9003", &[("event_type", text("payment.failed"))]).await;
    let hours_ago = |hours: i64| shared::time::Clock::system().now().millis() - hours * 3_600_000;
    let received = |hours| crate::support::table::n(hours_ago(hours));
    world.set("kudos#evt_9003", &[("received_at", received(5))]).await;
    for (filter, ids) in [
        (&["--source", "kudos"][..], &["evt_9001", "evt_9002", "evt_9003"][..]),
        (&["--source", "kallglot"], &[]),
        (&["--kind", "exhausted"], &["evt_9002"]),
        (&["--kind", "permanent", "--type", "payment.succeeded"], &["evt_9001"]),
        (&["--type", "payment.*"], &["evt_9001", "evt_9002", "evt_9003"]),
        (&["--type", "payment"], &[]),
        (&["--since", "1h"], &["evt_9001", "evt_9002"]),
        (&["--until", "1h"], &["evt_9003"]),
        (&["--since", "6h", "--until", "4h"], &["evt_9003"]),
    ] {
        let said = incident.tool.run(&[&["redrive", "--dry-run"], filter].concat()).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        for id in ["evt_9001", "evt_9002", "evt_9003"] {
            let shown = said.stdout.contains(&format!("  kudos#{id}\n"));
            assert_eq!(shown, ids.contains(&id), "{filter:?} {id}: {said:?}");
        }
        let listed = incident.tool.json_lines(&[&["list"], filter].concat()).await;
        let listed: Vec<&str> =
            listed.iter().map(|line| line["event_id"].as_str().unwrap()).collect();
        assert!(ids.iter().all(|id| listed.contains(id)), "{filter:?}: {listed:?}");
        assert_eq!(listed.len(), ids.len(), "{filter:?}: {listed:?}");
    }
    // The command that is said next means the same an hour later.
    let said = incident.tool.run(&["redrive", "--since", "1h", "--dry-run"]).await;
    let hour_ago = crate::support::deliveries::unix_now() - 3_600;
    let hour_ago = aws_smithy_types::DateTime::from_secs(hour_ago);
    let date = hour_ago.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap();
    assert!(said.stdout.contains(&format!("redrive --since {}", &date[..15])), "{said:?}");
    let first = ["redrive", "--source", "kudos", "--limit", "1", "--dry-run"];
    let said = incident.tool.run(&first).await;
    assert!(said.stdout.contains("\n  kudos#evt_9003\n\n1 event"), "what came first: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_may_hold_anything_an_id_may_hold() {
    let incident = Incident::new().await;
    let ids = ["a b", "x#y#z", "é😀", "-n", "it's", "kudos#kudos"];
    for id in ids {
        let delivery = Delivery::payment(id, 9_999);
        incident.world.deliver(&delivery).await;
    }
    incident.until("failed", ids.len()).await;
    incident.mend();
    let said = incident.tool.run(&[&["redrive", "kudos", "--"], &ids[..]].concat()).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    incident.until("done", ids.len()).await;
    assert_eq!(incident.booked().await, (6, 6 * 9_999));
}

/// Kudos is ordered: its messages need a group, and an id that SQS has not seen.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_can_be_redriven_again_and_again() {
    let incident = Incident::new().await;
    incident.pay([9_999].into_iter()).await;
    for runs in 1..=4 {
        incident.until("failed", 1).await;
        crate::support::eventually("the run is measured", LONG, async || {
            (incident.runs() == runs).then_some(())
        })
        .await;
        let said = incident.tool.run(&["redrive", "kudos", "evt_9999"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("kudos#evt_9999  runs again"), "{said:?}");
    }
}

const LONG: std::time::Duration = std::time::Duration::from_secs(60);

/// One that no handler wanted, of a source without an order.
#[tokio::test(flavor = "multi_thread")]
async fn ignored_events_run_once_there_is_a_handler() {
    let incident = Incident::new().await;
    let post = async |id: &str, event_type: &str| {
        let now = crate::support::deliveries::rfc3339_now();
        let data = json!({"id": "sess_1", "status": "ready"});
        let delivery = Delivery::kallglot(id, event_type, &now, &data);
        incident.world.deliver(&delivery).await;
    };
    post("evt_1", "transcript.ready").await;
    post("evt_2", "recording.ready").await;
    incident.until("ignored", 2).await;
    // A handler came with the last deployment; its type is called so in the row.
    for id in ["evt_1", "evt_2"] {
        let key = format!("kallglot#{id}");
        let row = incident.world.row(&key).await.unwrap();
        let renamed = string(&row, "event_type").replace("transcript.ready", "session.started");
        incident.world.set(&key, &[("event_type", text(&renamed))]).await;
    }
    let args = ["redrive", "--source", "kallglot", "--ignored", "--type", "session.*"];
    let dry = incident.tool.run(&[&args[..], &["--dry-run"]].concat()).await;
    assert!(dry.stderr.contains("this reads the whole table"), "{dry:?}");
    assert!(dry.stdout.contains("1 event would be run again"), "{dry:?}");
    let said = incident.tool.run(&args).await;
    assert!(said.stdout.starts_with("1 of 1 event run again"), "{said:?}");
    let row = incident.world.until("kallglot#evt_1", "done").await;
    assert_eq!(string(&row, "outcome"), "applied");
    assert_eq!(incident.count("ignored").await, 1);
    assert!(incident.world.effect("kallglot#sess_1", "state").await.is_some());
}

/// While it waits to run it must not be removed as a finished row is.
#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_event_that_waits_does_not_expire() {
    let world = World::new().await.serve();
    let tool = crate::support::Tool::of(&world);
    let now = crate::support::deliveries::rfc3339_now();
    let delivery = Delivery::kallglot("evt_1", "session.started", &now, &json!({}));
    world.deliver(&delivery).await;
    let soon = shared::time::Clock::system().now().secs() + 3_600;
    let ignored = [
        ("status", text("ignored")),
        ("outcome", text("no_handler")),
        ("finished_at", crate::support::table::n(soon * 1_000)),
        ("expires_at", crate::support::table::n(soon)),
    ];
    world.set("kallglot#evt_1", &ignored).await;
    let args = ["redrive", "kallglot", "evt_1", "--ignored", "--type", "session.started"];
    let said = tool.run(&args).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let row = world.row("kallglot#evt_1").await.unwrap();
    assert_eq!(string(&row, "status"), "pending");
    assert!(!row.contains_key("expires_at") && !row.contains_key("outcome"), "{:?}", row.keys());
    assert!(row.contains_key("due_at") && string(&row, "due_shard").starts_with("kallglot#"));
}
