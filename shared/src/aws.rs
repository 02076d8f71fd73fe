//! The AWS clients, with the time each call may take.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// How long one call to AWS may take.
#[derive(Clone, Copy, Debug)]
pub struct CallBudget {
    /// One attempt. The SDK makes up to three.
    pub attempt: Duration,
    /// All attempts and the pauses between them.
    pub operation: Duration,
}

impl CallBudget {
    /// For the ingress, whose whole answer is due after [`crate::limits::INGRESS_BUDGET`].
    pub const INGRESS: Self =
        Self { attempt: Duration::from_millis(1800), operation: Duration::from_millis(3600) };
    /// For the processor and the sweeper; below [`crate::limits::COMMIT_BUDGET`].
    pub const BACKGROUND: Self =
        Self { attempt: Duration::from_millis(3000), operation: Duration::from_millis(4500) };
}

/// The three services, on one connection pool.
#[derive(Clone, Debug)]
pub struct Clients {
    /// The inbox and the business table.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// The two queues.
    pub sqs: aws_sdk_sqs::Client,
    /// Signing secrets and API credentials.
    pub secrets: aws_sdk_secretsmanager::Client,
}

impl Clients {
    /// Reads the SDK's own environment (`AWS_REGION`, credentials, `AWS_ENDPOINT_URL*`).
    pub async fn from_env(budget: CallBudget) -> Self {
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(https());
        // As in Lambda. The default chain would make a client of STS before it looks there: a
        // thirtieth of a cold start (docs/performance.md).
        if std::env::var_os("AWS_ACCESS_KEY_ID").is_some() {
            loader = loader.credentials_provider(EnvironmentVariableCredentialsProvider::new());
        }
        Self::new(&loader.load().await, budget)
    }

    /// Clients of a configuration made elsewhere, with our budgets on top.
    pub fn new(config: &SdkConfig, budget: CallBudget) -> Self {
        let config = config
            .to_builder()
            .timeout_config(
                TimeoutConfig::builder()
                    .connect_timeout(Duration::from_secs(1).min(budget.attempt))
                    .operation_attempt_timeout(budget.attempt)
                    .operation_timeout(budget.operation)
                    .build(),
            )
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(3)
                    .with_initial_backoff(Duration::from_millis(50))
                    .with_max_backoff(Duration::from_millis(500)),
            )
            .build();
        Self {
            dynamodb: aws_sdk_dynamodb::Client::new(&config),
            sqs: aws_sdk_sqs::Client::new(&config),
            secrets: aws_sdk_secretsmanager::Client::new(&config),
        }
    }
}

/// The HTTP client of the functions: rustls on ring, which seeds itself from the operating system.
/// (aws-lc spends some 50 ms of CPU on jitter entropy in a process's first handshake.)
pub fn https() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}
