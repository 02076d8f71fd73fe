//! What Lambda's event source mapping does between an SQS queue and a function: polls, invokes with
//! a batch, reads the partial batch response and deletes what succeeded.
//!
//! A failure is never given back early: the message stays hidden until its visibility timeout ends,
//! unless the function itself changed that. Not done here: filters, batch windows, and the slower
//! polling with which Lambda meets a function that keeps failing.

mod outcome;
mod record;

use std::{future::Future, time::Duration};

use aws_sdk_sqs::{
    Client,
    error::DisplayErrorContext,
    types::{DeleteMessageBatchRequestEntry, MessageSystemAttributeName},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub use self::outcome::{Delete, outcome};

/// The most messages that one ReceiveMessage gives and one DeleteMessageBatch takes.
pub const BATCH_SIZE_MAX: u16 = 10;
/// How long one ReceiveMessage waits for a message, in seconds.
const WAIT_S: i32 = 5;
/// How long to leave SQS alone after it failed.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// One event source mapping.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// The client that the queue is polled with.
    pub sqs: Client,
    /// The queue's URL.
    pub queue_url: String,
    /// The queue's ARN, which the records carry. One that ends in `.fifo` is a FIFO queue.
    pub queue_arn: String,
    /// The most records of one invocation, 1 to [`BATCH_SIZE_MAX`].
    pub batch_size: u16,
    /// How many batches may be in the function at once.
    pub concurrency: usize,
}

impl Mapping {
    /// Polls the queue and invokes the function for ever; the caller ends it by dropping the
    /// future or aborting its task, which also drops the invocations that are under way.
    ///
    /// `invoke` is given the event and answers with the function's response, or with the text of
    /// a function error. A panic of it counts as a function error.
    pub async fn run<F, Fut>(self, invoke: F)
    where
        F: Fn(Value) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let mut pollers = JoinSet::new();
        for _ in 0..self.concurrency.max(1) {
            pollers.spawn(self.clone().poll(invoke.clone()));
        }
        // A poller ends only by a panic of the function. Its batch was not deleted, which is what
        // becomes of a batch whose function failed.
        while let Some(ended) = pollers.join_next().await {
            if let Err(error) = ended {
                tracing::warn!(queue = self.queue_arn, %error, "the function panicked");
            }
            pollers.spawn(self.clone().poll(invoke.clone()));
        }
    }

    async fn poll<F, Fut>(self, invoke: F)
    where
        F: Fn(Value) -> Fut,
        Fut: Future<Output = Result<Value, String>>,
    {
        loop {
            match self.receive().await {
                Ok(records) if records.is_empty() => {}
                Ok(records) => {
                    let response = invoke(json!({ "Records": &records })).await;
                    self.settle(&records, response).await;
                }
                Err(error) => {
                    tracing::warn!(queue = self.queue_arn, error, "cannot receive messages");
                    tokio::time::sleep(ERROR_PAUSE).await;
                }
            }
        }
    }

    async fn receive(&self) -> Result<Vec<Value>, String> {
        let size = self.batch_size.clamp(1, BATCH_SIZE_MAX);
        let received = self
            .sqs
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(i32::from(size))
            .wait_time_seconds(WAIT_S)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All")
            .send()
            .await
            .map_err(|error| DisplayErrorContext(error).to_string())?;
        let messages = received.messages.unwrap_or_default().into_iter();
        Ok(messages.map(|message| record::record(message, &self.queue_arn)).collect())
    }

    async fn settle(&self, records: &[Value], response: Result<Value, String>) {
        let delete = match response {
            Ok(response) => outcome(records, &response),
            Err(error) => Delete::Nothing(format!("function error: {error}")),
        };
        match delete {
            Delete::Nothing(reason) => {
                let batch = records.len();
                tracing::warn!(queue = self.queue_arn, batch, reason, "the whole batch failed");
            }
            Delete::Records(indices) => {
                self.delete(indices.into_iter().filter_map(|index| records.get(index))).await;
            }
        }
    }

    /// Deletes the records' messages. One that cannot be deleted comes back, as on AWS: delivery
    /// is at least once.
    async fn delete<'a>(&self, records: impl Iterator<Item = &'a Value>) {
        let entries: Vec<_> = records
            .enumerate()
            .filter_map(|(id, record)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(id.to_string())
                    .receipt_handle(record["receiptHandle"].as_str().unwrap_or_default())
                    .build()
                    .ok()
            })
            .collect();
        if entries.is_empty() {
            return;
        }
        let delete = self.sqs.delete_message_batch().queue_url(&self.queue_url);
        match delete.set_entries(Some(entries)).send().await {
            Ok(deleted) => {
                for failed in deleted.failed() {
                    let code = failed.code();
                    tracing::warn!(queue = self.queue_arn, code, "cannot delete a message");
                }
            }
            Err(error) => {
                let error = DisplayErrorContext(error).to_string();
                tracing::warn!(queue = self.queue_arn, error, "cannot delete a batch");
                tokio::time::sleep(ERROR_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
