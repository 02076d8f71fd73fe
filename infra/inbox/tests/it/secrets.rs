//! `inbox secrets`: a rotation in commands, and what is refused.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use shared::aws::CallBudget;
use shared::time::Clock;

use crate::support::tool::Said;
use crate::support::{Tool, World};

const OLD: &str = "kudos-local-secret";
const NEW: &str = "kudos-rotated-secret";

async fn world() -> (World, Tool) {
    let world = World::new().await.serve().poll();
    let tool = Tool::of(&world);
    (world, tool)
}

/// The value as it is stored.
async fn stored(world: &World, source: &str) -> Value {
    let secrets = world.cloud.clients(CallBudget::BACKGROUND).secrets;
    let value = secrets.get_secret_value().secret_id(format!("local/{source}")).send().await;
    serde_json::from_str(value.unwrap().secret_string().unwrap()).unwrap()
}

/// Fingerprints of a source's active secrets, the newest first.
async fn listed(tool: &Tool, source: &str) -> Vec<String> {
    let list = tool.json(&["secrets", "list", source]).await;
    let lines = list.as_array().unwrap().iter();
    lines.map(|line| line["fingerprint"].as_str().unwrap().to_owned()).collect()
}

/// Says that a secret was last used this long ago.
async fn used(world: &World, source: &str, fingerprint: &str, ago: Duration) {
    let at = Clock::system().now().minus(ago).millis();
    let call = world.dynamodb().update_item().table_name(&world.cloud.resources.inbox_table);
    let call = call.key("pk", AttributeValue::S(format!("~control#{source}")));
    let call = call.update_expression("SET #used = :at");
    let call = call.expression_attribute_names("#used", format!("used_{fingerprint}"));
    let at = AttributeValue::N(at.to_string());
    call.expression_attribute_values(":at", at).send().await.unwrap();
}

fn refused(said: &Said, words: &str) {
    assert_eq!(said.code, Some(1), "{said:?}");
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(text.contains(words), "{words}: {said:?}");
    for secret in [OLD, NEW] {
        assert!(!text.contains(secret), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_from_first_to_last_command_under_load_refuses_no_delivery() {
    let (world, tool) = world().await;
    let load = |secrets: &[&str], count: &str| {
        let mut args = vec!["--json", "send", "kudos", "--rate", "10", "--count", count];
        for secret in secrets {
            args.extend(["--secret", secret]);
        }
        if secrets.len() > 1 {
            args.push("--dual-sign");
        }
        tool.spawn(&args)
    };
    // The producer signs with the old one while the new one is added, then with both, then with the
    // new one alone while the old one is revoked. Its phases overlap.
    let first = load(&[OLD], "60");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let old = listed(&tool, "kudos").await.remove(0);
    let said = tool.run_with(&["secrets", "add", "kudos"], &format!("{NEW}\n")).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW, OLD]}));
    let second = load(&[NEW, OLD], "100");
    refused(&tool.run(&["secrets", "revoke", "kudos", &old]).await, "deliveries of kudos are");
    let first = first.wait_with_output().await.unwrap();
    let third = load(&[NEW], "100");
    let second = second.wait_with_output().await.unwrap();
    let new = listed(&tool, "kudos").await.remove(0);
    // What the clock would do within eight minutes.
    used(&world, "kudos", &old, Duration::from_secs(60)).await;
    refused(&tool.run(&["secrets", "revoke", "kudos", &old]).await, "may be on its way");
    used(&world, "kudos", &old, Duration::from_secs(500)).await;
    let said = tool.run(&["secrets", "revoke", "kudos", &old[..6]]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let third = third.wait_with_output().await.unwrap();
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW]}));
    assert_eq!(listed(&tool, "kudos").await, [new]);
    let mut delivered = 0;
    for (phase, sent) in [(first, 60), (second, 100), (third, 100)] {
        let said: Value = serde_json::from_slice(&phase.stdout).unwrap();
        let count = |wanted: u64| {
            let answers = said["answers"].as_array().unwrap().iter();
            let counts = answers.filter(|a| a["status"] == wanted).map(|a| &a["count"]);
            counts.filter_map(Value::as_u64).sum::<u64>()
        };
        // A machine that is too busy to store within four seconds says so; that is no refusal.
        assert_eq!((count(200) + count(503), &said["sent"]), (sent, &json!(sent)), "{said}");
        delivered += count(200);
    }
    assert!(delivered > 200, "{delivered} of 260");
    let signatures = world.metric("SignatureRefused", Some("kudos"));
    assert_eq!((signatures, world.metric("SecretUnavailable", Some("kudos"))), (0.0, 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_third_secret_none_twice_and_none_that_is_none() {
    let (world, tool) = world().await;
    let add =
        async |source: &str, text: &str| tool.run_with(&["secrets", "add", source], text).await;
    refused(&add("kudos", OLD).await, "is active already");
    for (source, text, why) in [
        ("kudos", "", "is empty"),
        ("kudos", " x", "white space"),
        ("kudos", "a\nb\n", "more than one line"),
        ("kudos", "{\"secrets\":[\"x\"]}", "JSON document"),
        ("kudos", "a\tb", "control character"),
        ("apiera", "no base64!", "is not base64"),
        ("apiera", "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "is not base64"),
    ] {
        let said = add(source, text).await;
        assert_eq!(said.code, Some(2), "{text:?}: {said:?}");
        assert!(said.stderr.contains(why), "{text:?}: {said:?}");
    }
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [OLD]}));
    assert_eq!(add("kudos", NEW).await.code, Some(0));
    refused(&add("kudos", "a third one").await, "no third can be");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW, OLD]}));
    let said = tool.run(&["secrets", "list"]).await;
    assert_eq!(said.stdout.lines().count(), 5, "{said:?}");
    assert!(said.stdout.contains("older") && !said.stdout.contains(NEW), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_one_that_deliveries_use_cannot_be_revoked() {
    let (world, tool) = world().await;
    let old = listed(&tool, "kudos").await.remove(0);
    let revoke =
        async |args: &[&str]| tool.run(&[&["secrets", "revoke", "kudos"], args].concat()).await;
    refused(&revoke(&[&old]).await, "is the last secret of kudos");
    refused(&revoke(&[&old, "--force"]).await, "is the last secret of kudos");
    refused(&revoke(&["nothing"]).await, "no active secret nothing");
    assert_eq!(tool.run_with(&["secrets", "add", "kudos"], NEW).await.code, Some(0));
    let new = listed(&tool, "kudos").await.remove(0);

    used(&world, "kudos", &old, Duration::from_secs(30 * 86_400)).await;
    refused(&revoke(&[&old]).await, "none has been signed with the other");
    used(&world, "kudos", &new, Duration::from_secs(40 * 86_400)).await;
    refused(&revoke(&[&old]).await, "are still signed with");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW, OLD]}));
    // One that was added by mistake has never been used, and may go at once.
    let said = revoke(&[&new]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [OLD]}));
    assert_eq!(tool.run_with(&["secrets", "add", "kudos"], NEW).await.code, Some(0));
    let said = revoke(&[&old, "--force"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_secret_is_shown_once_in_the_form_that_its_producer_takes() {
    let (world, tool) = world().await;
    for source in ["kudos", "apiera"] {
        let said = tool.run(&["secrets", "add", source, "--generate"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        let secret = said.stdout.trim();
        assert_eq!(secret.starts_with("whsec_"), source == "apiera", "{said:?}");
        assert_eq!(stored(&world, source).await["secrets"][0], secret);
        assert!(!said.stderr.contains(secret));
        let said = tool.run(&["send", source, "--secret", secret]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_missing_or_broken_is_named_and_mended() {
    let (world, tool) = world().await;
    let secrets = world.cloud.clients(CallBudget::BACKGROUND).secrets;
    let delete =
        secrets.delete_secret().secret_id("local/kudos").force_delete_without_recovery(true);
    delete.send().await.unwrap();
    let said = tool.run(&["secrets", "list", "kudos"]).await;
    refused(&said, "no secret: every delivery is answered 503");
    assert_eq!(tool.run_with(&["secrets", "add", "kudos"], NEW).await.code, Some(0));
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW]}));

    world.cloud.put_secret("kudos", "pasted as it is").await.unwrap();
    refused(&tool.run(&["secrets", "list", "kudos"]).await, "every delivery is answered 503");
    refused(&tool.run_with(&["secrets", "add", "kudos"], NEW).await, "--replace");
    let said = tool.run_with(&["secrets", "add", "kudos", "--replace"], NEW).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(stored(&world, "kudos").await, json!({"secrets": [NEW]}));

    secrets.delete_secret().secret_id("local/apiera").send().await.unwrap();
    refused(&tool.run(&["secrets", "list", "apiera"]).await, "marked for deletion");
    refused(&tool.run_with(&["secrets", "add", "apiera"], "whsec_YQ==").await, "restore-secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_who_change_a_secret_at_a_time_do_not_undo_each_other() {
    let (world, tool) = world().await;
    for round in 0..5 {
        let two = [format!("first-{round}"), format!("second-{round}")];
        world.cloud.put_secret("kudos", &json!({"secrets": [OLD]}).to_string()).await.unwrap();
        let add = async |text: &str| tool.run_with(&["secrets", "add", "kudos"], text).await;
        let (a, b) = futures_util::future::join(add(&two[0]), add(&two[1])).await;
        let done: Vec<&String> = [&a, &b]
            .iter()
            .zip(&two)
            .filter(|(said, _)| said.code == Some(0))
            .map(|(_, t)| t)
            .collect();
        // Whoever was told that it is done finds his secret there.
        assert_eq!(done.len(), 1, "{a:?} {b:?}");
        assert_eq!(stored(&world, "kudos").await, json!({"secrets": [done[0], OLD]}));
    }
}
