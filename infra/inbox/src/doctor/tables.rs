//! The two tables: keys, index, expiry, recovery.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    BillingMode, GlobalSecondaryIndexDescription, IndexStatus, KeySchemaElement, KeyType,
    PointInTimeRecoveryStatus, ProjectionType, TableDescription, TableStatus,
    TimeToLiveDescription, TimeToLiveStatus,
};
use shared::fault::Fault;

use super::finding::{Finding, Findings, Severity};
use crate::exit::Failure;
use crate::place::{Kind, Place};

/// What expires rows.
const EXPIRY: &str = "expires_at";
/// What the sweeper and the tool read from the index.
const PROJECTED: [&str; 4] = ["received_at", "event_type", "error_kind", "sends"];

/// Both tables; the inbox in every detail.
pub(super) async fn look(place: &Place, findings: &mut Findings) -> Result<(), Failure> {
    let dynamodb = &place.clients.dynamodb;
    let inbox = &place.common.inbox_table;
    let Some(table) = described(dynamodb, inbox).await? else {
        findings.check(Some(missing(inbox, "every delivery is answered 503")));
        return Ok(());
    };
    findings.check(keys(&table));
    for finding in index(&table) {
        findings.check(finding);
    }
    findings.check(state(&table));
    let ttl = dynamodb.describe_time_to_live().table_name(inbox).send().await;
    let ttl = ttl.map_err(|error| Fault::of("DescribeTimeToLive", &error))?;
    findings.check(expiry(inbox, ttl.time_to_live_description.as_ref()));

    let business = place.fact("BusinessTableName").or_else(|| place.fact("BUSINESS_TABLE"));
    let mut tables = vec![table];
    if let Some(name) = business {
        match described(dynamodb, name).await? {
            Some(table) => tables.push(table),
            None => findings.check(Some(missing(name, "no handler can commit its effects"))),
        }
    }
    if let Kind::Local(_) = place.kind {
        findings.unchecked(
            "point-in-time recovery and deletion protection, which the local run does not have",
            "inbox --stack NAME doctor",
        );
        return Ok(());
    }
    for table in &tables {
        findings.check(billing(table));
        findings.check(protection(table));
        recovery(dynamodb, table.table_name().unwrap_or_default(), findings).await;
    }
    Ok(())
}

async fn described(dynamodb: &Client, name: &str) -> Result<Option<TableDescription>, Failure> {
    match dynamodb.describe_table().table_name(name).send().await {
        Ok(answer) => Ok(answer.table),
        Err(error) => match error.as_service_error() {
            Some(refused) if refused.is_resource_not_found_exception() => Ok(None),
            _ => Err(Fault::of("DescribeTable", &error).into()),
        },
    }
}

fn missing(name: &str, why: &str) -> Finding {
    let what = format!("the table {name} does not exist");
    Severity::Critical.finding("table_missing", what, why, "aws dynamodb list-tables")
}

fn describe(table: &str) -> String {
    format!("aws dynamodb describe-table --table-name {table}")
}

/// `pk` alone, as text.
pub(super) fn keys(table: &TableDescription) -> Option<Finding> {
    let name = table.table_name().unwrap_or_default();
    let right = schema(table.key_schema()) == (Some("pk"), None);
    (!right).then(|| {
        Severity::Critical.finding(
            "table_key",
            format!("the key of {name} is not pk alone"),
            "no row can be stored: every delivery is answered 503",
            describe(name),
        )
    })
}

fn schema(elements: &[KeySchemaElement]) -> (Option<&str>, Option<&str>) {
    let of = |kind: KeyType| {
        let found = elements.iter().find(|element| *element.key_type() == kind);
        found.map(KeySchemaElement::attribute_name)
    };
    (of(KeyType::Hash), of(KeyType::Range))
}

/// The index `due`: there, in use, with the right keys and attributes.
pub(super) fn index(table: &TableDescription) -> Vec<Option<Finding>> {
    let name = table.table_name().unwrap_or_default();
    let why = "nothing repairs a lost send, and failed events are not seen: what the queue loses \
               stays unfinished for ever";
    let found =
        |what: String| Some(Severity::Critical.finding("due_index", what, why, describe(name)));
    let due = table.global_secondary_indexes().iter().find(|i| i.index_name() == Some("due"));
    let Some(due) = due else { return vec![found(format!("{name} has no index due"))] };
    // One that is being updated serves on.
    let idle = matches!(due.index_status(), Some(IndexStatus::Creating | IndexStatus::Deleting));
    let idle = idle.then(|| found(format!("the index due of {name} is not in use yet")));
    let keyed = schema(due.key_schema()) == (Some("due_shard"), Some("due_at"));
    let keys = (!keyed).then(|| found(format!("the index due of {name} has other keys than ours")));
    vec![idle.flatten(), keys.flatten(), projection(due, name)]
}

fn projection(due: &GlobalSecondaryIndexDescription, table: &str) -> Option<Finding> {
    let projection = due.projection()?;
    if projection.projection_type() == Some(&ProjectionType::All) {
        return Some(Severity::Warning.finding(
            "index_projection",
            "the index due holds whole rows",
            "each write of a row is paid twice, bodies included",
            describe(table),
        ));
    }
    let there = projection.non_key_attributes();
    let lacks: Vec<_> =
        PROJECTED.into_iter().filter(|name| !there.iter().any(|there| there == name)).collect();
    (!lacks.is_empty()).then(|| {
        Severity::Critical.finding(
            "index_projection",
            format!("the index due lacks {}", lacks.join(", ")),
            "the sweeper cannot read its rows: what the queue loses stays unfinished for ever",
            describe(table),
        )
    })
}

fn state(table: &TableDescription) -> Option<Finding> {
    let name = table.table_name().unwrap_or_default();
    let status = table.table_status()?;
    let serves = matches!(status, TableStatus::Active | TableStatus::Updating);
    (!serves).then(|| {
        Severity::Critical.finding(
            "table_state",
            format!("the table {name} is {status}"),
            "rows cannot be stored: every delivery is answered 503",
            describe(name),
        )
    })
}

/// Finished rows go by `expires_at`, and nothing else does.
pub(super) fn expiry(table: &str, ttl: Option<&TimeToLiveDescription>) -> Option<Finding> {
    let next = format!(
        "aws dynamodb update-time-to-live --table-name {table} \
         --time-to-live-specification Enabled=true,AttributeName={EXPIRY}"
    );
    let on = ttl.is_some_and(|ttl| {
        let status = ttl.time_to_live_status();
        matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling))
    });
    match ttl.and_then(TimeToLiveDescription::attribute_name) {
        Some(EXPIRY) if on => None,
        Some(other) if on => Some(Severity::Critical.finding(
            "ttl_attribute",
            format!("rows of {table} expire by {other}, expected {EXPIRY}"),
            "DynamoDB deletes by that attribute: unfinished events may vanish, finished ones stay",
            next,
        )),
        _ => Some(Severity::Warning.finding(
            "ttl_off",
            format!("rows of {table} never expire: TTL is off"),
            "finished rows and bodies are paid for, for ever",
            next,
        )),
    }
}

fn billing(table: &TableDescription) -> Option<Finding> {
    let name = table.table_name().unwrap_or_default();
    let mode = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
    let on_demand = mode == Some(&BillingMode::PayPerRequest);
    (!on_demand).then(|| {
        Severity::Notice.finding(
            "billing",
            format!("{name} has provisioned capacity"),
            "a burst above it is throttled: deliveries are answered 503 and come again later",
            describe(name),
        )
    })
}

fn protection(table: &TableDescription) -> Option<Finding> {
    let name = table.table_name().unwrap_or_default();
    (table.deletion_protection_enabled() != Some(true)).then(|| {
        Severity::Notice.finding(
            "deletion_protection",
            format!("{name} is not protected against deletion"),
            "one wrong command, and all events and all memory are gone",
            format!("aws dynamodb update-table --table-name {name} --deletion-protection-enabled"),
        )
    })
}

async fn recovery(dynamodb: &Client, name: &str, findings: &mut Findings) {
    let next = format!(
        "aws dynamodb update-continuous-backups --table-name {name} \
         --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"
    );
    let backups = match dynamodb.describe_continuous_backups().table_name(name).send().await {
        Ok(answer) => answer.continuous_backups_description,
        Err(error) => {
            let code = error.code().unwrap_or("no answer").to_owned();
            let what = format!("point-in-time recovery of {name} ({code})");
            let look = format!("aws dynamodb describe-continuous-backups --table-name {name}");
            return findings.unchecked(what, look);
        }
    };
    let recovery = backups.and_then(|backups| backups.point_in_time_recovery_description);
    let status = recovery.and_then(|recovery| recovery.point_in_time_recovery_status);
    let on = status == Some(PointInTimeRecoveryStatus::Enabled);
    findings.check((!on).then(|| {
        Severity::Warning.finding(
            "recovery_off",
            format!("{name} has no point-in-time recovery"),
            "what a bug or a person deletes cannot be had back",
            next,
        )
    }));
}
