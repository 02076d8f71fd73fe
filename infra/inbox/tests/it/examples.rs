//! Every example of every help, as it is written there.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::stack::Stack;
use crate::support::tool::{Said, bare, ended};
use crate::support::usage::HELPS;
use crate::support::{Delivery, Incident};

/// Long enough for a busy machine, and shorter than a command that hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The commands under `Examples:`, without what is said of them beside.
fn examples(help: &str) -> Vec<String> {
    let (_, text) = help.split_once("\nExample").unwrap();
    let starts = ["inbox ", "jq ", "printf ", "read "];
    let commands = text.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = commands.filter(|line| starts.iter().any(|start| line.starts_with(start)));
    commands.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

/// A folder as the examples expect it, beside an inbox.
struct Desk<'i> {
    folder: tempfile::TempDir,
    stack: Stack,
    incident: &'i Incident,
}

impl<'i> Desk<'i> {
    async fn new(incident: &'i Incident) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        let (local, programs) = (folder.path().join(".local"), folder.path().join("bin"));
        std::fs::create_dir_all(&local).unwrap();
        std::fs::create_dir_all(&programs).unwrap();
        let world = &incident.world;
        world.cloud.write_environment(&local, world.running.address()).unwrap();
        let metrics = world.metric_lines().into_iter().map(|line| format!("{line}\n"));
        write(".local/metrics.jsonl", &metrics.collect::<String>());
        let signed =
            "t=1774523060,v1=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let event = format!(r#"{{"headers":{{"kallglot-signature":"{signed}"}},"body":"{{}}"}}"#);
        write("event.json", &event);
        write("h.txt", &format!("X-Kudos-Signature: {signed}\nwebhook-signature: v1,AAAA\n"));
        write("b.json", "{}");
        write("s.txt", "whsec_YXBpZXJhLWxvY2FsLXNlY3JldA==\n");
        write("session.json", r#"{"id":"sess_1","object":"session","status":"ended"}"#);
        write("delivery-log.csv", "sent,event_id\n1,evt_1\n2,lost\n");
        write("ids.txt", "evt_1\nlost\n");
        write("export.json", r#"{"deliveries":[{"event_id":"evt_1","event":{"id":"evt_1"}}]}"#);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_inbox"), programs.join("inbox")).unwrap();
        // What jq makes of it is not ours; whether it gets something is.
        executable(
            &programs.join("jq"),
            "for last; do :; done\n[ -f \"$last\" ] && exec <\"$last\"\nexec cat\n",
        );
        Self { folder, stack: Stack::of(world).await, incident }
    }

    /// The example with what is here in the place of what is elsewhere.
    fn here(&self, example: &str) -> String {
        let address = format!("http://{}", self.incident.world.running.address().unwrap());
        // Where a shell keeps its completions is not here.
        let completions = example.starts_with("inbox completions");
        let example = if completions { example.split(" > ").next().unwrap() } else { example };
        let example = example
            .replace("webhook-inbox-prod", "prod")
            .replace("webhook-inbox-dev", "prod")
            .replace("https://example.org", &address)
            .replace("--count 3000", "--count 3");
        // The stack's address is nowhere.
        let sent = format!("send apiera --url {address}/webhooks/apiera --attempt");
        example.replace("send apiera --attempt", &sent)
    }

    async fn run(&self, example: &str) -> Said {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("set -o pipefail; {}", self.here(example))]);
        let path = format!("{}:/usr/bin:/bin", self.folder.path().join("bin").display());
        command.env_clear().envs(self.stack.environment()).env("PATH", path);
        command.env("NEW", "a-secret-that-is-new").current_dir(self.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        // Who reads nothing has closed it.
        let _ = child.stdin.take().unwrap().write_all(b"a-secret-that-is-typed\n").await;
        let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
        ended(output.unwrap_or_else(|_| panic!("it hangs: {example}")).unwrap())
    }
}

fn executable(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_every_help_runs() {
    let incident = Incident::new().await;
    let now = crate::support::deliveries::rfc3339_now();
    let odd = Delivery::kallglot(
        "an id with spaces, # or é",
        "session.ended",
        &now,
        &serde_json::json!({"id": "sess_1", "status": "ended"}),
    );
    incident.world.deliver(&odd).await;
    incident.pay([1, 9_500].into_iter()).await;
    incident.until("done", 2).await;
    incident.until("failed", 1).await;
    let desk = Desk::new(&incident).await;
    let mut ran = 0;
    for help in HELPS {
        let help = ended(bare(&[help, &["--help"]].concat()).output().await.unwrap());
        let examples = examples(&help.stdout);
        assert!(!examples.is_empty(), "{help:?}");
        for example in examples {
            let said = desk.run(&example).await;
            // Some show what is not there, or what was given up before.
            assert!(matches!(said.code, Some(0 | 1)), "{example}: {said:?}");
            assert!(!said.stderr.contains("panicked"), "{example}: {said:?}");
            assert!(!said.stdout.is_empty() || !said.stderr.is_empty(), "{example} is silent");
            ran += 1;
        }
    }
    assert!(ran > 45, "{ran} examples");
}
