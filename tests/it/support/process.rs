//! The local run as a process of its own, which a test can kill and measure.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use tokio::process::{Child, Command};

use super::eventually;
use super::world::{Item, string};

/// `cargo run -p local -- --data …`, running.
pub(crate) struct Process {
    child: Child,
    /// Where it takes deliveries, without `/webhooks`.
    pub(crate) url: String,
    environment: HashMap<String, String>,
}

impl Process {
    /// Starts it on a free port, with its tables in `data`, sweeping every second.
    pub(crate) async fn start(data: &Path) -> Self {
        // A file takes any amount of output; a pipe that nobody reads would stop the process.
        let said = data.join("stdout");
        let child = Command::new(env!("CARGO_BIN_EXE_stack"))
            .args(["--listen", "127.0.0.1:0", "--sweep-every", "1", "--data"])
            .arg(data)
            .stdout(Stdio::from(std::fs::File::create(&said).unwrap()))
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let url = eventually("the process says its URL", Duration::from_secs(60), async || {
            let said = std::fs::read_to_string(&said).unwrap();
            let url = said.split_once("deliver to")?.1.split_once("/webhooks/")?.0.trim();
            said.contains("waiting for deliveries").then(|| url.to_owned())
        })
        .await;
        let environment = std::fs::read_to_string(data.join("endpoints.env")).unwrap();
        let lines = environment.lines().filter_map(|line| line.split_once('='));
        let environment = lines.map(|(name, value)| (name.into(), value.into())).collect();
        Self { child, url, environment }
    }

    /// SIGKILL; waits until the process is gone.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// The memory that it holds now, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let pid = self.child.id().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Its tables, through its DynamoDB endpoint.
    pub(crate) fn tables(&self) -> Tables {
        let environment = self.environment.clone();
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(environment["AWS_REGION"].clone()))
            .credentials_provider(Credentials::new("local", "local", None, None, "test"))
            .endpoint_url(&environment["AWS_ENDPOINT_URL_DYNAMODB"])
            .http_client(shared::aws::https())
            .build();
        Tables { dynamodb: aws_sdk_dynamodb::Client::from_conf(config), environment }
    }
}

/// The tables of a [`Process`].
pub(crate) struct Tables {
    dynamodb: aws_sdk_dynamodb::Client,
    environment: HashMap<String, String>,
}

impl Tables {
    /// All of the table that `variable` names, but for what is not an event or an effect.
    pub(crate) async fn scan(&self, variable: &str) -> Vec<Item> {
        let scan = self.dynamodb.scan().table_name(&self.environment[variable]);
        let pages = scan.consistent_read(true).into_paginator().items().send();
        let items: Vec<Item> = pages.collect::<Result<_, _>>().await.unwrap();
        items.into_iter().filter(|item| !string(item, "pk").starts_with('~')).collect()
    }
}
