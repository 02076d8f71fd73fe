//! README.md's own lines for the local run, and its handler: `build.rs` takes them out of it.

use std::time::Duration;

use local::samples;
use processor::handler::Registry;
use serde_json::Value;
use shared::source::Sources;

use crate::support::World;
use crate::support::deliveries::rfc3339_now;

/// When README.md's lines were printed.
const PRINTED: &str = "2026-11-30T15:59:51Z";

/// A block of README.md.
macro_rules! block {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// The handler that is shown, in the file where it would be.
#[expect(unreachable_pub, reason = "it is a part of another crate that is shown")]
mod kudos {
    use processor::handler::{Context, Event, HandlerError};
    use serde::Deserialize;
    use shared::effects::{Change, Effects};

    include!(concat!(env!("OUT_DIR"), "/refund.rs"));
}

/// The tree's handlers and the one that is shown.
fn registry() -> Registry {
    include!(concat!(env!("OUT_DIR"), "/register-refund.rs"))
}

#[test]
fn the_handler_that_is_shown_can_be_registered() {
    registry().finish(&Sources::builtin().unwrap()).unwrap();
}

#[test]
fn the_lines_are_those_that_the_local_run_prints() {
    let sources = Sources::builtin().unwrap();
    let at = shared::envelope::rfc3339(PRINTED).unwrap();
    let printed = ["kudos", "kallglot", "apiera"].map(|name| {
        samples::curl(sources.get(name).unwrap(), "http://127.0.0.1:9000", "try_1", at)
    });
    let shown: Vec<_> = block!("try.sh").lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(shown, printed);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "says why nothing was tested")]
async fn the_lines_deliver_once_and_show_what_they_promise() {
    if shell("curl --version && openssl version").await.is_none() {
        println!("not run: there is no bash, curl or openssl");
        return;
    }
    let world = World::new().await.serve().poll();
    let address = world.running.address().unwrap().to_string();
    // An event that is older than the memory would not be run.
    let lines = block!("try.sh").replace(PRINTED, &rfc3339_now());
    let lines = lines.replace("127.0.0.1:9000", &address);
    for _ in 0..2 {
        let heard = shell(&lines).await.expect("the lines of README.md");
        assert_eq!(without_dates(&heard), without_dates(&block!("heard.text").repeat(3)));
        for key in ["kudos#evt_try_1", "kallglot#evt_try_1", "apiera#evt_try_1"] {
            world.until(key, "done").await;
        }
    }
    let engine = world.cloud.engines.dynamodb_url();
    let scan = block!("scan.sh").replace("http://127.0.0.1:PORT", &engine);
    let scanned = shell(&scan).await.expect("the line of README.md");
    assert_eq!(items(&scanned), items(block!("scanned.json")));
}

/// What the lines print, if they end well.
async fn shell(lines: &str) -> Option<String> {
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["-euc", lines]).env("NO_PROXY", "*").kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(60), bash.output()).await;
    let output = output.expect("bash ends within a minute").ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

fn without_dates(heard: &str) -> Vec<&str> {
    heard.lines().filter(|line| !line.starts_with("date: ")).collect()
}

/// A scan's items, sorted, without the times, which differ from run to run.
fn items(scan: &str) -> Vec<Value> {
    let mut scan: Value = serde_json::from_str(scan).unwrap();
    let mut items = scan["Items"].as_array_mut().unwrap().split_off(0);
    for item in &mut items {
        item.as_object_mut().unwrap().retain(|name, _| !name.ends_with("_at"));
    }
    items.sort_by_key(|item| (item["pk"].to_string(), item["sk"].to_string()));
    items
}
