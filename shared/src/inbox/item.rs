//! Attribute values: writing them, reading them back, and what they weigh.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::time::Timestamp;

/// A DynamoDB item. Never logged with `Debug`: it holds bodies.
pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(text: impl ToString) -> AttributeValue {
    AttributeValue::S(text.to_string())
}

pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn at(time: Timestamp) -> AttributeValue {
    n(time.millis())
}

pub(crate) fn b(bytes: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

pub(crate) fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

pub(crate) fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

pub(crate) fn time(item: &Item, name: &str) -> Option<Timestamp> {
    number(item, name).map(Timestamp::from_millis)
}

/// Bytes that DynamoDB counts for an item: names and values in UTF-8, of numbers one byte for two
/// digits and one more, of lists and maps three and one for each element (Developer Guide, "Item
/// sizes and formats").
pub(crate) fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + weight(value)).sum()
}

fn weight(value: &AttributeValue) -> usize {
    let digits = |number: &String| number.len().div_ceil(2) + 1;
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => digits(number),
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(digits).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        AttributeValue::L(list) => 3 + list.iter().map(|v| 1 + weight(v)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.len() + size(map),
        _ => 1,
    }
}
