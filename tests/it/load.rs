//! The local run under signed load from another process: every delivery answered, every unique
//! event in effect once, and memory that does not grow.
//!
//! Ten minutes, by itself: `cargo test -p tests --test it load -- --ignored --nocapture`.
//! `LOAD_RATE=100` delivers faster, `LOAD_MINUTES=20` for longer.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::support::world::{Item, number, string};
use crate::support::{Process, eventually};

/// Minutes of the long load, and the minute by which everything has been used once.
const MINUTES: u64 = 10;
const WARM: u64 = 2;
/// How much more memory there may be at the end.
const GROWTH_MAX: f64 = 1.1;
/// Besides, the embedded DynamoDB keeps each transaction's token for ten minutes, as DynamoDB does,
/// in about 400 bytes: 24,000 transactions on the same thousand items made it grow from 22 MB to
/// 31 MB, and the same writes without tokens not at all.
const TOKEN_BYTES: u64 = 400;
const TOKEN_MINUTES: u64 = 10;
/// Deliveries a second: what two shared cores bear in a debug build.
const RATE: u64 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn a_short_load_takes_effect_once() {
    load(15, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes ten minutes"]
async fn memory_does_not_grow_under_ten_minutes_of_load() {
    let told = |name, usual| std::env::var(name).map_or(usual, |told| told.parse().unwrap());
    let (rate, minutes) = (told("LOAD_RATE", RATE), told("LOAD_MINUTES", MINUTES));
    let (events, memory) = load(rate, minutes * 60).await;
    let (warm, last) = (memory[WARM as usize - 1], memory[minutes as usize - 1]);
    let tokens = events / minutes * (minutes.min(TOKEN_MINUTES) - WARM) * TOKEN_BYTES / 1024;
    println!("from {warm} KiB to {last} KiB, {tokens} KiB of it for tokens");
    assert!((last - tokens) as f64 <= warm as f64 * GROWTH_MAX);
}

/// Delivers at this rate, and compares. Gives the count of unique events, and the memory at the end
/// of each minute in KiB.
async fn load(rate: u64, seconds: u64) -> (u64, Vec<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path()).await;
    let before = process.memory_kib();
    let mut generator = Command::new(env!("CARGO_BIN_EXE_load"));
    generator.arg(&process.url).args(["--rate", &rate.to_string()]);
    generator.args(["--seconds", &seconds.to_string()]);
    let generator = generator.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    println!("minute 0: {before} KiB");
    let watch = async {
        let mut memory = vec![];
        for minute in 1..=seconds / 60 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            memory.push(process.memory_kib());
            println!("minute {minute}: {} KiB", memory[memory.len() - 1]);
        }
        memory
    };
    let (said, memory) = tokio::join!(generator.wait_with_output(), watch);
    let said: Value = serde_json::from_slice(&said.unwrap().stdout).unwrap();
    println!("{said}");
    let deliveries = said["deliveries"].as_u64();
    assert_eq!(deliveries, Some(rate * seconds));
    assert_eq!(said["answers"]["200"].as_u64(), deliveries, "all are answered 200");
    (took_effect_once(&process, &said["unique"]).await, memory)
}

/// Waits until all rows have ended, and counts the unique events.
async fn took_effect_once(process: &Process, unique: &Value) -> u64 {
    let tables = process.tables();
    let rows = eventually("all rows are finished", Duration::from_secs(300), async || {
        let rows = tables.scan("INBOX_TABLE").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let unfinished = |row: &Item| matches!(string(row, "status"), "pending" | "processing");
        (!rows.iter().any(unfinished)).then_some(rows)
    })
    .await;
    let effects = tables.scan("BUSINESS_TABLE").await;
    let totals = effects.iter().filter(|item| string(item, "sk") == "totals");
    let payments: i64 = totals.clone().map(|item| number(item, "payments")).sum();
    let others = effects.len() - totals.count();
    let sum: u64 = unique.as_object().unwrap().values().filter_map(Value::as_u64).sum();
    println!("{sum} unique events, {} rows, {others} effects", rows.len());
    let mut ends: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for row in &rows {
        *ends.entry((string(row, "status"), string(row, "outcome"))).or_default() += 1;
    }
    assert_eq!(ends, BTreeMap::from([(("done", "applied"), sum)]));
    assert_eq!(others as u64, sum, "each event has an item of its own");
    assert_eq!(payments, unique["kudos"].as_i64().unwrap(), "and each payment counts once");
    sum
}
