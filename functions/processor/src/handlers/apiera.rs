//! Apiera: thin events, so the handler fetches the product's current state.
//!
//! The API allows 100 requests a minute for an organisation. A refusal gives the event back without
//! using up an attempt. Credentials are the JSON of the secret `<prefix>/apiera/api`:
//! `{"client_id":"…","client_secret":"…","organization":"org_…"}`, where `api_url` and `auth_url` may
//! point elsewhere.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use shared::effects::{Change, Effects};
use shared::time::Timestamp;
use tokio::sync::Mutex;

use crate::handler::{Context, Event, HandlerError};

/// The body of `product.*`.
#[derive(Debug, Deserialize)]
pub struct Thin {
    #[serde(rename = "productUuid")]
    product_uuid: String,
}

/// An API that lags behind its own events may not know a new product yet: until this attempt it is
/// asked again, and from then on the product counts as deleted.
const GONE_FROM_ATTEMPT: u32 = 3;
/// How long it is given before it is asked again.
const LAG: Duration = Duration::from_secs(10);

/// What of a product we keep.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    sku: Option<String>,
    name: Option<String>,
    status: Option<String>,
    updated_at: String,
}

/// The product as Apiera has it now. Two fetches may be committed in the other order, so the newer
/// `updatedAt` wins; a product that is gone leaves a mark with the time at which we saw it.
///
/// # Errors
/// Retryable while Apiera does not answer, limits our rate or does not know the product yet;
/// permanent for a uuid that is none.
pub async fn product(
    api: Arc<Api>,
    event: Event<Thin>,
    ctx: Context,
) -> Result<Effects, HandlerError> {
    let uuid = event.data.product_uuid;
    if uuid.len() > 64 || !uuid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err(HandlerError::permanent("productUuid is no uuid"));
    }
    let item = Change::of(&format!("apiera#{uuid}"), "product");
    let told = event.event_type.as_str() == "product.deleted";
    let Some(product) = api.product(&ctx, &uuid).await? else {
        if !told && ctx.attempt < GONE_FROM_ATTEMPT {
            let why = "Apiera does not know the product".into();
            return Err(HandlerError::Retry { why, after: Some(LAG) });
        }
        let gone = item.set("deleted", true).remove("sku").remove("name").remove("status");
        return Ok(ctx.effects().update(gone.unless_stale(Some(ctx.now), 0, ctx.now)?));
    };
    let updated_at = shared::envelope::rfc3339(&product.updated_at)
        .ok_or_else(|| HandlerError::retry("the product's updatedAt is no time"))?;
    let change = item
        .set("sku", product.sku.unwrap_or_default())
        .set("name", product.name.unwrap_or_default())
        .set("status", product.status.unwrap_or_default())
        .remove("deleted")
        .unless_stale(Some(updated_at), 0, ctx.now)?;
    Ok(ctx.effects().update(change))
}

#[derive(Deserialize)]
struct Credentials {
    client_id: String,
    client_secret: String,
    organization: String,
    #[serde(default = "Credentials::api_url")]
    api_url: String,
    #[serde(default = "Credentials::auth_url")]
    auth_url: String,
}

impl Credentials {
    fn api_url() -> String {
        "https://api.apiera.io".into()
    }

    fn auth_url() -> String {
        "https://auth.apiera.io".into()
    }
}

/// Apiera's REST API, with the access token that all runs share.
#[derive(Default)]
pub struct Api {
    token: Mutex<Option<Token>>,
}

#[derive(Clone)]
struct Token {
    bearer: String,
    client_id: String,
    until: Timestamp,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

impl Api {
    /// A product, or nothing if there is none.
    async fn product(&self, ctx: &Context, uuid: &str) -> Result<Option<Product>, HandlerError> {
        let credentials: Credentials = ctx.credentials().await?;
        let bearer = self.bearer(ctx, &credentials).await?;
        let url = format!("{}/v1/products/{uuid}", credentials.api_url);
        let answer = ctx.http().get(url).bearer_auth(bearer).send().await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::UNAUTHORIZED => {
                *self.token.lock().await = None;
                Err(HandlerError::retry("Apiera refused the access token"))
            }
            _ => Ok(Some(accepted(answer)?.json().await?)),
        }
    }

    /// The access token: kept until a minute before it runs out, asked for once by all who wait.
    async fn bearer(&self, ctx: &Context, own: &Credentials) -> Result<String, HandlerError> {
        const EARLY: Duration = Duration::from_secs(60);
        let mut token = self.token.lock().await;
        if let Some(token) = token.as_ref()
            && token.client_id == own.client_id
            && ctx.now.plus(EARLY) < token.until
        {
            return Ok(token.bearer.clone());
        }
        let request = json!({
            "client_id": own.client_id,
            "client_secret": own.client_secret,
            "audience": "https://api.apiera.io",
            "organization": own.organization,
            "grant_type": "client_credentials",
        });
        let url = format!("{}/oauth/token", own.auth_url);
        let answer = ctx.http().post(url).json(&request).send().await?;
        let granted: Granted = accepted(answer)?.json().await?;
        let until = ctx.now.plus(Duration::from_secs(granted.expires_in));
        let bearer = granted.access_token;
        *token = Some(Token { bearer: bearer.clone(), client_id: own.client_id.clone(), until });
        Ok(bearer)
    }
}

/// A 2xx answer; 429 is a rate limit that says for how long.
fn accepted(answer: Response) -> Result<Response, HandlerError> {
    let status = answer.status();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let after = after.and_then(|secs| secs.trim().parse().ok()).map(Duration::from_secs);
        return Err(HandlerError::rate_limited("Apiera limits our rate", after));
    }
    if status.is_success() {
        return Ok(answer);
    }
    Err(HandlerError::retry(format!("Apiera answered {status}")))
}
