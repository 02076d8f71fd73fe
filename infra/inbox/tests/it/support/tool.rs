//! The real binary, told where a test's inbox is.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use super::World;

/// `inbox`, with a folder whose `endpoints.env` leads to a world.
pub(crate) struct Tool {
    folder: tempfile::TempDir,
}

/// What the tool said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Tool {
    /// For this world.
    pub(crate) fn of(world: &World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        world.cloud.write_environment(folder.path(), world.running.address()).unwrap();
        Self { folder }
    }

    /// The folder that `--local=` is given.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The command, not yet run: about this world, with nothing from our own environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(&[]);
        command.arg(format!("--local={}", self.folder().display())).args(args);
        command
    }

    /// Runs it to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Said {
        ended(self.command(args).output().await.unwrap())
    }

    /// Runs it to its end, with this on stdin.
    pub(crate) async fn run_with(&self, args: &[&str], stdin: &str) -> Said {
        let mut child = self.spawn(args);
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).await.unwrap();
        ended(child.wait_with_output().await.unwrap())
    }

    /// Starts it, everything piped.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true).spawn().unwrap()
    }

    /// Runs it with `--json`; it must end well.
    pub(crate) async fn json(&self, args: &[&str]) -> Value {
        let said = self.run(&[&["--json"], args].concat()).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    }

    /// The same, for what prints a document on each line.
    pub(crate) async fn json_lines(&self, args: &[&str]) -> Vec<Value> {
        let said = self.run(&[&["--json"], args].concat()).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The command without a place.
pub(crate) fn bare(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inbox"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

/// What an ended process said.
pub(crate) fn ended(output: Output) -> Said {
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
