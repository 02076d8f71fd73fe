//! What one event costs in requests and capacity units: the functions in this process, the embedded
//! services, and a meter between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use local::functions::Functions;
use local::stack::{Parts, StackError};
use serde_json::{Value, json};
use shared::aws::{CallBudget, Clients};
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::{Clock, Timestamp};

use crate::bed::{Bed, BedError};
use crate::delivery::{Deliveries, Delivery, batch};
use crate::meter::{Counts, Meter};

/// The functions, metered.
pub struct Counted {
    bed: Bed,
    functions: Functions,
    deliveries: Deliveries,
    ahead_ms: Arc<AtomicI64>,
    filled: u32,
}

/// The functions could not be wired, or did not do their work.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// No services.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// No functions.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// What was counted is not the work.
    #[error("{0}")]
    Wrong(String),
}

/// What an event of one size costs, from the producer's request to the end of its row. What is done
/// now and then is left out: reading a control item, noting that a secret was used.
#[derive(Clone, Debug)]
pub struct EventCost {
    /// Bytes of the body.
    pub bytes: usize,
    /// Storing it and sending its pointer.
    pub stored: Counts,
    /// Claim, handler and commit.
    pub processed: Counts,
    /// Write units of the inbox table, its index included.
    pub inbox_units: f64,
    /// Write units of the handler's own effects.
    pub effect_units: f64,
}

impl Counted {
    /// The functions as deployed, and nothing stored.
    ///
    /// # Errors
    /// Something could not be started.
    pub async fn start() -> Result<Self, CountError> {
        let bed = Bed::plain(Meter::units()).await?;
        let ahead_ms = Arc::new(AtomicI64::new(0));
        let (cloud, ahead) = (&bed.cloud, ahead_ms.clone());
        let sources = Sources::builtin().map_err(BedError::from)?;
        let parts = Parts {
            ingress: bed.clients(CallBudget::INGRESS),
            background: bed.clients(CallBudget::BACKGROUND),
            clock: Clock::from_fn(move || shifted(&ahead)),
            ..Parts::of(cloud, sources, Metrics::to(&cloud.resources.inbox_table, |_| {}))
        };
        let here = parts.wire(&cloud.resources)?;
        let functions = Functions::Here(Arc::new(here));
        let mut counted =
            Self { bed, functions, deliveries: Deliveries::new(""), ahead_ms, filled: 0 };
        // The first event pays for what is done once a minute.
        let first = counted.delivery(600);
        counted.deliver(&first).await?;
        counted.process(&[first.id]).await?;
        Ok(counted)
    }

    /// A new event.
    pub fn delivery(&mut self, bytes: usize) -> Delivery {
        self.deliveries.next(bytes, shifted(&self.ahead_ms))
    }

    /// Delivers; the status that the producer hears, and what it took.
    ///
    /// # Errors
    /// The function failed.
    pub async fn deliver(&self, delivery: &Delivery) -> Result<(u64, Counts), CountError> {
        let event = serde_json::from_str(&delivery.event()).unwrap_or_default();
        self.bed.meter.take();
        let answer = self.functions.ingress(event).await.map_err(CountError::Wrong)?;
        let status = answer["statusCode"].as_u64().unwrap_or(0);
        Ok((status, self.bed.meter.take()))
    }

    /// Processes a batch of these events, all to their end; what it took.
    ///
    /// # Errors
    /// One of them did not come to its end.
    pub async fn process(&self, ids: &[String]) -> Result<Counts, CountError> {
        let event = batch(ids, &self.bed.cloud.resources.queue_arn);
        let event: Value = serde_json::from_str(&event).unwrap_or_default();
        self.bed.meter.take();
        let answer = self.functions.processor(event).await.map_err(CountError::Wrong)?;
        let mut counts = self.bed.meter.take();
        // Control items are read every ten seconds, not for each event.
        counts.requests.remove("GetItem");
        if answer == json!({"batchItemFailures": []}) {
            Ok(counts)
        } else {
            Err(CountError::Wrong(format!("the processor gave back: {answer}")))
        }
    }

    /// One sweep; what it took.
    ///
    /// # Errors
    /// It was not complete.
    pub async fn sweep(&self) -> Result<Counts, CountError> {
        self.bed.meter.take();
        self.functions.sweeper().await.map_err(CountError::Wrong)?;
        Ok(self.bed.meter.take())
    }

    /// One event of this size, from delivery to end.
    ///
    /// # Errors
    /// It did not come to its end.
    pub async fn event(&mut self, bytes: usize) -> Result<EventCost, CountError> {
        let delivery = self.delivery(bytes);
        let (status, stored) = self.deliver(&delivery).await?;
        if status != 200 {
            return Err(CountError::Wrong(format!("{bytes} bytes were answered {status}")));
        }
        let processed = self.process(std::slice::from_ref(&delivery.id)).await?;
        let resources = &self.bed.cloud.resources;
        let both = |table: &str| stored.writes(table) + processed.writes(table);
        let inbox_units = both(&resources.inbox_table);
        let effect_units = both(&resources.business_table);
        Ok(EventCost { bytes: delivery.body.len(), stored, processed, inbox_units, effect_units })
    }

    /// Fills the inbox up to this many rows, all finished: copies of an event's row under other ids.
    ///
    /// # Errors
    /// The engine did not take them.
    pub async fn fill(&mut self, rows: u32) -> Result<(), CountError> {
        let template = self.delivery(1024);
        self.deliver(&template).await?;
        self.process(std::slice::from_ref(&template.id)).await?;
        let table = &self.bed.cloud.resources.inbox_table;
        let dynamodb = self.bed.cloud.clients(CallBudget::BACKGROUND).dynamodb;
        let wrong = |error: String| CountError::Wrong(error);
        let pk = |id: &str| AttributeValue::S(format!("kallglot#{id}"));
        let row = dynamodb.get_item().table_name(table).key("pk", pk(&template.id)).send().await;
        let row = row.map_err(|error| wrong(error.to_string()))?.item.unwrap_or_default();
        let ids: Vec<u32> = (self.filled..rows).collect();
        for ids in ids.chunks(25) {
            let puts = ids.iter().map(|id| {
                let mut row = row.clone();
                row.insert("pk".into(), pk(&format!("evt_fill{id:010}")));
                row.insert("event_id".into(), AttributeValue::S(format!("evt_fill{id:010}")));
                #[expect(clippy::expect_used, reason = "the item is set")]
                let put = PutRequest::builder().set_item(Some(row)).build().expect("an item");
                WriteRequest::builder().put_request(put).build()
            });
            let write = dynamodb.batch_write_item().request_items(table, puts.collect());
            write.send().await.map_err(|error| wrong(error.to_string()))?;
        }
        self.filled = self.filled.max(rows);
        Ok(())
    }

    /// Turns the functions' clock forward.
    pub fn forward(&self, by: Duration) {
        self.ahead_ms.fetch_add(i64::try_from(by.as_millis()).unwrap_or(0), Ordering::Relaxed);
    }

    /// The bed, for what is stored beside.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }
}

fn shifted(ahead_ms: &AtomicI64) -> Timestamp {
    let now = Clock::system().now().millis();
    Timestamp::from_millis(now + ahead_ms.load(Ordering::Relaxed))
}

impl Bed {
    /// Clients in this process, through the endpoints that count.
    fn clients(&self, budget: CallBudget) -> Clients {
        let config = self.cloud.sdk_config(shared::aws::https());
        let Clients { dynamodb, sqs, secrets } = Clients::new(&config, budget);
        let [dynamodb_url, sqs_url, secrets_url] = self.urls();
        Clients {
            dynamodb: aws_sdk_dynamodb::Client::from_conf(
                dynamodb.config().to_builder().endpoint_url(dynamodb_url).build(),
            ),
            sqs: aws_sdk_sqs::Client::from_conf(
                sqs.config().to_builder().endpoint_url(sqs_url).build(),
            ),
            secrets: aws_sdk_secretsmanager::Client::from_conf(
                secrets.config().to_builder().endpoint_url(secrets_url).build(),
            ),
        }
    }
}
