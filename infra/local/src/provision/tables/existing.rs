//! A table as it is, and in what it differs from the template.

use std::{collections::BTreeMap, fmt};

use aws_sdk_dynamodb::types::{
    GlobalSecondaryIndexDescription, KeySchemaElement, KeyType, Projection as SdkProjection,
    ProjectionType, TableDescription,
};

use crate::template::{IndexSpec, Key, Projection, TableSpec};

/// What DynamoDB says of a table, as far as the template decides it.
pub(super) struct Existing {
    key: Key,
    attributes: BTreeMap<String, String>,
    indexes: BTreeMap<String, IndexSpec>,
}

impl Existing {
    pub(super) fn new(table: Option<&TableDescription>) -> Self {
        let attributes = table.map(TableDescription::attribute_definitions).unwrap_or_default();
        let indexes = table.map(TableDescription::global_secondary_indexes).unwrap_or_default();
        Self {
            key: key(table.map(TableDescription::key_schema).unwrap_or_default()),
            attributes: attributes
                .iter()
                .map(|definition| {
                    let kind = definition.attribute_type().as_str().to_owned();
                    (definition.attribute_name().to_owned(), kind)
                })
                .collect(),
            indexes: indexes.iter().map(index).map(|spec| (spec.name.clone(), spec)).collect(),
        }
    }

    /// The first difference, in words; `None` when the table is as the template wants it.
    pub(super) fn difference(&self, spec: &TableSpec) -> Option<String> {
        if self.key != spec.key {
            return Some(format!(
                "its key is {}, the template's is {}",
                Shown(&self.key),
                Shown(&spec.key)
            ));
        }
        let wanted: BTreeMap<&str, &IndexSpec> =
            spec.indexes.iter().map(|index| (index.name.as_str(), index)).collect();
        for (name, index) in &wanted {
            match self.indexes.get(*name) {
                None => return Some(format!("it has no index {name}")),
                Some(existing) if existing != *index => {
                    return Some(format!(
                        "its index {name} is {}, the template's is {}",
                        Shown(existing),
                        Shown(*index)
                    ));
                }
                Some(_) => {}
            }
        }
        if let Some(name) = self.indexes.keys().find(|name| !wanted.contains_key(name.as_str())) {
            return Some(format!("it has an index {name}, which the template does not declare"));
        }
        spec.attributes.iter().find_map(|(name, kind)| {
            let existing = self.attributes.get(name).map_or("absent", String::as_str);
            (existing != kind.as_str()).then(|| {
                format!("its key attribute {name} is {existing}, the template's is {kind}")
            })
        })
    }
}

fn index(description: &GlobalSecondaryIndexDescription) -> IndexSpec {
    IndexSpec {
        name: description.index_name().unwrap_or_default().to_owned(),
        key: key(description.key_schema()),
        projection: projection(description.projection()),
    }
}

fn key(schema: &[KeySchemaElement]) -> Key {
    let part = |kind: &KeyType| {
        let element = schema.iter().find(|element| element.key_type() == kind);
        element.map(|element| element.attribute_name().to_owned())
    };
    Key { hash: part(&KeyType::Hash).unwrap_or_default(), range: part(&KeyType::Range) }
}

fn projection(projection: Option<&SdkProjection>) -> Projection {
    match projection.and_then(SdkProjection::projection_type) {
        Some(ProjectionType::Include) => {
            let attributes = projection.map(SdkProjection::non_key_attributes).unwrap_or_default();
            let mut attributes = attributes.to_vec();
            attributes.sort();
            Projection::Include(attributes)
        }
        Some(ProjectionType::KeysOnly) => Projection::KeysOnly,
        _ => Projection::All,
    }
}

/// Words for an error message.
struct Shown<'a, T>(&'a T);

impl fmt::Display for Shown<'_, Key> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.range {
            None => write!(f, "({})", self.0.hash),
            Some(range) => write!(f, "({}, {range})", self.0.hash),
        }
    }
}

impl fmt::Display for Shown<'_, IndexSpec> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with ", Shown(&self.0.key))?;
        match &self.0.projection {
            Projection::All => f.write_str("all attributes"),
            Projection::KeysOnly => f.write_str("keys only"),
            Projection::Include(attributes) => f.write_str(&attributes.join(", ")),
        }
    }
}
