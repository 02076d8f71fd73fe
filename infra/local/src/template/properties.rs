//! The properties of tables and queues as CloudFormation writes them, once they hold plain values.

use aws_sdk_dynamodb::types::ScalarAttributeType;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TableProperties {
    pub(super) attribute_definitions: Vec<AttributeDefinition>,
    pub(super) key_schema: Vec<KeyElement>,
    #[serde(default)]
    pub(super) global_secondary_indexes: Vec<IndexProperties>,
    pub(super) time_to_live_specification: Option<TimeToLive>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AttributeDefinition {
    pub(super) attribute_name: String,
    pub(super) attribute_type: AttributeType,
}

#[derive(Deserialize)]
pub(super) enum AttributeType {
    S,
    N,
    B,
}

impl From<AttributeType> for ScalarAttributeType {
    fn from(kind: AttributeType) -> Self {
        match kind {
            AttributeType::S => Self::S,
            AttributeType::N => Self::N,
            AttributeType::B => Self::B,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct KeyElement {
    pub(super) attribute_name: String,
    pub(super) key_type: KeyType,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum KeyType {
    Hash,
    Range,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct IndexProperties {
    pub(super) index_name: String,
    pub(super) key_schema: Vec<KeyElement>,
    pub(super) projection: ProjectionProperties,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ProjectionProperties {
    pub(super) projection_type: ProjectionType,
    #[serde(default)]
    pub(super) non_key_attributes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ProjectionType {
    All,
    KeysOnly,
    Include,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TimeToLive {
    pub(super) attribute_name: String,
    pub(super) enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueProperties {
    #[serde(default)]
    pub(super) fifo_queue: bool,
    #[serde(default)]
    pub(super) content_based_deduplication: bool,
    pub(super) deduplication_scope: Option<String>,
    pub(super) fifo_throughput_limit: Option<String>,
    #[serde(default, deserialize_with = "optional_number")]
    pub(super) visibility_timeout: Option<u32>,
    #[serde(default, deserialize_with = "optional_number")]
    pub(super) message_retention_period: Option<u32>,
    pub(super) redrive_policy: Option<RedrivePolicy>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RedrivePolicy {
    pub(super) dead_letter_target_arn: String,
    #[serde(deserialize_with = "number")]
    pub(super) max_receive_count: u32,
}

/// CloudFormation takes `30` and `'30'` alike, and a parameter's default may be either.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.ok_or_else(|| D::Error::custom(format!("{value} is not a whole number")))
}

fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    number(deserializer).map(Some)
}
