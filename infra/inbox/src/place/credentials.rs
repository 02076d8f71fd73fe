//! Which AWS credentials are meant, and whether there are any.

use aws_config::SdkConfig;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_sdk_dynamodb::config::{ProvideCredentials as _, SharedCredentialsProvider};

use crate::exit::Failure;

/// The same configuration with the credentials of this profile and no others.
pub(super) fn of_profile(sdk: SdkConfig, profile: &str) -> SdkConfig {
    // A profile may sign in over the network, which takes the Region and our HTTP client.
    let how = ProviderConfig::without_region()
        .with_region(sdk.region().cloned())
        .with_http_client(shared::aws::https());
    let provider = ProfileFileCredentialsProvider::builder().configure(&how).profile_name(profile);
    let provider = SharedCredentialsProvider::new(provider.build());
    sdk.into_builder().credentials_provider(provider).build()
}

/// Asked when a call got no answer: looks for credentials as the SDK does; what to say if there are
/// none.
pub(super) async fn missing(sdk: &SdkConfig) -> Option<Failure> {
    let provider = sdk.credentials_provider()?;
    // Its first line alone: what is below it names every place that was looked at.
    let error = provider.provide_credentials().await.err()?;
    Some(Failure::unreachable(
        format!("there are no AWS credentials: {error}"),
        "inbox --profile NAME …, aws sso login or aws configure; for a profile with aws login or MFA: \
         eval \"$(aws configure export-credentials --profile NAME --format env)\" and no --profile",
    ))
}
