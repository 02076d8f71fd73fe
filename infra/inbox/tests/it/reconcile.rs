//! `inbox reconcile`: a producer's list against the inbox.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Delivery, Incident};

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_held_against_the_inbox() {
    let incident = Incident::new().await;
    incident.pay([1, 2, 9_500, 9_600].into_iter()).await;
    incident.until("failed", 2).await;
    incident.until("done", 2).await;
    let odd = Delivery::kudos("odd # é", "nobody.wants", &serde_json::json!({}));
    incident.world.deliver(&odd).await;
    incident.until("ignored", 1).await;
    let dropped = ["drop", "--reason", "x", "kudos", "evt_9600"];
    assert_eq!(incident.tool.run(&dropped).await.code, Some(0));

    let too_long = "x".repeat(300);
    let list =
        format!("\u{feff}evt_1\r\nevt_2\n\nevt_9500\nevt_1\nevt_9600\nodd # é\nlost\n{too_long}\n");
    let file = incident.tool.folder().join("ids.txt");
    std::fs::write(&file, &list).unwrap();
    let file = file.to_str().unwrap();
    let said = incident.tool.run(&["reconcile", "kudos", "--ids", file]).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    for line in [
        "missing   2",
        "failed    1",
        "done      2",
        "ignored   1",
        "dropped   1",
        "missing: lost",
        "failed (permanent): evt_9500",
    ] {
        assert!(said.stdout.lines().any(|said| said == line), "{line}: {said:?}");
    }
    assert!(said.stdout.contains("show kudos evt_9500"), "{said:?}");

    let said = incident.tool.run_with(&["--json", "reconcile", "kudos", "--ids", "-"], &list).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    let lines = said.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let standing: BTreeMap<String, String> = lines
        .map(|line| {
            let of = |name: &str| line[name].as_str().unwrap().to_owned();
            (of("event_id"), of("standing"))
        })
        .collect();
    let wanted = [
        ("evt_1", "done"),
        ("evt_2", "done"),
        ("evt_9500", "failed"),
        ("evt_9600", "dropped"),
        ("odd # é", "ignored"),
        ("lost", "missing"),
        (&too_long, "missing"),
    ];
    assert_eq!(standing, wanted.map(|(id, s)| (id.to_owned(), s.to_owned())).into());

    let all_here = "evt_1\nevt_9500\n";
    let said = incident.tool.run_with(&["reconcile", "kudos", "--ids", "-"], all_here).await;
    assert_eq!(said.code, Some(0), "a failed one has arrived: {said:?}");
}

/// One call takes a hundred keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_may_be_long() {
    let incident = Incident::new().await;
    incident.pay([1].into_iter()).await;
    incident.until("done", 1).await;
    incident.world.multiply("kudos#evt_1", (0..2_500).map(|n| format!("evt_1_{n}"))).await;
    let list: String = (0..2_600).map(|n| format!("evt_1_{n}\n")).collect();
    let said = incident.tool.run_with(&["reconcile", "kudos", "--ids", "-"], &list).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("missing   100\n"), "{said:?}");
    assert!(said.stdout.contains("done      2500\n"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_cannot_be_read_is_a_mistake_of_the_command() {
    let incident = Incident::new().await;
    let said = incident.tool.run(&["reconcile", "kudos", "--ids", "/nowhere/ids.txt"]).await;
    assert_eq!(said.code, Some(2), "{said:?}");
    let said = incident.tool.run_with(&["reconcile", "kudos", "--ids", "-"], "\n\n").await;
    assert_eq!(said.code, Some(2), "{said:?}");
}

/// What producers' delivery logs export, and what people make of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_may_be_lines_a_table_or_json() {
    let incident = Incident::new().await;
    incident.pay([1, 2].into_iter()).await;
    incident.until("done", 2).await;
    let forms = [
        ("\u{feff}\"evt_1\"\r\n\r\n'evt_2'\r\nevt_1\r\nlost\r\n", None, "1 repeat an id"),
        (
            "Sent at,Event ID,Status\n1,evt_1,200\n2,\"evt_2\",200\n3,lost,503\n4,,-\n",
            None,
            "note: read as a table, with the ids in its column Event ID\n\
             note: 1 of its entries hold no id",
        ),
        ("a;Ereignis\n1;evt_1\n2;evt_2\n3;lost\n", Some("Ereignis"), "its column Ereignis"),
        (r#"["evt_1", "evt_2", "lost"]"#, None, "read as JSON, each text an id"),
        (
            "{\"event_id\":\"evt_1\"}\n{\"event_id\":\"evt_2\"}\n{\"event_id\":\"lost\"}\n",
            None,
            "read as JSON objects, with the ids in event_id",
        ),
        (
            r#"{"data": [{"event": {"id": "evt_1"}}, {"event": {"id": "evt_2"}}, {"event": {"id": "lost"}}]}"#,
            Some("event.id"),
            "read as JSON objects, with the ids in event.id",
        ),
    ];
    for (text, column, remark) in forms {
        let mut args = vec!["reconcile", "kudos", "--ids", "-"];
        args.extend(column.iter().flat_map(|column| ["--column", column]));
        let said = incident.tool.run_with(&args, text).await;
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stdout.contains("missing   1\ndone      2\n"), "{text}: {said:?}");
        assert!(said.stdout.contains("missing: lost\n"), "{text}: {said:?}");
        assert!(said.stderr.contains(remark), "{text}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_ids_is_said_with_what_it_was_taken_for() {
    let incident = Incident::new().await;
    for (text, said) in [
        ("type,when\na.b,1\n", "- has no column that is called as ids usually are (event_id, "),
        ("{\"deliveries\": []}", "- holds no id; it was read as JSON, each text an id"),
        (
            "[{\"event_id\": 1.5}]",
            "- holds no id; it was read as JSON objects, with the ids in event_id",
        ),
        ("[\"a\"", "- begins like JSON and is none: "),
    ] {
        let ended = incident.tool.run_with(&["reconcile", "kudos", "--ids", "-"], text).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(said), "{text}: {ended:?}");
        assert!(ended.stderr.contains("\nnext: "), "{ended:?}");
    }
    let folder = incident.tool.folder().to_str().unwrap();
    let ended = incident.tool.run(&["reconcile", "kudos", "--ids", folder]).await;
    assert_eq!(ended.code, Some(2), "a folder: {ended:?}");
}
