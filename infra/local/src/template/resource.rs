//! One resource of a template: its properties with intrinsic functions resolved, read into specs.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    Fifo, IndexSpec, Key, Projection, QueueSpec, Redrive, TableSpec, TemplateError,
    intrinsic::{STACK, Scope},
    properties::{
        IndexProperties, KeyElement, KeyType, ProjectionType, QueueProperties, RedrivePolicy,
        TableProperties,
    },
};

/// What SQS and CloudFormation take when a queue does not say, in seconds.
const VISIBILITY_TIMEOUT_DEFAULT_S: u32 = 30;
const RETENTION_DEFAULT_S: u32 = 345_600;

/// A resource's logical id and its properties as written.
pub(super) struct Resource<'a> {
    pub(super) id: &'a str,
    properties: Option<&'a Map<String, Value>>,
}

/// The resources of one type, in the order of their logical ids.
pub(super) fn of_type<'a>(
    resources: &'a Map<String, Value>,
    kind: &'a str,
) -> impl Iterator<Item = Resource<'a>> {
    resources
        .iter()
        .filter(move |(_, resource)| resource.get("Type").and_then(Value::as_str) == Some(kind))
        .map(|(id, resource)| Resource {
            id,
            properties: resource.get("Properties").and_then(Value::as_object),
        })
}

impl Resource<'_> {
    /// A property's value; `None` when the template does not give one.
    pub(super) fn property(
        &self,
        scope: &Scope,
        name: &str,
    ) -> Result<Option<Value>, TemplateError> {
        let written = self.properties.and_then(|properties| properties.get(name));
        let resolved = written.map(|value| scope.resolve(value)).transpose();
        resolved.map_err(|error| TemplateError::Unresolved {
            resource: self.id.to_owned(),
            property: format!("{name}{}", error.path),
            reason: error.reason,
        })
    }

    /// The physical name: the one that is given, or one made of the stack's name and the logical
    /// id, as CloudFormation does.
    pub(super) fn name(
        &self,
        scope: &Scope,
        property: &str,
        suffix: &str,
    ) -> Result<String, TemplateError> {
        match self.property(scope, property)? {
            None => Ok(format!("{STACK}-{}{suffix}", self.id)),
            Some(Value::String(name)) => Ok(name),
            Some(other) => Err(self.invalid(property, format!("{other} is not a name"))),
        }
    }

    pub(super) fn table(&self, scope: &Scope) -> Result<TableSpec, TemplateError> {
        let names = [
            "AttributeDefinitions",
            "KeySchema",
            "GlobalSecondaryIndexes",
            "TimeToLiveSpecification",
        ];
        let properties: TableProperties = self.read(scope, &names)?;
        let ttl = properties.time_to_live_specification.filter(|ttl| ttl.enabled);
        Ok(TableSpec {
            logical_id: self.id.to_owned(),
            name: self.known_name(&scope.tables),
            key: self.key("KeySchema", properties.key_schema)?,
            attributes: properties
                .attribute_definitions
                .into_iter()
                .map(|definition| (definition.attribute_name, definition.attribute_type.into()))
                .collect(),
            indexes: properties
                .global_secondary_indexes
                .into_iter()
                .map(|index| self.index(index))
                .collect::<Result<_, _>>()?,
            ttl_attribute: ttl.map(|ttl| ttl.attribute_name),
        })
    }

    fn index(&self, index: IndexProperties) -> Result<IndexSpec, TemplateError> {
        let place = format!("GlobalSecondaryIndexes.{}", index.index_name);
        let mut attributes = index.projection.non_key_attributes;
        attributes.sort();
        Ok(IndexSpec {
            key: self.key(&place, index.key_schema)?,
            projection: match index.projection.projection_type {
                ProjectionType::All => Projection::All,
                ProjectionType::KeysOnly => Projection::KeysOnly,
                ProjectionType::Include => Projection::Include(attributes),
            },
            name: index.index_name,
        })
    }

    fn key(&self, place: &str, schema: Vec<KeyElement>) -> Result<Key, TemplateError> {
        let mut attributes = schema.into_iter().map(|part| (part.key_type, part.attribute_name));
        match (attributes.next(), attributes.next(), attributes.next()) {
            (Some((KeyType::Hash, hash)), None, None) => Ok(Key { hash, range: None }),
            (Some((KeyType::Hash, hash)), Some((KeyType::Range, range)), None) => {
                Ok(Key { hash, range: Some(range) })
            }
            _ => Err(self.invalid(place, "a key is one HASH and at most one RANGE".to_owned())),
        }
    }

    pub(super) fn queue(&self, scope: &Scope) -> Result<QueueSpec, TemplateError> {
        let names = [
            "FifoQueue",
            "ContentBasedDeduplication",
            "DeduplicationScope",
            "FifoThroughputLimit",
            "VisibilityTimeout",
            "MessageRetentionPeriod",
            "RedrivePolicy",
        ];
        let properties: QueueProperties = self.read(scope, &names)?;
        let fifo = Fifo {
            content_based_deduplication: properties.content_based_deduplication,
            deduplication_scope: properties.deduplication_scope.unwrap_or("queue".to_owned()),
            throughput_limit: properties.fifo_throughput_limit.unwrap_or("perQueue".to_owned()),
        };
        Ok(QueueSpec {
            logical_id: self.id.to_owned(),
            name: self.known_name(&scope.queues),
            fifo: properties.fifo_queue.then_some(fifo),
            visibility_timeout_s: properties
                .visibility_timeout
                .unwrap_or(VISIBILITY_TIMEOUT_DEFAULT_S),
            retention_s: properties.message_retention_period.unwrap_or(RETENTION_DEFAULT_S),
            redrive: properties
                .redrive_policy
                .map(|policy| self.redrive(scope, policy))
                .transpose()?,
        })
    }

    fn redrive(&self, scope: &Scope, policy: RedrivePolicy) -> Result<Redrive, TemplateError> {
        let arn = policy.dead_letter_target_arn;
        let target = arn.rsplit(':').next().unwrap_or_default();
        if !scope.queues.values().any(|name| name == target) {
            let reason = format!("{arn} is no queue of this template");
            return Err(self.invalid("RedrivePolicy.deadLetterTargetArn", reason));
        }
        Ok(Redrive { target: target.to_owned(), receives_max: policy.max_receive_count })
    }

    fn read<T: DeserializeOwned>(&self, scope: &Scope, names: &[&str]) -> Result<T, TemplateError> {
        let mut properties = Map::new();
        for name in names {
            if let Some(value) = self.property(scope, name)? {
                properties.insert((*name).to_owned(), value);
            }
        }
        serde_path_to_error::deserialize(Value::Object(properties)).map_err(|error| {
            // A property that is missing altogether is reported at the root.
            let path = Some(error.path().to_string()).filter(|path| path != ".");
            self.invalid(path.as_deref().unwrap_or("Properties"), error.inner().to_string())
        })
    }

    fn known_name(&self, names: &BTreeMap<String, String>) -> String {
        names.get(self.id).cloned().unwrap_or_default()
    }

    fn invalid(&self, property: &str, reason: String) -> TemplateError {
        let property = property.to_owned();
        TemplateError::Invalid { resource: self.id.to_owned(), property, reason }
    }
}
