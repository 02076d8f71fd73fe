//! A redrive that is stopped in the middle, kindly or not, and given again.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::support::tool::ended;
use crate::support::{Incident, eventually};

/// 120 payments, the last 60 of which fail.
async fn broken() -> Incident {
    let incident = Incident::new().await;
    incident.pay(8_941..=9_060).await;
    incident.until("failed", 60).await;
    incident.until("done", 60).await;
    incident.mend();
    incident
}

/// All 120 of them.
const ALL: (i64, i64) = (120, (8_941 + 9_060) * 60);

fn begin(incident: &Incident) -> Child {
    let args = ["--json", "redrive", "--source", "kudos", "--rate", "10"];
    let mut command = incident.tool.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().unwrap()
}

async fn half_done(incident: &Incident) {
    eventually("some events run again", Duration::from_secs(60), async || {
        (incident.count("failed").await <= 40).then_some(())
    })
    .await;
}

async fn signal(child: &Child, name: &str) {
    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_between_two_steps_and_the_same_command_does_the_rest() {
    let incident = broken().await;
    let child = begin(&incident);
    half_done(&incident).await;
    signal(&child, "-INT").await;
    let said = ended(child.wait_with_output().await.unwrap());
    assert_eq!(said.code, Some(1), "{said:?}");
    let first: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&first["interrupted"], &first["selected"]), (&json!(true), &json!(60)));
    let redriven = first["redriven"].as_u64().unwrap();
    assert!((20..60).contains(&redriven), "{first}");
    assert_eq!(first["sent"], first["redriven"], "what was written was sent");
    assert_eq!(incident.count("failed").await as u64, 60 - redriven);

    let second = incident.tool.json(&["redrive", "--source", "kudos", "--rate", "1000"]).await;
    assert_eq!(
        (&second["selected"], &second["redriven"]),
        (&(60 - redriven).into(), &(60 - redriven).into())
    );
    incident.until("done", 120).await;
    assert_eq!(incident.booked().await, ALL);
}

/// Killed, perhaps between a write and its message: the sweeper sends what is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_nothing_and_doubles_nothing() {
    let incident = broken().await;
    let child = begin(&incident);
    half_done(&incident).await;
    signal(&child, "-KILL").await;
    let said = ended(child.wait_with_output().await.unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (None, ""), "{said:?}");
    let second = incident.tool.json(&["redrive", "--source", "kudos", "--rate", "1000"]).await;
    assert_eq!(second["interrupted"], json!(false));
    assert_eq!(incident.count("failed").await, 0);
    incident.sweep_after(Duration::from_secs(180)).await;
    incident.until("done", 120).await;
    assert_eq!(incident.booked().await, ALL);
}
