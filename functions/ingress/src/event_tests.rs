//! Each shape with all it may lack, and what is no HTTP event at all.

use lambda_http::http::StatusCode;
use serde_json::{Value, json};

use super::*;

fn read(event: &Value) -> HttpEvent {
    // From text, as the runtime does: borrowed fields want it.
    serde_json::from_str(&event.to_string()).unwrap()
}

fn summary(event: &Value) -> (String, String, Vec<u8>) {
    let HttpEvent { request, .. } = read(event);
    let target = request.extensions().get::<Target>().unwrap();
    let header = request.headers().get("x-sig").and_then(|value| value.to_str().ok());
    let header = header.unwrap_or_default().to_owned();
    (target.path.clone(), header, request.body().to_vec())
}

#[test]
fn every_shape_is_the_same_request() {
    let http = json!({"http": {"method": "POST", "path": "/p"}, "stage": "s"});
    let shapes = [
        json!({"version": "2.0", "rawPath": "/p", "headers": {"x-sig": "v"}, "body": "b",
            "requestContext": http, "isBase64Encoded": false}),
        json!({"version": "2.0", "rawPath": "/p", "headers": {"X-SIG": "v"}, "body": "Yg==",
            "requestContext": http, "isBase64Encoded": true}),
        json!({"version": "1.0", "path": "/p", "httpMethod": "POST", "headers": {"X-Sig": "v"},
            "multiValueHeaders": {"X-Sig": ["v"]}, "body": "b", "requestContext": {"stage": "s"}}),
        json!({"path": "/p", "httpMethod": "POST", "headers": {"X-Sig": "v"},
            "multiValueHeaders": null, "body": "b", "requestContext": {"stage": "s"}}),
        json!({"path": "/p", "httpMethod": "POST", "headers": null, "body": "b",
            "multiValueHeaders": {"x-sig": ["v"]}, "requestContext": {"stage": "s", "elb": {}}}),
    ];
    for event in shapes {
        let expected = ("/p".into(), "v".into(), b"b".to_vec());
        assert_eq!(summary(&event), expected, "{event}");
    }
}

#[test]
fn cargo_lambda_watch_says_get_where_payload_2_says_nothing() {
    let event = json!({
        "type": null, "methodArn": null, "httpMethod": "GET", "resource": null, "version": "2.0",
        "routeKey": "$default", "rawPath": "/webhooks/kudos", "headers": {"x-sig": "v"}, "body": "b",
        "requestContext": {"stage": "$default", "http": {"method": "POST", "path": "/webhooks/kudos"}},
        "isBase64Encoded": false,
    });
    assert_eq!(read(&event).request.method(), Method::POST);
}

#[test]
fn what_is_not_needed_cannot_cost_the_event() {
    let event = json!({
        "rawPath": "/p", "body": null, "cookies": 5, "requestContext": {"http": {"method": "POST"}},
        "headers": {"x-sig": "v", "user-agent": "a\u{1}b", "bad name": "x", "n": 5, "o": {}, "z": null,
            "agent": "Benoît"},
    });
    let HttpEvent { request, shape } = read(&event);
    assert_eq!(shape, Shape::Gateway2);
    let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
    assert_eq!(request.headers().len(), 2, "{names:?}");
    assert_eq!(request.headers()["x-sig"], "v");
    assert_eq!(summary(&json!({"path": "/p", "httpMethod": "GET"})).2, b"");
    let both = json!({"path": "/p", "httpMethod": "POST", "headers": {"x-sig": "last", "a": "b"},
        "multiValueHeaders": {"X-Sig": ["one", "two"]}});
    let HttpEvent { request, .. } = read(&both);
    let values: Vec<_> = request.headers().get_all("x-sig").iter().collect();
    assert_eq!(values, ["one", "two"]);
    assert_eq!(request.headers()["a"], "b");
}

#[test]
fn a_body_that_is_no_base64_is_said_to_be_unknown() {
    let event = json!({"path": "/p", "httpMethod": "POST", "body": "not base64!",
        "isBase64Encoded": true});
    let HttpEvent { request, .. } = read(&event);
    assert!(request.extensions().get::<Target>().unwrap().undecodable);
}

#[test]
fn what_is_no_http_event_is_one_clean_error() {
    for event in [
        "{}",
        "[]",
        "null",
        "5",
        "\"x\"",
        "",
        r#"{"command":"hi"}"#,
        r#"{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}"#,
        r#"{"version":"0","source":"aws.events","detail-type":"Scheduled Event","detail":{}}"#,
        r#"{"path":"/p"}"#,
        r#"{"httpMethod":"POST"}"#,
        r#"{"path":5,"httpMethod":"POST"}"#,
        r#"{"path":"/p","httpMethod":"NOT A METHOD"}"#,
    ] {
        assert!(serde_json::from_str::<HttpEvent>(event).is_err(), "{event}");
    }
}

#[test]
fn the_answer_is_spelled_as_the_door_wants_it() {
    let answer = |shape| {
        let mut response = Response::new(Body::from("{}"));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert("retry-after", 30.into());
        serde_json::to_value(HttpAnswer::of(response, shape)).unwrap()
    };
    assert_eq!(
        answer(Shape::Gateway),
        json!({"statusCode": 503, "headers": {"retry-after": "30"}, "body": "{}",
            "isBase64Encoded": false})
    );
    let function_url = answer(Shape::Gateway2);
    assert_eq!(function_url["cookies"], json!([]));
    let balancer = answer(Shape::Balancer);
    assert_eq!(balancer["statusDescription"], "503 Service Unavailable");
    let multi = answer(Shape::BalancerMulti);
    assert_eq!(multi["multiValueHeaders"], json!({"retry-after": ["30"]}));
    assert_eq!(multi.get("headers"), None);
}
