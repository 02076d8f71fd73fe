//! The SQS operations that the product uses, over the adversarial queues.

use serde_json::{Value, json};

use super::engine::Answer;
use super::faults::Kind;
use super::wire::error;
use super::world::State;

/// What SQS says of a message with characters that it does not take.
const INVALID: &str = "InvalidMessageContents";

/// Answers one operation.
pub(super) fn answer(
    state: &mut State,
    operation: &str,
    request: &Value,
    now_ms: i64,
    strike: Option<Kind>,
) -> Answer {
    let fifo = request["QueueUrl"].as_str().is_some_and(|url| url.ends_with(".fifo"));
    let body = match operation {
        "SendMessage" if strike == Some(Kind::Invalid) => return error(400, INVALID),
        "SendMessage" => sent(state, fifo, request, now_ms, strike),
        "SendMessageBatch" => {
            let entries = request["Entries"].as_array().unwrap();
            let (refused, code) = match strike {
                Some(Kind::HalfBatch) => (entries.len().div_ceil(2), "InternalError"),
                Some(Kind::Invalid) => (1, INVALID),
                _ => (0, ""),
            };
            let failed: Vec<_> = entries[..refused].iter().map(|e| failed(e, code)).collect();
            let mut done = vec![];
            for entry in &entries[refused..] {
                let mut one = sent(state, fifo, entry, now_ms, strike);
                one["Id"] = entry["Id"].clone();
                done.push(one);
            }
            json!({"Successful": done, "Failed": failed})
        }
        "ChangeMessageVisibility" => {
            let handle = request["ReceiptHandle"].as_str().and_then(|text| text.parse().ok());
            let after_s = request["VisibilityTimeout"].as_i64().unwrap_or(0);
            state.queue(fifo).give_back(handle.unwrap_or(0), now_ms, after_s * 1000);
            json!({})
        }
        "GetQueueAttributes" => {
            let depth = state.queue(fifo).len().to_string();
            json!({"Attributes": {
                "ApproximateNumberOfMessages": depth,
                "ApproximateNumberOfMessagesNotVisible": "0",
                "ApproximateNumberOfMessagesDelayed": "0",
            }})
        }
        _ => return error(400, "UnsupportedOperation"),
    };
    Answer { status: 200, body: body.to_string() }
}

fn failed(entry: &Value, code: &str) -> Value {
    json!({
        "Id": entry["Id"], "SenderFault": code == INVALID, "Code": code, "Message": "injected",
    })
}

fn sent(state: &mut State, fifo: bool, entry: &Value, now_ms: i64, strike: Option<Kind>) -> Value {
    let body = entry["MessageBody"].as_str().unwrap();
    let late = !fifo && state.strikes(Kind::Late, "send", now_ms);
    let delay = if late { state.rng.i64(1_000..900_000) } else { 0 };
    let (group, id) = (entry["MessageGroupId"].as_str(), entry["MessageDeduplicationId"].as_str());
    let taken = state.queue(fifo).send(body, group, id, now_ms, delay);
    if taken {
        // A caller that hears nothing sends again; those sends are the fault's, not the product's.
        let unheard = matches!(strike, Some(Kind::AnswerLost | Kind::Slow));
        state.mirror.sent(body, unheard);
    }
    // The Rust SDK does not check the digest that SQS sends back.
    json!({"MessageId": "m", "MD5OfMessageBody": "0"})
}
