//! A function's environment, read once; every missing variable is named at once.

use std::fmt;
use std::time::Duration;

use crate::aws::Clients;
use crate::inbox::Inbox;
use crate::limits::RETENTION_DAYS;
use crate::queue::Queues;

/// Reads variables and remembers what is missing.
pub struct Env<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    mistakes: Vec<String>,
}

/// What every function is told.
#[derive(Clone, Debug)]
pub struct Common {
    /// `INBOX_TABLE`.
    pub inbox_table: String,
    /// `QUEUE_URL`: the standard queue.
    pub queue_url: String,
    /// `FIFO_QUEUE_URL`.
    pub fifo_queue_url: String,
    /// `RETENTION_DAYS`: how long a finished event is remembered.
    pub retention: Duration,
}

impl Common {
    /// The inbox table, through these clients.
    pub fn inbox(&self, clients: &Clients) -> Inbox {
        Inbox::new(clients.dynamodb.clone(), &self.inbox_table, self.retention)
    }

    /// The two queues, through these clients.
    pub fn queues(&self, clients: &Clients) -> Queues {
        Queues::new(clients.sqs.clone(), &self.queue_url, &self.fifo_queue_url)
    }
}

/// Every variable that is missing or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvError(Vec<String>);

impl std::error::Error for EnvError {}

impl fmt::Display for EnvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment: {}", self.0.join("; "))
    }
}

impl<'a> Env<'a> {
    /// Reads from this lookup; `main` hands in the process's environment.
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, mistakes: vec![] }
    }

    /// A variable that must be set; `what` says what it should hold.
    pub fn text(&mut self, name: &str, what: &str) -> String {
        let value = (self.lookup)(name).filter(|value| !value.trim().is_empty());
        value.unwrap_or_else(|| {
            self.mistakes.push(format!("{name} is not set (expected {what})"));
            String::new()
        })
    }

    /// What every function is told.
    pub fn common(&mut self) -> Common {
        Common {
            inbox_table: self.text("INBOX_TABLE", "the inbox table's name"),
            queue_url: self.text("QUEUE_URL", "the standard queue's URL"),
            fifo_queue_url: self.text("FIFO_QUEUE_URL", "the FIFO queue's URL"),
            retention: self.retention(),
        }
    }

    /// `SECRETS_PREFIX`: a source's signing secret is `<prefix>/<source>`.
    pub fn secrets_prefix(&mut self) -> String {
        self.text("SECRETS_PREFIX", "what comes before /<source> in secret ids")
    }

    /// `RETENTION_DAYS`, or 30.
    fn retention(&mut self) -> Duration {
        let days = match (self.lookup)("RETENTION_DAYS").as_deref() {
            None | Some("") => RETENTION_DAYS,
            Some(text) => text.parse().ok().filter(|days| *days >= 1).unwrap_or_else(|| {
                let mistake =
                    format!("RETENTION_DAYS is {text:?} (expected whole days, 1 or more)");
                self.mistakes.push(mistake);
                RETENTION_DAYS
            }),
        };
        Duration::from_secs(u64::from(days) * 86_400)
    }

    /// What has been read is complete.
    ///
    /// # Errors
    /// It is not.
    pub fn finish(self) -> Result<(), EnvError> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(EnvError(self.mistakes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let lookup = |name: &str| (name == "RETENTION_DAYS").then(|| "0".to_owned());
        let mut env = Env::new(&lookup);
        env.text("INBOX_TABLE", "a table's name");
        env.retention();
        let said = env.finish().unwrap_err().to_string();
        assert!(said.contains("INBOX_TABLE is not set (expected a table's name)"), "{said}");
        assert!(said.contains("RETENTION_DAYS is \"0\""), "{said}");
        let mut env = Env::new(&|_: &str| None);
        assert_eq!(env.retention().as_secs(), 30 * 86_400);
    }
}
