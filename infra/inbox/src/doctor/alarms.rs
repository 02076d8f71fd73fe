//! Alarms of the stack that are ringing, or cannot.

use aws_sdk_cloudwatch::error::ProvideErrorMetadata as _;
use aws_sdk_cloudwatch::types::{MetricAlarm, StateValue};

use super::finding::{Finding, Findings, Severity};
use crate::place::Place;

/// Has a section for each alarm of the template, under the part of its name that follows the stack's.
const RUNBOOK: &str = include_str!("../../../../RUNBOOK.md");

/// Every alarm of the stack.
pub(super) async fn look(place: &Place, stack: &str, findings: &mut Findings) {
    let client = aws_sdk_cloudwatch::Client::new(&place.sdk);
    let call = client.describe_alarms().alarm_name_prefix(format!("{stack}-"));
    let pages: Result<Vec<_>, _> = call.into_paginator().send().collect().await;
    match pages {
        Ok(pages) => {
            let alarms: Vec<MetricAlarm> =
                pages.into_iter().flat_map(|page| page.metric_alarms.unwrap_or_default()).collect();
            let alarms: Vec<_> =
                alarms.into_iter().filter(|alarm| section(alarm, stack).is_some()).collect();
            findings.check(alarms.is_empty().then(|| none(stack)));
            for alarm in &alarms {
                findings.check(ringing(alarm, stack));
                findings.check(silenced(alarm));
            }
        }
        Err(error) => {
            let code = error.code().unwrap_or("no answer");
            let look = format!("aws cloudwatch describe-alarms --alarm-name-prefix {stack}-");
            findings.unchecked(format!("the alarms ({code})"), look);
        }
    }
}

fn none(stack: &str) -> Finding {
    Severity::Critical.finding(
        "no_alarms",
        format!("the stack {stack} has no alarm"),
        "refused signatures, failed events and a sweeper that stands still are seen by nobody",
        "deploy the template again",
    )
}

/// The alarm's section in the runbook; none for that of a stack whose name only begins alike.
pub(super) fn section<'a>(alarm: &'a MetricAlarm, stack: &str) -> Option<&'a str> {
    let section = alarm.alarm_name()?.strip_prefix(stack)?.strip_prefix('-')?;
    RUNBOOK.lines().any(|line| line.strip_prefix("### ") == Some(section)).then_some(section)
}

pub(super) fn ringing(alarm: &MetricAlarm, stack: &str) -> Option<Finding> {
    let name = alarm.alarm_name().unwrap_or_default();
    let section = section(alarm, stack).unwrap_or(name);
    (alarm.state_value() == Some(&StateValue::Alarm)).then(|| {
        Severity::Warning.finding(
            "alarm",
            format!("the alarm {name} is on"),
            alarm.alarm_description().unwrap_or("RUNBOOK.md says what it means"),
            format!("RUNBOOK.md, {section}"),
        )
    })
}

pub(super) fn silenced(alarm: &MetricAlarm) -> Option<Finding> {
    let name = alarm.alarm_name().unwrap_or_default();
    (alarm.actions_enabled() == Some(false)).then(|| {
        Severity::Warning.finding(
            "alarm_silenced",
            format!("the actions of the alarm {name} are switched off"),
            "when it rings, nobody is told",
            format!("aws cloudwatch enable-alarm-actions --alarm-names {name}"),
        )
    })
}
