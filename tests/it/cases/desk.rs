//! Where the cases are put on the table: the real functions, a clock that stands still, and
//! handlers that note what they were given.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsEvent;
use aws_sdk_dynamodb::types::Select;
use aws_sdk_sqs::types::MessageSystemAttributeName;
use local::apiera::Options;
use local::stack::Parts;
use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};
use shared::effects::{Change, Effects};
use shared::inbox::Inbox;
use shared::key::EventKey;
use shared::limits::{PROCESSOR_TIMEOUT, SWEEPER_TIMEOUT};
use shared::source::Sources;
use shared::time::{Clock, Timestamp};
use sweeper::sweep::Report;
use tokio::sync::Notify;

use super::producers::{NOW, Post};
use crate::support::world::{Item, http, number, string, text};
use crate::support::{Faulty, World};

/// So long that a busy machine makes no call fail by itself.
pub(crate) const PATIENT: CallBudget =
    CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(40) };

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// What the next run of an event does. Without one it commits its effect.
pub(crate) enum Fate {
    Retry,
    Permanent,
    /// Never ends.
    Hang,
    /// Goes on when the test says so.
    Wait,
}

#[derive(Clone, Default)]
struct Hands {
    fates: Arc<Mutex<HashMap<String, VecDeque<Fate>>>>,
    runs: Arc<Mutex<Vec<(String, String)>>>,
    entered: Arc<Notify>,
    gate: Arc<Notify>,
}

impl Hands {
    fn registry(&self) -> Registry {
        ["kudos", "kallglot", "apiera"].into_iter().fold(Registry::default(), |all, source| {
            let hands = self.clone();
            all.on(source, "job.*", move |event, ctx| hands.clone().run(event, ctx))
        })
    }

    async fn run(self, event: Event<Box<RawValue>>, ctx: Context) -> Result<Effects, HandlerError> {
        let key = event.key.to_string();
        self.runs.lock().unwrap().push((key.clone(), event.data.get().to_owned()));
        let fate = self.fates.lock().unwrap().get_mut(&key).and_then(VecDeque::pop_front);
        match fate {
            None => {}
            Some(Fate::Retry) => return Err(HandlerError::retry("the ledger is closed")),
            Some(Fate::Permanent) => return Err(HandlerError::permanent("no such tenant")),
            Some(Fate::Hang) => {
                self.entered.notify_one();
                std::future::pending::<()>().await;
            }
            Some(Fate::Wait) => {
                self.entered.notify_one();
                self.gate.notified().await;
            }
        }
        Ok(ctx.effects().update(Change::of(&key, "count").add("applied", 1)))
    }
}

/// What the producer hears.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) whole: Value,
}

/// A message as it lay in its queue.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) body: String,
    pub(crate) dedup_id: Option<String>,
}

pub(crate) struct Desk {
    pub(crate) world: World,
    pub(crate) faulty: Faulty,
    /// Clients without faults. Made once: each one reads the machine's certificates.
    clients: Clients,
    clock: Arc<AtomicI64>,
    hands: Hands,
}

impl Desk {
    pub(crate) async fn new() -> Self {
        Self::with(Sources::builtin().unwrap(), PATIENT).await
    }

    /// With these producers, and this long for each call of the ingress.
    pub(crate) async fn with(sources: Sources, budget: CallBudget) -> Self {
        let clock = Arc::new(AtomicI64::new(NOW * 1000));
        let (shown, hands, faulty) = (clock.clone(), Hands::default(), Faulty::new());
        let registry = hands.registry();
        let world = World::with(None, Options::default(), |cloud, parts| Parts {
            sources,
            handlers: registry,
            ingress: Clients::new(&cloud.sdk_config(http(&faulty)), budget),
            background: Clients::new(&cloud.sdk_config(http(&faulty)), PATIENT),
            clock: Clock::from_fn(move || Timestamp::from_millis(shown.load(Ordering::SeqCst))),
            ..parts
        })
        .await;
        let clients = world.cloud.clients(PATIENT);
        Self { world, faulty, clients, clock, hands }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::SeqCst))
    }

    /// The clock's Unix seconds, as a producer writes them.
    pub(crate) fn t(&self) -> String {
        self.now().secs().to_string()
    }

    pub(crate) fn turn(&self, by: Duration) {
        self.clock.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Says what the next runs of an event do.
    pub(crate) fn plan(&self, key: &str, fates: impl IntoIterator<Item = Fate>) {
        self.hands.fates.lock().unwrap().entry(key.to_owned()).or_default().extend(fates);
    }

    /// What handlers were given: the event's key and its payload's text.
    pub(crate) fn runs(&self, key: &str) -> Vec<String> {
        let runs = self.hands.runs.lock().unwrap();
        runs.iter().filter(|(k, _)| k == key).map(|(_, payload)| payload.clone()).collect()
    }

    /// A run hangs or waits.
    pub(crate) async fn entered(&self) {
        self.hands.entered.notified().await;
    }

    /// Lets the run that waits go on.
    pub(crate) fn go_on(&self) {
        self.hands.gate.notify_one();
    }

    /// Gives an event to the ingress function.
    ///
    /// # Errors
    /// What Lambda would call a function error.
    pub(crate) async fn invoke(&self, event: Value) -> Result<Reply, String> {
        let whole = self.world.functions.ingress(event).await?;
        let single = whole["headers"]["retry-after"].as_str();
        let header = single.or(whole["multiValueHeaders"]["retry-after"][0].as_str());
        let status = whole["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
        Ok(Reply {
            status: status.expect("a status"),
            retry_after: header.map(str::to_owned),
            whole,
        })
    }

    /// Gives an event that is a request to the ingress function.
    pub(crate) async fn ask(&self, event: Value) -> Reply {
        self.invoke(event).await.unwrap_or_else(|error| panic!("function error: {error}"))
    }

    /// Delivers through an HTTP API; the status.
    pub(crate) async fn send(&self, post: &Post) -> u16 {
        self.ask(post.event()).await.status
    }

    /// Stores events and takes their messages away; the keys.
    pub(crate) async fn store(&self, posts: &[Post]) -> Vec<String> {
        for post in posts {
            assert_eq!(self.send(&post.clone().at(&self.t())).await, 200, "{}", post.row());
        }
        self.queued().await;
        posts.iter().map(Post::row).collect()
    }

    /// How many rows there are: without body items, control items and the like.
    pub(crate) async fn row_count(&self) -> usize {
        let table = &self.world.cloud.resources.inbox_table;
        let scan = self.clients.dynamodb.scan();
        let mut pages = scan
            .table_name(table)
            .consistent_read(true)
            .select(Select::Count)
            .filter_expression("NOT begins_with(pk, :ours)")
            .expression_attribute_values(":ours", text("~"))
            .into_paginator()
            .send();
        let mut count = 0;
        while let Some(page) = pages.next().await {
            count += page.unwrap().count;
        }
        usize::try_from(count).unwrap()
    }

    /// A row, if it is there.
    pub(crate) async fn find(&self, key: &str) -> Option<Item> {
        let call = self.clients.dynamodb.get_item().key("pk", text(key)).consistent_read(true);
        call.table_name(&self.world.cloud.resources.inbox_table).send().await.unwrap().item
    }

    pub(crate) async fn row(&self, key: &str) -> Item {
        self.find(key).await.unwrap_or_else(|| panic!("no row {key}"))
    }

    pub(crate) async fn status(&self, key: &str) -> String {
        string(&self.row(key).await, "status").to_owned()
    }

    /// The inbox, seen without faults.
    pub(crate) fn inbox(&self) -> Inbox {
        let table = &self.world.cloud.resources.inbox_table;
        Inbox::new(self.clients.dynamodb.clone(), table, secs(30 * 86_400))
    }

    /// An event's bytes as they are stored.
    pub(crate) async fn stored(&self, key: &str) -> Vec<u8> {
        let row = self.inbox().row(&EventKey::parse(key).unwrap()).await.unwrap();
        self.inbox().body(&row.unwrap()).await.unwrap()
    }

    /// How often an event's effect happened.
    pub(crate) async fn applied(&self, key: &str) -> i64 {
        let call = self.clients.dynamodb.get_item().consistent_read(true);
        let call = call.table_name(&self.world.cloud.resources.business_table);
        let item = call.key("pk", text(key)).key("sk", text("count")).send().await.unwrap().item;
        item.map_or(0, |item| number(&item, "applied"))
    }

    /// Takes all messages out of both queues.
    pub(crate) async fn queued(&self) -> Vec<Message> {
        let (sqs, resources) = (&self.clients.sqs, &self.world.cloud.resources);
        let mut taken = vec![];
        for url in [&resources.queue_url, &resources.fifo_queue_url] {
            loop {
                let call = sqs.receive_message().queue_url(url).max_number_of_messages(10);
                let call = call.message_system_attribute_names(MessageSystemAttributeName::All);
                let messages = call.send().await.unwrap().messages.unwrap_or_default();
                if messages.is_empty() {
                    break;
                }
                for message in messages {
                    let delete = sqs.delete_message().queue_url(url);
                    let handle = message.receipt_handle.unwrap_or_default();
                    delete.receipt_handle(handle).send().await.unwrap();
                    let dedup_id = message.attributes.and_then(|mut attributes| {
                        attributes.remove(&MessageSystemAttributeName::MessageDeduplicationId)
                    });
                    taken.push(Message { body: message.body.unwrap_or_default(), dedup_id });
                }
            }
        }
        taken
    }

    /// A record with this body as the queue of its source would give it. Its group is `group`, if
    /// its queue has groups.
    pub(crate) fn record(&self, message_id: &str, body: &str, group: &str) -> Value {
        let resources = &self.world.cloud.resources;
        let pointer: Value = serde_json::from_str(body).unwrap_or_default();
        let (arn, attributes) = match pointer["source"].as_str() {
            Some("kudos") => (
                &resources.fifo_queue_arn,
                json!({
                    "ApproximateReceiveCount": "1",
                    "MessageGroupId": group,
                    "MessageDeduplicationId": format!("dedup-{message_id}"),
                    "SequenceNumber": "20000000000000000001",
                }),
            ),
            _ => (&resources.queue_arn, json!({ "ApproximateReceiveCount": "1" })),
        };
        json!({
            "messageId": message_id,
            "receiptHandle": "gone",
            "body": body,
            "attributes": attributes,
            "messageAttributes": {},
            "md5OfBody": "",
            "eventSource": "aws:sqs",
            "eventSourceARN": arn,
            "awsRegion": "us-east-1",
        })
    }

    /// The answer to a batch, byte for byte as Lambda gets it.
    pub(crate) async fn batch(&self, records: &[Value]) -> String {
        let event: SqsEvent = serde_json::from_value(json!({ "Records": records })).unwrap();
        let deadline = self.now().plus(PROCESSOR_TIMEOUT);
        let answer = Box::pin(self.world.here().processor.process(event, deadline)).await.unwrap();
        serde_json::to_string(&answer).unwrap()
    }

    /// Runs one event; whether its message comes back.
    pub(crate) async fn run(&self, key: &str) -> bool {
        let answer = self.batch(&[self.record("m", &pointer(key), "g")]).await;
        answer != r#"{"batchItemFailures":[]}"#
    }

    /// One sweep with all the time of an invocation.
    pub(crate) async fn sweep(&self) -> Report {
        let deadline = self.now().plus(SWEEPER_TIMEOUT);
        Box::pin(self.world.here().sweeper.sweep(deadline)).await.unwrap()
    }
}

/// The message that points to a row.
pub(crate) fn pointer(key: &str) -> String {
    let (source, id) = key.split_once('#').unwrap();
    json!({"source": source, "event_id": id}).to_string()
}
