//! `inbox show`: what happened to this event?

use serde_json::json;

use crate::support::deliveries::rfc3339_now;
use crate::support::table::n;
use crate::support::world::text;
use crate::support::{Delivery, Incident, Tool, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_done_event_tells_its_life() {
    let world = World::new().await.serve().poll();
    let tool = Tool::of(&world);
    let now = rfc3339_now();
    let delivery = Delivery::kallglot(
        "evt_1",
        "session.started",
        &now,
        &json!({"id": "s", "status": "started"}),
    );
    world.deliver(&delivery.clone().with("kallglot-retry-count", "2")).await;
    world.until("kallglot#evt_1", "done").await;
    let said = tool.run(&["show", "kallglot", "evt_1"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in [
        "kallglot#evt_1\n",
        "status     done, applied\n",
        "type       session.started\n",
        "attempts   1, by 1 message\n",
        "happened, by the producer's signed clock",
        "received, delivery number 3, signed with secret ",
        "first run begun",
        "next: nothing; it is forgotten in 30 days",
        "| filter key = \"kallglot#evt_1\"",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    assert!(said.stdout.find("first run begun") < said.stdout.find("done, applied ("), "{said:?}");

    let shown = tool.json(&["show", "kallglot", "evt_1"]).await;
    for (name, value) in [
        ("source", json!("kallglot")),
        ("event_id", json!("evt_1")),
        ("status", json!("done")),
        ("outcome", json!("applied")),
        ("attempts", json!(1)),
        ("first_attempt", json!(3)),
        ("error_kind", json!(null)),
        ("due_at", json!(null)),
    ] {
        assert_eq!(shown[name], value, "{name}: {shown}");
    }
    assert_eq!(shown["occurred_at"], json!(now.replace('Z', ".000Z")));
    let body = tool.run(&["show", "kallglot", "evt_1", "--body"]).await;
    assert_eq!(body.stdout.as_bytes(), delivery.body, "byte for byte");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_next_is_said_for_every_state() {
    let incident = Incident::new().await;
    let (world, tool) = (&incident.world, &incident.tool);
    incident.pay([9_500].into_iter()).await;
    incident.until("failed", 1).await;
    let now = shared::time::Clock::system().now().millis();
    let pending = [("status", text("pending")), ("due_at", n(now + 60_000))];
    let processing = [("status", text("processing")), ("due_at", n(now - 1))];
    let failed = |kind| [("status", text("failed")), ("error_kind", text(kind))];
    let lease = |ms: i64| ("lease_until", n(now + ms));
    let ended = |status| [("status", text(status)), ("expires_at", n(now / 1_000 + 86_400 * 3))];
    let [s, d] = pending.clone();
    let [p, q] = processing.clone();
    for (attributes, next) in [
        (pending.to_vec(), "its message runs it; if that is lost, the sweeper looks at it in "),
        (vec![s, d, lease(30_000)], "another attempt in "),
        (vec![p.clone(), q.clone(), lease(60_000)], "a run holds it; its lease ends in "),
        (
            vec![p, q, lease(-1)],
            "its last run never came back; the sweeper sends it with its next sweep",
        ),
        (failed("permanent").to_vec(), "Correct it, then\n      run it again with: inbox --local="),
        (failed("exhausted").to_vec(), "remove the cause, then run it again with: "),
        (failed("unusable").to_vec(), "no handler can run it"),
        (failed("unsendable").to_vec(), "a mistake of ours"),
        (failed("beyond_memory").to_vec(), "it may have run before"),
        (ended("ignored").to_vec(), "redrive --ignored --type payment.succeeded kudos "),
        (ended("dropped").to_vec(), "nothing; it is forgotten in 3 days"),
        (ended("done").to_vec(), "nothing; it is forgotten in 3 days"),
    ] {
        let id = format!("evt_{}", fastrand::u64(..));
        world.multiply("kudos#evt_9500", [id.clone()].into_iter()).await;
        world.set(&format!("kudos#{id}"), &attributes).await;
        let said = tool.run(&["show", "kudos", &id]).await;
        assert!(said.stdout.contains(next), "{next}: {}", said.stdout);
        let shown = tool.json(&["show", "kudos", &id]).await;
        assert!(shown["next"].as_str().unwrap().contains(next), "{shown}");
        if next.starts_with("its message") {
            assert_eq!(tool.run(&["pause", "kudos"]).await.code, Some(0));
            let said = tool.run(&["show", "kudos", &id]).await;
            assert!(
                said.stdout.contains("nothing while kudos is paused: inbox --local="),
                "{said:?}"
            );
            assert_eq!(tool.run(&["resume", "kudos"]).await.code, Some(0));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_not_there_is_a_problem_and_not_an_error() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let said = tool.run(&["show", "kudos", "it's \"lost\""]).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("never arrived, was refused, or ended over 30 days ago"));
    assert!(said.stdout.contains(r#"filter key = "kudos#it's \"lost\"""#), "{said:?}");
    let said = tool.run(&["--json", "show", "kudos", "lost"]).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    let shown: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown["status"], json!(null));
    for (args, code) in
        [(&["show", "Kudos", "x"][..], 2), (&["show", "kudos", ""], 2), (&["show", "kudos"], 2)]
    {
        assert_eq!(tool.run(args).await.code, Some(code), "{args:?}");
    }
}

/// The source has been taken out of `sources.toml`; its rows are still there.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_source_that_nobody_knows_are_shown_with_a_note() {
    let incident = Incident::new().await;
    incident.pay([9_500].into_iter()).await;
    incident.until("failed", 1).await;
    let row = incident.world.row("kudos#evt_9500").await.unwrap();
    let mut orphan = row.clone();
    orphan.insert("pk".into(), text("former-crm#evt_9500"));
    orphan.insert("source".into(), text("former-crm"));
    orphan.insert("due_shard".into(), text("failed#former-crm"));
    incident.world.put_rows(vec![orphan]).await;
    for args in [
        &["show", "former-crm", "evt_9500"][..],
        &["list", "--source", "former-crm"],
        &["list", "--source", "former-crm", "--all"],
    ] {
        let said = incident.tool.run(args).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("evt_9500"), "{said:?}");
    }
    let said = incident.tool.run(&["show", "former-crm", "evt_9500"]).await;
    assert!(said.stderr.contains("former-crm is none of the sources"), "{said:?}");
    let said = incident.tool.run(&["redrive", "former-crm", "evt_9500"]).await;
    assert_eq!(said.code, Some(2), "nothing would run it: {said:?}");
    let dropped = ["drop", "--reason", "its source is gone", "former-crm", "evt_9500"];
    assert_eq!(incident.tool.run(&dropped).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_comes_out_as_it_was_signed() {
    let world = World::new().await.serve();
    let tool = Tool::of(&world);
    let large: String = (0..500_000).map(|_| fastrand::alphanumeric()).collect();
    let data = json!({"tenant": "acme", "amount_cents": 1, "currency": large});
    let large = Delivery::kudos("large", "payment.succeeded", &data);
    world.deliver(&large).await;
    let said = tool.command(&["show", "kudos", "large", "--body"]).output().await.unwrap();
    assert!(said.stdout == large.body, "{} bytes", said.stdout.len());
    let shown = tool.json(&["show", "kudos", "large"]).await;
    assert!(shown["body_parts"].as_u64().unwrap() >= 1, "{shown}");

    // Authentic, but not UTF-8: stored under the digest of its bytes.
    let bytes = b"\xff\x1b[2J{}";
    let delivery = Delivery::kallglot_body(bytes);
    world.deliver(&delivery).await;
    let listed = tool.json_lines(&["list", "--source", "kallglot"]).await;
    let id = listed[0]["event_id"].as_str().unwrap();
    assert!(id.starts_with("sha256:"), "{id}");
    let said = tool.command(&["show", "kallglot", id, "--body"]).output().await.unwrap();
    assert_eq!(said.stdout, bytes);
    let shown = tool.json(&["show", "kallglot", id, "--body"]).await;
    assert_eq!((&shown["body"], &shown["body_base64"]), (&json!(null), &json!("/xtbMkp7fQ==")));
}
