//! The Runtime API from the function's side, and what happens when the process does not play along.
#![allow(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::os::unix::process::ExitStatusExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench::runtime_api::{Answer, Environment, InvokeError, Launch};
use tokio::sync::mpsc;

const PATIENCE: Duration = Duration::from_secs(20);

/// A shell that runs this, in the place of a function.
fn shell(script: &str) -> Launch {
    let mut launch = Launch::new("test", "/bin/sh");
    launch.command.extend(["-c".into(), script.into()]);
    launch
}

#[tokio::test]
async fn a_function_gets_its_event_and_gives_its_answer() {
    let (said, mut lines) = mpsc::unbounded_channel();
    let said = Mutex::new(said);
    let mut launch = shell("echo $AWS_LAMBDA_RUNTIME_API; exec sleep 600");
    launch.lines = Some(Arc::new(move |line| drop(said.lock().unwrap().send(line.to_owned()))));
    let environment = Environment::start(&launch).await.unwrap();
    let api = format!("http://{}/2018-06-01/runtime", lines.recv().await.unwrap());

    // From here on this test is the function. No client is made without a TLS provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let function = tokio::spawn(async move {
        for (kind, body) in [("response", "done"), ("error", "failed")] {
            let next = http.get(format!("{api}/invocation/next")).send().await.unwrap();
            let id = next.headers()["lambda-runtime-aws-request-id"].to_str().unwrap().to_owned();
            let deadline = next.headers()["lambda-runtime-deadline-ms"].to_str().unwrap();
            assert!(deadline.parse::<u64>().unwrap() > 1_700_000_000_000, "{deadline}");
            assert_eq!(next.text().await.unwrap(), "event");
            let url = format!("{api}/invocation/{id}/{kind}");
            assert_eq!(http.post(&url).body(body).send().await.unwrap().status(), 202);
            assert_eq!(http.post(&url).body(body).send().await.unwrap().status(), 400, "twice");
        }
        // It would wait there for as long as it lives.
        tokio::spawn(http.get(format!("{api}/invocation/next")).send());
    });
    environment.idle().await.unwrap();
    let answer = environment.invoke("event", PATIENCE).await.unwrap();
    assert_eq!(answer, Answer::Response("done".into()));
    let answer = environment.invoke("event", PATIENCE).await.unwrap();
    assert_eq!(answer, Answer::Error("failed".into()));
    function.await.unwrap();
    environment.idle().await.unwrap();
}

#[tokio::test]
async fn a_process_that_ends_is_noticed() {
    let environment = Environment::start(&shell("exit 3")).await.unwrap();
    assert_eq!(environment.idle().await.unwrap_err().status.code(), Some(3));
    let answer = environment.invoke("event", PATIENCE).await;
    assert!(matches!(answer, Err(InvokeError::Died(end)) if end.status.code() == Some(3)));
}

#[tokio::test]
async fn a_process_is_killed_at_once_and_at_its_deadline() {
    let environment = Environment::start(&shell("exec sleep 600")).await.unwrap();
    let (answer, end) = tokio::join!(environment.invoke("event", PATIENCE), environment.kill());
    assert!(matches!(answer, Err(InvokeError::Died(_))));
    assert_eq!(end.status.signal(), Some(9));

    let environment = Environment::start(&shell("exec sleep 600")).await.unwrap();
    let answer = environment.invoke("event", Duration::from_millis(50)).await;
    assert!(matches!(answer, Err(InvokeError::TimedOut(_))));
    assert_eq!(environment.end().await.status.signal(), Some(9));
}
