//! The tables and queues at rest, read past the proxy.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::QueueAttributeName;
use local::cloud::Cloud;
use shared::aws::{CallBudget, Clients};

use crate::simulation::producer::Producer;
use crate::support::world::{Item, string, text};

/// Everything that is left.
#[derive(Debug)]
pub(crate) struct Tables {
    /// Rows by their key.
    pub(crate) rows: BTreeMap<String, Item>,
    /// The keys of body items.
    pub(crate) bodies: Vec<String>,
    /// What the index lists as failed.
    pub(crate) listed: Vec<String>,
    pub(crate) business: BTreeMap<(String, String), Item>,
    /// Messages in the two queues, in flight or not, and in their dead-letter queues.
    pub(crate) messages: usize,
    pub(crate) dead: usize,
}

impl Tables {
    pub(crate) async fn read(cloud: &Cloud) -> Self {
        let clients = cloud.clients(CallBudget::BACKGROUND);
        let resources = &cloud.resources;
        let mut rows = BTreeMap::new();
        let mut bodies = vec![];
        for item in scan(&clients, &resources.inbox_table).await {
            let key = string(&item, "pk").to_owned();
            match key.strip_prefix('~') {
                None => drop(rows.insert(key, item)),
                Some(own) if own.starts_with("body#") => bodies.push(key),
                Some(_) => {}
            }
        }
        let business = scan(&clients, &resources.business_table).await;
        let key = |item: &Item| (string(item, "pk").to_owned(), string(item, "sk").to_owned());
        let queues = [&resources.queue_url, &resources.fifo_queue_url];
        let dead = [&resources.dlq_url, &resources.fifo_dlq_url];
        Self {
            rows,
            bodies,
            listed: listed(&clients, &resources.inbox_table).await,
            business: business.into_iter().map(|item| (key(&item), item)).collect(),
            messages: depth(&clients, queues).await,
            dead: depth(&clients, dead).await,
        }
    }

    /// Nothing is on its way.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.messages == 0 && self.unfinished() == 0
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.rows.values().filter(|row| is_unfinished(row)).count()
    }
}

pub(crate) fn is_unfinished(row: &Item) -> bool {
    matches!(string(row, "status"), "pending" | "processing")
}

async fn scan(clients: &Clients, table: &str) -> Vec<Item> {
    let pages = clients.dynamodb.scan().table_name(table).consistent_read(true);
    pages.into_paginator().items().send().collect::<Result<_, _>>().await.unwrap()
}

async fn listed(clients: &Clients, table: &str) -> Vec<String> {
    let mut keys = vec![];
    for producer in Producer::ALL {
        let shard = format!("failed#{}", producer.source());
        let query = clients.dynamodb.query().table_name(table).index_name("due");
        let query = query.key_condition_expression("due_shard = :shard");
        let query = query.expression_attribute_values(":shard", text(&shard));
        let items: Result<Vec<Item>, _> = query.into_paginator().items().send().collect().await;
        keys.extend(items.unwrap().iter().map(|item| string(item, "pk").to_owned()));
    }
    keys
}

async fn depth(clients: &Clients, queues: [&String; 2]) -> usize {
    let mut sum = 0;
    for queue in queues {
        let call = clients.sqs.get_queue_attributes().queue_url(queue);
        let answer = call.attribute_names(QueueAttributeName::All).send().await.unwrap();
        let attributes = answer.attributes.unwrap();
        for name in [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ] {
            sum += attributes[&name].parse::<usize>().unwrap();
        }
    }
    sum
}

/// A row for people: without its body and its random parts.
pub(crate) fn shown(item: &Item) -> String {
    const LEFT_OUT: [&str; 5] = ["body", "body_sha256", "receipt", "lease_owner", "signed_by"];
    let attributes: BTreeMap<&String, &AttributeValue> =
        item.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())).collect();
    let shown = attributes.into_iter().map(|(name, value)| {
        let value = value.as_s().or(value.as_n()).map_or("…", String::as_str);
        format!("{name}={value}")
    });
    shown.collect::<Vec<_>>().join(" ")
}
