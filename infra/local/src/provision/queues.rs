//! Queues: dead-letter queues first, since a redrive policy names its target by ARN.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_sqs::{Client, types::QueueAttributeName};
use serde_json::json;

use super::{ProvisionError, Queue};
use crate::template::QueueSpec;

/// Creates the queues and returns them by logical id.
pub(super) async fn create(
    sqs: &Client,
    specs: &[QueueSpec],
) -> Result<BTreeMap<String, Queue>, ProvisionError> {
    let mut created = BTreeMap::new();
    let mut arns: HashMap<&str, String> = HashMap::new();
    let (sources, targets): (Vec<_>, Vec<_>) =
        specs.iter().partition(|spec| spec.redrive.is_some());
    for spec in targets.into_iter().chain(sources) {
        let queue = create_one(sqs, spec, &arns).await?;
        arns.insert(&spec.name, queue.arn.clone());
        created.insert(spec.logical_id.clone(), queue);
    }
    Ok(created)
}

async fn create_one(
    sqs: &Client,
    spec: &QueueSpec,
    arns: &HashMap<&str, String>,
) -> Result<Queue, ProvisionError> {
    let action = || format!("create the queue {}", spec.name);
    let create = sqs
        .create_queue()
        .queue_name(&spec.name)
        .set_attributes(Some(attributes(spec, arns)))
        .send()
        .await
        .map_err(ProvisionError::refused(action()))?;
    let url = create.queue_url().unwrap_or_default().to_owned();
    let described = sqs
        .get_queue_attributes()
        .queue_url(&url)
        .attribute_names(QueueAttributeName::QueueArn)
        .send()
        .await
        .map_err(ProvisionError::refused(action()))?;
    let arn = described
        .attributes()
        .and_then(|attributes| attributes.get(&QueueAttributeName::QueueArn))
        .cloned()
        .unwrap_or_default();
    Ok(Queue { url, arn })
}

fn attributes(
    spec: &QueueSpec,
    arns: &HashMap<&str, String>,
) -> HashMap<QueueAttributeName, String> {
    let mut attributes = HashMap::from([
        (QueueAttributeName::VisibilityTimeout, spec.visibility_timeout_s.to_string()),
        (QueueAttributeName::MessageRetentionPeriod, spec.retention_s.to_string()),
    ]);
    if let Some(fifo) = &spec.fifo {
        attributes.extend([
            (QueueAttributeName::FifoQueue, "true".to_owned()),
            (
                QueueAttributeName::ContentBasedDeduplication,
                fifo.content_based_deduplication.to_string(),
            ),
            (QueueAttributeName::DeduplicationScope, fifo.deduplication_scope.clone()),
            (QueueAttributeName::FifoThroughputLimit, fifo.throughput_limit.clone()),
        ]);
    }
    if let Some(redrive) = &spec.redrive {
        let policy = json!({
            "deadLetterTargetArn": arns.get(redrive.target.as_str()),
            // A number: the embedded engine refuses the text that AWS also takes.
            "maxReceiveCount": redrive.receives_max,
        });
        attributes.insert(QueueAttributeName::RedrivePolicy, policy.to_string());
    }
    attributes
}
