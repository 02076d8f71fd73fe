//! A deployed stack: its outputs name everything.

use std::collections::BTreeMap;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudformation::error::{DisplayErrorContext, ProvideErrorMetadata as _};

use super::{Kind, Place, Where};
use crate::exit::Failure;

/// The variables of the functions, and the outputs that say the same.
const OUTPUTS: [(&str, &str); 5] = [
    ("INBOX_TABLE", "InboxTableName"),
    ("BUSINESS_TABLE", "BusinessTableName"),
    ("QUEUE_URL", "EventQueueUrl"),
    ("FIFO_QUEUE_URL", "EventFifoQueueUrl"),
    ("SECRETS_PREFIX", "SecretsPrefix"),
];

/// The SDK's usual configuration: environment, profiles, roles.
pub(super) async fn sdk_config(wanted: &Where) -> SdkConfig {
    let mut loader =
        aws_config::defaults(BehaviorVersion::latest()).http_client(shared::aws::https());
    if let Some(profile) = &wanted.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &wanted.region {
        loader = loader.region(Region::new(region.clone()));
    }
    loader.load().await
}

/// The stack of this name.
pub(super) async fn find(wanted: &Where, name: String) -> Result<Place, Failure> {
    let sdk = sdk_config(wanted).await;
    if sdk.region().is_none() {
        return Err(Failure::usage("no AWS Region is set", "inbox --region eu-central-1 …"));
    }
    let outputs = outputs(&sdk, &name).await?;
    let variables = OUTPUTS.iter().filter_map(|(variable, output)| {
        Some(((*variable).to_owned(), outputs.get(*output)?.clone()))
    });
    let variables = variables.collect();
    Place::of(Kind::Stack(name), sdk, outputs, &variables)
}

async fn outputs(sdk: &SdkConfig, name: &str) -> Result<BTreeMap<String, String>, Failure> {
    let client = aws_sdk_cloudformation::Client::new(sdk);
    let answer = client.describe_stacks().stack_name(name).send().await.map_err(|error| {
        let code = error.code().map(str::to_owned);
        let why = code.unwrap_or_else(|| DisplayErrorContext(&error).to_string());
        let region = sdk.region().map(ToString::to_string).unwrap_or_default();
        Failure::unreachable(
            format!("the stack {name} cannot be read in {region}: {why}"),
            "aws sts get-caller-identity; aws cloudformation list-stacks",
        )
    })?;
    let stack = answer.stacks.unwrap_or_default().into_iter().next();
    let outputs = stack.and_then(|stack| stack.outputs).unwrap_or_default().into_iter();
    Ok(outputs.filter_map(|output| Some((output.output_key?, output.output_value?))).collect())
}
