//! Others who want the same rows at the same time.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::support::deliveries::rfc3339_now;
use crate::support::table::n;
use crate::support::tool::{Said, ended};
use crate::support::world::string;
use crate::support::{Delivery, Incident};

/// So many payments of the source without an order, all of which fail; how many cents they are.
async fn failed(incident: &Incident, count: i64) -> i64 {
    for delivery in deliveries(count) {
        incident.world.deliver(&delivery).await;
    }
    incident.until("failed", usize::try_from(count).unwrap()).await;
    incident.mend();
    (0..count).map(|number| 9_001 + number).sum()
}

fn deliveries(count: i64) -> impl Iterator<Item = Delivery> {
    let now = rfc3339_now();
    (0..count).map(move |number| {
        let data = json!({"tenant": "acme", "amount_cents": 9_001 + number});
        Delivery::kallglot(&format!("evt_{number}"), "payment.succeeded", &now, &data)
    })
}

fn document(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.stdout).unwrap()
}

const REDRIVE: [&str; 6] = ["--json", "redrive", "--source", "kallglot", "--rate", "200"];

#[tokio::test(flavor = "multi_thread")]
async fn of_two_redrives_at_once_each_row_is_taken_by_one() {
    let incident = Incident::new().await;
    let cents = failed(&incident, 60).await;
    let (one, other) = (incident.tool.spawn(&REDRIVE), incident.tool.spawn(&REDRIVE));
    let (one, other) = tokio::join!(one.wait_with_output(), other.wait_with_output());
    let (one, other) = (document(&ended(one.unwrap())), document(&ended(other.unwrap())));
    let redriven = |said: &Value| said["redriven"].as_u64().unwrap();
    assert_eq!(redriven(&one) + redriven(&other), 60, "{one} {other}");
    incident.until("done", 60).await;
    assert_eq!(incident.booked().await, (60, cents));
    assert_eq!(incident.runs(), 120, "each once before and once after");
}

/// The producer's replay of a failed event is a request to run it again, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_at_the_same_time_makes_no_second_effect() {
    let incident = Incident::new().await;
    let cents = failed(&incident, 60).await;
    let two_hours_ago = shared::time::Clock::system().now().millis() - 7_200_000;
    for number in 0..60 {
        let key = format!("kallglot#evt_{number}");
        incident.world.set(&key, &[("finished_at", n(two_hours_ago))]).await;
    }
    let replays = futures_util::stream::iter(deliveries(60)).for_each_concurrent(8, async |d| {
        incident.world.deliver(&d).await;
    });
    let (said, ()) = tokio::join!(incident.tool.spawn(&REDRIVE).wait_with_output(), replays);
    let said = document(&ended(said.unwrap()));
    // Each is taken back by one of the two; a replay of one that already waits may send it again.
    let resent = incident.world.metric("Resent", Some("kallglot"));
    let redriven = said["redriven"].as_f64().unwrap();
    assert!(redriven + resent >= 60.0, "{redriven} + {resent}: {said}");
    incident.until("done", 60).await;
    assert_eq!(incident.booked().await, (60, cents));
}

/// A sweeper for which everything is always due.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweeper_that_sends_the_same_rows_makes_no_second_effect() {
    let incident = Incident::new().await;
    let cents = failed(&incident, 60).await;
    let redrive = incident.tool.spawn(&REDRIVE).wait_with_output();
    let mut redrive = std::pin::pin!(redrive);
    let said = loop {
        tokio::select! {
            said = &mut redrive => break document(&ended(said.unwrap())),
            () = incident.sweep_after(Duration::from_secs(130)) => {}
        }
    };
    assert_eq!(said["redriven"], json!(60), "{said}");
    incident.until("done", 60).await;
    assert_eq!(incident.booked().await, (60, cents));
    let rows = incident.world.rows().await;
    assert!(rows.iter().all(|row| string(row, "due_shard").is_empty()), "a done row is due");
}
