//! Events that are no requests: one clean error each, and the next request is served.

use serde_json::{Value, json};

use super::desk::Desk;
use super::judge::{Case, Error, Taken, case, judge};
use super::producers::{Kudos, Post};
use super::shapes::Shape;

/// What an operator, a schedule or a wrong trigger hands to the function.
fn other_events() -> Vec<Case<Value>> {
    let queue = "arn:aws:sqs:eu-north-1:210987654321:q";
    vec![
        case("empty object", Error, json!({})),
        case("empty list", Error, json!([])),
        case("list of objects", Error, json!([{}, {}])),
        case("null", Error, Value::Null),
        case("text", Error, json!("warm-up")),
        case("number", Error, json!(5)),
        case("true", Error, json!(true)),
        case("console's first test event", Error, json!({"key1": "value1", "key2": "value2"})),
        case("command", Error, json!({"command": "hi"})),
        case("warm-up ping", Error, json!({"source": "serverless-plugin-warmup"})),
        case("warm-up ping by number", Error, json!({"warmer": true, "concurrency": 3})),
        case(
            "scheduled event",
            Error,
            json!({"version": "0", "id": "53dc4d37", "detail-type": "Scheduled Event",
                "source": "aws.events", "account": "210987654321", "time": "2027-01-15T08:00:00Z",
                "region": "eu-north-1", "resources": ["arn:aws:events:eu-north-1:2:rule/r"],
                "detail": {}}),
        ),
        case(
            "SQS event",
            Error,
            json!({"Records": [{"messageId": "m", "receiptHandle": "r", "body": "{}",
                "attributes": {}, "messageAttributes": {}, "eventSource": "aws:sqs",
                "eventSourceARN": queue, "awsRegion": "eu-north-1"}]}),
        ),
        case(
            "SNS event",
            Error,
            json!({"Records": [{"EventSource": "aws:sns", "EventVersion": "1.0",
                "Sns": {"Message": "{}", "Type": "Notification"}}]}),
        ),
        case(
            "S3 event",
            Error,
            json!({"Records": [{"eventSource": "aws:s3", "s3": {"object": {"key": "k"}}}]}),
        ),
        case(
            "DynamoDB stream",
            Error,
            json!({"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {}}]}),
        ),
        case(
            "web socket message",
            Error,
            json!({"requestContext": {"routeKey": "$default", "eventType": "MESSAGE",
                "connectionId": "c", "stage": "prod"}, "body": "{}", "isBase64Encoded": false}),
        ),
        case(
            "authorizer's token",
            Error,
            json!({"type": "TOKEN", "authorizationToken": "t", "methodArn": "arn:aws:execute-api"}),
        ),
    ]
}

/// What is nearly a request.
fn broken_requests() -> Vec<Case<Value>> {
    vec![
        case("method without a path", Error, json!({"httpMethod": "POST", "headers": {}})),
        case("path without a method", Error, json!({"rawPath": "/webhooks/kudos", "headers": {}})),
        case("path a number", Error, json!({"path": 5, "httpMethod": "POST"})),
        case(
            "method with a space",
            Error,
            json!({"path": "/webhooks/kudos", "httpMethod": "PO ST"}),
        ),
        case("method empty", Error, json!({"path": "/webhooks/kudos", "httpMethod": ""})),
        case(
            "headers a list",
            Error,
            json!({"path": "/webhooks/kudos", "httpMethod": "POST", "headers": [["a", "b"]]}),
        ),
        case(
            "body an object",
            Error,
            json!({"path": "/webhooks/kudos", "httpMethod": "POST", "body": {"a": 1}}),
        ),
        case(
            "flag a text",
            Error,
            json!({"path": "/webhooks/kudos", "httpMethod": "POST", "isBase64Encoded": "true"}),
        ),
        case("deep nesting", Error, deep()),
    ]
}

/// Deeper than the reading of an event goes.
fn deep() -> Value {
    (0..100).fold(Value::Null, |inner, _| json!([inner]))
}

// https://github.com/aws/aws-lambda-rust-runtime/issues/655
// https://github.com/aws/aws-lambda-rust-runtime/issues/250
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_one_clean_error_and_the_next_event_is_served() {
    let desk = Desk::new().await;
    let events = other_events().into_iter().chain(broken_requests());
    for (n, Case { kind, answer, input: event }) in events.enumerate() {
        let post = Post::new(Kudos, &format!("evt_{n}"));
        judge(&desk, kind, answer, &post, event).await;
        let shape = Shape::ALL[n % Shape::ALL.len()];
        judge(&desk, &format!("after {kind}"), Taken, &post, post.request().event(shape)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorizer_request_is_at_most_an_unsigned_request() {
    let desk = Desk::new().await;
    // The one other event that has a method and a path, though never a body.
    let mut event = Post::new(Kudos, "evt_1").request().event(Shape::RestApi);
    event["type"] = "REQUEST".into();
    event["methodArn"] = "arn:aws:execute-api:eu-north-1:210987654321:k3/prod/POST/".into();
    event.as_object_mut().unwrap().remove("body");
    assert_eq!(desk.ask(event).await.status, 401);
    assert_eq!(desk.row_count().await, 0);
}
