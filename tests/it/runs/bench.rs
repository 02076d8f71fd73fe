//! The functions driven by hand, one delivery, one batch, one sweep at a time, by a clock that only
//! the test turns.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use local::apiera::Options;
use local::cloud::Cloud;
use local::stack::Parts;
use processor::handler::Registry;
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};
use shared::inbox::Inbox;
use shared::key::{EventKey, SourceName};
use shared::limits::{PROCESSOR_TIMEOUT, SWEEPER_TIMEOUT};
use shared::source::{Ordering, Sources};
use shared::time::Timestamp;
use sweeper::sweep::{Report, SweepError};

use super::script::{Script, Step};
use crate::support::deliveries::{KALLGLOT_SECRET, KUDOS_SECRET};
use crate::support::world::{Item, http, number};
use crate::support::{Delivery, Dial, Faulty, World};

/// So long that a busy machine makes no call fail by itself.
const PATIENT: CallBudget =
    CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(40) };

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 86_400)
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Deleted,
    ComesBack,
}

/// A world in which nothing happens by itself.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) dial: Dial,
    pub(crate) faulty: Faulty,
}

impl Bench {
    /// With the handlers of a script.
    pub(crate) async fn scripted(script: &Script) -> Self {
        Self::new(script.registry()).await
    }

    /// With these handlers.
    pub(crate) async fn new(handlers: Registry) -> Self {
        Self::with(Sources::builtin().unwrap(), |_| handlers).await
    }

    /// With these producers, and handlers that may know the tables.
    pub(crate) async fn with(sources: Sources, handlers: impl FnOnce(&Cloud) -> Registry) -> Self {
        let (dial, faulty) = (Dial::default(), Faulty::new());
        let world = World::with(None, Options::default(), |cloud, parts| Parts {
            sources,
            handlers: handlers(cloud),
            ingress: Clients::new(&cloud.sdk_config(http(&faulty)), PATIENT),
            background: Clients::new(&cloud.sdk_config(http(&faulty)), PATIENT),
            clock: dial.clock(),
            ..parts
        })
        .await;
        Self { world, dial, faulty }
    }

    /// A delivery of type `job.run`, signed at the time that the clock shows. Of Apiera only while
    /// the clock is not turned.
    pub(crate) fn job(&self, key: &str) -> Delivery {
        let (source, id) = key.split_once('#').unwrap();
        match source {
            "kudos" => self.kudos(&json!({"event_id": id, "event_type": "job.run", "data": {}})),
            "kallglot" => self.kallglot(&json!({"id": id, "type": "job.run", "data": {}})),
            _ => Delivery::apiera_body(id, "job.run", b"{}"),
        }
    }

    /// A Kudos body, signed at the time that the clock shows.
    pub(crate) fn kudos(&self, body: &Value) -> Delivery {
        let body = body.to_string();
        Delivery::kudos_body(body.as_bytes(), &[KUDOS_SECRET], self.dial.now().secs())
    }

    /// A Kallglot body, signed at the time that the clock shows.
    pub(crate) fn kallglot(&self, body: &Value) -> Delivery {
        self.kallglot_bytes(body.to_string().as_bytes())
    }

    /// The two sign alike, but for the header's name.
    pub(crate) fn kallglot_bytes(&self, body: &[u8]) -> Delivery {
        let signed = Delivery::kudos_body(body, &[KALLGLOT_SECRET], self.dial.now().secs());
        let headers = signed.headers.into_iter();
        let headers = headers.map(|(_, value)| ("Kallglot-Signature".to_owned(), value)).collect();
        Delivery { source: "kallglot", headers, body: signed.body }
    }

    /// Hands a delivery to the ingress; the status of its answer.
    pub(crate) async fn deliver(&self, delivery: &Delivery) -> u64 {
        let answer = self.world.functions.ingress(event(delivery)).await.unwrap();
        answer["statusCode"].as_u64().unwrap()
    }

    /// Stores events of type `job.run`.
    pub(crate) async fn store(&self, keys: &[&str]) {
        for key in keys {
            assert_eq!(self.deliver(&self.job(key)).await, 200, "{key}");
        }
    }

    /// Processes one message that points to `key`.
    pub(crate) async fn run(&self, key: &str) -> Fate {
        let back = self.process(&[self.message(key)]).await;
        if back.is_empty() { Fate::Deleted } else { Fate::ComesBack }
    }

    /// Processes a batch with all the time of an invocation; the ids that come back.
    pub(crate) async fn process(&self, records: &[Value]) -> Vec<String> {
        self.process_until(records, self.dial.now().plus(PROCESSOR_TIMEOUT)).await
    }

    /// Processes a batch; the ids that come back.
    pub(crate) async fn process_until(&self, records: &[Value], until: Timestamp) -> Vec<String> {
        let event: SqsEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
        let processed = Box::pin(self.world.here().processor.process(event, until)).await.unwrap();
        processed.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
    }

    /// A message that points to `key`, as the queue of its source would give it; its id is the key.
    pub(crate) fn message(&self, key: &str) -> Value {
        self.message_of(key, "group")
    }

    /// A message in this group, if its queue has groups.
    pub(crate) fn message_of(&self, key: &str, group: &str) -> Value {
        let resources = &self.world.cloud.resources;
        let (source, id) = key.split_once('#').unwrap();
        let (arn, attributes) = match source {
            "kudos" => (&resources.fifo_queue_arn, json!({ "MessageGroupId": group })),
            _ => (&resources.queue_arn, json!({})),
        };
        json!({
            "messageId": key,
            "receiptHandle": "none",
            "body": json!({"source": source, "event_id": id}).to_string(),
            "attributes": attributes,
            "eventSource": "aws:sqs",
            "eventSourceARN": arn,
        })
    }

    /// A run that dies between its claim and its commit.
    pub(crate) async fn crash(&self, script: &Script, key: &str) {
        script.next(Step::Hang);
        tokio::select! {
            fate = self.run(key) => panic!("{key} did not hang: {fate:?}"),
            () = script.entered() => {}
        }
    }

    /// One sweep with all the time of an invocation.
    pub(crate) async fn sweep(&self) -> Result<Report, SweepError> {
        let deadline = self.dial.now().plus(SWEEPER_TIMEOUT);
        Box::pin(self.world.here().sweeper.sweep(deadline)).await
    }

    /// Takes all messages out of a queue; their bodies.
    pub(crate) async fn queued(&self, ordering: Ordering) -> Vec<String> {
        let (sqs, resources) = (self.world.sqs(), &self.world.cloud.resources);
        let url = match ordering {
            Ordering::None => &resources.queue_url,
            Ordering::PerType => &resources.fifo_queue_url,
        };
        let mut bodies = vec![];
        loop {
            let call = sqs.receive_message().queue_url(url).max_number_of_messages(10);
            let messages = call.send().await.unwrap().messages.unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            for message in messages {
                let delete = sqs.delete_message().queue_url(url);
                let delete = delete.receipt_handle(message.receipt_handle.unwrap_or_default());
                delete.send().await.unwrap();
                bodies.extend(message.body);
            }
        }
    }

    /// The row, which must be there.
    pub(crate) async fn row(&self, key: &str) -> Item {
        self.world.row(key).await.unwrap_or_else(|| panic!("no row {key}"))
    }

    /// How often the event's effect happened.
    pub(crate) async fn applied(&self, key: &str) -> i64 {
        self.world.effect(key, "count").await.map_or(0, |item| number(&item, "applied"))
    }

    /// The inbox, seen without faults.
    pub(crate) fn inbox(&self) -> Inbox {
        Inbox::new(self.world.dynamodb(), &self.world.cloud.resources.inbox_table, days(30))
    }

    /// The keys that a shard of the index lists.
    pub(crate) async fn listed(&self, shard: &str) -> Vec<String> {
        let page = self.inbox().page(shard, None).await.unwrap();
        page.rows.iter().map(|row| row.key.to_string()).collect()
    }

    /// An event's payload as it is stored.
    pub(crate) async fn payload(&self, key: &str) -> Vec<u8> {
        let row = self.inbox().row(&EventKey::parse(key).unwrap()).await.unwrap();
        self.inbox().body(&row.unwrap()).await.unwrap()
    }

    /// Stops a source, or lets it go on.
    pub(crate) async fn pause(&self, source: &str, paused: bool) {
        let source = SourceName::parse(source).unwrap();
        self.inbox().pause(&source, paused, self.dial.now()).await.unwrap();
    }
}

/// The event that API Gateway makes of a delivery.
fn event(delivery: &Delivery) -> Value {
    request("POST", &format!("/webhooks/{}", delivery.source), &delivery.headers, &delivery.body)
}

/// The event that API Gateway makes of a request.
pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Value {
    let names = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": names.collect::<std::collections::BTreeMap<_, _>>(),
        "requestContext": {
            "accountId": "0",
            "apiId": "test",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
            },
            "requestId": "test",
            "stage": "$default",
        },
        "body": STANDARD.encode(body),
        "isBase64Encoded": true,
    })
}
