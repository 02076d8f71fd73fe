//! `inbox send`: what the real functions make of its deliveries.

use std::time::Duration;

use serde_json::Value;

use crate::support::tool::{bare, ended};
use crate::support::world::{number, string};
use crate::support::{Tool, World};

async fn world() -> (World, Tool) {
    let world = World::new().await.serve().poll();
    let tool = Tool::of(&world);
    (world, tool)
}

/// How many answers there were of each status.
fn answers(said: &Value) -> Vec<(u64, u64)> {
    let list = said["answers"].as_array().unwrap().iter();
    list.map(|a| (a["status"].as_u64().unwrap(), a["count"].as_u64().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_source_and_every_known_type_runs_to_its_end() {
    let (world, tool) = world().await;
    for (source, event_type) in [
        ("kudos", "payment.succeeded"),
        ("kudos", "subscription.upgraded"),
        ("kudos", "subscription.replay_started"),
        ("kudos", "subscription.replay_completed"),
        ("kallglot", "session.ended"),
        ("apiera", "product.updated"),
    ] {
        let said = tool.json(&["send", source, "--type", event_type]).await;
        assert_eq!(answers(&said), [(200, 1)], "{said}");
        let row =
            world.until(&format!("{source}#{}", said["first_id"].as_str().unwrap()), "done").await;
        assert_eq!(string(&row, "outcome"), "applied", "{event_type}");
        assert_eq!(string(&row, "event_type"), event_type);
    }
    let said = tool.json(&["send", "kallglot", "--type", "webhook_endpoint.disabled"]).await;
    assert_eq!(answers(&said), [(200, 1)]);
    world.until_metric("EndpointDisabled", "kallglot", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_events_are_each_their_own_and_one_event_is_one() {
    let (world, tool) = world().await;
    let data = tool.folder().join("data.json");
    std::fs::write(&data, r#"{"tenant":"t","amount_cents":{n},"currency":"EUR"}"#).unwrap();
    let data = data.to_str().unwrap();
    let said = tool.json(&["send", "kudos", "--count", "20", "--data", data]).await;
    assert_eq!(answers(&said), [(200, 20)]);
    assert!(
        said["latency_ms"]["p50"].as_f64().unwrap() <= said["latency_ms"]["max"].as_f64().unwrap()
    );
    world.until(&format!("kudos#{}", said["last_id"].as_str().unwrap()), "done").await;
    world.until_metric("Applied", "kudos", 20.0).await;
    let totals = world.effect("kudos#t", "totals").await.unwrap();
    assert_eq!((number(&totals, "payments"), number(&totals, "paid_cents")), (20, 210));

    let said = tool.json(&["send", "kudos", "--id", "evt_one", "--count", "5"]).await;
    assert_eq!(answers(&said), [(200, 5)]);
    world.until("kudos#evt_one", "done").await;
    assert_eq!(world.metric("Stored", Some("kudos")), 21.0);

    // A whole body goes as it is, from stdin, number by number.
    let whole = r#"{"event_id": "evt_w{n}", "event_type": "x.unknown",  "data": {}}"#;
    let said = tool.run_with(&["send", "kudos", "--data", "-", "--count", "2"], whole).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    world.until("kudos#evt_w2", "ignored").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_wanted_is_exit_code_1() {
    let (world, tool) = world().await;
    for (args, code, status) in [
        (&["--tamper"][..], 0, 401),
        (&["--age", "301"], 1, 401),
        (&["--age", "10m"], 1, 401),
        (&["--age", "290s"], 0, 200),
        (&["--secret", "another"], 1, 401),
        (&["--secret", "another", "--secret", "kudos-local-secret", "--dual-sign"], 0, 200),
    ] {
        let said = tool.run(&[&["--json", "send", "kudos"], args].concat()).await;
        assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
        assert_eq!(
            answers(&serde_json::from_str(&said.stdout).unwrap()),
            [(status, 1)],
            "{args:?}"
        );
    }
    let said = tool.run(&["send", "kudos", "--secret", "another"]).await;
    assert!(said.stdout.contains("final: Kudos CRM does not deliver it again"), "{said:?}");
    assert_eq!(world.metric("Stored", Some("kudos")), 2.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_is_counted_as_the_producer_counts() {
    let (world, tool) = world().await;
    for source in ["kudos", "kallglot"] {
        tool.json(&["send", source, "--attempt", "4", "--id", "evt_4"]).await;
        let row = world.until(&format!("{source}#evt_4"), "done").await;
        assert_eq!(number(&row, "first_attempt"), 4, "{source}");
    }
    assert_eq!(world.metric("IdMismatch", None), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept() {
    let (_world, tool) = world().await;
    let began = std::time::Instant::now();
    let said = tool.json(&["send", "kudos", "--tamper", "--count", "400", "--rate", "200"]).await;
    assert_eq!(answers(&said), [(401, 400)]);
    let took = said["seconds"].as_f64().unwrap();
    assert!((1.9..8.0).contains(&took), "{took} s of {:?}", began.elapsed());
}

#[tokio::test]
async fn what_cannot_be_sent_is_said() {
    let nobody = "http://127.0.0.1:1/webhooks/kudos";
    for (args, code, words) in [
        (&["send", "kudos", "--url", nobody, "--secret", "x"][..], 3, "no connection"),
        (&["send", "nobody"], 2, "none of the sources"),
        (&["send", "kudos"], 2, "which inbox?"),
        (&["send", "kudos", "--secret", "x"], 2, "which inbox?"),
        (&["send", "apiera", "--url", nobody, "--secret", "!"], 2, "is not base64"),
        (
            &["send", "kudos", "--url", nobody, "--secret", "x", "--dual-sign"],
            2,
            "needs two secrets",
        ),
        (&["send", "kudos", "--url", nobody, "--secret", "x", "--data", "/none"], 2, "cannot read"),
        (&["send", "kudos", "--url", "here"], 2, "expected a URL"),
    ] {
        let said =
            tokio::time::timeout(Duration::from_secs(30), bare(args).output()).await.unwrap();
        let said = ended(said.unwrap());
        assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
        assert!(said.stderr.contains(words), "{args:?}: {said:?}");
    }
}
