//! Tables: created when absent, compared with the template when an earlier run left them.

use aws_sdk_dynamodb::{
    Client,
    error::BuildError,
    operation::create_table::builders::CreateTableFluentBuilder,
    types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
        Projection as SdkProjection, ProjectionType, TimeToLiveSpecification, TimeToLiveStatus,
    },
};

use super::ProvisionError;
use crate::{
    provision::tables::existing::Existing,
    template::{IndexSpec, Key, Projection, TableSpec},
};

mod existing;

/// Creates the table, or checks that the one that is there agrees with `spec`.
pub(super) async fn ensure(dynamodb: &Client, spec: &TableSpec) -> Result<(), ProvisionError> {
    let create = create(dynamodb, spec)
        .map_err(ProvisionError::refused(format!("describe the table {}", spec.name)))?;
    match create.send().await.map_err(aws_sdk_dynamodb::Error::from) {
        Ok(_) => {}
        Err(aws_sdk_dynamodb::Error::ResourceInUseException(_)) => check(dynamodb, spec).await?,
        Err(error) => {
            return Err(ProvisionError::refused(format!("create the table {}", spec.name))(error));
        }
    }
    match &spec.ttl_attribute {
        Some(attribute) => ensure_ttl(dynamodb, &spec.name, attribute).await,
        None => Ok(()),
    }
}

async fn check(dynamodb: &Client, spec: &TableSpec) -> Result<(), ProvisionError> {
    let described = dynamodb
        .describe_table()
        .table_name(&spec.name)
        .send()
        .await
        .map_err(ProvisionError::refused(format!("describe the table {}", spec.name)))?;
    let existing = Existing::new(described.table());
    match existing.difference(spec) {
        None => Ok(()),
        Some(difference) => Err(different(&spec.name, difference)),
    }
}

/// Turning TTL on where it is on already is an error to DynamoDB, so it is looked up first.
async fn ensure_ttl(dynamodb: &Client, table: &str, attribute: &str) -> Result<(), ProvisionError> {
    let action = || format!("set the expiry of the table {table}");
    let described = dynamodb
        .describe_time_to_live()
        .table_name(table)
        .send()
        .await
        .map_err(ProvisionError::refused(action()))?;
    let current = described
        .time_to_live_description()
        .filter(|ttl| ttl.time_to_live_status() == Some(&TimeToLiveStatus::Enabled))
        .and_then(|ttl| ttl.attribute_name());
    match current {
        Some(current) if current == attribute => return Ok(()),
        Some(current) => {
            let difference = format!("items expire by {current}, the template says {attribute}");
            return Err(different(table, difference));
        }
        None => {}
    }
    let ttl = TimeToLiveSpecification::builder()
        .attribute_name(attribute)
        .enabled(true)
        .build()
        .map_err(ProvisionError::refused(action()))?;
    dynamodb
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(ttl)
        .send()
        .await
        .map_err(ProvisionError::refused(action()))?;
    Ok(())
}

fn different(table: &str, difference: String) -> ProvisionError {
    ProvisionError::Different { table: table.to_owned(), difference }
}

fn create(dynamodb: &Client, spec: &TableSpec) -> Result<CreateTableFluentBuilder, BuildError> {
    let attributes = spec
        .attributes
        .iter()
        .map(|(name, kind)| {
            AttributeDefinition::builder().attribute_name(name).attribute_type(kind.clone()).build()
        })
        .collect::<Result<Vec<_>, _>>()?;
    let indexes = spec.indexes.iter().map(index).collect::<Result<Vec<_>, _>>()?;
    Ok(dynamodb
        .create_table()
        .table_name(&spec.name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes))
        .set_key_schema(Some(key_schema(&spec.key)?))
        // An empty list of indexes is refused; none at all is not.
        .set_global_secondary_indexes(Some(indexes).filter(|indexes| !indexes.is_empty())))
}

fn index(spec: &IndexSpec) -> Result<GlobalSecondaryIndex, BuildError> {
    let projection = SdkProjection::builder();
    let projection = match &spec.projection {
        Projection::All => projection.projection_type(ProjectionType::All),
        Projection::KeysOnly => projection.projection_type(ProjectionType::KeysOnly),
        Projection::Include(attributes) => projection
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(attributes.clone())),
    };
    GlobalSecondaryIndex::builder()
        .index_name(&spec.name)
        .set_key_schema(Some(key_schema(&spec.key)?))
        .projection(projection.build())
        .build()
}

fn key_schema(key: &Key) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element = |name: &String, kind| {
        KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
    };
    let hash = element(&key.hash, KeyType::Hash);
    let range = key.range.as_ref().map(|name| element(name, KeyType::Range));
    std::iter::once(hash).chain(range).collect()
}
