//! The stand-in, asked as the product handler asks it.

use reqwest::Response;
use serde_json::json;

use super::*;
use crate::testing::http;

const UUID: &str = "123e4567-e89b-12d3-a456-426614174001";

fn credentials() -> Value {
    let Options { client_id, client_secret, audience, organization, .. } = Options::default();
    json!({
        "client_id": client_id,
        "client_secret": client_secret,
        "audience": audience,
        "organization": organization,
    })
}

fn start(requests_per_minute: u32) -> FakeApiera {
    FakeApiera::start(Options { requests_per_minute, ..Options::default() }).unwrap()
}

async fn ask_token(apiera: &FakeApiera, credentials: &Value) -> Response {
    let url = format!("{}/oauth/token", apiera.url());
    http().post(url).json(credentials).send().await.unwrap()
}

async fn token(apiera: &FakeApiera) -> String {
    let answer = ask_token(apiera, &credentials()).await;
    assert_eq!(answer.status(), 200);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(86_400)));
    answer["access_token"].as_str().unwrap().to_owned()
}

async fn product(apiera: &FakeApiera, uuid: &str, token: &str) -> Response {
    let url = format!("{}/v1/products/{uuid}", apiera.url());
    http().get(url).bearer_auth(token).send().await.unwrap()
}

async fn assert_problem(answer: Response, status: u16) {
    assert_eq!(answer.status().as_u16(), status);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["status"], status);
    for field in ["type", "title", "detail", "correlationId"] {
        assert!(problem[field].is_string(), "{field} in {problem}");
    }
}

#[tokio::test]
async fn every_uuid_has_a_product_until_a_test_says_otherwise() {
    let apiera = start(100);
    let token = token(&apiera).await;
    let answer: Value = product(&apiera, UUID, &token).await.json().await.unwrap();
    let expected = json!({
        "uuid": UUID,
        "sku": "SKU-123e4567",
        "name": "Product 123e4567",
        "status": "active",
        "updatedAt": "2026-01-01T00:00:00Z",
    });
    assert_eq!(answer, expected);

    apiera.set_product(UUID, json!({"uuid": UUID, "status": "draft"}));
    let answer: Value = product(&apiera, UUID, &token).await.json().await.unwrap();
    assert_eq!(answer["status"], "draft");

    apiera.delete_product(UUID);
    assert_problem(product(&apiera, UUID, &token).await, 404).await;
    assert_problem(product(&apiera, "no-uuid", &token).await, 404).await;
    assert_eq!((apiera.token_requests(), apiera.product_requests()), (1, 4));
}

#[tokio::test]
async fn only_the_right_credentials_have_a_token() {
    let apiera = start(100);
    for field in ["client_id", "client_secret", "audience", "organization"] {
        let mut wrong = credentials();
        wrong[field] = json!("wrong");
        assert_problem(ask_token(&apiera, &wrong).await, 401).await;
        wrong.as_object_mut().unwrap().remove(field);
        assert_problem(ask_token(&apiera, &wrong).await, 401).await;
    }
    let url = format!("{}/oauth/token", apiera.url());
    assert_problem(http().post(url).body("grant_type=x").send().await.unwrap(), 400).await;
    assert_eq!(apiera.token_requests(), 9);
}

#[tokio::test]
async fn a_product_needs_a_token_that_is_valid() {
    let apiera = start(100);
    let url = format!("{}/v1/products/{UUID}", apiera.url());
    assert_problem(http().get(url).send().await.unwrap(), 401).await;
    assert_problem(product(&apiera, UUID, "made-up").await, 401).await;

    let token = token(&apiera).await;
    assert_eq!(product(&apiera, UUID, &token).await.status(), 200);
    apiera.revoke_tokens();
    assert_problem(product(&apiera, UUID, &token).await, 401).await;

    let options = Options { token_lifetime_s: 0, ..Options::default() };
    let apiera = FakeApiera::start(options).unwrap();
    let answer: Value = ask_token(&apiera, &credentials()).await.json().await.unwrap();
    let token = answer["access_token"].as_str().unwrap();
    assert_problem(product(&apiera, UUID, token).await, 401).await;
}

#[tokio::test]
async fn requests_over_the_limit_are_told_when_to_come_back() {
    let apiera = start(2);
    let token = token(&apiera).await;
    for remaining in ["1", "0"] {
        let answer = product(&apiera, UUID, &token).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["ratelimit-limit"], "2");
        assert_eq!(answer.headers()["ratelimit-remaining"], remaining);
    }
    let answer = product(&apiera, UUID, &token).await;
    assert_eq!(answer.headers()["ratelimit-remaining"], "0");
    // Half a minute for one request, less what the test itself has taken.
    for (header, seconds) in [("retry-after", 30), ("ratelimit-reset", 60)] {
        let told: u64 = answer.headers()[header].to_str().unwrap().parse().unwrap();
        assert!((seconds - 10..=seconds).contains(&told), "{header}: {told}");
    }
    assert_problem(answer, 429).await;
    assert_eq!((apiera.product_requests(), apiera.rate_limited()), (3, 1));
}

#[tokio::test]
async fn failures_and_slowness_can_be_asked_for() {
    let apiera = start(100);
    let token = token(&apiera).await;
    apiera.fail_next(2, StatusCode::BAD_GATEWAY);
    assert_problem(product(&apiera, UUID, &token).await, 502).await;
    assert_problem(product(&apiera, UUID, &token).await, 502).await;
    assert_eq!(product(&apiera, UUID, &token).await.status(), 200);

    apiera.delay(Duration::from_millis(150));
    let before = Instant::now();
    assert_eq!(product(&apiera, UUID, &token).await.status(), 200);
    assert!(before.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let apiera = start(100);
    for (method, path) in [("GET", "/"), ("GET", "/oauth/token"), ("POST", "/v1/products/x")] {
        let method = method.parse().unwrap();
        let request = http().request(method, format!("{}{path}", apiera.url()));
        assert_problem(request.send().await.unwrap(), 404).await;
    }
}
