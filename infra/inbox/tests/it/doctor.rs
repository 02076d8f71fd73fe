//! `inbox doctor`: a stack as it should be, and one with everything wrong.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveSpecification};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;
use shared::time::Clock;

use crate::support::tool::{bare, ended};
use crate::support::{Tool, World};

/// Codes and severities of what was found.
async fn found(tool: &Tool) -> Vec<(String, String)> {
    let said = tool.run(&["--json", "doctor"]).await;
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(said.code == Some(0), findings.is_empty(), "{said:?}");
    let words = findings.iter().map(|finding| {
        let text = |name: &str| finding[name].as_str().unwrap().to_owned();
        assert!(!text("why").is_empty() && !text("next").is_empty(), "{finding}");
        (text("severity"), text("code"))
    });
    words.collect()
}

async fn codes(tool: &Tool) -> Vec<String> {
    found(tool).await.into_iter().map(|(_, code)| code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stack_as_the_template_makes_it_is_well() {
    let world = World::new().await.serve().poll();
    let tool = Tool::of(&world);
    let said = tool.run(&["doctor"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("0 findings") && said.stdout.contains("not checked"), "{said:?}");
    tool.json(&["send", "kudos", "--count", "3"]).await;
    assert_eq!(found(&tool).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_that_is_wrong_is_found() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let set = async |url: &str, name: QueueAttributeName, value: &str| {
        world
            .sqs()
            .set_queue_attributes()
            .queue_url(url)
            .attributes(name, value)
            .send()
            .await
            .unwrap();
    };
    let resources = &world.cloud.resources;
    let (queue, fifo) = (&resources.queue_url, &resources.fifo_queue_url);
    set(queue, QueueAttributeName::VisibilityTimeout, "30").await;
    assert_eq!(found(&tool).await, [("critical".to_owned(), "visibility".to_owned())]);
    set(queue, QueueAttributeName::VisibilityTimeout, "90").await;
    assert_eq!(found(&tool).await, [("warning".to_owned(), "visibility".to_owned())]);
    set(queue, QueueAttributeName::VisibilityTimeout, "360").await;
    assert_eq!(found(&tool).await, []);

    set(queue, QueueAttributeName::MessageRetentionPeriod, "3600").await;
    set(fifo, QueueAttributeName::FifoThroughputLimit, "perQueue").await;
    set(fifo, QueueAttributeName::ContentBasedDeduplication, "true").await;
    set(&resources.dlq_url, QueueAttributeName::MessageRetentionPeriod, "60").await;
    let expected = ["queue_retention", "dlq_retention", "fifo_throughput", "fifo_deduplication"];
    assert_eq!(codes(&tool).await, expected);
    set(queue, QueueAttributeName::RedrivePolicy, "").await;
    let dlq = "arn:aws:sqs:us-east-1:000000000000:local-events-dlq.fifo";
    let policy = serde_json::json!({"deadLetterTargetArn": dlq, "maxReceiveCount": 3}).to_string();
    set(fifo, QueueAttributeName::RedrivePolicy, &policy).await;
    let found = codes(&tool).await;
    assert!(
        found.contains(&"dlq_missing".into()) && found.contains(&"receives".into()),
        "{found:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn expiry_secrets_and_missing_parts() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let table = &world.cloud.resources.inbox_table;
    let ttl = async |on: bool, attribute: &str| {
        let ttl = TimeToLiveSpecification::builder().enabled(on).attribute_name(attribute);
        let call = world.dynamodb().update_time_to_live().table_name(table);
        call.time_to_live_specification(ttl.build().unwrap()).send().await.unwrap();
    };
    ttl(false, "expires_at").await;
    assert_eq!(found(&tool).await, [("warning".to_owned(), "ttl_off".to_owned())]);
    ttl(true, "received_at").await;
    assert_eq!(found(&tool).await, [("critical".to_owned(), "ttl_attribute".to_owned())]);
    ttl(false, "received_at").await;
    ttl(true, "expires_at").await;
    assert_eq!(found(&tool).await, []);

    for (value, code) in [
        ("pasted", "secret_unusable"),
        (r#"{"secrets":[]}"#, "secret_unusable"),
        (r#"{"secrets":["a","b","c"]}"#, "secret_unusable"),
        (r#"{"secrets":[" a"]}"#, "secret_malformed"),
    ] {
        world.cloud.put_secret("kudos", value).await.unwrap();
        assert_eq!(codes(&tool).await, [code], "{value}");
    }
    world.cloud.put_secret("kudos", r#"{"secrets":["kudos-local-secret"]}"#).await.unwrap();

    world.sqs().delete_queue().queue_url(&world.cloud.resources.queue_url).send().await.unwrap();
    assert_eq!(codes(&tool).await, ["queue_missing"]);
    world.dynamodb().delete_table().table_name(table).send().await.unwrap();
    let found = codes(&tool).await;
    assert_eq!(found, ["table_missing", "queue_missing"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_wait_are_told() {
    let world = World::new().await.serve();
    let tool = Tool::of(&world);
    let put = async |key: &str, shard: &str, age: Duration, kind: Option<&str>| {
        let now = Clock::system().now();
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let number = |at: i64| AttributeValue::N(at.to_string());
        let mut item = HashMap::from([
            ("pk".to_owned(), text(key)),
            ("due_shard".to_owned(), text(shard)),
            ("due_at".to_owned(), number(now.millis())),
            ("received_at".to_owned(), number(now.minus(age).millis())),
        ]);
        item.extend(kind.map(|kind| ("error_kind".to_owned(), text(kind))));
        let call = world.dynamodb().put_item().table_name(&world.cloud.resources.inbox_table);
        call.set_item(Some(item)).send().await.unwrap();
    };
    put("kudos#young", "kudos#0", Duration::from_secs(60), None).await;
    assert_eq!(codes(&tool).await, Vec::<String>::new());
    put("kudos#old", "kudos#1", Duration::from_secs(7200), None).await;
    put("kudos#bad", "failed#kudos", Duration::from_secs(60), Some("permanent")).await;
    put("gone#x", "gone#3", Duration::from_secs(60), None).await;
    let said = tool.run(&["doctor"]).await;
    assert_eq!(said.code, Some(1));
    for words in [
        "the oldest of 2 unfinished events of kudos was received 2 h ago",
        "1 events of kudos have failed: 1 permanent",
        "of gone, which is not in sources.toml",
    ] {
        assert!(said.stdout.contains(words), "{words}: {said:?}");
    }
    let said = tool.run(&["pause", "kudos"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let found = codes(&tool).await;
    assert!(
        found.contains(&"paused".into()) && !found.contains(&"oldest_unfinished".into()),
        "{found:?}"
    );
}

#[tokio::test]
async fn an_inbox_that_does_not_answer_is_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let dead = "http://127.0.0.1:1";
    let lines = [
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", dead),
        ("AWS_ENDPOINT_URL_SQS", dead),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", dead),
        ("INBOX_TABLE", "t"),
        ("QUEUE_URL", dead),
        ("FIFO_QUEUE_URL", dead),
        ("SECRETS_PREFIX", "local"),
    ];
    let text: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    std::fs::write(folder.path().join("endpoints.env"), text).unwrap();
    let local = format!("--local={}", folder.path().display());
    let said = ended(bare(&[&local, "doctor"]).output().await.unwrap());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("got no answer"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployed_stack_with_the_local_secrets_is_open_to_everybody() {
    let world = World::new().await;
    let mut command = bare(&["--json", "doctor"]);
    let said = ended(command.envs(world.cloud.environment()).output().await.unwrap());
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let all = report["findings"].as_array().unwrap().iter();
    let public = all.filter(|finding| finding["code"] == "secret_public").count();
    assert_eq!((said.code, public), (Some(1), 3), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_the_index_is_critical() {
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    };
    let world = World::new().await;
    let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash);
    let pk = AttributeDefinition::builder().attribute_name("pk");
    let pk = pk.attribute_type(ScalarAttributeType::S);
    let call = world.dynamodb().create_table().table_name("bare-table");
    let call = call.key_schema(key.build().unwrap()).attribute_definitions(pk.build().unwrap());
    call.billing_mode(BillingMode::PayPerRequest).send().await.unwrap();
    let tool = Tool::of(&world);
    let file = tool.folder().join("endpoints.env");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("local-InboxTable", "bare-table")).unwrap();
    assert_eq!(codes(&tool).await, ["due_index", "ttl_off"]);
}
