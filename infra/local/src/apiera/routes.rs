//! The two calls of Apiera's API: a token, and a product.

use std::{sync::Arc, time::Duration};

use axum::body::{Body, to_bytes};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Shared, State};

/// The largest token request that is read, in bytes.
const TOKEN_REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Answers one request.
pub(super) async fn respond(request: Request<Incoming>, shared: Arc<Shared>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let delay = shared.state().delay;
    tokio::time::sleep(delay).await;
    match (&parts.method, parts.uri.path()) {
        (&Method::POST, "/oauth/token") => {
            let body = to_bytes(Body::new(body), TOKEN_REQUEST_BYTES_MAX).await;
            token(&shared, &body.unwrap_or_default())
        }
        (&Method::GET, path) => match path.strip_prefix("/v1/products/") {
            Some(uuid) => {
                let header = parts.headers.get(AUTHORIZATION);
                let bearer = header
                    .and_then(|header| header.to_str().ok())
                    .and_then(|header| header.strip_prefix("Bearer "));
                product(&shared, uuid, bearer)
            }
            None => problem(StatusCode::NOT_FOUND, "Not Found", "no such resource"),
        },
        _ => problem(StatusCode::NOT_FOUND, "Not Found", "no such resource"),
    }
}

fn token(shared: &Shared, body: &[u8]) -> Response<Body> {
    let mut state = shared.state();
    state.token_requests += 1;
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return problem(StatusCode::BAD_REQUEST, "Bad Request", "the body is not JSON");
    };
    let options = &shared.options;
    let known = [
        ("client_id", &options.client_id),
        ("client_secret", &options.client_secret),
        ("audience", &options.audience),
        ("organization", &options.organization),
    ];
    if known.iter().any(|(name, value)| request[name].as_str() != Some(value)) {
        return problem(StatusCode::UNAUTHORIZED, "Unauthorized", "the credentials are not known");
    }
    let token = format!("fake-{:032x}", fastrand::u128(..));
    let lifetime = Duration::from_secs(options.token_lifetime_s);
    state.tokens.insert(token.clone(), Instant::now() + lifetime);
    let answer = json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": options.token_lifetime_s,
    });
    respond_with(StatusCode::OK, "application/json", &answer)
}

fn product(shared: &Shared, uuid: &str, bearer: Option<&str>) -> Response<Body> {
    let now = Instant::now();
    let mut state = shared.state();
    state.product_requests += 1;
    if state.failures_left > 0 {
        state.failures_left -= 1;
        let reason = state.failure.canonical_reason().unwrap_or("Failure");
        return problem(state.failure, reason, "a failure that was asked for");
    }
    let valid = bearer.and_then(|token| state.tokens.get(token)).is_some_and(|end| now < *end);
    if !valid {
        let detail = "the token is missing, unknown or expired";
        let mut response = problem(StatusCode::UNAUTHORIZED, "Unauthorized", detail);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    let mut response = match state.bucket.take(now) {
        Ok(()) => found(&state, uuid),
        Err(wait) => {
            state.rate_limited += 1;
            let detail = "the organisation's requests of this minute are used up";
            let mut response = problem(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests", detail);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds_up(wait)));
            response
        }
    };
    for (name, value) in [
        ("ratelimit-limit", u64::from(shared.options.requests_per_minute)),
        ("ratelimit-remaining", state.bucket.remaining()),
        ("ratelimit-reset", seconds_up(state.bucket.until_full())),
    ] {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from(value));
    }
    response
}

fn found(state: &State, uuid: &str) -> Response<Body> {
    match state.products.get(uuid) {
        Some(Some(product)) => respond_with(StatusCode::OK, "application/json", product),
        None if is_uuid(uuid) => {
            respond_with(StatusCode::OK, "application/json", &default_product(uuid))
        }
        Some(None) | None => problem(StatusCode::NOT_FOUND, "Not Found", "no such product"),
    }
}

/// The product that is there when a test has not said otherwise: the same for the same id.
fn default_product(uuid: &str) -> Value {
    let short = uuid.get(..8).unwrap_or(uuid);
    json!({
        "uuid": uuid,
        "sku": format!("SKU-{short}"),
        "name": format!("Product {short}"),
        "status": "active",
        "updatedAt": "2026-01-01T00:00:00Z",
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// An error as RFC 7807 has it.
fn problem(status: StatusCode, title: &str, detail: &str) -> Response<Body> {
    let body = json!({
        "type": "about:blank",
        "title": title,
        "status": status.as_u16(),
        "detail": detail,
        "correlationId": format!("{:032x}", fastrand::u128(..)),
    });
    respond_with(status, "application/problem+json", &body)
}

fn respond_with(status: StatusCode, kind: &'static str, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whole seconds, rounded up: a client that waits them out finds the bucket refilled.
fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
