//! Where the inbox is: the local run's `endpoints.env`, a stack's outputs, or the environment that
//! the functions have.

mod credentials;
mod environment;
mod stack;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use aws_config::SdkConfig;
use clap::Args;
use shared::aws::{CallBudget, Clients};
use shared::config::{Common, Env};
use shared::inbox::Inbox;
use shared::key::SourceName;
use shared::queue::Queues;

use crate::exit::Failure;
use crate::shell;

/// Which inbox is meant
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Which inbox")]
pub(crate) struct Where {
    /// The local run: its folder or its endpoints.env
    #[arg(
        long, global = true, value_name = "DIR", num_args = 0..=1, require_equals = true,
        default_missing_value = ".local", conflicts_with_all = ["stack", "profile", "region"]
    )]
    pub(crate) local: Option<PathBuf>,
    /// A CloudFormation stack; its outputs name the table and the queues [env: STACK]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) stack: Option<String>,
    /// The AWS profile; it comes before credentials in the environment
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The AWS Region, as in AWS_REGION
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) region: Option<String>,
}

/// What kind of place it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The local run that keeps its state in this folder.
    Local(PathBuf),
    /// A CloudFormation stack.
    Stack(String),
    /// What the environment says, as for the functions.
    Environment,
}

/// An inbox, and how to reach it. Nothing has been called yet, but for a stack's outputs.
#[derive(Debug)]
pub(crate) struct Place {
    /// What kind of place.
    pub(crate) kind: Kind,
    /// The AWS clients.
    pub(crate) clients: Clients,
    /// The configuration they are made of, for other services' clients.
    pub(crate) sdk: SdkConfig,
    /// The inbox table's and the queues' names.
    pub(crate) common: Common,
    /// What comes before `/<source>` in the secrets' names.
    pub(crate) secrets_prefix: String,
    /// Outputs of the stack, or the variables of the environment.
    facts: BTreeMap<String, String>,
}

/// A person waits longer than a function may.
const PATIENT: CallBudget =
    CallBudget { attempt: Duration::from_secs(5), operation: Duration::from_secs(15) };

impl Where {
    /// The flags that mean the same inbox again, with a blank behind them.
    pub(crate) fn flags(&self) -> String {
        let mut flags = String::new();
        if let Some(local) = &self.local {
            let path = shell::word(&local.display().to_string());
            flags += &if path == ".local" { "--local ".into() } else { format!("--local={path} ") };
        }
        for (name, value) in
            [("stack", &self.stack), ("profile", &self.profile), ("region", &self.region)]
        {
            if let Some(value) = value {
                flags += &format!("--{name} {} ", shell::word(value));
            }
        }
        flags
    }
}

impl Place {
    /// Finds the inbox that the command line means.
    pub(crate) async fn find(wanted: &Where) -> Result<Self, Failure> {
        if let Some(local) = &wanted.local {
            return environment::local(local);
        }
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let named = set("INBOX_TABLE");
        match (wanted.stack.clone(), set("STACK")) {
            (Some(stack), _) => stack::find(wanted, stack).await,
            (None, Some(_)) if named.is_some() => Err(Failure::usage(
                "both STACK and INBOX_TABLE are set, and may mean two inboxes",
                "inbox --stack \"$STACK\" …, or unset one of them",
            )),
            (None, Some(stack)) => stack::find(wanted, stack).await,
            (None, None) if named.is_some() => environment::of_process(wanted).await,
            (None, None) => Err(Failure::usage(
                "which inbox? Nothing says where it is",
                "inbox --local … for `cargo run -p local`, or inbox --stack NAME …",
            )),
        }
    }

    /// A place that these variables describe, named as for the functions.
    fn of(
        kind: Kind,
        sdk: SdkConfig,
        facts: BTreeMap<String, String>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let lookup = |name: &str| variables.get(name).cloned();
        let mut env = Env::new(&lookup);
        let (common, secrets_prefix) = (env.common(), env.secrets_prefix());
        env.finish().map_err(|missing| {
            Failure::unreachable(format!("{kind} does not say it all: {missing}"), kind.remedy())
        })?;
        let clients = Clients::new(&sdk, PATIENT);
        Ok(Self { kind, clients, sdk, common, secrets_prefix, facts })
    }

    /// What makes a call without an answer plain: there are no credentials to call with.
    pub(crate) async fn explain(&self) -> Option<Failure> {
        credentials::missing(&self.sdk).await
    }

    /// The inbox table.
    pub(crate) fn inbox(&self) -> Inbox {
        self.common.inbox(&self.clients)
    }

    /// The queues.
    pub(crate) fn queues(&self) -> Queues {
        self.common.queues(&self.clients)
    }

    /// What the place says under this name: a stack's output, or a variable.
    pub(crate) fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// Where the source's deliveries are taken, if that is known.
    pub(crate) fn webhook_url(&self, source: &SourceName) -> Option<String> {
        if let Kind::Stack(_) = self.kind {
            // Outputs are named after sources: KudosWebhookUrl. All share one address.
            let any = self.facts.iter().find(|(name, _)| name.ends_with("WebhookUrl"))?.1;
            let (base, _) = any.rsplit_once('/')?;
            return Some(format!("{base}/{source}"));
        }
        Some(format!("{}/{source}", self.fact("WEBHOOKS_URL")?.trim_end_matches('/')))
    }
}

impl Kind {
    /// What to do if it is not as it should be.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Local(_) => "cargo run -p local",
            Self::Stack(_) => "aws cloudformation describe-stacks, and look at the outputs",
            Self::Environment => "inbox --stack NAME …, or set what is missing",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local(folder) => write!(f, "the local run in {}", folder.display()),
            Self::Stack(name) => write!(f, "the stack {name}"),
            Self::Environment => f.write_str("the inbox of the environment"),
        }
    }
}
