//! A received message in the shape in which Lambda hands it to a function.

use std::collections::HashMap;

use aws_sdk_sqs::types::{Message, MessageAttributeValue};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

/// The record of `message`, which came from the queue `arn`.
pub(super) fn record(message: Message, arn: &str) -> Value {
    let attributes: Map<String, Value> = message
        .attributes
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| (name.as_str().to_owned(), Value::String(value)))
        .collect();
    let mut record = json!({
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": message_attributes(message.message_attributes.unwrap_or_default()),
        "md5OfBody": message.md5_of_body,
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": arn.split(':').nth(3),
    });
    if let Some(md5) = message.md5_of_message_attributes {
        record["md5OfMessageAttributes"] = Value::String(md5);
    }
    record
}

fn message_attributes(attributes: HashMap<String, MessageAttributeValue>) -> Map<String, Value> {
    attributes
        .into_iter()
        .map(|(name, value)| {
            let mut shown = Map::new();
            if let Some(text) = value.string_value {
                shown.insert("stringValue".to_owned(), Value::String(text));
            }
            if let Some(bytes) = value.binary_value {
                let text = BASE64_STANDARD.encode(bytes);
                shown.insert("binaryValue".to_owned(), Value::String(text));
            }
            // SQS never fills the lists, and Lambda sends them all the same.
            shown.insert("stringListValues".to_owned(), json!([]));
            shown.insert("binaryListValues".to_owned(), json!([]));
            shown.insert("dataType".to_owned(), Value::String(value.data_type));
            (name, Value::Object(shown))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::sqs::SqsEvent;
    use aws_sdk_sqs::{primitives::Blob, types::MessageSystemAttributeName};

    use super::*;

    fn attribute(kind: &str) -> aws_sdk_sqs::types::builders::MessageAttributeValueBuilder {
        MessageAttributeValue::builder().data_type(kind)
    }

    #[test]
    fn a_record_has_the_shape_that_lambda_sends() {
        let message = Message::builder()
            .message_id("m")
            .receipt_handle("r")
            .body("{}")
            .md5_of_body("99914b932bd37a50b983c5e7c90ae93b")
            .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "1")
            .attributes(MessageSystemAttributeName::MessageGroupId, "g")
            .message_attributes("n", attribute("Number").string_value("7").build().unwrap())
            .message_attributes(
                "b",
                attribute("Binary").binary_value(Blob::new([1, 2])).build().unwrap(),
            )
            .md5_of_message_attributes("d")
            .build();
        let expected = json!({
            "messageId": "m",
            "receiptHandle": "r",
            "body": "{}",
            "attributes": {"ApproximateReceiveCount": "1", "MessageGroupId": "g"},
            "messageAttributes": {
                "n": {
                    "stringValue": "7", "stringListValues": [], "binaryListValues": [],
                    "dataType": "Number",
                },
                "b": {
                    "binaryValue": "AQI=", "stringListValues": [], "binaryListValues": [],
                    "dataType": "Binary",
                },
            },
            "md5OfBody": "99914b932bd37a50b983c5e7c90ae93b",
            "md5OfMessageAttributes": "d",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-north-1:1:q.fifo",
            "awsRegion": "eu-north-1",
        });
        let record = record(message, "arn:aws:sqs:eu-north-1:1:q.fifo");
        assert_eq!(record, expected);

        let event: SqsEvent = serde_json::from_value(json!({ "Records": [record] })).unwrap();
        assert_eq!(event.records[0].message_id.as_deref(), Some("m"));
        assert_eq!(
            event.records[0].event_source_arn.as_deref(),
            expected["eventSourceARN"].as_str()
        );
        assert_eq!(event.records[0].attributes["MessageGroupId"], "g");
    }
}
