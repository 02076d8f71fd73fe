//! What an operator has said about a source, and when its secrets were last used: one item a
//! source, `~control#<source>`, beside the rows.

use std::collections::HashMap;

use tokio::sync::Mutex;

use super::Inbox;
use super::item::{Item, at, s, time};
use super::write::{Written, write};
use crate::fault::Fault;
use crate::key::SourceName;
use crate::limits::{CONTROL_FRESH, SECRET_USE_EVERY};
use crate::secret::Fingerprint;
use crate::time::Timestamp;

/// A source's control item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Its events are stored and answered 2xx, but not processed.
    pub paused: bool,
    /// When it was last paused.
    pub paused_at: Option<Timestamp>,
    /// When processing was last taken up again.
    pub resumed_at: Option<Timestamp>,
}

impl Control {
    /// Whether the sweeper may send. After a resume it waits until no processor can still remember
    /// the pause and throw the message away.
    pub fn may_send(&self, now: Timestamp) -> bool {
        !self.paused && self.resumed_at.is_none_or(|at| now.since(at) > CONTROL_FRESH)
    }

    fn read(item: &Item) -> Self {
        let paused = item.get("paused").and_then(|v| v.as_bool().ok()).copied();
        Self {
            paused: paused.unwrap_or(false),
            paused_at: time(item, "paused_at"),
            resumed_at: time(item, "resumed_at"),
        }
    }
}

fn control_key(source: &SourceName) -> String {
    format!("~control#{source}")
}

impl Inbox {
    /// The source's control item; a source without one is not paused.
    ///
    /// # Errors
    /// DynamoDB did not give it.
    pub async fn control(&self, source: &SourceName) -> Result<Control, Fault> {
        Ok(self.control_item(source).await?.as_ref().map(Control::read).unwrap_or_default())
    }

    /// When each secret of the source last made a signature, as far as that was noted, by the digits
    /// of its fingerprint.
    ///
    /// # Errors
    /// DynamoDB did not give it.
    pub async fn secret_uses(
        &self,
        source: &SourceName,
    ) -> Result<HashMap<String, Timestamp>, Fault> {
        let item = self.control_item(source).await?.unwrap_or_default();
        let used = item
            .keys()
            .filter_map(|name| Some((name.strip_prefix("used_")?.to_owned(), time(&item, name)?)));
        Ok(used.collect())
    }

    async fn control_item(&self, source: &SourceName) -> Result<Option<Item>, Fault> {
        let call = self.dynamodb.get_item().table_name(&self.table);
        let answer = call.key("pk", s(control_key(source))).consistent_read(true).send().await;
        Ok(answer.map_err(|error| Fault::of("GetItem", &error))?.item)
    }

    /// Stops the processing of a source, or takes it up again. `false`: somebody has said something
    /// later, which stands. So a request that was under way for minutes cannot pause for ever what
    /// has been resumed since.
    ///
    /// # Errors
    /// DynamoDB did not say.
    pub async fn pause(
        &self,
        source: &SourceName,
        paused: bool,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        let call = self
            .dynamodb
            .update_item()
            .table_name(&self.table)
            .key("pk", s(control_key(source)))
            .update_expression(if paused {
                "SET paused = :paused, paused_at = :now"
            } else {
                "SET paused = :paused, resumed_at = :now"
            })
            .condition_expression(
                "(attribute_not_exists(paused_at) OR paused_at <= :now) \
                 AND (attribute_not_exists(resumed_at) OR resumed_at <= :now)",
            )
            .expression_attribute_values(
                ":paused",
                aws_sdk_dynamodb::types::AttributeValue::Bool(paused),
            )
            .expression_attribute_values(":now", at(now));
        Ok(matches!(write(call).await?, Written::Done(_)))
    }

    async fn note_use(
        &self,
        source: &SourceName,
        secret: &Fingerprint,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let call = self
            .dynamodb
            .update_item()
            .table_name(&self.table)
            .key("pk", s(control_key(source)))
            .update_expression("SET #used = :now")
            .expression_attribute_names("#used", format!("used_{secret}"))
            .expression_attribute_values(":now", at(now));
        call.send().await.map(drop).map_err(|error| Fault::of("UpdateItem", &error))
    }
}

/// What a source's control item was when it was last asked for, and when that was: a fault only
/// where nothing is known.
type Known = (Timestamp, Result<Control, Fault>);

/// Control items remembered for ten seconds, and the uses of secrets noted once a minute.
#[derive(Debug)]
pub struct Controls {
    inbox: Inbox,
    known: Mutex<HashMap<SourceName, Known>>,
    noted: Mutex<HashMap<(SourceName, Fingerprint), Timestamp>>,
}

impl Controls {
    /// Remembers nothing yet.
    pub fn new(inbox: Inbox) -> Self {
        Self { inbox, known: Mutex::default(), noted: Mutex::default() }
    }

    /// The source's control item: a copy up to ten seconds old, or the last one known while it
    /// cannot be read.
    ///
    /// # Errors
    /// It was never read, and cannot be now: nobody knows whether the source is paused. It is not
    /// asked for again within ten seconds.
    pub async fn of(&self, source: &SourceName, now: Timestamp) -> Result<Control, Fault> {
        let mut known = self.known.lock().await;
        let last = known.get(source).cloned();
        if let Some((at, control)) = &last
            && now.since(*at) < CONTROL_FRESH
        {
            return control.clone();
        }
        let control = match (self.inbox.control(source).await, last) {
            (Err(fault), Some((_, Ok(control)))) => {
                tracing::warn!(%source, %fault, "control item not read; the last one known stands");
                Ok(control)
            }
            (read, _) => read,
        };
        known.insert(source.clone(), (now, control.clone()));
        control
    }

    /// Notes that this secret made a signature just now. Never fails a delivery: what is not noted
    /// now is noted with the next one.
    pub async fn used(&self, source: &SourceName, secret: &Fingerprint, now: Timestamp) {
        let slot = (source.clone(), secret.clone());
        {
            let mut noted = self.noted.lock().await;
            if noted.get(&slot).is_some_and(|at| now.since(*at) < SECRET_USE_EVERY) {
                return;
            }
            noted.insert(slot.clone(), now);
        }
        if let Err(fault) = self.inbox.note_use(source, secret, now).await {
            tracing::warn!(%source, %fault, "last use of a secret not noted");
            self.noted.lock().await.remove(&slot);
        }
    }
}
