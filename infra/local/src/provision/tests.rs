//! Provisioning into real engines, once and again.

use aws_sdk_dynamodb::types::{ScalarAttributeType, TimeToLiveStatus};
use aws_sdk_sqs::types::QueueAttributeName;

use super::*;
use crate::{
    template::{IndexSpec, Key, Projection},
    testing::{Bench, bench},
};

async fn provisioned(bench: &Bench, template: &Template) -> Result<Resources, ProvisionError> {
    provision(template, &bench.dynamodb, &bench.sqs).await
}

async fn attribute(bench: &Bench, url: &str, name: QueueAttributeName) -> Option<String> {
    let all = QueueAttributeName::All;
    let queue = bench.sqs.get_queue_attributes().queue_url(url).attribute_names(all);
    let described = queue.send().await.unwrap();
    described.attributes().and_then(|attributes| attributes.get(&name)).cloned()
}

#[tokio::test]
async fn the_deployed_template_can_be_provisioned() {
    let bench = bench().await;
    let resources = provisioned(&bench, &Template::load().unwrap()).await.unwrap();
    assert_eq!(resources.inbox_table, "local-InboxTable");
    assert_eq!(resources.business_table, "local-BusinessTable");
    assert_eq!(resources.queue_arn, "arn:aws:sqs:us-east-1:000000000000:local-events");
    assert!(resources.fifo_queue_url.ends_with("/local-events.fifo"), "{resources:?}");
    assert!(resources.dlq_url.ends_with("/local-events-dlq"), "{resources:?}");

    let ttl = bench.dynamodb.describe_time_to_live().table_name(&resources.inbox_table);
    let ttl = ttl.send().await.unwrap();
    let ttl = ttl.time_to_live_description().unwrap();
    assert_eq!(ttl.time_to_live_status(), Some(&TimeToLiveStatus::Enabled));
    assert_eq!(ttl.attribute_name(), Some("expires_at"));

    for (url, name, value) in [
        (&resources.queue_url, QueueAttributeName::VisibilityTimeout, "360"),
        (&resources.fifo_queue_url, QueueAttributeName::DeduplicationScope, "messageGroup"),
        (&resources.fifo_queue_url, QueueAttributeName::FifoThroughputLimit, "perMessageGroupId"),
        (&resources.fifo_dlq_url, QueueAttributeName::MessageRetentionPeriod, "1209600"),
    ] {
        assert_eq!(attribute(&bench, url, name).await.as_deref(), Some(value), "{url}");
    }
    let redrive = attribute(&bench, &resources.queue_url, QueueAttributeName::RedrivePolicy).await;
    let redrive: serde_json::Value = serde_json::from_str(&redrive.unwrap()).unwrap();
    assert_eq!(redrive["maxReceiveCount"], 100);
    assert!(redrive["deadLetterTargetArn"].as_str().unwrap().ends_with(":local-events-dlq"));
}

#[tokio::test]
async fn provisioning_again_changes_nothing() {
    let bench = bench().await;
    let template = Template::load().unwrap();
    let first = provisioned(&bench, &template).await.unwrap();
    assert_eq!(provisioned(&bench, &template).await.unwrap(), first);
}

#[tokio::test]
async fn a_table_that_differs_is_refused_with_the_difference() {
    let bench = bench().await;
    provisioned(&bench, &Template::load().unwrap()).await.unwrap();

    let change = |change: fn(&mut TableSpec)| {
        let mut template = Template::load().unwrap();
        let inbox = template.tables.iter_mut().find(|table| table.logical_id == "InboxTable");
        change(inbox.unwrap());
        template
    };
    let due = "(due_shard, due_at) with error_kind, event_type, received_at, sends";
    for (template, difference) in [
        (
            change(|table| table.key.range = Some("due_at".to_owned())),
            "its key is (pk), the template's is (pk, due_at)".to_owned(),
        ),
        (
            change(|table| table.indexes[0].projection = Projection::KeysOnly),
            format!("its index due is {due}, the template's is (due_shard, due_at) with keys only"),
        ),
        (
            change(|table| {
                let range = Some("due_shard".to_owned());
                table.indexes[0].key = Key { hash: "due_at".to_owned(), range };
                table.indexes[0].projection = Projection::All;
            }),
            format!(
                "its index due is {due}, the template's is (due_at, due_shard) with all attributes"
            ),
        ),
        (
            change(|table| {
                table
                    .indexes
                    .push(IndexSpec { name: "late".to_owned(), ..table.indexes[0].clone() });
            }),
            "it has no index late".to_owned(),
        ),
        (
            change(|table| {
                table.indexes.clear();
                table.attributes.retain(|(name, _)| name == "pk");
            }),
            "it has an index due, which the template does not declare".to_owned(),
        ),
        (
            change(|table| table.attributes[2].1 = ScalarAttributeType::S),
            "its key attribute due_at is N, the template's is S".to_owned(),
        ),
        (
            change(|table| table.ttl_attribute = Some("gone_at".to_owned())),
            "items expire by expires_at, the template says gone_at".to_owned(),
        ),
    ] {
        let error = provisioned(&bench, &template).await.unwrap_err();
        let ProvisionError::Different { table, difference: found } = &error else {
            panic!("{error:?}");
        };
        assert_eq!((table.as_str(), found), ("local-InboxTable", &difference));
        assert!(error.to_string().contains("use another --data folder"), "{error}");
    }
}

#[tokio::test]
async fn a_template_without_an_inbox_is_refused() {
    let bench = bench().await;
    let template = Template { tables: Vec::new(), queues: Vec::new() };
    let error = provisioned(&bench, &template).await.unwrap_err();
    assert_eq!(error.to_string(), "the template declares no InboxTable");
}
