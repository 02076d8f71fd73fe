//! The tables and queues that `template.yaml` declares, read from the template itself so that the
//! local run and the tests cannot drift away from what is deployed.

mod intrinsic;
mod properties;
mod resource;

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::ScalarAttributeType;
use serde_json::Value;

use self::{
    intrinsic::{Scope, canonical},
    resource::of_type,
};

/// The deployment's template, as it was when this was compiled.
const TEMPLATE: &str = include_str!("../../../template.yaml");

const TABLE: &str = "AWS::DynamoDB::Table";
const QUEUE: &str = "AWS::SQS::Queue";

/// Why a template cannot be used locally.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The text is not YAML.
    #[error("the template is not YAML")]
    Syntax(#[from] serde_norway::Error),
    /// The text is YAML, but not a template.
    #[error("the template is malformed: {0}")]
    Malformed(String),
    /// A property's value is an intrinsic function that has no value in the local run.
    #[error("{resource}.{property}: {reason}")]
    Unresolved {
        /// The resource's logical id.
        resource: String,
        /// The property with its path.
        property: String,
        /// What is in the way.
        reason: String,
    },
    /// A property is missing or has a value of the wrong kind.
    #[error("{resource}.{property}: {reason}")]
    Invalid {
        /// The resource's logical id.
        resource: String,
        /// The property with its path; `Properties` when one is missing.
        property: String,
        /// What was expected.
        reason: String,
    },
}

/// What has to be created before the functions can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The DynamoDB tables, in the order of their logical ids.
    pub tables: Vec<TableSpec>,
    /// The SQS queues, in the order of their logical ids.
    pub queues: Vec<QueueSpec>,
}

/// One DynamoDB table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// The resource's id in the template.
    pub logical_id: String,
    /// The table's name.
    pub name: String,
    /// The table's key.
    pub key: Key,
    /// The key attributes' types, of the table and of its indexes.
    pub attributes: Vec<(String, ScalarAttributeType)>,
    /// The global secondary indexes.
    pub indexes: Vec<IndexSpec>,
    /// The attribute that holds an item's expiry in epoch seconds, when TTL is on.
    pub ttl_attribute: Option<String>,
}

/// The key of a table or of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The partition key's attribute.
    pub hash: String,
    /// The sort key's attribute.
    pub range: Option<String>,
}

/// One global secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// The index's name.
    pub name: String,
    /// The index's key.
    pub key: Key,
    /// What an item shows in the index.
    pub projection: Projection,
}

/// Which attributes an index holds beside the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// All of them.
    All,
    /// None.
    KeysOnly,
    /// These, in alphabetical order.
    Include(Vec<String>),
}

/// One SQS queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// The resource's id in the template.
    pub logical_id: String,
    /// The queue's name, with `.fifo` at its end for a FIFO queue.
    pub name: String,
    /// How FIFO is set up; `None` for a standard queue.
    pub fifo: Option<Fifo>,
    /// How long a received message stays hidden, in seconds.
    pub visibility_timeout_s: u32,
    /// How long a message is kept, in seconds.
    pub retention_s: u32,
    /// Where messages go that nobody deletes.
    pub redrive: Option<Redrive>,
}

/// The settings of a FIFO queue, as SQS names their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fifo {
    /// Whether the body's digest stands in for a missing deduplication id.
    pub content_based_deduplication: bool,
    /// `queue` or `messageGroup`.
    pub deduplication_scope: String,
    /// `perQueue` or `perMessageGroupId`.
    pub throughput_limit: String,
}

/// A queue's redrive policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// The name of the dead-letter queue.
    pub target: String,
    /// After how many receives without a delete a message is moved.
    pub receives_max: u32,
}

impl Template {
    /// Reads the template that this was compiled with. Parameters have their defaults, and the
    /// stack is called `local`.
    ///
    /// # Errors
    /// A table or a queue needs a value that the local run does not have, or lacks one.
    pub fn load() -> Result<Self, TemplateError> {
        Self::parse(TEMPLATE)
    }

    /// Reads a template from YAML.
    ///
    /// # Errors
    /// As [`Self::load`], and when `text` is not a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let document =
            canonical(serde_norway::from_str(text)?).map_err(TemplateError::Malformed)?;
        let resources = document
            .get("Resources")
            .and_then(Value::as_object)
            .ok_or_else(|| TemplateError::Malformed("it has no Resources".to_owned()))?;
        let mut scope = Scope { parameters: parameters(&document), ..Scope::default() };
        for resource in of_type(resources, TABLE) {
            let name = resource.name(&scope, "TableName", "")?;
            scope.tables.insert(resource.id.to_owned(), name);
        }
        for resource in of_type(resources, QUEUE) {
            let fifo = resource.property(&scope, "FifoQueue")? == Some(Value::Bool(true));
            let name = resource.name(&scope, "QueueName", if fifo { ".fifo" } else { "" })?;
            scope.queues.insert(resource.id.to_owned(), name);
        }
        Ok(Self {
            tables: of_type(resources, TABLE)
                .map(|resource| resource.table(&scope))
                .collect::<Result<_, _>>()?,
            queues: of_type(resources, QUEUE)
                .map(|resource| resource.queue(&scope))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The table with this logical id.
    #[must_use]
    pub fn table(&self, logical_id: &str) -> Option<&TableSpec> {
        self.tables.iter().find(|table| table.logical_id == logical_id)
    }

    /// The queue with this logical id.
    #[must_use]
    pub fn queue(&self, logical_id: &str) -> Option<&QueueSpec> {
        self.queues.iter().find(|queue| queue.logical_id == logical_id)
    }
}

fn parameters(document: &Value) -> BTreeMap<String, Option<Value>> {
    let parameters = document.get("Parameters").and_then(Value::as_object);
    parameters
        .into_iter()
        .flatten()
        .map(|(name, parameter)| (name.clone(), parameter.get("Default").cloned()))
        .collect()
}

#[cfg(test)]
mod tests;
