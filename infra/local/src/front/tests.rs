//! The front door over a real socket, with functions that record and answer.

use std::{net::Ipv4Addr, time::Duration};

use reqwest::{Client, RequestBuilder};
use serde_json::json;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
};

use super::*;
use crate::testing::http;

/// A front door whose function hands its events to the test and answers with `response`.
struct Door {
    url: String,
    events: UnboundedReceiver<Value>,
    task: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn open(response: Result<Value, String>) -> Door {
    let front = Front::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", front.local_addr());
    let (sender, events) = unbounded_channel();
    let task = tokio::spawn(front.serve(move |event| {
        let (response, sender) = (response.clone(), sender.clone());
        async move {
            sender.send(event).unwrap();
            response
        }
    }));
    Door { url, events, task }
}

/// The event that the request becomes.
async fn event(request: impl FnOnce(&Client, &str) -> RequestBuilder) -> Value {
    let mut door = open(Ok(json!({"statusCode": 204})));
    let answer = request(&http(), &door.url).send().await.unwrap();
    assert_eq!(answer.status(), 204);
    door.events.recv().await.unwrap()
}

/// Status, headers and body of the answer that the response becomes.
async fn answered(response: Result<Value, String>) -> (u16, HeaderMap, String) {
    let door = open(response);
    let answer = http().post(&door.url).send().await.unwrap();
    (answer.status().as_u16(), answer.headers().clone(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_request_becomes_an_event_of_payload_format_2() {
    let mut event = event(|http, url| {
        http.post(format!("{url}/webhooks/kudos?a=1&b=%20"))
            .header("content-type", "application/json; charset=utf-8")
            .header("X-Twice", "one")
            .header("x-twice", "two,three")
            .header("cookie", "a=1; b=2")
            .header("cookie", "c=3")
            .header("user-agent", "tests")
            .body("{\"ü\":1}")
    })
    .await;
    let context = event["requestContext"].take();
    let headers = event["headers"].take();
    assert_eq!(
        event,
        json!({
            "version": "2.0",
            "routeKey": "POST /webhooks/{source}",
            "rawPath": "/webhooks/kudos",
            "rawQueryString": "a=1&b=%20",
            "pathParameters": {"source": "kudos"},
            "cookies": ["a=1", "b=2", "c=3"],
            "headers": null,
            "requestContext": null,
            "body": "{\"ü\":1}",
            "isBase64Encoded": false,
        })
    );
    assert_eq!(headers["x-twice"], "one,two,three");
    assert_eq!(headers["content-length"], "8");
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert!(headers.get("cookie").is_none());

    assert_eq!(context["domainName"], "127.0.0.1");
    assert_eq!(context["stage"], "$default");
    assert_eq!(context["routeKey"], "POST /webhooks/{source}");
    let http = json!({
        "method": "POST",
        "path": "/webhooks/kudos",
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "tests",
    });
    assert_eq!(context["http"], http);
    assert!(context["timeEpoch"].as_i64().unwrap() > 1_700_000_000_000);
    assert!(context["time"].as_str().unwrap().ends_with(" +0000"));
}

#[tokio::test]
async fn the_lambda_library_understands_the_event() {
    let event = event(|http, url| {
        http.post(format!("{url}/webhooks/apiera?a=1"))
            .header("webhook-id", "1")
            .header("cookie", "a=1; b=2")
            .body(b"\xff".to_vec())
    })
    .await;
    let request = lambda_http::request::from_str(&event.to_string()).unwrap();
    assert_eq!(request.method(), "POST");
    assert_eq!((request.uri().path(), request.uri().query()), ("/webhooks/apiera", Some("a=1")));
    assert_eq!(request.headers()["webhook-id"], "1");
    assert_eq!(request.headers()["cookie"], "a=1; b=2");
    assert_eq!(request.body().as_ref(), b"\xff");
}

#[tokio::test]
async fn every_method_and_path_reaches_the_function() {
    let event = event(|http, url| http.get(format!("{url}/elsewhere/and/further"))).await;
    assert_eq!(event["rawPath"], "/elsewhere/and/further");
    assert_eq!(event["requestContext"]["http"]["method"], "GET");
    assert_eq!((event.get("body"), event.get("pathParameters")), (None, None));
}

#[tokio::test]
async fn request_ids_differ() {
    let mut door = open(Ok(Value::Null));
    let mut ids = std::collections::HashSet::new();
    for _ in 0..3 {
        http().post(&door.url).send().await.unwrap();
        let event = door.events.recv().await.unwrap();
        ids.insert(event["requestContext"]["requestId"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn what_is_not_text_is_base64() {
    for (content_type, body, shown, encoded) in [
        (Some("application/json"), &b"{}"[..], "{}", false),
        (Some("application/json"), b"\"\xff\"", "Iv8i", true),
        (Some("application/octet-stream"), b"{}", "e30=", true),
        (Some("application/x-www-form-urlencoded"), b"a=1", "YT0x", true),
        (None, b"{}", "e30=", true),
    ] {
        let event = event(|http, url| {
            let request = http.post(url).body(body.to_vec());
            match content_type {
                Some(value) => request.header("content-type", value),
                None => request,
            }
        })
        .await;
        let found = (event["body"].as_str(), event["isBase64Encoded"].as_bool());
        assert_eq!(found, (Some(shown), Some(encoded)), "{content_type:?} {body:?}");
    }
}

#[tokio::test]
async fn the_limits_of_api_gateway_and_lambda_hold() {
    let largest_text = EVENT_BYTES_MAX - 2_000;
    for (content_type, bytes, status) in [
        ("text/plain", largest_text, 204),
        ("text/plain", EVENT_BYTES_MAX, 413),
        ("application/octet-stream", largest_text / 4 * 3, 204),
        // Base64 makes four bytes of three.
        ("application/octet-stream", largest_text, 413),
        ("text/plain", BODY_BYTES_MAX + 1, 413),
        ("text/plain", BODY_BYTES_MAX * 3, 413),
    ] {
        let door = open(Ok(json!({"statusCode": 204})));
        let request = http().post(&door.url).header("content-type", content_type);
        let answer = request.body(vec![b'x'; bytes]).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{content_type} {bytes}");
        if status == 413 {
            assert_eq!(answer.text().await.unwrap(), r#"{"message":"Request Entity Too Large"}"#);
        }
    }
}

#[tokio::test]
async fn a_response_becomes_http() {
    let (status, headers, body) = answered(Ok(json!({
        "statusCode": 429,
        "headers": {"Retry-After": "2", "X-A": "1", "content-length": "999"},
        "multiValueHeaders": {"x-a": ["1", "2"]},
        "cookies": ["a=1", "b=2"],
        "body": "aGk=",
        "isBase64Encoded": true,
    })))
    .await;
    assert_eq!((status, body.as_str()), (429, "hi"));
    let all = |name: &str| -> Vec<&str> {
        headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
    };
    assert_eq!(all("retry-after"), ["2"]);
    assert_eq!(all("x-a"), ["1", "2"]);
    assert_eq!(all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(all("content-length"), ["2"]);
    assert_eq!(all("content-type"), ["text/plain;charset=UTF-8"]);
}

#[tokio::test]
async fn a_response_without_a_status_is_the_body_of_a_200() {
    for (response, expected) in
        [(json!({"ok": true}), r#"{"ok":true}"#), (json!("text"), "text"), (json!(null), "null")]
    {
        let (status, headers, body) = answered(Ok(response)).await;
        assert_eq!((status, body.as_str()), (200, expected));
        assert_eq!(headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn a_function_error_and_a_malformed_response_are_500() {
    for response in [
        Err("it crashed".to_owned()),
        Ok(json!({"statusCode": "no"})),
        Ok(json!({"statusCode": 20})),
        Ok(json!({"statusCode": 200, "headers": {"bad name": "x"}})),
        Ok(json!({"statusCode": 200, "headers": {"a": "b\nc"}})),
        Ok(json!({"statusCode": 200, "headers": []})),
        Ok(json!({"statusCode": 200, "body": {}})),
        Ok(json!({"statusCode": 200, "body": "%", "isBase64Encoded": true})),
    ] {
        let (status, _, body) = answered(response.clone()).await;
        let expected = (500, r#"{"message":"Internal Server Error"}"#);
        assert_eq!((status, body.as_str()), expected, "{response:?}");
    }
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_door_stays_open() {
    let front = Front::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", front.local_addr());
    let task = tokio::spawn(front.serve(|event| async move {
        assert_eq!(event["rawPath"], "/good", "the function panics");
        Ok(json!({"statusCode": 200}))
    }));
    for (path, status) in [("bad", 500), ("good", 200)] {
        let answer = http().post(format!("{url}/{path}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
    }
    task.abort();
}

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_the_function() {
    let front = Front::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", front.local_addr());
    let (sender, mut finished) = unbounded_channel();
    let task = tokio::spawn(front.serve(move |_| {
        let sender = sender.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            sender.send(()).unwrap();
            Ok(Value::Null)
        }
    }));
    let impatient = http().post(&url).timeout(Duration::from_millis(50));
    assert!(impatient.send().await.unwrap_err().is_timeout());
    assert_eq!(finished.recv().await, Some(()));
    task.abort();
}
