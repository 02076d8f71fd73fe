//! `inbox stats`, of the local run and of a stack.

use serde_json::{Value, json};

use crate::support::world::http;
use crate::support::{Delivery, Faulty, Incident, Tool, World};

/// As `cargo run -p local -- --data DIR` keeps them.
fn keep_metrics(world: &World, tool: &Tool, torn: &str) {
    let lines = world.metric_lines().into_iter().map(|line| format!("{line}\n"));
    let text = lines.collect::<String>() + torn;
    std::fs::write(tool.folder().join("metrics.jsonl"), text).unwrap();
}

fn of<'a>(said: &'a Value, list: &str, name: &str, value: &str) -> &'a Value {
    let found = said[list].as_array().unwrap().iter().find(|line| line[name] == value);
    found.unwrap_or_else(|| panic!("no {value}: {said}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_run_tells_the_producers_table() {
    let incident = Incident::new().await;
    let (world, tool) = (&incident.world, &incident.tool);
    incident.pay((1..=8).chain([9_500, 9_600])).await;
    incident.until("failed", 2).await;
    incident.until("done", 8).await;
    world.deliver(&Delivery::payment("evt_1", 1)).await;
    assert_eq!(world.post(&Delivery::payment("evt_x", 1).tampered()).await.status, 401);
    assert_eq!(
        world.post(&Delivery::kudos_body(b"[]", &["kudos-local-secret"], unix_now())).await.status,
        400
    );
    world.until_metric("HandlerError", "kudos", 2.0).await;
    world.until_metric("Applied", "kudos", 8.0).await;
    keep_metrics(world, tool, "{\"_aws\": {\"Time");

    let said = tool.json(&["stats"]).await;
    let kudos = of(&said, "sources", "source", "kudos");
    for (name, value) in [
        ("total", json!(12)),
        ("delivered", json!(8)),
        ("discarded", json!(1)),
        ("failed", json!(3)),
        ("last_5xx", json!(null)),
    ] {
        assert_eq!(kudos[name], value, "{name}: {kudos}");
    }
    assert!((kudos["success_rate"].as_f64().unwrap() - 8.0 / 12.0).abs() < 1e-9, "{kudos}");
    let payments = of(&said, "types", "event_type", "payment.succeeded");
    for (name, value) in [("runs", 10), ("errors", 2), ("failed", 2)] {
        assert_eq!(payments[name], json!(value), "{name}: {payments}");
    }
    assert!(payments["p95_ms"].is_number() && kudos["answer_p95_ms"].is_number(), "{said}");

    let said = tool.run(&["stats", "--since", "2h"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let row = said.stdout.lines().find(|line| line.starts_with("kudos   12")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..7], ["kudos", "12", "8", "1", "3", "66.67", "%"], "{row}");
}

fn unix_now() -> i64 {
    crate::support::deliveries::unix_now()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_5xx_is_told_and_does_not_count_as_an_event() {
    let faulty = Faulty::new();
    let world = World::faulty(&faulty).await.serve();
    let tool = Tool::of(&world);
    faulty.plan(|operation, _| match operation {
        "PutItem" => crate::support::faulty::Fault::Refused("AccessDeniedException"),
        _ => crate::support::faulty::Fault::None,
    });
    let before = shared::time::Clock::system().now();
    assert_eq!(world.post(&Delivery::payment("evt_1", 1)).await.status, 503);
    faulty.heal();
    keep_metrics(&world, &tool, "");
    let said = tool.json(&["stats"]).await;
    let kudos = of(&said, "sources", "source", "kudos");
    assert_eq!((&kudos["total"], &kudos["success_rate"]), (&json!(0), &json!(null)), "{kudos}");
    let last = kudos["last_5xx"].as_str().unwrap();
    let day = aws_smithy_types::DateTime::from_millis(before.millis());
    let day = day.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap();
    assert_eq!(last[..13], day[..13], "{last}");
    drop(http(&faulty));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_run_that_keeps_no_metrics_says_how_to_keep_them() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let said = tool.run(&["stats"]).await;
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("--data"), "{said:?}");
    keep_metrics(&world, &tool, "");
    let said = tool.run(&["stats"]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "nothing was measured in this time\n"));
    let said = tool.run(&["stats", "--since", "2999-01-01"]).await;
    assert_eq!(said.code, Some(2), "{said:?}");
}
