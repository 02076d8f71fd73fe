//! What the checks say of descriptions that no embedded engine gives.

use std::time::Duration;

use aws_sdk_cloudwatch::types::{MetricAlarm, StateValue};
use aws_sdk_dynamodb::types::{
    GlobalSecondaryIndexDescription, KeySchemaElement, KeyType, Projection, ProjectionType,
    TableDescription,
};
use shared::fault::Fault;
use shared::source::Sources;

use super::finding::{Finding, Findings, Severity};
use super::{alarms, allowed, memory, stack, tables};
use crate::exit::Failure;

const DAY: Duration = Duration::from_secs(86_400);

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}

/// A table with an index of this name, keys and projection.
fn table(index: &str, keys: [&str; 2], projection: Projection) -> TableDescription {
    let index = GlobalSecondaryIndexDescription::builder()
        .index_name(index)
        .key_schema(key(keys[0], KeyType::Hash))
        .key_schema(key(keys[1], KeyType::Range))
        .projection(projection);
    TableDescription::builder()
        .table_name("t")
        .key_schema(key("pk", KeyType::Hash))
        .global_secondary_indexes(index.build())
        .build()
}

fn including(attributes: &[&str]) -> Projection {
    let attributes = attributes.iter().map(|name| (*name).to_owned()).collect();
    let projection = Projection::builder().projection_type(ProjectionType::Include);
    projection.set_non_key_attributes(Some(attributes)).build()
}

fn codes(found: Vec<Option<Finding>>) -> Vec<(Severity, &'static str)> {
    found.into_iter().flatten().map(|finding| (finding.severity, finding.code)).collect()
}

#[test]
fn the_index_is_right_in_all_its_parts_or_found() {
    let all = ["received_at", "event_type", "error_kind", "sends"];
    let right = table("due", ["due_shard", "due_at"], including(&all));
    assert_eq!(codes(tables::index(&right)), []);
    assert_eq!(tables::keys(&right), None);
    let everything = Projection::builder().projection_type(ProjectionType::All).build();
    for (table, found) in [
        (
            table("other", ["due_shard", "due_at"], including(&all)),
            (Severity::Critical, "due_index"),
        ),
        (table("due", ["due_at", "due_shard"], including(&all)), (Severity::Critical, "due_index")),
        (
            table("due", ["due_shard", "due_at"], including(&all[..3])),
            (Severity::Critical, "index_projection"),
        ),
        (
            table("due", ["due_shard", "due_at"], everything),
            (Severity::Warning, "index_projection"),
        ),
    ] {
        assert_eq!(codes(tables::index(&table)), [found]);
    }
    let none = TableDescription::builder().table_name("t").key_schema(key("id", KeyType::Hash));
    assert_eq!(codes(vec![tables::keys(&none.build())]), [(Severity::Critical, "table_key")]);
}

#[test]
fn memory_is_long_enough_for_retries_and_for_replays_without_a_signed_time() {
    let sources = Sources::builtin().unwrap();
    let found = |source: &str, days: u32| {
        let profile = sources.get(source).unwrap();
        memory::remembers(profile, DAY * days).map(|finding| finding.severity)
    };
    assert_eq!(found("kudos", 30), None);
    assert_eq!(found("kallglot", 30), None, "its signed time protects");
    assert_eq!(found("kallglot", 1), Some(Severity::Critical));
    assert_eq!(found("apiera", 3), Some(Severity::Critical));
    assert_eq!(found("apiera", 4), None);
    let github = Sources::parse(&format!(
        "[github]\npreset = \"github\"\n{}",
        include_str!("../../../sources.toml")
    ));
    let github = github.unwrap().get("github").unwrap().clone();
    let replayed = memory::remembers(&github, DAY * 5).unwrap();
    assert_eq!(replayed.severity, Severity::Warning);
}

#[test]
fn alarms_that_ring_or_cannot_are_found() {
    let alarm = |state: StateValue, enabled| {
        let alarm = MetricAlarm::builder().alarm_name("s-no-sweep").state_value(state);
        alarm.actions_enabled(enabled).build()
    };
    let ringing = alarms::ringing(&alarm(StateValue::Alarm, true), "s").unwrap();
    assert_eq!(ringing.next, "RUNBOOK.md, no-sweep");
    assert_eq!(alarms::ringing(&alarm(StateValue::Ok, true), "s"), None);
    assert_eq!(alarms::section(&alarm(StateValue::Ok, true), "s"), Some("no-sweep"));
    let neighbours = MetricAlarm::builder().alarm_name("s-eu-no-sweep").build();
    assert_eq!(alarms::section(&neighbours, "s"), None, "the stack s-eu's");
    assert_eq!(alarms::section(&neighbours, "s-eu"), Some("no-sweep"));
    assert!(alarms::silenced(&alarm(StateValue::Ok, false)).is_some());
    assert_eq!(alarms::silenced(&alarm(StateValue::Ok, true)), None);
}

#[test]
fn a_stack_that_is_stuck_is_found() {
    for (status, found) in [
        ("CREATE_COMPLETE", false),
        ("UPDATE_IN_PROGRESS", false),
        ("UPDATE_ROLLBACK_COMPLETE", false),
        ("UPDATE_ROLLBACK_FAILED", true),
        ("ROLLBACK_COMPLETE", true),
    ] {
        assert_eq!(stack::state("s", status).is_some(), found, "{status}");
    }
}

#[test]
fn the_worst_comes_first() {
    let mut findings = Findings::default();
    for severity in [Severity::Notice, Severity::Critical, Severity::Warning] {
        findings.check(Some(severity.finding("x", "", "", "")));
    }
    findings.check(None);
    let order: Vec<_> = findings.sorted().iter().map(|finding| finding.severity).collect();
    assert_eq!(order, [Severity::Critical, Severity::Warning, Severity::Notice]);
    assert_eq!(findings.checks(), 4);
}

#[test]
fn what_may_not_be_looked_at_is_said_and_ends_nothing() {
    let refused = |code: &str| {
        Err(Failure::Fault(Fault::Refused { operation: "GetQueueUrl", code: code.to_owned() }))
    };
    let mut findings = Findings::default();
    for code in ["AccessDenied", "AccessDeniedException", "KmsAccessDeniedException"] {
        allowed(refused(code), "the queues", &mut findings).unwrap();
    }
    assert_eq!(findings.not_checked().len(), 3);
    assert!(findings.not_checked()[0].what.contains("GetQueueUrl is not allowed (AccessDenied)"));
    assert!(allowed(refused("UnrecognizedClientException"), "x", &mut findings).is_err());
    assert!(allowed(Ok(()), "x", &mut findings).is_ok());
    assert_eq!(findings.not_checked().len(), 3);
}
