//! The two queues and their dead-letter queues.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use serde::Deserialize;
use shared::fault::Fault;
use shared::limits::{LEASE, RECEIVES_MAX, RECEIVES_MAX_FIFO, VISIBILITY};

use super::finding::{Finding, Findings, Severity};
use crate::exit::Failure;
use crate::place::Place;

/// A day, in seconds: shorter than a weekend's outage of the processor.
const DAY_S: u64 = 86_400;

/// A queue's attributes.
pub(super) type Attributes = HashMap<QueueAttributeName, String>;

/// Both queues.
pub(super) async fn look(place: &Place, findings: &mut Findings) -> Result<(), Failure> {
    for (url, fifo) in [(&place.common.queue_url, false), (&place.common.fifo_queue_url, true)] {
        let Some(attributes) = attributes(&place.clients.sqs, url).await? else {
            findings.check(Some(missing(url)));
            continue;
        };
        let dlq = match redrive(&attributes) {
            Some(policy) => dead_letters(&place.clients.sqs, &policy).await?,
            None => None,
        };
        for finding in queue(url, fifo, &attributes, dlq.as_ref()) {
            findings.check(finding);
        }
    }
    Ok(())
}

async fn attributes(sqs: &Client, url: &str) -> Result<Option<Attributes>, Failure> {
    let call = sqs.get_queue_attributes().queue_url(url);
    match call.attribute_names(QueueAttributeName::All).send().await {
        Ok(answer) => Ok(Some(answer.attributes.unwrap_or_default())),
        Err(error) => match Fault::of("GetQueueAttributes", &error) {
            Fault::Refused { code, .. } if is_missing(&code) => Ok(None),
            fault => Err(fault.into()),
        },
    }
}

fn is_missing(code: &str) -> bool {
    code.contains("NonExistentQueue") || code.contains("QueueDoesNotExist")
}

/// The dead-letter queue that a policy names; nothing if it does not exist.
async fn dead_letters(sqs: &Client, policy: &Redrive) -> Result<Option<Attributes>, Failure> {
    let name = policy.target.rsplit(':').next().unwrap_or_default();
    match sqs.get_queue_url().queue_name(name).send().await {
        Ok(answer) => attributes(sqs, answer.queue_url().unwrap_or_default()).await,
        Err(error) => match Fault::of("GetQueueUrl", &error) {
            Fault::Refused { code, .. } if is_missing(&code) => Ok(None),
            fault => Err(fault.into()),
        },
    }
}

/// A redrive policy; AWS writes the number as text or as a number.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Redrive {
    #[serde(rename = "deadLetterTargetArn")]
    target: String,
    #[serde(rename = "maxReceiveCount")]
    receives_max: serde_json::Value,
}

fn redrive(attributes: &Attributes) -> Option<Redrive> {
    serde_json::from_str(attributes.get(&QueueAttributeName::RedrivePolicy)?).ok()
}

fn missing(url: &str) -> Finding {
    Severity::Critical.finding(
        "queue_missing",
        format!("the queue {url} does not exist"),
        "events are stored and answered 2xx, and none is processed",
        "aws sqs list-queues",
    )
}

/// Everything about one queue.
pub(super) fn queue(
    url: &str,
    fifo: bool,
    attributes: &Attributes,
    dlq: Option<&Attributes>,
) -> Vec<Option<Finding>> {
    let queue = Queue { url, name: url.rsplit('/').next().unwrap_or(url), fifo, attributes };
    let mut found = vec![queue.visibility(), queue.retention(), queue.delay()];
    found.extend(queue.dead_letters(dlq));
    found.extend(queue.order());
    found
}

struct Queue<'q> {
    url: &'q str,
    name: &'q str,
    fifo: bool,
    attributes: &'q Attributes,
}

impl Queue<'_> {
    fn text(&self, name: QueueAttributeName) -> Option<&str> {
        self.attributes.get(&name).map(String::as_str)
    }

    fn number(&self, name: QueueAttributeName) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    fn set(&self, attribute: &str, value: impl std::fmt::Display) -> String {
        let url = self.url;
        format!("aws sqs set-queue-attributes --queue-url {url} --attributes {attribute}={value}")
    }

    fn visibility(&self) -> Option<Finding> {
        let is = self.number(QueueAttributeName::VisibilityTimeout)?;
        let (name, wanted) = (self.name, VISIBILITY.as_secs());
        let why = "messages come again while their first run still holds the row: each copy is \
                   received, claimed in vain and paid for";
        let severity = match is {
            is if is >= wanted => return None,
            is if is < LEASE.as_secs() => Severity::Critical,
            _ => Severity::Warning,
        };
        let what = format!("{name} hides a message for {is} s, expected {wanted} s");
        Some(severity.finding("visibility", what, why, self.set("VisibilityTimeout", wanted)))
    }

    fn retention(&self) -> Option<Finding> {
        let is = self.number(QueueAttributeName::MessageRetentionPeriod)?;
        (is < DAY_S).then(|| {
            Severity::Warning.finding(
                "queue_retention",
                format!("{} keeps a message for {is} s", self.name),
                "in an outage of the processor pointers expire; the sweeper sends each again, and \
                 each is paid for again",
                self.set("MessageRetentionPeriod", 4 * DAY_S),
            )
        })
    }

    fn delay(&self) -> Option<Finding> {
        let is = self.number(QueueAttributeName::DelaySeconds).filter(|is| *is > 0)?;
        Some(Severity::Notice.finding(
            "queue_delay",
            format!("{} holds back every message for {is} s", self.name),
            "every event is that much later",
            self.set("DelaySeconds", 0),
        ))
    }

    fn dead_letters(&self, dlq: Option<&Attributes>) -> Vec<Option<Finding>> {
        let name = self.name;
        let why = "a message that the processor cannot even record comes again until it expires, \
                   and nobody is told";
        let Some(policy) = redrive(self.attributes) else {
            let what = format!("{name} has no dead-letter queue");
            let next = "deploy the template again (RedrivePolicy)";
            return vec![Some(Severity::Warning.finding("dlq_missing", what, why, next))];
        };
        let target = policy.target.rsplit(':').next().unwrap_or_default();
        let Some(dlq) = dlq else {
            let what = format!("the dead-letter queue {target} of {name} does not exist");
            let next = "deploy the template again (RedrivePolicy)";
            return vec![Some(Severity::Warning.finding("dlq_missing", what, why, next))];
        };
        vec![self.receives(&policy), self.dlq_retention(target, dlq), self.dead(target, dlq)]
    }

    fn receives(&self, policy: &Redrive) -> Option<Finding> {
        let number = policy.receives_max.as_u64();
        let number = number.or_else(|| policy.receives_max.as_str()?.parse().ok())?;
        let expected = if self.fifo { RECEIVES_MAX_FIFO } else { RECEIVES_MAX };
        (number < u64::from(expected)).then(|| {
            Severity::Warning.finding(
                "receives",
                format!(
                    "{} gives a message up after {number} receives, expected {expected}",
                    self.name
                ),
                "throttles and paused runs count as receives: good events land in the dead-letter \
                 queue, and come late by the sweeper",
                "deploy the template again (maxReceiveCount)",
            )
        })
    }

    /// A moved message keeps the time of its first send.
    fn dlq_retention(&self, target: &str, dlq: &Attributes) -> Option<Finding> {
        let of = |attributes: &Attributes| -> Option<u64> {
            attributes.get(&QueueAttributeName::MessageRetentionPeriod)?.parse().ok()
        };
        let (own, dead) = (of(self.attributes)?, of(dlq)?);
        (dead <= own).then(|| {
            Severity::Warning.finding(
                "dlq_retention",
                format!("{target} keeps messages for {dead} s, no longer than {}", self.name),
                "a message may expire the moment it is moved there, before anybody has seen it",
                "deploy the template again (MessageRetentionPeriod)",
            )
        })
    }

    fn dead(&self, target: &str, dlq: &Attributes) -> Option<Finding> {
        let count = dlq.get(&QueueAttributeName::ApproximateNumberOfMessages)?;
        let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
        Some(Severity::Warning.finding(
            "dead_letters",
            format!("{target} holds about {count} messages"),
            "the processor could not even record their failure; the rows are still there",
            "RUNBOOK.md, dead-letters",
        ))
    }

    fn order(&self) -> Vec<Option<Finding>> {
        let is_fifo = self.text(QueueAttributeName::FifoQueue) == Some("true");
        if is_fifo != self.fifo {
            let wanted = if self.fifo { "FIFO" } else { "standard" };
            return vec![Some(Severity::Critical.finding(
                "queue_kind",
                format!("{} is not a {wanted} queue", self.name),
                "sends are refused: events are stored, and only the sweeper's failure is heard",
                "look at QUEUE_URL and FIFO_QUEUE_URL, or the stack's outputs",
            ))];
        }
        if !self.fifo {
            return vec![];
        }
        let high = self.text(QueueAttributeName::DeduplicationScope) == Some("messageGroup")
            && self.text(QueueAttributeName::FifoThroughputLimit) == Some("perMessageGroupId");
        let content = self.text(QueueAttributeName::ContentBasedDeduplication) == Some("true");
        vec![
            (!high).then(|| {
                Severity::Warning.finding(
                    "fifo_throughput",
                    format!("{} has no high throughput", self.name),
                    "300 calls a second for the whole queue: a burst is sent late, by the sweeper",
                    "deploy the template again (DeduplicationScope, FifoThroughputLimit)",
                )
            }),
            content.then(|| {
                Severity::Notice.finding(
                    "fifo_deduplication",
                    format!("{} deduplicates by content", self.name),
                    "a pointer that is sent again has the same content: whatever sends without an \
                     id of its own is swallowed for five minutes",
                    self.set("ContentBasedDeduplication", false),
                )
            }),
        ]
    }
}
