//! A deployed stack: its outputs name everything.

use std::collections::BTreeMap;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use aws_sdk_cloudformation::types::{Parameter, Stack};
use shared::fault::Fault;

use super::credentials;
use super::{Kind, PATIENT, Place, Where};
use crate::exit::Failure;

/// The variables of the functions, and the outputs that say the same.
const OUTPUTS: [(&str, &str); 5] = [
    ("INBOX_TABLE", "InboxTableName"),
    ("BUSINESS_TABLE", "BusinessTableName"),
    ("QUEUE_URL", "EventQueueUrl"),
    ("FIFO_QUEUE_URL", "EventFifoQueueUrl"),
    ("SECRETS_PREFIX", "SecretsPrefix"),
];
/// The parameter that says what the functions are told as `RETENTION_DAYS`.
const RETENTION: &str = "RetentionDays";

/// The SDK's usual configuration: environment, profiles, roles. A profile that is named here comes before
/// credentials in the environment, as for the AWS command line: it says which account is meant. (The
/// SDK's own order has the environment first.)
///
/// # Errors
/// No Region is set.
pub(super) async fn sdk_config(wanted: &Where) -> Result<SdkConfig, Failure> {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(PATIENT.attempt)
        .operation_attempt_timeout(PATIENT.attempt)
        .operation_timeout(PATIENT.operation);
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(shared::aws::https())
        .timeout_config(timeouts.build());
    if let Some(profile) = &wanted.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &wanted.region {
        loader = loader.region(Region::new(region.clone()));
    }
    let sdk = loader.load().await;
    if sdk.region().is_none() {
        return Err(Failure::usage("no AWS Region is set", "inbox --region eu-central-1 …"));
    }
    Ok(match &wanted.profile {
        Some(profile) => credentials::of_profile(sdk, profile),
        None => sdk,
    })
}

/// The stack of this name.
pub(super) async fn find(wanted: &Where, name: String) -> Result<Place, Failure> {
    let sdk = sdk_config(wanted).await?;
    let stack = describe(&sdk, &name).await?;
    let outputs = stack.outputs().iter().filter_map(|output| {
        Some((output.output_key()?.to_owned(), output.output_value()?.to_owned()))
    });
    let outputs: BTreeMap<String, String> = outputs.collect();
    let mut variables = BTreeMap::new();
    for (variable, output) in OUTPUTS {
        variables.extend(outputs.get(output).map(|value| (variable.to_owned(), value.clone())));
    }
    let retention = stack.parameters().iter().find(|p| p.parameter_key() == Some(RETENTION));
    let retention = retention.and_then(Parameter::parameter_value);
    variables.extend(retention.map(|days| ("RETENTION_DAYS".to_owned(), days.to_owned())));
    Place::of(Kind::Stack(name), sdk, outputs, &variables)
}

async fn describe(sdk: &SdkConfig, name: &str) -> Result<Stack, Failure> {
    let client = aws_sdk_cloudformation::Client::new(sdk);
    let answer = match client.describe_stacks().stack_name(name).send().await {
        Ok(answer) => answer,
        Err(error) => {
            let code = error.code().map(str::to_owned);
            if let (None, Some(missing)) = (&code, credentials::missing(sdk).await) {
                return Err(missing);
            }
            let why = code.unwrap_or_else(|| Fault::of("DescribeStacks", &error).to_string());
            let region = sdk.region().map(ToString::to_string).unwrap_or_default();
            return Err(Failure::unreachable(
                format!("the stack {name} cannot be read in {region}: {why}"),
                "aws sts get-caller-identity; aws cloudformation list-stacks",
            ));
        }
    };
    let stack = answer.stacks.unwrap_or_default().into_iter().next();
    stack.ok_or_else(|| {
        let what = format!("CloudFormation shows no stack {name}");
        Failure::unreachable(what, "aws cloudformation list-stacks")
    })
}
