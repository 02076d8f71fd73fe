//! The inbox of a stack, found by its outputs, and its metrics in CloudWatch.

use serde_json::{Value, json};

use crate::support::Incident;
use crate::support::stack::Stack;

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_found_by_its_outputs() {
    let incident = Incident::new().await;
    incident.pay([1, 9_500].into_iter()).await;
    incident.until("failed", 1).await;
    let stack = Stack::of(&incident.world).await;
    let said = stack.run(&["--stack", "prod", "show", "kudos", "evt_9500"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    for part in [
        "run it again with: inbox --stack prod redrive kudos evt_9500\n",
        "aws logs start-query --log-group-names /aws/lambda/prod-ingress ",
        "| filter key = \"kudos#evt_9500\" | sort @timestamp asc",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let lost = stack.run(&["--stack", "prod", "show", "kudos", "lost"]).await;
    assert!(lost.stdout.contains("ended over 7 days ago"), "the stack's retention: {lost:?}");
    incident.mend();
    let said = stack.run(&["--stack", "prod", "redrive", "kudos", "evt_9500"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("redriving in the stack prod"), "{said:?}");
    incident.until("done", 2).await;

    // As in the runbook, which exports the stack's name.
    let mut command = stack.command(&["list", "--count"]);
    let said = crate::support::tool::ended(command.env("STACK", "prod").output().await.unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "nothing\n"), "{said:?}");
    let said = command.env("INBOX_TABLE", "another").output().await.unwrap();
    assert_eq!(said.status.code(), Some(2), "two inboxes are meant");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_is_not_there_is_exit_code_3() {
    let incident = Incident::new().await;
    let stack = Stack::of(&incident.world).await;
    let said = stack.run(&["--stack", "nowhere", "list"]).await;
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("the stack nowhere cannot be read in us-east-1: ValidationError"));
    assert!(said.stderr.contains("\nnext: aws "), "{said:?}");
    // A service that does not answer, and a table that is not there.
    let mut command = stack.command(&["--stack", "prod", "list"]);
    let closed = command.env("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9").output().await;
    let said = crate::support::tool::ended(closed.unwrap());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("the stack prod: Query got no answer"), "{said:?}");
}

/// The functions' own variables name an inbox as well.
#[tokio::test(flavor = "multi_thread")]
async fn the_functions_environment_names_an_inbox() {
    let incident = Incident::new().await;
    incident.pay([1].into_iter()).await;
    incident.until("done", 1).await;
    let environment = incident.world.cloud.environment();
    let mut command = crate::support::tool::bare(&["show", "kudos", "evt_1"]);
    let said = crate::support::tool::ended(command.envs(environment).output().await.unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = command.env_remove("QUEUE_URL").output().await.unwrap();
    let said = crate::support::tool::ended(said);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("QUEUE_URL is not set"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stacks_numbers_come_from_cloudwatch() {
    let incident = Incident::new().await;
    incident.pay((1..=8).chain([9_500, 9_600])).await;
    incident.until("failed", 2).await;
    incident.until("done", 8).await;
    incident.world.until_metric("HandlerError", "kudos", 2.0).await;
    incident.world.until_metric("Applied", "kudos", 8.0).await;
    let stack = Stack::of(&incident.world).await;
    stack.take_metrics(&incident.world).await;
    let said = stack.run(&["--stack", "prod", "--json", "stats", "--since", "2h"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    let kudos = &said["sources"][0];
    for (name, value) in [
        ("source", json!("kudos")),
        ("total", json!(10)),
        ("delivered", json!(8)),
        ("discarded", json!(0)),
        ("failed", json!(2)),
        ("success_rate", json!(0.8)),
        ("last_5xx", json!(null)),
    ] {
        assert_eq!(kudos[name], value, "{name}: {said}");
    }
    let payments = &said["types"][0];
    for (name, value) in [("runs", 10), ("errors", 2), ("failed", 2)] {
        assert_eq!(payments[name], json!(value), "{name}: {said}");
    }
    assert_eq!(said["sources"].as_array().unwrap().len(), 1, "{said}");
}
