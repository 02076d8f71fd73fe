//! `inbox drop`: given up, for a reason that is kept.

use serde_json::json;

use crate::support::table::n;
use crate::support::world::{number, string, text};
use crate::support::{Delivery, Incident};

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_event_keeps_its_reason_and_never_runs() {
    let incident = Incident::new().await;
    incident.pay([9_001, 9_002].into_iter()).await;
    incident.until("failed", 2).await;
    let reason = "test tenant, agreed with Ana (é)";
    let said = incident.tool.run(&["drop", "--reason", reason, "kudos", "evt_9001"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.stdout, "kudos#evt_9001  dropped\n1 of 1 event dropped\n");
    let row = incident.world.row("kudos#evt_9001").await.unwrap();
    assert_eq!((string(&row, "status"), string(&row, "drop_reason")), ("dropped", reason));
    assert_eq!(string(&row, "error_kind"), "permanent", "why it had failed stays");
    assert!(!row.contains_key("due_shard") && !row.contains_key("due_at"), "{:?}", row.keys());
    let days = (number(&row, "expires_at") - number(&row, "finished_at") / 1_000) / 86_400;
    assert_eq!(days, 30);
    let shown = incident.tool.run(&["show", "kudos", "evt_9001"]).await;
    assert!(shown.stdout.contains(&format!("dropped    {reason}\n")), "{shown:?}");

    // The producer's replay is a duplicate, and a redrive leaves it alone.
    incident.mend();
    incident.world.deliver(&Delivery::payment("evt_9001", 9_001)).await;
    let said = incident.tool.run(&["redrive", "kudos", "evt_9001"]).await;
    assert!(said.stdout.contains("left alone: dropped by an operator"), "{said:?}");
    assert_eq!(incident.booked().await, (0, 0));

    // Twice is once: the first reason stands.
    let again = incident.tool.run(&["drop", "--reason", "another", "kudos", "evt_9001"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("its reason stands"), "{again:?}");
    let row = incident.world.row("kudos#evt_9001").await.unwrap();
    assert_eq!(string(&row, "drop_reason"), reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_drops_only_with_yes_and_only_what_has_failed() {
    let incident = Incident::new().await;
    incident.pay([1, 9_001, 9_002].into_iter()).await;
    incident.until("failed", 2).await;
    incident.until("done", 1).await;
    let filter = ["drop", "--reason", "gone", "--source", "kudos"];
    for args in [&filter[..], &[&filter[..], &["--yes", "--dry-run"]].concat()] {
        let said = incident.tool.run(args).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("2 events would be dropped; nothing was changed"), "{said:?}");
        assert!(said.stdout.contains("drop --reason gone --yes --source kudos\n"), "{said:?}");
    }
    assert_eq!(incident.count("failed").await, 2);
    // One that was found as failed and runs again by now.
    incident.world.multiply("kudos#evt_9001", ["again".to_owned()].into_iter()).await;
    incident.world.set("kudos#again", &[("status", text("pending"))]).await;
    let said = incident.tool.json(&[&filter[..], &["--yes"]].concat()).await;
    for (name, count) in [("selected", 3), ("dropped", 2), ("kept", 1)] {
        assert_eq!(said[name], json!(count), "{name}: {said}");
    }
    assert_eq!((incident.count("dropped").await, incident.count("done").await), (2, 1));
    assert_eq!(incident.count("pending").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_event_can_be_dropped_unless_a_run_holds_it() {
    let incident = Incident::new().await;
    incident.pay([9_001].into_iter()).await;
    incident.until("failed", 1).await;
    let now = shared::time::Clock::system().now().millis();
    for (id, status, lease, code, after) in [
        ("backing-off", "pending", 60_000, 0, "dropped"),
        ("held", "processing", 60_000, 1, "processing"),
        ("dead", "processing", -1, 0, "dropped"),
    ] {
        let key = format!("kudos#{id}");
        incident.world.multiply("kudos#evt_9001", [id.to_owned()].into_iter()).await;
        let mut row = incident.world.row(&key).await.unwrap();
        row.remove("finished_at");
        row.remove("error_kind");
        incident.world.put_rows(vec![row]).await;
        let held = [
            ("status", text(status)),
            ("lease_until", n(now + lease)),
            ("lease_owner", text("somebody")),
            ("due_shard", text("kudos#1")),
        ];
        incident.world.set(&key, &held).await;
        let said = incident.tool.run(&["drop", "--reason", "poison", "kudos", id]).await;
        assert_eq!(said.code, Some(code), "{said:?}");
        let row = incident.world.row(&key).await.unwrap();
        assert_eq!(string(&row, "status"), after, "{said:?}");
        assert_eq!(row.contains_key("due_shard"), after != "dropped");
        assert_eq!(row.contains_key("lease_owner"), after != "dropped");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_or_not_there_is_a_problem() {
    let incident = Incident::new().await;
    incident.pay([1].into_iter()).await;
    incident.until("done", 1).await;
    for (id, said) in [("evt_1", "kept: it is over"), ("lost", "not there")] {
        let dropped = incident.tool.run(&["drop", "--reason", "x", "kudos", id]).await;
        assert_eq!(dropped.code, Some(1), "{dropped:?}");
        assert!(dropped.stdout.contains(said), "{dropped:?}");
        let dry = ["drop", "--dry-run", "--reason", "x", "kudos", id];
        let code = if id == "lost" { 1 } else { 0 };
        assert_eq!(incident.tool.run(&dry).await.code, Some(code));
    }
    for args in [
        &["drop", "kudos", "evt_1"][..],
        &["drop", "--reason", " ", "kudos", "evt_1"],
        &["drop", "--reason", "x"],
    ] {
        assert_eq!(incident.tool.run(args).await.code, Some(2), "{args:?}");
    }
    assert_eq!(incident.count("done").await, 1);
}
