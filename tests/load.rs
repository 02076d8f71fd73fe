//! Signed deliveries of all three producers at a steady rate, from a process of its own.
//!
//! Each event has an item of its own in the business table; Kudos' payments share a few totals
//! besides. So the effects can be counted against the unique events.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, value_parser};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

#[path = "it/support/deliveries.rs"]
#[expect(dead_code, reason = "the tests need the rest of it")]
#[expect(clippy::unwrap_used, reason = "it is the tests', which may panic")]
mod deliveries;

use deliveries::{Delivery, rfc3339, unix_now};

/// Deliveries that wait for their answer at once.
const CONNECTIONS: usize = 64;
/// Tenants whose totals the payments share.
const TENANTS: u64 = 7;
/// A duplicate is of one of so many last events.
const REPEATED: u64 = 2_000;

/// Delivers signed events of all three producers to a local run, at a steady rate, and says at the
/// end what was heard, as one line of JSON.
#[derive(Clone, Debug, Parser)]
#[command(name = "load", after_help = EXAMPLES)]
struct Arguments {
    /// Where the local run takes deliveries, as it prints it, without /webhooks
    #[arg(value_name = "URL")]
    url: String,
    /// Deliveries a second
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u32).range(1..))]
    rate: u32,
    /// For so many seconds
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = value_parser!(u64).range(1..))]
    seconds: u64,
    /// Of a hundred deliveries, so many are of an event that was delivered before
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(..100))]
    duplicates: u32,
    /// Of a thousand events, so many are of Kudos
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = value_parser!(u64).range(..=1000))]
    kudos: u64,
    /// And so many of Apiera, whose API allows few requests; the rest is of Kallglot
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(..=1000))]
    apiera: u64,
}

const EXAMPLES: &str = "\
Example, in two terminals:
  cargo run -p local -- --listen 127.0.0.1:9000 --data .local
  cargo run -p tests --bin load -- http://127.0.0.1:9000 --rate 50 --seconds 60

It prints {\"deliveries\":3000,\"unique\":{\"apiera\":24,…},\"answers\":{\"200\":3000},…}
  unique   events by their producer; each has one item of its own in the business table
  answers  by status; \"none\" are deliveries without an answer
The exit code is 1 if any delivery was answered otherwise than with 200.";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (events, answers) = deliver(&arguments).await;
    let mut unique: BTreeMap<&str, u64> = BTreeMap::new();
    for number in 0..events {
        *unique.entry(source(&arguments, number)).or_default() += 1;
    }
    let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
    for (status, _) in &answers {
        *by_status.entry(status).or_default() += 1;
    }
    let mut millis: Vec<u128> = answers.iter().map(|(_, time)| time.as_millis()).collect();
    millis.sort_unstable();
    let quantile = |part: usize| millis.get(millis.len().saturating_sub(1) * part / 100);
    let report = json!({
        "deliveries": answers.len(), "unique": unique, "answers": by_status,
        "p50_ms": quantile(50), "p99_ms": quantile(99), "max_ms": quantile(100),
    });
    let _ = writeln!(std::io::stdout().lock(), "{report}");
    match by_status.get("200") == Some(&answers.len()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// How many events there were, and the answer to each delivery.
async fn deliver(arguments: &Arguments) -> (u64, Vec<(String, Duration)>) {
    // An error says that somebody has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    let run = unix_now();
    let mut events = 0;
    let mut deliveries = JoinSet::new();
    let mut answers = vec![];
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / arguments.rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..u64::from(arguments.rate) * arguments.seconds {
        ticks.tick().await;
        let number = if events > 0 && fastrand::u32(..100) < arguments.duplicates {
            events - 1 - fastrand::u64(..REPEATED.min(events))
        } else {
            events += 1;
            events - 1
        };
        let delivery = event(source(arguments, number), run, number);
        let request = request(&http, &arguments.url, delivery);
        // The semaphore is never closed.
        let connection = connections.clone().acquire_owned().await.ok();
        deliveries.spawn(async move {
            let began = Instant::now();
            let answer = request.send().await;
            drop(connection);
            let status = answer.map_or("none".into(), |answer| answer.status().as_str().to_owned());
            (status, began.elapsed())
        });
        while let Some(Ok(answer)) = deliveries.try_join_next() {
            answers.push(answer);
        }
    }
    answers.extend(deliveries.join_all().await);
    (events, answers)
}

fn request(http: &reqwest::Client, url: &str, delivery: Delivery) -> reqwest::RequestBuilder {
    let url = format!("{}/webhooks/{}", url.trim_end_matches('/'), delivery.source);
    let request = http.post(url).body(delivery.body).header("content-type", "application/json");
    delivery.headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// The same number is always of the same producer.
fn source(arguments: &Arguments, number: u64) -> &'static str {
    // A prime mixes them.
    match number * 7_919 % 1_000 {
        part if part < arguments.apiera => "apiera",
        part if part < arguments.apiera + arguments.kudos => "kudos",
        _ => "kallglot",
    }
}

/// Event number `number` of this run, signed now.
fn event(source: &str, run: i64, number: u64) -> Delivery {
    let id = format!("load_{run}_{number}");
    match source {
        "kudos" => {
            let tenant = format!("load_{}", number % TENANTS);
            let data = json!({"tenant": tenant, "amount_cents": 1 + number, "currency": "EUR"});
            Delivery::kudos(&id, "payment.succeeded", &data)
        }
        "kallglot" => {
            let data = json!({"id": id, "object": "session", "status": "started"});
            Delivery::kallglot(&id, "session.started", &rfc3339(run), &data)
        }
        _ => {
            let product = format!("{:08x}-0000-4000-8000-{number:012}", run & 0xffff_ffff);
            Delivery::apiera(&id, "product.created", &product)
        }
    }
}
