//! Real SDK clients against the embedded engines, for this crate's own tests.

use aws_sdk_dynamodb::config::{
    BehaviorVersion, Credentials, Region, SharedHttpClient, retry::RetryConfig,
};
use aws_smithy_http_client::Builder;

use crate::engines::{Database, Engines};

/// Engines in memory and a client for each.
pub(crate) struct Bench {
    pub(crate) engines: Engines,
    pub(crate) dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) secrets: aws_sdk_secretsmanager::Client,
}

/// Starts engines in memory.
pub(crate) async fn bench() -> Bench {
    bench_on(Database::Memory).await
}

/// Starts engines on `database`.
pub(crate) async fn bench_on(database: Database) -> Bench {
    let engines = Engines::start(database).await.unwrap();
    let http = Builder::new().build_http();
    Bench {
        dynamodb: dynamodb(&engines, http.clone()),
        sqs: sqs(&engines, http.clone()),
        secrets: secrets(&engines, http),
        engines,
    }
}

fn credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "local")
}

fn dynamodb(engines: &Engines, http: SharedHttpClient) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials())
        .retry_config(RetryConfig::disabled())
        .http_client(http)
        .endpoint_url(engines.dynamodb_url())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

fn sqs(engines: &Engines, http: SharedHttpClient) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials())
        .retry_config(RetryConfig::disabled())
        .http_client(http)
        .endpoint_url(engines.sqs_url())
        .build();
    aws_sdk_sqs::Client::from_conf(config)
}

fn secrets(engines: &Engines, http: SharedHttpClient) -> aws_sdk_secretsmanager::Client {
    let config = aws_sdk_secretsmanager::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials())
        .retry_config(RetryConfig::disabled())
        .http_client(http)
        .endpoint_url(engines.secrets_url())
        .build();
    aws_sdk_secretsmanager::Client::from_conf(config)
}

/// An HTTP client; it speaks to loopback only, but cannot be built without a TLS provider.
pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
