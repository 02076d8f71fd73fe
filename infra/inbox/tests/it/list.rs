//! `inbox list`: what is unfinished, what has failed; with `--all`, everything.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use shared::aws::CallBudget;

use crate::support::table::n;
use crate::support::world::text;
use crate::support::{Delivery, Incident, Tool, World};

/// One failed, two done and one that waits for a message that nobody sends.
async fn some() -> Incident {
    let incident = Incident::new().await;
    incident.pay([1, 2, 9_500].into_iter()).await;
    incident.until("failed", 1).await;
    incident.until("done", 2).await;
    incident.world.multiply("kudos#evt_9500", ["waits".to_owned()].into_iter()).await;
    let due = shared::time::Clock::system().now().millis() + 60_000;
    let unfinished =
        [("status", text("pending")), ("due_shard", text("kudos#2")), ("due_at", n(due))];
    // The index shows a kind only of failed ones.
    let mut row = incident.world.row("kudos#waits").await.unwrap();
    row.remove("error_kind");
    incident.world.put_rows(vec![row]).await;
    incident.world.set("kudos#waits", &unfinished).await;
    incident
}

fn ids(lines: &[Value]) -> BTreeSet<&str> {
    lines.iter().map(|line| line["event_id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_shows_what_is_not_over() {
    let incident = some().await;
    let tool = &incident.tool;
    let said = tool.run(&["list"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    assert!(lines[0].starts_with("source  status"), "{said:?}");
    assert!(lines[1].contains("failed") && lines[1].contains("permanent"), "{said:?}");
    assert!(lines[1].ends_with("payment.succeeded  evt_9500"), "{said:?}");
    assert!(lines[2].contains("unfinished") && lines[2].contains("in 5"), "{said:?}");
    assert_eq!(said.stderr, "", "an index is read without a remark");

    let listed = tool.json_lines(&["list"]).await;
    assert_eq!(ids(&listed), BTreeSet::from(["evt_9500", "waits"]));
    let failed = listed.iter().find(|line| line["status"] == "failed").unwrap();
    assert_eq!((&failed["error_kind"], &failed["due_at"]), (&json!("permanent"), &json!(null)));
    for (status, wanted) in [("failed", "evt_9500"), ("unfinished", "waits")] {
        let listed = tool.json_lines(&["list", "--status", status]).await;
        assert_eq!(ids(&listed), BTreeSet::from([wanted]), "{status}");
    }
    let counted = tool.json_lines(&["list", "--count", "--status", "failed"]).await;
    assert_eq!((&counted[0]["count"], &counted[0]["kind"]), (&json!(1), &json!("permanent")));
    let said = tool.run(&["list", "--source", "apiera"]).await;
    assert_eq!(said.stdout, "nothing\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_the_table_is_read_only_when_asked_for_and_said_so() {
    let incident = some().await;
    let tool = &incident.tool;
    let said = tool.run(&["list", "--status", "done"]).await;
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--all"), "{said:?}");
    let said = tool.run(&["list", "--all"]).await;
    assert!(
        said.stderr.contains("reads the whole table") && said.stderr.contains("USD"),
        "{said:?}"
    );
    for (status, count) in
        [("done", 2), ("failed", 1), ("pending", 1), ("unfinished", 1), ("dropped", 0)]
    {
        let listed = tool.json_lines(&["list", "--all", "--status", status]).await;
        assert_eq!(listed.len(), count, "{status}");
    }
    let of = ["list", "--all", "--source", "kudos", "--type", "payment.succeeded", "--since", "1h"];
    assert_eq!(tool.json_lines(&of).await.len(), 4);
    // Neither control items nor the items of bodies are events.
    assert_eq!(tool.run(&["pause", "kudos"]).await.code, Some(0));
    assert_eq!(tool.json_lines(&["list", "--all"]).await.len(), 4);
    let counted = tool.json_lines(&["list", "--all", "--count"]).await;
    let all: u64 = counted.iter().map(|group| group["count"].as_u64().unwrap()).sum();
    assert_eq!(all, 4, "{counted:?}");
}

/// A page of a megabyte takes its time on a busy machine.
const PATIENT: CallBudget =
    CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(60) };

/// DynamoDB gives a page of one megabyte; here are several.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_page_is_listed_in_parts_or_whole() {
    const ROWS: usize = 6_000;
    let incident = Incident::new().await;
    incident.pay([9_500].into_iter()).await;
    incident.until("failed", 1).await;
    let long = "x".repeat(200);
    let others = (1..ROWS).map(|number| format!("{long}{number:05}"));
    incident.world.multiply("kudos#evt_9500", others).await;
    let table = &incident.world.cloud.resources.inbox_table;
    let query = incident.world.cloud.clients(PATIENT).dynamodb.query().table_name(table);
    let query = query.index_name("due").key_condition_expression("due_shard = :shard");
    let page = query.expression_attribute_values(":shard", text("failed#kudos")).send().await;
    assert!(page.unwrap().last_evaluated_key.is_some(), "they fit into one page");
    let tool = &incident.tool;
    let all = tool.json_lines(&["list", "--limit", "0"]).await;
    assert_eq!((all.len(), ids(&all).len()), (ROWS, ROWS));
    let counted = tool.json_lines(&["list", "--count"]).await;
    assert_eq!(counted[0]["count"], json!(ROWS));
    let scanned = tool.json_lines(&["list", "--all", "--limit", "0"]).await;
    assert_eq!(ids(&scanned), ids(&all));

    for all in [&[][..], &["--all"]] {
        let (mut seen, mut after) = (BTreeSet::new(), None::<String>);
        loop {
            let mut args = [&["--json", "list", "--limit", "2500"], all].concat();
            args.extend(after.iter().flat_map(|place| ["--after", place.as_str()]));
            let said = tool.run(&args).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            for line in said.stdout.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                assert!(
                    seen.insert(line["event_id"].as_str().unwrap().to_owned()),
                    "twice: {line}"
                );
            }
            let Some((_, next)) = said.stderr.split_once("--after ") else { break };
            after = Some(next.trim().to_owned());
        }
        assert_eq!(seen.len(), ROWS);
    }
    let redriven = tool.json(&["redrive", "--source", "kudos", "--dry-run"]).await;
    assert_eq!(redriven["selected"], json!(ROWS));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_is_no_error() {
    let world = World::new().await.serve();
    let tool = Tool::of(&world);
    world.deliver(&Delivery::payment("evt_1", 1)).await;
    let mut child = tool.spawn(&["list", "--limit", "0"]);
    drop(child.stdout.take());
    let said = child.wait_with_output().await.unwrap();
    assert_eq!(said.status.code(), Some(0));
    assert!(said.stderr.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_of_another_list_is_refused() {
    let incident = some().await;
    let said = incident.tool.run(&["list", "--limit", "1"]).await;
    let after = said.stderr.split_once("--after ").unwrap().1.trim().to_owned();
    for args in [
        &["list", "--after", "evt_1"][..],
        &["list", "--all", "--after", &after],
        &["list", "--source", "apiera", "--after", &after],
    ] {
        assert_eq!(incident.tool.run(args).await.code, Some(2), "{args:?}");
    }
}
