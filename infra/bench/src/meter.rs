//! Counts requests, and the capacity units that DynamoDB would charge for them.
//!
//! Units come from the embedded engine, which is asked for them (`ReturnConsumedCapacity`) with
//! every request. It does not tell what a refused write costs; that follows from DynamoDB's rule: as
//! much as writing the item that was found, and one unit where there was none.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::Value;

/// Bytes of one write unit.
const WRITE_UNIT: usize = 1024;

/// Counts what passes. With units, requests are changed on their way, and so are answers.
#[derive(Debug, Default)]
pub struct Meter {
    units: bool,
    counts: Mutex<Counts>,
}

/// What passed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Requests by operation.
    pub requests: BTreeMap<String, usize>,
    /// Requests answered with an error.
    pub refused: usize,
    /// Write units by table, indexes included.
    pub write_units: BTreeMap<String, f64>,
    /// Read units by table.
    pub read_units: BTreeMap<String, f64>,
    /// Puts for which the engine charges the table something else than [`item_bytes`] says.
    pub disputed: usize,
}

impl Counts {
    /// How many requests of an operation.
    pub fn of(&self, operation: &str) -> usize {
        self.requests.get(operation).copied().unwrap_or(0)
    }

    /// How many requests.
    pub fn all(&self) -> usize {
        self.requests.values().sum()
    }

    /// Write units of the table with this name.
    pub fn writes(&self, table: &str) -> f64 {
        self.write_units.get(table).copied().unwrap_or(0.0)
    }
}

impl Meter {
    /// Counts requests only.
    pub fn requests() -> Self {
        Self::default()
    }

    /// Counts requests and units.
    pub fn units() -> Self {
        Self { units: true, ..Self::default() }
    }

    /// What passed since this was called last.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.counts())
    }

    /// A request on its way to the service.
    pub(crate) fn ask(&self, operation: &str, body: Bytes) -> Bytes {
        *self.counts().requests.entry(operation.to_owned()).or_default() += 1;
        if !self.units || axis(operation).is_none() {
            return body;
        }
        let Ok(Value::Object(mut request)) = serde_json::from_slice(&body) else { return body };
        request.insert("ReturnConsumedCapacity".into(), "INDEXES".into());
        Value::Object(request).to_string().into()
    }

    /// The answer to it.
    pub(crate) fn note(&self, operation: &str, request: &[u8], status: u16, body: &[u8]) {
        if status >= 400 {
            self.counts().refused += 1;
        }
        let (true, Some(axis)) = (self.units, axis(operation)) else { return };
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let charged = if status < 400 {
            consumed(&answer)
        } else {
            refused(request, &answer).into_iter().collect()
        };
        let mut counts = self.counts();
        counts.disputed += usize::from(operation == "PutItem" && disputes(request, &answer));
        let units = match axis {
            Axis::Write => &mut counts.write_units,
            Axis::Read => &mut counts.read_units,
        };
        for (table, charge) in charged {
            *units.entry(table).or_default() += charge;
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Axis {
    Read,
    Write,
}

fn axis(operation: &str) -> Option<Axis> {
    match operation {
        "GetItem" | "BatchGetItem" | "Query" | "Scan" => Some(Axis::Read),
        "PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem" | "TransactWriteItems" => {
            Some(Axis::Write)
        }
        _ => None,
    }
}

/// One object, or a list of one for each table.
fn consumed(answer: &Value) -> Vec<(String, f64)> {
    let told = &answer["ConsumedCapacity"];
    let list = told.as_array().map_or(std::slice::from_ref(told), Vec::as_slice);
    let one =
        |of: &Value| Some((of["TableName"].as_str()?.to_owned(), of["CapacityUnits"].as_f64()?));
    list.iter().filter_map(one).collect()
}

/// A write whose condition did not hold. Other errors cost nothing.
fn refused(request: &[u8], answer: &Value) -> Option<(String, f64)> {
    let kind = answer["__type"].as_str()?;
    if !kind.ends_with("ConditionalCheckFailedException") {
        return None;
    }
    let request: Value = serde_json::from_slice(request).ok()?;
    let found = answer["Item"].as_object();
    let units = found.map_or(1, |item| write_units(item_bytes(item)));
    #[expect(clippy::cast_precision_loss, reason = "an item has at most 400 units")]
    Some((request["TableName"].as_str()?.to_owned(), units as f64))
}

/// Whether the engine and the rule differ on what a put costs the table.
fn disputes(request: &[u8], answer: &Value) -> bool {
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    let (item, charged) = (&request["Item"], &answer["ConsumedCapacity"]["Table"]["CapacityUnits"]);
    #[expect(clippy::cast_precision_loss, reason = "an item has at most 400 units")]
    let by_rule = item.as_object().map(|item| write_units(item_bytes(item)) as f64);
    charged.as_f64().is_some_and(|charged| Some(charged) != by_rule)
}

/// What writing an item of this size costs outside a transaction.
pub fn write_units(bytes: usize) -> usize {
    bytes.div_ceil(WRITE_UNIT).max(1)
}

/// The size of an item as DynamoDB counts it: names and values in UTF-8, binary values undone from
/// base64, of numbers one byte for two digits and one more (Developer Guide, "Item sizes and
/// formats"). Only for the types that the inbox writes.
pub fn item_bytes(item: &serde_json::Map<String, Value>) -> usize {
    let weight = |value: &Value| {
        let (kind, value) = value.as_object().and_then(|typed| typed.iter().next())?;
        let text = value.as_str().unwrap_or_default();
        Some(match kind.as_str() {
            "B" => text.trim_end_matches('=').len() * 3 / 4,
            "N" => text.trim_start_matches('-').len().div_ceil(2) + 1,
            "S" => text.len(),
            _ => 1,
        })
    };
    item.iter().map(|(name, value)| name.len() + weight(value).unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_weighs_what_dynamodb_says() {
        let item = json!({
            "pk": {"S": "a"}, "n": {"N": "-12345"}, "b": {"B": "AAEC"}, "b1": {"B": "AA=="},
            "x": {"BOOL": true},
        });
        let expected = [2 + 1, 1 + 3 + 1, 1 + 3, 2 + 1, 1 + 1].iter().sum::<usize>();
        assert_eq!(item_bytes(item.as_object().unwrap()), expected);
        assert_eq!([0, 1024, 1025].map(write_units), [1, 1, 2]);
    }

    #[test]
    fn units_are_counted_by_table_and_refused_writes_by_what_was_found() {
        let meter = Meter::units();
        let of = |table: &str, units: f64| json!({"TableName": table, "CapacityUnits": units});
        let answer = json!({"ConsumedCapacity": [of("inbox", 3.0), of("business", 2.0)]});
        meter.note("TransactWriteItems", b"{}", 200, answer.to_string().as_bytes());
        let found = json!({"pk": {"S": "a".repeat(1500)}});
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        let refusal = json!({"__type": kind, "Item": found});
        meter.note("PutItem", br#"{"TableName":"inbox"}"#, 400, refusal.to_string().as_bytes());
        let counts = meter.take();
        assert_eq!((counts.writes("inbox"), counts.writes("business")), (5.0, 2.0));
        assert_eq!(counts.refused, 1);
        assert_eq!(meter.take(), Counts::default());
    }

    #[test]
    fn a_put_that_the_engine_charges_otherwise_is_disputed() {
        let meter = Meter::units();
        let put = br#"{"TableName":"inbox","Item":{"pk":{"S":"a"}}}"#;
        for (charged, disputed) in [(1.0, 0), (2.0, 1)] {
            let told = json!({"TableName": "inbox", "CapacityUnits": charged, "Table": {"CapacityUnits": charged}});
            let answer = json!({ "ConsumedCapacity": told }).to_string();
            meter.note("PutItem", put, 200, answer.as_bytes());
            assert_eq!(meter.take().disputed, disputed);
        }
    }
}
