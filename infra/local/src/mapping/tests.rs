//! The mapping against the SQS engine: partial failure, dead letters, panics and FIFO.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use aws_sdk_sqs::types::QueueAttributeName;
use tokio::task::JoinHandle;

use super::*;
use crate::testing::{Bench, bench};

/// How long a test waits for what it expects, in steps of 20 ms.
const STEPS: usize = 1_500;

/// The bodies that the function was invoked with, one entry for each delivery.
type Seen = Arc<Mutex<Vec<String>>>;

async fn queue(bench: &Bench, name: &str, attributes: &[(QueueAttributeName, &str)]) -> Mapping {
    let mut create = bench.sqs.create_queue().queue_name(name);
    for (name, value) in attributes {
        create = create.attributes(name.clone(), *value);
    }
    let queue_url = create.send().await.unwrap().queue_url.unwrap();
    Mapping {
        sqs: bench.sqs.clone(),
        queue_arn: format!("arn:aws:sqs:us-east-1:000000000000:{name}"),
        queue_url,
        batch_size: 10,
        concurrency: 2,
    }
}

fn redrive(target: &Mapping, receives: u32) -> String {
    json!({"deadLetterTargetArn": target.queue_arn, "maxReceiveCount": receives}).to_string()
}

/// Runs the mapping with a function that asks `fails(body, delivery)` for each record.
fn start(mapping: Mapping, seen: &Seen, fails: fn(&str, usize) -> bool) -> JoinHandle<()> {
    let seen = seen.clone();
    tokio::spawn(mapping.run(move |event| {
        let seen = seen.clone();
        async move {
            let mut failures = Vec::new();
            for record in event["Records"].as_array().unwrap() {
                let body = record["body"].as_str().unwrap();
                let mut seen = seen.lock().unwrap();
                seen.push(body.to_owned());
                if fails(body, seen.iter().filter(|other| *other == body).count()) {
                    failures.push(json!({"itemIdentifier": record["messageId"]}));
                }
            }
            Ok(json!({"batchItemFailures": failures}))
        }
    }))
}

async fn send(mapping: &Mapping, bodies: &[&str]) {
    for body in bodies {
        let send = mapping.sqs.send_message().queue_url(&mapping.queue_url).message_body(*body);
        send.send().await.unwrap();
    }
}

/// Waits until the queue's messages, visible and hidden, are `count`.
async fn holds(mapping: &Mapping, count: usize) {
    for _ in 0..STEPS {
        let all = QueueAttributeName::All;
        let describe = mapping.sqs.get_queue_attributes().queue_url(&mapping.queue_url);
        let described = describe.attribute_names(all).send().await.unwrap();
        let attributes: HashMap<_, _> = described.attributes.unwrap();
        let number = |name| attributes[&name].parse::<usize>().unwrap();
        let held = number(QueueAttributeName::ApproximateNumberOfMessages)
            + number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible);
        if held == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} does not come to hold {count} messages", mapping.queue_arn);
}

fn deliveries(seen: &Seen) -> HashMap<String, usize> {
    let mut deliveries = HashMap::new();
    for body in seen.lock().unwrap().iter() {
        *deliveries.entry(body.clone()).or_default() += 1;
    }
    deliveries
}

#[tokio::test]
async fn failures_come_back_and_poison_ends_in_the_dead_letter_queue() {
    let bench = bench().await;
    let dead = queue(&bench, "dead", &[]).await;
    let policy = redrive(&dead, 3);
    let attributes = [
        (QueueAttributeName::VisibilityTimeout, "1"),
        (QueueAttributeName::RedrivePolicy, policy.as_str()),
    ];
    let events = queue(&bench, "events", &attributes).await;
    let seen = Seen::default();
    let task = start(events.clone(), &seen, |body, delivery| match body {
        "poison" => true,
        "flaky" => delivery == 1,
        _ => false,
    });

    send(&events, &["good", "poison", "flaky"]).await;
    holds(&dead, 1).await;
    holds(&events, 0).await;
    task.abort();

    // A machine that stalls for longer than the visibility timeout adds deliveries, as AWS may;
    // only the dead-letter queue bounds them.
    let deliveries = deliveries(&seen);
    assert!(deliveries["good"] >= 1 && deliveries["flaky"] >= 2, "{deliveries:?}");
    assert_eq!(deliveries["poison"], 3);
    let moved = bench.sqs.receive_message().queue_url(&dead.queue_url).send().await.unwrap();
    assert_eq!(moved.messages()[0].body(), Some("poison"));
}

#[tokio::test]
async fn a_function_that_errs_or_panics_loses_nothing() {
    let bench = bench().await;
    let attributes = [(QueueAttributeName::VisibilityTimeout, "1")];
    let events = queue(&bench, "events", &attributes).await;
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    let mapping = Mapping { concurrency: 1, ..events.clone() };
    let task = tokio::spawn(mapping.run(move |_| {
        let call = {
            let mut calls = counted.lock().unwrap();
            *calls += 1;
            *calls
        };
        async move {
            match call {
                1 => Err("out of memory".to_owned()),
                2 => panic!("the function panics"),
                3 => Ok(json!({"batchItemFailures": [{"itemIdentifier": ""}]})),
                _ => Ok(Value::Null),
            }
        }
    }));
    send(&events, &["kept"]).await;
    holds(&events, 0).await;
    task.abort();
    assert!(*calls.lock().unwrap() >= 4);
}

#[tokio::test]
async fn the_function_sees_every_attribute() {
    let bench = bench().await;
    let attributes = [(QueueAttributeName::FifoQueue, "true")];
    let events = queue(&bench, "events.fifo", &attributes).await;
    let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn(events.clone().run(move |event| {
        let sent = sender.send(event);
        async move { sent.map(|()| Value::Null).map_err(|error| error.to_string()) }
    }));
    let send = bench.sqs.send_message().queue_url(&events.queue_url).message_body("{}");
    let sent = send.message_group_id("g").message_deduplication_id("d").send().await.unwrap();
    let event = received.recv().await.unwrap();
    holds(&events, 0).await;
    task.abort();

    let record = &event["Records"][0];
    assert_eq!(record["messageId"].as_str(), sent.message_id());
    assert_eq!(record["eventSourceARN"], events.queue_arn);
    assert_eq!(record["awsRegion"], "us-east-1");
    let attributes = &record["attributes"];
    assert_eq!(attributes["ApproximateReceiveCount"], "1");
    assert_eq!(attributes["MessageGroupId"], "g");
    assert_eq!(attributes["MessageDeduplicationId"], "d");
    assert_eq!(attributes["SequenceNumber"].as_str(), sent.sequence_number());
    for name in ["SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"] {
        assert!(attributes[name].is_string(), "{name} in {attributes}");
    }
}

#[tokio::test]
async fn a_fifo_group_stays_in_order_behind_a_failure() {
    let bench = bench().await;
    let attributes =
        [(QueueAttributeName::FifoQueue, "true"), (QueueAttributeName::VisibilityTimeout, "1")];
    let events = queue(&bench, "events.fifo", &attributes).await;
    for (id, body) in ["one", "two", "three"].into_iter().enumerate() {
        let send = bench.sqs.send_message().queue_url(&events.queue_url).message_body(body);
        let send = send.message_group_id("g").message_deduplication_id(id.to_string());
        send.send().await.unwrap();
    }
    let seen = Seen::default();
    let task = start(events.clone(), &seen, |body, delivery| body == "one" && delivery == 1);
    holds(&events, 0).await;
    task.abort();
    let mut seen = seen.lock().unwrap().clone();
    assert_eq!(seen[..2], ["one", "one"]);
    seen.dedup();
    assert_eq!(seen, ["one", "two", "three"]);
}

#[tokio::test]
async fn sqs_errors_are_waited_out() {
    let bench = bench().await;
    let events = Mapping {
        sqs: bench.sqs.clone(),
        queue_url: format!("{}/000000000000/late", bench.engines.sqs_url()),
        queue_arn: "arn:aws:sqs:us-east-1:000000000000:late".to_owned(),
        batch_size: 10,
        concurrency: 1,
    };
    let seen = Seen::default();
    let task = start(events.clone(), &seen, |_, _| false);
    tokio::time::sleep(Duration::from_millis(100)).await;
    queue(&bench, "late", &[]).await;
    send(&events, &["hello"]).await;
    holds(&events, 0).await;
    task.abort();
    assert_eq!(*seen.lock().unwrap(), ["hello"]);
}
