//! How a function's response to a batch is read.

use std::collections::HashSet;

use serde_json::Value;

/// Which messages of a batch are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delete {
    /// Those of the records at these positions; the others failed.
    Records(Vec<usize>),
    /// None, because the whole batch failed, for this reason.
    Nothing(String),
}

/// Reads a function's response to a batch of SQS records, as Lambda does with
/// `ReportBatchItemFailures`.
///
/// No response, no list, and an empty list are full success. A response that is not understood,
/// or that names a message which was not in the batch, is full failure: deleting on a guess would
/// lose a message, and a second delivery loses nothing.
///
/// On a FIFO queue nothing is added: Lambda deletes whatever the function did not name, so it is the
/// function that keeps a group's order, by naming what is behind a failed record.
#[must_use]
pub fn outcome(records: &[Value], response: &Value) -> Delete {
    let failures = match response {
        Value::Null => return all(records),
        Value::Object(response) => response.get("batchItemFailures").unwrap_or(&Value::Null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Delete::Nothing("the response is not an object".to_owned());
        }
    };
    match failures {
        Value::Null => all(records),
        Value::Array(failures) => match failed_ids(records, failures) {
            Ok(failed) => {
                let succeeded = |record: &Value| !id(record).is_some_and(|id| failed.contains(id));
                let all = records.iter().enumerate();
                Delete::Records(all.filter(|(_, r)| succeeded(r)).map(|(index, _)| index).collect())
            }
            Err(reason) => Delete::Nothing(reason),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Delete::Nothing("batchItemFailures is not a list".to_owned())
        }
    }
}

fn all(records: &[Value]) -> Delete {
    Delete::Records((0..records.len()).collect())
}

fn failed_ids<'a>(records: &[Value], failures: &'a [Value]) -> Result<HashSet<&'a str>, String> {
    let sent: HashSet<&str> = records.iter().filter_map(id).collect();
    failures
        .iter()
        .map(|failure| match failure.get("itemIdentifier").and_then(Value::as_str) {
            Some(id) if sent.contains(id) => Ok(id),
            Some(id) => Err(format!("the itemIdentifier {id:?} is not in the batch")),
            None => Err("a batch item failure has no itemIdentifier".to_owned()),
        })
        .collect()
}

fn id(record: &Value) -> Option<&str> {
    record["messageId"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn records(ids: &[&str]) -> Vec<Value> {
        ids.iter().map(|id| json!({"messageId": id})).collect()
    }

    fn failures(ids: &[&str]) -> Value {
        let failures: Vec<Value> = ids.iter().map(|id| json!({"itemIdentifier": id})).collect();
        json!({ "batchItemFailures": failures })
    }

    #[test]
    fn full_success() {
        let records = records(&["a", "b"]);
        for response in [
            json!(null),
            json!({}),
            json!({"other": 1}),
            json!({"batchItemFailures": null}),
            json!({"batchItemFailures": []}),
        ] {
            assert_eq!(outcome(&records, &response), Delete::Records(vec![0, 1]), "{response}");
        }
    }

    #[test]
    fn full_failure() {
        let records = records(&["a", "b"]);
        for response in [
            json!("ok"),
            json!(1),
            json!([]),
            json!({"batchItemFailures": "a"}),
            json!({"batchItemFailures": {"itemIdentifier": "a"}}),
            json!({"batchItemFailures": ["a"]}),
            json!({"batchItemFailures": [{"id": "a"}]}),
            json!({"batchItemFailures": [{"itemIdentifier": null}]}),
            json!({"batchItemFailures": [{"itemIdentifier": 1}]}),
            failures(&[""]),
            failures(&["a", "unknown"]),
        ] {
            let delete = outcome(&records, &response);
            assert!(matches!(delete, Delete::Nothing(_)), "{response}: {delete:?}");
        }
    }

    #[test]
    fn partial_failure() {
        for (failed, deleted) in
            [(&["b"][..], &[0, 2, 3][..]), (&["a", "b", "c", "d"], &[]), (&["d", "d"], &[0, 1, 2])]
        {
            let delete = outcome(&records(&["a", "b", "c", "d"]), &failures(failed));
            assert_eq!(delete, Delete::Records(deleted.to_vec()), "{failed:?}");
        }
    }
}
