//! What people type that cannot be meant, and what is said of it.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::support::tool::{bare, ended};
use crate::support::{Incident, Tool, World};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_exit_code_2_and_says_what_to_type() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let long = "x".repeat(300);
    for (args, said) in [
        (&["list", "--since", "2130-01-01"][..], "--since is in the future: 2130-01-01T00:00:00Z"),
        (&["list", "--since", "1h", "--until", "2h"], "nothing lies between --since"),
        (&["redrive", "--source", "kudos", "--since", "1h", "--until", "1h"], "nothing lies"),
        (&["drop", "--reason", "x", "--since", "2130-01-01"], "--since is in the future"),
        (&["stats", "--since", "0s"], "nothing lies between --since and now"),
        (&["list", "--kind", "permanent", "--status", "unfinished"], "only failed events have a"),
        (&["list", "--kind", "permanent", "--all", "--status", "done"], "only failed events have"),
        (&["list", "--type", "*.failed"], "a * stands only at the end"),
        (&["list", "--type", " "], "is blank"),
        (&["list", "--limit", "99999999999999999999"], "number too large"),
        (&["drop", "--reason", &long, "kudos", "evt_1"], "has 300 bytes; the row keeps 256"),
        (&["show", "kudos", "a\nb"], "has a character that is not allowed"),
        (&["show", "kudos", " "], "is blank"),
        (&["show", "Kudos", "evt_1"], "has a character that is not allowed"),
        (&["pause", "nobody"], "nobody is none of the sources"),
        (&["send", "kudos", "--url", "ftp://x/"], "expected a URL"),
        (&["send", "kudos", "--data", "-"], "nothing came on stdin"),
        (&["send", "kudos", "--data", "/"], "cannot read /: "),
        (&["send", "kudos", "--secret", ""], "a secret that was given is empty"),
        (&["send", "kudos", "--secret-file", "/"], "cannot read /: "),
        (&["secrets", "add", "kudos"], "what came on stdin is empty"),
        (
            &["verify", "--source", "kudos", "--headers", "-", "--body", "-"],
            "headers and body cannot both come from stdin",
        ),
    ] {
        let ended = tool.run(args).await;
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(said), "{args:?}: {ended:?}");
        let next = ended.stderr.contains("\nnext: ") || ended.stderr.contains("try '--help'");
        assert!(next && ended.stdout.is_empty(), "{args:?}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_not_there_is_exit_code_1_and_no_payload() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let said = tool.run(&["show", "kudos", "a b # é", "--body"]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.stderr.contains("kudos#a b # é is not in the local run"), "{said:?}");
    let said = tool.run(&["redrive", "kudos", "lost", "lost"]).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("0 of 1 event run again"), "named twice is one: {said:?}");
}

/// A local run that was killed leaves its endpoints behind.
#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_has_gone_is_exit_code_3_at_once() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let file = tool.folder().join("endpoints.env");
    let text = std::fs::read_to_string(&file).unwrap();
    let dead = text.lines().map(|line| match line.split_once("http://127.0.0.1:") {
        Some((name, rest)) => {
            let path = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{name}http://127.0.0.1:9{path}\n")
        }
        None => format!("{line}\n"),
    });
    std::fs::write(&file, dead.collect::<String>()).unwrap();
    let ids = tool.folder().join("ids.txt");
    std::fs::write(&ids, "evt_1\n").unwrap();
    let ids = ids.to_str().unwrap();
    for args in [
        &["show", "kudos", "evt_1"][..],
        &["list"],
        &["list", "--all"],
        &["redrive", "kudos", "evt_1"],
        &["redrive", "--source", "kudos"],
        &["drop", "--reason", "x", "kudos", "evt_1"],
        &["pause", "kudos"],
        &["resume", "kudos"],
        &["reconcile", "kudos", "--ids", ids],
        &["send", "kudos"],
        &["secrets", "list"],
        &["secrets", "add", "kudos", "--generate"],
        &["secrets", "revoke", "kudos", "f4"],
        &["doctor"],
    ] {
        for json in [&[][..], &["--json"]] {
            let began = Instant::now();
            let said = tool.run(&[json, args].concat()).await;
            assert_eq!(said.code, Some(3), "{args:?}: {said:?}");
            assert!(said.stderr.contains("got no answer (connection)"), "{args:?}: {said:?}");
            assert!(said.stderr.contains("next: cargo run -p local"), "{args:?}: {said:?}");
            assert!(began.elapsed() < Duration::from_secs(30), "{args:?} waits");
        }
    }
}

#[tokio::test]
async fn without_credentials_or_a_region_that_is_said_at_once() {
    let run = async |args: &[&str], region: &str| {
        let mut command = bare(args);
        // Nothing on this machine is to answer for what is not set.
        command.env("AWS_EC2_METADATA_DISABLED", "true").env("AWS_CONFIG_FILE", "/nowhere");
        for (name, value) in [("AWS_REGION", region), ("INBOX_TABLE", "t")] {
            // A stack is named by its flag; the environment names another inbox.
            if !value.is_empty() && (name != "INBOX_TABLE" || !args.contains(&"--stack")) {
                command.env(name, value);
            }
        }
        for name in ["QUEUE_URL", "FIFO_QUEUE_URL", "SECRETS_PREFIX"] {
            command.env(name, "http://127.0.0.1:9/x");
        }
        ended(command.output().await.unwrap())
    };
    for args in [&["--stack", "prod", "list"][..], &["list"], &["doctor"], &["stats"]] {
        let began = Instant::now();
        let said = run(args, "eu-central-1").await;
        assert_eq!(said.code, Some(3), "{args:?}: {said:?}");
        assert!(said.stderr.contains("there are no AWS credentials"), "{args:?}: {said:?}");
        assert!(began.elapsed() < Duration::from_secs(30), "{args:?} waits");
        let said = run(args, "").await;
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(said.stderr.contains("no AWS Region is set"), "{args:?}: {said:?}");
    }
}

/// An operator names a profile to name the account.
#[tokio::test]
async fn a_profile_that_is_named_comes_before_credentials_in_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    let text = "[prod]\naws_access_key_id = OFTHEPROFILE\naws_secret_access_key = x\n";
    std::fs::write(&credentials, text).unwrap();
    let signed_by = async |args: &[&str]| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut command = bare(args);
        command
            .env("AWS_SHARED_CREDENTIALS_FILE", &credentials)
            .env("AWS_CONFIG_FILE", "/nowhere")
            .env("AWS_ACCESS_KEY_ID", "OFTHEENVIRONMENT")
            .env("AWS_SECRET_ACCESS_KEY", "y")
            .env("AWS_ENDPOINT_URL", format!("http://{}", listener.local_addr().unwrap()))
            .kill_on_drop(true);
        let _tool = command.stderr(Stdio::null()).spawn().unwrap();
        let (mut asked, _) = listener.accept().await.unwrap();
        let mut request = vec![];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            assert!(asked.read_buf(&mut request).await.unwrap() > 0, "a request ends");
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let (_, key) = request.split_once("Credential=").expect("a signed request");
        key.split('/').next().unwrap().to_owned()
    };
    let list = ["--stack", "prod", "--region", "eu-central-1", "list"];
    assert_eq!(signed_by(&[&["--profile", "prod"], &list[..]].concat()).await, "OFTHEPROFILE");
    assert_eq!(signed_by(&list).await, "OFTHEENVIRONMENT");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_json_whatever_is_found() {
    let incident = Incident::new().await;
    incident.pay([1, 9_500].into_iter()).await;
    incident.until("done", 1).await;
    incident.until("failed", 1).await;
    let metrics = incident.world.metric_lines().into_iter().map(|line| format!("{line}\n"));
    let file = incident.tool.folder().join("metrics.jsonl");
    std::fs::write(file, metrics.collect::<String>()).unwrap();
    for args in [
        &["show", "kudos", "evt_9500"][..],
        &["show", "kudos", "evt_9500", "--body"],
        &["show", "kudos", "lost"],
        &["list"],
        &["list", "--all", "--limit", "0"],
        &["list", "--count"],
        &["list", "--source", "apiera"],
        &["stats"],
        &["redrive", "--source", "kudos", "--dry-run"],
        &["redrive", "kudos", "lost"],
        &["drop", "--reason", "x", "--source", "kudos"],
        &["secrets", "list"],
        &["doctor"],
        &["pause", "kudos"],
        &["resume", "kudos"],
        &["send", "kudos", "--tamper"],
        &["reconcile", "kudos", "--ids", "-"],
    ] {
        let said = incident.tool.run_with(&[&["--json"], args].concat(), "evt_1\nlost\n").await;
        assert!(matches!(said.code, Some(0 | 1)), "{args:?}: {said:?}");
        for line in said.stdout.lines() {
            let document: Value = serde_json::from_str(line).unwrap();
            assert!(document.is_object() || document.is_array(), "{args:?}: {line}");
        }
    }
}

/// `inbox list | head -1`.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_goes_away_is_no_error() {
    let incident = Incident::new().await;
    incident.pay([9_500].into_iter()).await;
    incident.until("failed", 1).await;
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["show", "kudos", "evt_9500"],
        &["show", "kudos", "evt_9500", "--body"],
        &["doctor"],
        &["secrets", "list"],
        &["completions", "zsh"],
        &["--help"],
    ] {
        let mut child = incident.tool.spawn(args);
        drop(child.stdout.take());
        let said = child.wait_with_output().await.unwrap();
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!((said.status.code(), &*stderr), (Some(0), ""), "{args:?}");
    }
}

/// Whoever made a file must not be able to write over a terminal.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_file_is_obeyed_by_a_terminal() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let said = tool.run_with(&["reconcile", "kudos", "--ids", "-"], "evt\u{1b}[2J\nevt_1\n").await;
    assert!(said.stdout.contains("missing: evt\\u{1b}[2J\n"), "{said:?}");
    let table = "\u{1b}[2J,b\n1,2\n";
    let said = tool.run_with(&["reconcile", "kudos", "--ids", "-"], table).await;
    assert!(said.stderr.contains("the columns \\u{1b}[2J, b"), "{said:?}");
    let headers = "X-Kudos-Signature: t=1774523060,v1=00\nContent-Encoding: \u{1b}[2J\n\n{}";
    let verify = ["verify", "--source", "kudos", "--headers", "-", "--at", "1774523060"];
    let said = tool.run_with(&verify, headers).await;
    assert!(said.stdout.contains("content-encoding: \\u{1b}[2J"), "{said:?}");
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{said:?}");
}
