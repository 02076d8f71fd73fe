//! Writing into the inbox table beside the product, for states that take days to come about.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

use super::world::{Item, text};
use super::{Delivery, World, eventually};

impl World {
    /// Delivers until it is stored, as a producer does: a busy machine may answer 503.
    pub(crate) async fn deliver(&self, delivery: &Delivery) {
        eventually("a delivery is stored", Duration::from_secs(60), async || {
            let status = self.post(delivery).await.status;
            assert!(status == 200 || status == 503, "{status}");
            (status == 200).then_some(())
        })
        .await;
    }

    /// Changes attributes of a row.
    pub(crate) async fn set(&self, key: &str, attributes: &[(&str, AttributeValue)]) {
        let mut row = self.row(key).await.unwrap();
        row.extend(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.put_rows(vec![row]).await;
    }

    /// Writes rows as they are given.
    pub(crate) async fn put_rows(&self, rows: Vec<Item>) {
        let table = &self.cloud.resources.inbox_table;
        for chunk in rows.chunks(25) {
            let puts = chunk.iter().map(|row| {
                let put = PutRequest::builder().set_item(Some(row.clone())).build().unwrap();
                WriteRequest::builder().put_request(put).build()
            });
            let request = HashMap::from([(table.clone(), puts.collect())]);
            let call = self.dynamodb().batch_write_item().set_request_items(Some(request));
            let answer = call.send().await.unwrap();
            assert!(answer.unprocessed_items.is_none_or(|items| items.is_empty()));
        }
    }

    /// Many rows like this one, with other ids.
    pub(crate) async fn multiply(&self, key: &str, ids: impl Iterator<Item = String>) {
        let row = self.row(key).await.unwrap();
        let source = key.split_once('#').unwrap().0;
        let copies = ids.map(|id| {
            let mut copy = row.clone();
            copy.insert("pk".into(), text(&format!("{source}#{id}")));
            copy.insert("event_id".into(), text(&id));
            copy
        });
        self.put_rows(copies.collect()).await;
    }
}

/// A number attribute.
pub(crate) fn n(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
