//! `kill -9` of the local process with a thousand events in flight: the restart finishes all of
//! them, each once.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use local::apiera::Options;
use serde_json::json;

use crate::support::world::{Item, number, string};
use crate::support::{Delivery, Process, World, eventually};

const EVENTS: i64 = 1_000;
const TENANTS: i64 = 7;
/// Fewer would make the kill a formality.
const IN_FLIGHT_MIN: usize = 200;
/// Deliveries under way at once.
const CONNECTIONS: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_events_survive_kill_9_and_take_effect_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    assert_eq!(rows_at_rest(data).await.len(), 0);

    let mut process = Process::start(data).await;
    let http = reqwest::Client::new();
    deliver(&process.url, &http, 0..EVENTS).await;
    process.kill().await;

    let rows = rows_at_rest(data).await;
    let by_status = count_by(&rows, "status");
    let unfinished = rows.iter().filter(|row| is_unfinished(row)).count();
    println!("at the kill: {by_status:?}, {unfinished} unfinished");
    assert_eq!(rows.len(), EVENTS as usize, "what was answered 200 is durable");
    assert!(unfinished >= IN_FLIGHT_MIN, "only {unfinished} were in flight");

    let process = Process::start(data).await;
    let tables = process.tables();
    let rows = eventually("all rows are finished", Duration::from_secs(400), async || {
        let rows = tables.scan("INBOX_TABLE").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        (!rows.iter().any(is_unfinished)).then_some(rows)
    })
    .await;
    println!("after the restart: {:?}", count_by(&rows, "attempts"));
    assert_eq!(rows.len(), EVENTS as usize);
    assert_eq!(count_by(&rows, "status"), BTreeMap::from([("done".into(), rows.len())]));
    // `already_applied` would be a second commit that only the handler's own key has stopped.
    assert_eq!(count_by(&rows, "outcome"), BTreeMap::from([("applied".into(), rows.len())]));
    assert_eq!(tables.scan("BUSINESS_TABLE").await.len(), (EVENTS + TENANTS) as usize);
    assert_eq!(books(&tables.scan("BUSINESS_TABLE").await), expected_books());

    deliver(&process.url, &http, 0..20).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(books(&tables.scan("BUSINESS_TABLE").await), expected_books(), "duplicates");
}

/// The amount of payment number `n`, and whose it is.
fn payment(n: i64) -> (String, i64) {
    (format!("tenant_{}", n % TENANTS), 1 + n * 37 % 9_973)
}

/// What of the business table is the same however the run went: each line's amount, and each
/// tenant's totals.
fn books(effects: &[Item]) -> BTreeMap<(String, String), (i64, i64)> {
    let line = |item: &Item| {
        let key = (string(item, "pk").to_owned(), string(item, "sk").to_owned());
        let amount = number(item, "amount_cents") + number(item, "paid_cents");
        (key, (amount, number(item, "payments")))
    };
    effects.iter().map(line).collect()
}

fn expected_books() -> BTreeMap<(String, String), (i64, i64)> {
    let mut books = BTreeMap::new();
    for n in 0..EVENTS {
        let (tenant, cents) = payment(n);
        let account = format!("kudos#{tenant}");
        books.insert((account.clone(), format!("payment#evt_{n}")), (cents, 0));
        let totals: &mut (i64, i64) = books.entry((account, "totals".into())).or_default();
        *totals = (totals.0 + cents, totals.1 + 1);
    }
    books
}

/// The inbox as it lies on disk, read by nobody else meanwhile.
async fn rows_at_rest(data: &Path) -> Vec<Item> {
    World::with(Some(data), Options::default(), |_, parts| parts).await.rows().await
}

fn is_unfinished(row: &Item) -> bool {
    matches!(string(row, "status"), "pending" | "processing")
}

fn count_by(rows: &[Item], attribute: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in rows {
        let value = match row.get(attribute) {
            Some(value) => value.as_s().or(value.as_n()).unwrap().clone(),
            None => "none".into(),
        };
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// Delivers these payments, many at once; all are answered 200.
async fn deliver(url: &str, http: &reqwest::Client, numbers: std::ops::Range<i64>) {
    let answers = stream::iter(numbers).map(|n| {
        let (tenant, amount_cents) = payment(n);
        let data = json!({"tenant": tenant, "amount_cents": amount_cents, "currency": "EUR"});
        let delivery = Delivery::kudos(&format!("evt_{n}"), "payment.succeeded", &data);
        let request = http.post(format!("{url}/webhooks/kudos")).body(delivery.body);
        let add = |request: reqwest::RequestBuilder, (name, value)| request.header(name, value);
        let request = delivery.headers.iter().map(|(n, v)| (n, v)).fold(request, add);
        request.header("content-type", "application/json").send()
    });
    let mut answers = answers.buffer_unordered(CONNECTIONS);
    while let Some(answer) = answers.next().await {
        assert_eq!(answer.unwrap().status(), 200);
    }
}
