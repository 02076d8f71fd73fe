//! What a handler wants to happen: DynamoDB writes that are committed with the row's end.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::builders::TransactWriteItemBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};

use crate::inbox::item::{Item, size};
use crate::limits::{EFFECTS_BYTES_MAX, EFFECTS_MAX, FUTURE_MAX};
use crate::time::Timestamp;

/// What it means when an effect's own condition refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRefused {
    /// Something moved since the handler looked: run it again.
    Retry,
    /// The entity already shows a newer event: the event ends `done`, outcome `stale`.
    Stale,
    /// The effect has already happened: the event ends `done`, outcome `already_applied`.
    AlreadyApplied,
}

/// Writes that happen together, once, or not at all.
///
/// ```
/// # use shared::effects::{Effects, Change};
/// let effects = Effects::on("business")
///     .put_if_absent("kudos#acme", "payment#evt_1", [("amount_cents", 1250.into())])
///     .update(Change::of("kudos#acme", "totals").add("payments", 1).add("paid_cents", 1250));
/// assert_eq!(effects.len(), 2);
/// ```
#[derive(Clone, Default)]
pub struct Effects {
    table: String,
    items: Vec<(TransactWriteItem, OnRefused)>,
}

/// Effects that DynamoDB would refuse however often they are tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EffectsError {
    /// A transaction takes 100 actions, and one is the row's own.
    #[error("{0} effects; one event may have {EFFECTS_MAX}")]
    TooMany(usize),
    /// A transaction takes 4 MB.
    #[error("effects of {0} bytes; one event may have {EFFECTS_BYTES_MAX}")]
    TooLarge(usize),
    /// A transaction takes one action per item.
    #[error("two effects on one item of table {0}; make them one")]
    SameItem(String),
    /// The inbox table is the inbox's own.
    #[error("an effect on the inbox table {0}")]
    OnInbox(String),
}

/// A value of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Value(AttributeValue);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(AttributeValue::S(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(AttributeValue::S(text))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(AttributeValue::N(number.to_string()))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self(AttributeValue::Bool(flag))
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self(AttributeValue::N(time.millis().to_string()))
    }
}

impl From<AttributeValue> for Value {
    fn from(value: AttributeValue) -> Self {
        Self(value)
    }
}

impl Effects {
    /// No effects yet; those that follow are on this table, with keys `pk` and `sk`.
    pub fn on(table: &str) -> Self {
        Self { table: table.to_owned(), items: vec![] }
    }

    /// Writes a whole item, over what may be there.
    #[must_use]
    pub fn put<'a>(
        self,
        pk: &str,
        sk: &str,
        attributes: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Self {
        let put = self.put_action(pk, sk, attributes);
        self.with(action(put.build(), |b, put| b.put(put)), OnRefused::Retry)
    }

    /// Writes an item that must not be there yet. If it is, the event's effects have already
    /// happened: it ends `done`, outcome `already_applied`, and nothing changes.
    #[must_use]
    pub fn put_if_absent<'a>(
        self,
        pk: &str,
        sk: &str,
        attributes: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Self {
        let put =
            self.put_action(pk, sk, attributes).condition_expression("attribute_not_exists(pk)");
        self.with(action(put.build(), |b, put| b.put(put)), OnRefused::AlreadyApplied)
    }

    /// Changes an item, which comes into being if it is not there.
    #[must_use]
    pub fn update(self, change: Change) -> Self {
        let meaning = change.on_refused;
        let update = change.action(&self.table);
        self.with(action(update, |b, update| b.update(update)), meaning)
    }

    /// Removes an item, whether it is there or not.
    #[must_use]
    pub fn delete(self, pk: &str, sk: &str) -> Self {
        let delete = Delete::builder().table_name(&self.table).set_key(Some(key(pk, sk)));
        self.with(action(delete.build(), |b, delete| b.delete(delete)), OnRefused::Retry)
    }

    /// Any action, on any table but the inbox.
    #[must_use]
    pub fn with(mut self, item: TransactWriteItem, on_refused: OnRefused) -> Self {
        self.items.push((item, on_refused));
        self
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Refuses what DynamoDB would refuse however often it is tried.
    ///
    /// # Errors
    /// Too many, too large, two on one item, or one on the inbox table.
    pub fn check(&self, inbox_table: &str) -> Result<(), EffectsError> {
        if self.len() > EFFECTS_MAX {
            return Err(EffectsError::TooMany(self.len()));
        }
        let mut seen = HashSet::new();
        let mut bytes = 0;
        for (item, _) in &self.items {
            let target = Target::of(item);
            // A table may also be named by its ARN.
            if target.table.rsplit('/').next() == Some(inbox_table) {
                return Err(EffectsError::OnInbox(inbox_table.to_owned()));
            }
            bytes += target.bytes;
            let table = target.table.to_owned();
            if target.key.is_some_and(|key| !seen.insert((target.table, key))) {
                return Err(EffectsError::SameItem(table));
            }
        }
        if bytes > EFFECTS_BYTES_MAX { Err(EffectsError::TooLarge(bytes)) } else { Ok(()) }
    }

    pub(crate) fn into_parts(self) -> (Vec<TransactWriteItem>, Vec<OnRefused>) {
        self.items.into_iter().unzip()
    }

    fn put_action<'a>(
        &self,
        pk: &str,
        sk: &str,
        attributes: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value.0));
        let item = attributes.chain(key(pk, sk)).collect();
        Put::builder().table_name(&self.table).set_item(Some(item))
    }
}

impl std::fmt::Debug for Effects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Effects({})", self.len())
    }
}

/// Changes to one item: values set, numbers added to, attributes removed.
#[derive(Clone, Debug)]
pub struct Change {
    key: Item,
    sets: Vec<String>,
    adds: Vec<String>,
    removes: Vec<String>,
    names: HashMap<String, String>,
    values: Item,
    condition: Option<&'static str>,
    on_refused: OnRefused,
}

/// An event that no stale guard can place in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The producer signs no time for this event.
    #[error("the event has no time to compare")]
    NoTime,
    /// It would freeze the entity until then.
    #[error("the event's time is more than five minutes in the future")]
    InTheFuture,
}

impl Change {
    /// No changes yet to this item.
    pub fn of(pk: &str, sk: &str) -> Self {
        Self {
            key: key(pk, sk),
            sets: vec![],
            adds: vec![],
            removes: vec![],
            names: HashMap::new(),
            values: Item::new(),
            condition: None,
            on_refused: OnRefused::Retry,
        }
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(mut self, attribute: &str, value: impl Into<Value>) -> Self {
        let (name, slot) = self.slot(attribute, value.into());
        self.sets.push(format!("{name} = {slot}"));
        self
    }

    /// Adds to a number, from zero if it is not there.
    #[must_use]
    pub fn add(mut self, attribute: &str, amount: i64) -> Self {
        let (name, slot) = self.slot(attribute, amount.into());
        self.adds.push(format!("{name} {slot}"));
        self
    }

    /// Removes an attribute.
    #[must_use]
    pub fn remove(mut self, attribute: &str) -> Self {
        let name = format!("#n{}", self.names.len());
        self.names.insert(name.clone(), attribute.to_owned());
        self.removes.push(name);
        self
    }

    /// Makes the change only if the item shows no newer event: the last one's time in
    /// `last_event_at` (ms), and of two with the same time the `rank` decides. An event that comes
    /// too late ends `done`, outcome `stale`.
    ///
    /// # Errors
    /// The event has no time, or one more than five minutes ahead of `now`.
    pub fn unless_stale(
        mut self,
        occurred_at: Option<Timestamp>,
        rank: i64,
        now: Timestamp,
    ) -> Result<Self, GuardError> {
        let at = occurred_at.ok_or(GuardError::NoTime)?;
        if at > now.plus(FUTURE_MAX) {
            return Err(GuardError::InTheFuture);
        }
        self.sets.push("last_event_at = :last_at, last_event_rank = :last_rank".into());
        self.values.insert(":last_at".into(), Value::from(at).0);
        self.values.insert(":last_rank".into(), Value::from(rank).0);
        self.condition = Some(
            "attribute_not_exists(last_event_at) OR last_event_at < :last_at \
             OR (last_event_at = :last_at AND last_event_rank < :last_rank)",
        );
        self.on_refused = OnRefused::Stale;
        Ok(self)
    }

    fn slot(&mut self, attribute: &str, value: Value) -> (String, String) {
        let (name, slot) = (format!("#n{}", self.names.len()), format!(":v{}", self.values.len()));
        self.names.insert(name.clone(), attribute.to_owned());
        self.values.insert(slot.clone(), value.0);
        (name, slot)
    }

    fn action(self, table: &str) -> Result<Update, BuildError> {
        let clauses = [("SET", &self.sets), ("ADD", &self.adds), ("REMOVE", &self.removes)];
        let clauses = clauses.iter().filter(|(_, actions)| !actions.is_empty());
        let expression: Vec<_> =
            clauses.map(|(verb, actions)| format!("{verb} {}", actions.join(", "))).collect();
        Update::builder()
            .table_name(table)
            .set_key(Some(self.key))
            .update_expression(expression.join(" "))
            .set_condition_expression(self.condition.map(str::to_owned))
            .set_expression_attribute_names((!self.names.is_empty()).then_some(self.names))
            .set_expression_attribute_values((!self.values.is_empty()).then_some(self.values))
            .build()
    }
}

/// What an action is on, and what it weighs.
struct Target<'i> {
    table: &'i str,
    /// The item's key as text; `None` where the table's key names are not known.
    key: Option<String>,
    bytes: usize,
}

impl<'i> Target<'i> {
    fn of(action: &'i TransactWriteItem) -> Self {
        if let Some(put) = action.put() {
            let ours = |name| put.item().get(name).map(|value| (name, value));
            let key = ours("pk").zip(ours("sk")).map(|(pk, sk)| named([pk, sk]));
            return Self { table: put.table_name(), key, bytes: size(put.item()) };
        }
        let (table, key, values) = if let Some(update) = action.update() {
            (update.table_name(), update.key(), update.expression_attribute_values())
        } else if let Some(delete) = action.delete() {
            (delete.table_name(), delete.key(), delete.expression_attribute_values())
        } else if let Some(check) = action.condition_check() {
            (check.table_name(), check.key(), check.expression_attribute_values())
        } else {
            return Self { table: "", key: None, bytes: 0 };
        };
        let bytes = size(key) + values.map_or(0, size);
        let key = named(key.iter().map(|(name, value)| (name.as_str(), value)));
        Self { table, key: Some(key), bytes }
    }
}

fn named<'k>(key: impl IntoIterator<Item = (&'k str, &'k AttributeValue)>) -> String {
    let mut parts: Vec<_> = key.into_iter().map(|(n, value)| format!("{n}={value:?}")).collect();
    parts.sort();
    parts.concat()
}

fn key(pk: &str, sk: &str) -> Item {
    Item::from([("pk".into(), Value::from(pk).0), ("sk".into(), Value::from(sk).0)])
}

fn action<T>(
    built: Result<T, BuildError>,
    place: impl FnOnce(TransactWriteItemBuilder, T) -> TransactWriteItemBuilder,
) -> TransactWriteItem {
    #[expect(clippy::expect_used, reason = "table and key are always set here")]
    place(TransactWriteItem::builder(), built.expect("a complete action")).build()
}

#[cfg(test)]
mod tests;
