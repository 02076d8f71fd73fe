//! The item that a new event starts as.

use aws_sdk_dynamodb::types::AttributeValue;
use sha2::{Digest as _, Sha256};

use super::Inbox;
use super::accept::What;
use super::decide::next_visit;
use super::item::{Item, at, b, n, s, size};
use super::row::{Body, ErrorKind, Outcome, Status};
use crate::delivery::{Content, Delivery};
use crate::key::{EventKey, SourceName, Token};
use crate::limits::{DUE_FIRST, DUE_SHARDS, ROW_BYTES_CHEAP, UNUSABLE_RETENTION};
use crate::time::Timestamp;

/// What later writes add to a row: lease, first claim, attempts. Room that a body leaves free.
const ROW_GROWTH: usize = 100;

impl Inbox {
    /// What a new row starts as.
    pub(super) fn birth(&self, delivery: &Delivery<'_>, now: Timestamp) -> What {
        let forgotten = now.minus(self.retention);
        match delivery.content() {
            Content::Unusable(..) => What::Parked(ErrorKind::Unusable),
            Content::Event(event_type) if delivery.profile().ignores(event_type) => What::Ignored,
            Content::Event(_) if delivery.occurred_at().is_some_and(|then| then < forgotten) => {
                What::Parked(ErrorKind::BeyondMemory)
            }
            Content::Event(_) | Content::Handshake(_) => What::Stored,
        }
    }

    /// The row without its body.
    pub(super) fn new_row(
        &self,
        delivery: &Delivery<'_>,
        what: What,
        receipt: &Token,
        now: Timestamp,
    ) -> Item {
        let mut row = Item::from([
            ("pk".into(), s(delivery.key())),
            ("source".into(), s(&delivery.key().source)),
            ("event_id".into(), s(&delivery.key().id)),
            ("body_sha256".into(), b(*delivery.digest())),
            ("receipt".into(), s(receipt)),
            ("received_at".into(), at(now)),
            ("attempts".into(), n(0)),
            ("sends".into(), n(i32::from(what == What::Stored))),
            ("signed_by".into(), s(&delivery.made_by().signed_by)),
        ]);
        let mut set = |name: &str, value: Option<AttributeValue>| {
            row.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("event_type", delivery.event_type().map(s));
        set("occurred_at", delivery.occurred_at().map(at));
        set("first_attempt", delivery.attempt().map(n));
        self.set_state(&mut row, delivery, what, now);
        row
    }

    fn set_state(&self, row: &mut Item, delivery: &Delivery<'_>, what: What, now: Timestamp) {
        let key = delivery.key();
        let mut set = |name: &str, value| drop(row.insert(name.to_owned(), value));
        match what {
            What::Stored | What::Duplicate(_) => {
                set("status", s(Status::Pending));
                set("due_shard", s(due_shard(key)));
                set("due_at", at(now.plus(DUE_FIRST)));
            }
            What::Ignored => {
                set("status", s(Status::Ignored));
                set("outcome", s(Outcome::IgnoredType));
                set("finished_at", at(now));
                set("expires_at", n(now.plus(self.retention).secs()));
            }
            What::Parked(kind) => {
                set("status", s(Status::Failed));
                set("error_kind", s(kind));
                set("finished_at", at(now));
                set("due_shard", s(failed_shard(&key.source)));
                set("due_at", at(now.plus(UNUSABLE_RETENTION)));
                if kind == ErrorKind::Unusable {
                    set("expires_at", n(now.plus(UNUSABLE_RETENTION).secs()));
                }
                if let Content::Unusable(why, _) = delivery.content() {
                    set("last_error", s(why));
                }
            }
        }
    }
}

/// What the row's first write unit has left for a body.
pub(super) fn room(row: &Item) -> usize {
    let names = "body".len() + "body_encodingidentity".len();
    ROW_BYTES_CHEAP.saturating_sub(size(row) + names + ROW_GROWTH)
}

/// Places the body in a row, or where it is.
pub(super) fn set_body(row: &mut Item, what: What, body: Body, now: Timestamp) {
    if what == What::Parked(ErrorKind::BeyondMemory) {
        row.insert("due_at".into(), at(next_visit(ErrorKind::BeyondMemory, &body, now)));
    }
    let mut set = |name: &str, value| drop(row.insert(name.to_owned(), value));
    let encoding = match body {
        Body::Inline(bytes, encoding) => {
            set("body", b(bytes));
            encoding
        }
        Body::Parts { count, expires_at, encoding } => {
            set("body_parts", n(count));
            set("body_expires_at", n(expires_at.secs()));
            encoding
        }
    };
    set("body_encoding", s(encoding));
}

/// The shard of the `due` index an unfinished event is in.
pub(super) fn due_shard(key: &EventKey) -> String {
    let digest = Sha256::digest(key.to_string());
    format!("{}#{}", key.source, u32::from(digest[0]) % DUE_SHARDS)
}

/// The shard of the `due` index that lists a source's failures.
pub(super) fn failed_shard(source: &SourceName) -> String {
    format!("failed#{source}")
}
