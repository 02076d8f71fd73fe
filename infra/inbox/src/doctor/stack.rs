//! What CloudFormation knows of the stack.

use std::time::Duration;

use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;

use super::finding::{Finding, Findings, Severity};
use crate::place::Place;

/// What is read from the stack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stack {
    /// How long finished events are remembered.
    pub(super) retention: Option<Duration>,
}

/// Its parameters and its state.
pub(super) async fn look(place: &Place, name: &str, findings: &mut Findings) -> Stack {
    let client = aws_sdk_cloudformation::Client::new(&place.sdk);
    let described = match client.describe_stacks().stack_name(name).send().await {
        Ok(answer) => answer.stacks.unwrap_or_default().into_iter().next(),
        Err(error) => {
            let code = error.code().unwrap_or("no answer");
            let look = format!("aws cloudformation describe-stacks --stack-name {name}");
            findings.unchecked(format!("the stack's state and parameters ({code})"), look);
            None
        }
    };
    let Some(stack) = described else { return Stack::default() };
    let status = stack.stack_status.as_ref().map(|status| status.as_str().to_owned());
    findings.check(status.and_then(|status| state(name, &status)));
    let parameters = stack.parameters.unwrap_or_default();
    let of = |key: &str| {
        let found = parameters.iter().find(|parameter| parameter.parameter_key() == Some(key));
        found.and_then(|parameter| parameter.parameter_value())
    };
    for key in ["PageEmail", "TicketEmail"] {
        findings.check(of(key).filter(|address| address.is_empty()).map(|_| untold(key)));
    }
    let days: Option<u64> = of("RetentionDays").and_then(|days| days.parse().ok());
    Stack { retention: days.map(|days| Duration::from_secs(days * 86_400)) }
}

pub(super) fn state(name: &str, status: &str) -> Option<Finding> {
    let stuck = status.ends_with("_FAILED") || status.starts_with("ROLLBACK");
    stuck.then(|| {
        Severity::Warning.finding(
            "stack_state",
            format!("the stack {name} is {status}"),
            "what runs may be half of one version and half of another, and cannot be deployed over",
            format!("aws cloudformation describe-stack-events --stack-name {name}"),
        )
    })
}

fn untold(key: &str) -> Finding {
    Severity::Warning.finding(
        "nobody_told",
        format!("the parameter {key} is empty"),
        "alarms go to a topic that nobody may be subscribed to",
        format!("sam deploy with {key}=…, or subscribe to the topic in the stack's outputs"),
    )
}
