//! Whether there are AWS credentials at all, asked when a call got no answer.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::ProvideCredentials as _;

use crate::exit::Failure;

/// Looks for them as the SDK does; what to say if there are none.
pub(super) async fn missing(sdk: &SdkConfig) -> Option<Failure> {
    let provider = sdk.credentials_provider()?;
    // Its first line alone: what is below it names every place that was looked at.
    let error = provider.provide_credentials().await.err()?;
    Some(Failure::unreachable(
        format!("there are no AWS credentials: {error}"),
        "inbox --profile NAME …, aws sso login or aws configure; then aws sts get-caller-identity",
    ))
}
