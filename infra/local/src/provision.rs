//! Creates what the template declares in the embedded engines, through the SDK.
//!
//! Tables may be there already, kept on disk by an earlier run; one that no longer agrees with the
//! template is refused rather than used. Queues are always new: their engine keeps nothing.

mod queues;
mod tables;

use std::{collections::BTreeMap, error::Error};

use crate::template::{TableSpec, Template};

/// Why the tables and queues could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The template lacks a resource that the functions cannot do without.
    #[error("the template declares no {0}")]
    Missing(&'static str),
    /// A table is there, but not as the template wants it.
    #[error(
        "the table {table} was made for another version of the template: {difference}; \
         use another --data folder, or delete this one if its events are no longer needed"
    )]
    Different {
        /// The table's name.
        table: String,
        /// What the table has and what the template has.
        difference: String,
    },
    /// An engine refused a request.
    #[error("cannot {action}")]
    Refused {
        /// What was attempted, with the name of the table or queue.
        action: String,
        /// The SDK's error.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl ProvisionError {
    /// For use in `map_err`.
    fn refused<E: Error + Send + Sync + 'static>(action: String) -> impl FnOnce(E) -> Self {
        move |source| Self::Refused { action, source: Box::new(source) }
    }
}

/// The names and addresses that the functions are configured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// The inbox table's name.
    pub inbox_table: String,
    /// The business table's name.
    pub business_table: String,
    /// The standard queue's URL.
    pub queue_url: String,
    /// The FIFO queue's URL.
    pub fifo_queue_url: String,
    /// The standard queue's ARN.
    pub queue_arn: String,
    /// The FIFO queue's ARN.
    pub fifo_queue_arn: String,
    /// The URL of the standard queue's dead-letter queue.
    pub dlq_url: String,
    /// The URL of the FIFO queue's dead-letter queue.
    pub fifo_dlq_url: String,
}

/// A queue that has been created.
#[derive(Debug, Clone)]
struct Queue {
    url: String,
    arn: String,
}

/// Creates the template's tables and queues, and returns those that the functions use.
///
/// # Errors
/// The template lacks one of those, a table that is there differs from the template, or an engine
/// refuses.
pub async fn provision(
    template: &Template,
    dynamodb: &aws_sdk_dynamodb::Client,
    sqs: &aws_sdk_sqs::Client,
) -> Result<Resources, ProvisionError> {
    let inbox_table = table(template, "InboxTable")?.name.clone();
    let business_table = table(template, "BusinessTable")?.name.clone();
    for spec in &template.tables {
        tables::ensure(dynamodb, spec).await?;
    }
    let created = queues::create(sqs, &template.queues).await?;
    let events = queue(&created, "EventQueue")?;
    let fifo = queue(&created, "EventFifoQueue")?;
    Ok(Resources {
        inbox_table,
        business_table,
        queue_url: events.url,
        queue_arn: events.arn,
        fifo_queue_url: fifo.url,
        fifo_queue_arn: fifo.arn,
        dlq_url: queue(&created, "EventDlq")?.url,
        fifo_dlq_url: queue(&created, "EventFifoDlq")?.url,
    })
}

fn table<'a>(template: &'a Template, id: &'static str) -> Result<&'a TableSpec, ProvisionError> {
    template.table(id).ok_or(ProvisionError::Missing(id))
}

fn queue(created: &BTreeMap<String, Queue>, id: &'static str) -> Result<Queue, ProvisionError> {
    created.get(id).cloned().ok_or(ProvisionError::Missing(id))
}

#[cfg(test)]
mod tests;
