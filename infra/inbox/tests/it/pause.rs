//! `inbox pause` and `inbox resume`.

use std::time::Duration;

use serde_json::json;

use crate::support::Incident;

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_source_waits_and_goes_on_after_a_resume() {
    let incident = Incident::new().await;
    incident.mend();
    let tool = &incident.tool;
    let said = tool.run(&["pause", "kudos"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("next: inbox --local="), "{said:?}");
    assert!(said.stdout.trim_end().ends_with("resume kudos"), "{said:?}");
    incident.pay(1..=5).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((incident.count("pending").await, incident.booked().await), (5, (0, 0)));

    let again = tool.json(&["pause", "kudos"]).await;
    assert_eq!((&again["paused"], &again["changed"]), (&json!(true), &json!(false)));
    let said = tool.run(&["resume", "kudos"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let again = tool.json(&["resume", "kudos"]).await;
    assert_eq!((&again["paused"], &again["changed"]), (&json!(false), &json!(false)));
    incident.sweep_after(Duration::from_secs(180)).await;
    incident.until("done", 5).await;
    assert_eq!(incident.booked().await, (5, 15));
}

/// A pause of a misspelt source would stop nothing, and look as if it had.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_nobody_knows_is_not_paused() {
    let incident = Incident::new().await;
    for verb in ["pause", "resume"] {
        let said = incident.tool.run(&[verb, "kudoss"]).await;
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains("one of: apiera, kallglot, kudos"), "{said:?}");
    }
    assert!(incident.world.row("~control#kudoss").await.is_none());
}
