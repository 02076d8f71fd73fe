//! Function instances: each with its own clients, caches and clock, one invocation at a time, and
//! mortal. What Lambda, API Gateway, the event source mappings and the schedule do with them.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::SharedHttpClient;
use local::functions::Functions;
use local::provision::Resources;
use local::stack::Parts;
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};
use shared::metrics::Metrics;
use shared::source::Sources;

use super::engine::sdk_config;
use super::faults::Kind;
use super::handlers::registry;
use super::mechanism::Mechanism;
use super::producer::Heard;
use super::queue::{Message, Odds};
use super::wire::Wire;
use super::world::World;

/// The SDK keeps one retry quota for each region and process: a region of its own gives every
/// instance its own, as in Lambda.
static INSTANCES: AtomicU64 = AtomicU64::new(0);

/// All instances of a run.
pub(crate) struct Fleet {
    pub(crate) world: Arc<World>,
    sources: Sources,
    pub(crate) resources: Resources,
    skew_max_ms: i64,
    instances: Mutex<Vec<Instance>>,
}

struct Instance {
    id: u32,
    functions: Functions,
    busy: bool,
}

impl Fleet {
    pub(crate) fn new(world: &Arc<World>, resources: Resources, skew_max_ms: i64) -> Arc<Self> {
        Arc::new(Self {
            world: world.clone(),
            sources: Sources::builtin().unwrap(),
            resources,
            skew_max_ms,
            instances: Mutex::default(),
        })
    }

    /// A free instance, or a new one.
    fn take(&self) -> (u32, Functions) {
        let mut instances = self.instances.lock().unwrap();
        let free: Vec<usize> =
            (0..instances.len()).filter(|index| !instances[*index].busy).collect();
        let index = if free.is_empty() {
            let id = u32::try_from(instances.len()).unwrap();
            instances.push(Instance { id, functions: self.start(id), busy: false });
            instances.len() - 1
        } else {
            free[self.world.state().rng.usize(0..free.len())]
        };
        let instance = &mut instances[index];
        instance.busy = true;
        (instance.id, instance.functions.clone())
    }

    fn give_back(&self, id: u32, died: bool) {
        let mut instances = self.instances.lock().unwrap();
        let instance = &mut instances[id as usize];
        instance.busy = false;
        if died && self.world.state().rng.f64() < 0.3 {
            instance.functions = self.start(id);
        }
    }

    fn start(&self, node: u32) -> Functions {
        let world = &self.world;
        let skew = {
            let mut state = world.state();
            let skew = state.rng.i64(-self.skew_max_ms..=self.skew_max_ms);
            if skew != 0 {
                state.count(Kind::Skewed, "start");
            }
            skew
        };
        let config = self.config(node);
        let parts = Parts {
            sources: self.sources.clone(),
            handlers: registry(world),
            ingress: Clients::new(&config, CallBudget::INGRESS),
            background: Clients::new(&config, CallBudget::BACKGROUND),
            metrics: Metrics::to("sim", |_| {}),
            clock: world.clock(skew),
        };
        Functions::Here(Arc::new(parts.wire(&self.resources).unwrap()))
    }

    /// What a process of its own is configured with.
    pub(crate) fn config(&self, node: u32) -> SdkConfig {
        let http = SharedHttpClient::new(Wire { world: self.world.clone(), node });
        let region = format!("sim-{}", INSTANCES.fetch_add(1, Ordering::Relaxed));
        sdk_config(region, http)
    }

    /// Runs one invocation, which may die at any await. Nothing if it did.
    async fn invoke<T, F: Future<Output = T>>(
        &self,
        function: &str,
        run: impl FnOnce(Functions) -> F,
    ) -> Option<T> {
        let (id, functions) = self.take();
        let polls = {
            let now = self.world.now_ms();
            let mut state = self.world.state();
            let rate = state.rate(Kind::Killed, now);
            let dies = rate > 0.0 && state.rng.f64() < rate;
            dies.then(|| state.rng.u32(1..60))
        };
        let mortal = Mortal { inner: pin!(run(functions)), polls };
        let ended = Box::pin(mortal).await;
        if ended.is_none() {
            let now = self.world.now_ms();
            let mut state = self.world.state();
            let step = state.last_step.get(&id).copied().unwrap_or("start");
            state.count(Kind::Killed, &format!("{function}, {step}"));
            state.tell(now, &format!("n{id} {function} dies at {step}"));
        }
        self.give_back(id, ended.is_none());
        ended
    }

    /// Hands a delivery to the ingress, as API Gateway does.
    pub(crate) async fn deliver(&self, request: Value) -> Option<Heard> {
        if self.world.strikes(Kind::NotConnected, "deliver") {
            return None;
        }
        let call = async |functions: Functions| functions.ingress(request).await;
        let answer = self.invoke("ingress", call).await;
        let heard = match answer {
            Some(Ok(answer)) => {
                let after = answer["headers"]["retry-after"].as_str();
                let after = after.and_then(|secs| secs.parse().ok()).map(Duration::from_secs);
                let status = u16::try_from(answer["statusCode"].as_u64().unwrap()).unwrap();
                Heard { status, retry_after: after }
            }
            Some(Err(_)) | None => Heard { status: 502, retry_after: None },
        };
        if self.world.strikes(Kind::NotHeard, "deliver") { None } else { Some(heard) }
    }

    /// One poller of the event source mapping of a queue, for ever.
    pub(crate) async fn poll(self: Arc<Self>, fifo: bool) {
        let world = self.world.clone();
        loop {
            let batch = receive(&world, fifo);
            if !batch.is_empty() {
                self.process(fifo, batch).await;
                continue;
            }
            let next = world.state().queue(fifo).next_visible();
            let notified = world.queued.notified();
            match next {
                // Somebody else of the group may be in flight longer than the next one is hidden.
                Some(at_ms) => {
                    let wait = u64::try_from(at_ms - world.now_ms()).unwrap_or(0).max(200);
                    let wait = Duration::from_millis(wait);
                    let _ = tokio::time::timeout(wait, notified).await;
                }
                None => notified.await,
            }
        }
    }

    async fn process(&self, fifo: bool, batch: Vec<Message>) {
        let arn = if fifo { &self.resources.fifo_queue_arn } else { &self.resources.queue_arn };
        let unordered = self.world.state().off.contains(&Mechanism::GroupStop);
        let records = batch.iter().map(|message| {
            let mut group = message.group.clone();
            if unordered {
                group = group.map(|group| format!("{group}{}", message.id));
            }
            json!({
                "messageId": message.id.to_string(),
                "receiptHandle": message.handle.to_string(),
                "body": message.body,
                "attributes": {
                    "ApproximateReceiveCount": message.receives.to_string(),
                    "MessageGroupId": group,
                },
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
                "awsRegion": "us-east-1",
            })
        });
        let mut event = json!({ "Records": records.collect::<Vec<_>>() });
        if !fifo {
            for record in event["Records"].as_array_mut().unwrap() {
                record["attributes"].as_object_mut().unwrap().remove("MessageGroupId");
            }
        }
        let call = async |functions: Functions| functions.processor(event).await;
        let Some(Ok(answer)) = self.invoke("processor", call).await else { return };
        let failed = answer["batchItemFailures"].as_array().cloned().unwrap_or_default();
        let failed: Vec<&str> =
            failed.iter().filter_map(|failure| failure["itemIdentifier"].as_str()).collect();
        let now = self.world.now_ms();
        let mut state = self.world.state();
        for message in batch {
            if failed.contains(&message.id.to_string().as_str())
                || state.strikes(Kind::NotDeleted, "delete", now)
            {
                continue;
            }
            state.tell(now, &format!("delete {}: {}", message.handle, message.body));
            state.queue(fifo).delete(message.id, message.handle, now);
        }
        drop(state);
        self.world.queued.notify_waiters();
    }

    /// One run of the sweeper.
    pub(crate) async fn sweep(&self) {
        self.world.tell("sweep");
        self.invoke("sweeper", async |functions: Functions| functions.sweeper().await).await;
    }
}

fn receive(world: &World, fifo: bool) -> Vec<Message> {
    let now = world.now_ms();
    let mut state = world.state();
    let rate = |kind| state.rate(kind, now);
    let odds = Odds { out_of_order: rate(Kind::OutOfOrder), twice: rate(Kind::Duplicated) };
    let mut rng = state.rng.fork();
    let received = state.queue(fifo).receive(now, odds, &mut rng);
    if received.reordered {
        state.count(Kind::OutOfOrder, "receive");
    }
    for _ in 0..received.doubled {
        state.count(Kind::Duplicated, "receive");
    }
    for Message { handle, receives, body, .. } in &received.messages {
        state.tell(now, &format!("receive {handle}, time {receives}: {body}"));
    }
    received.messages
}

/// A future that is dropped after so many polls.
struct Mortal<F> {
    inner: F,
    polls: Option<u32>,
}

impl<F: Future + Unpin> Future for Mortal<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.polls {
            Some(0) => return Poll::Ready(None),
            Some(polls) => *polls -= 1,
            None => {}
        }
        Pin::new(&mut self.inner).poll(cx).map(Some)
    }
}
