//! Requests that are no deliveries.

use serde_json::Value;

use crate::runs::bench::{Bench, request};
use crate::runs::script::Script;

async fn ask(bench: &Bench, method: &str, path: &str) -> Value {
    let delivery = bench.job("kudos#1");
    let event = request(method, path, &delivery.headers, &delivery.body);
    bench.world.functions.ingress(event).await.unwrap()
}

#[tokio::test]
async fn only_post_to_a_known_source_is_a_delivery() {
    let bench = Bench::scripted(&Script::default()).await;
    for (method, path, status) in [
        ("GET", "/webhooks/kudos", 405),
        ("PUT", "/webhooks/kudos", 405),
        ("HEAD", "/webhooks/kudos/", 405),
        ("POST", "/webhooks/nobody", 404),
        ("GET", "/webhooks/nobody", 404),
        ("POST", "/webhooks/Kudos", 404),
        ("POST", "/webhooks/kudos/more", 404),
        ("POST", "/webhooks/kudos//", 404),
        ("POST", "/webhooks//kudos", 404),
        ("POST", "/webhooks/", 404),
        ("POST", "/", 404),
    ] {
        let answer = ask(&bench, method, path).await;
        assert_eq!(answer["statusCode"], status, "{method} {path}");
        let allow = answer["headers"].get("allow").and_then(Value::as_str);
        assert_eq!(allow, (status == 405).then_some("POST"), "{method} {path}");
        assert!(answer["headers"].get("retry-after").is_none(), "{method} {path}");
    }
    assert_eq!(bench.faulty.all_calls(), 0);
    assert_eq!(bench.world.rows().await.len(), 0);
    assert_eq!(bench.world.metric_lines().iter().filter(|l| l["source"] == "nobody").count(), 0);
}

#[tokio::test]
async fn a_trailing_slash_does_no_harm() {
    let bench = Bench::scripted(&Script::default()).await;
    assert_eq!(ask(&bench, "POST", "/webhooks/kudos/").await["statusCode"], 200);
    bench.row("kudos#1").await;
}

#[tokio::test]
async fn answers_are_json_and_say_nothing_about_us() {
    let bench = Bench::scripted(&Script::default()).await;
    for (method, path) in
        [("POST", "/webhooks/kudos"), ("GET", "/webhooks/kudos"), ("POST", "/webhooks/nobody")]
    {
        let answer = ask(&bench, method, path).await;
        assert_eq!(answer["headers"]["content-type"], "application/json");
        let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        assert!(body.get("received").or(body.get("error")).is_some(), "{body}");
    }
}
