//! A whole inbox in memory, with everything in it that the template makes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use local::apiera::Options;
use local::cloud::Cloud;
use local::front::Front;
use local::functions::{Functions, Here};
use local::stack::{Parts, Running};
use shared::aws::{CallBudget, Clients};
use shared::metrics::Metrics;
use shared::source::Sources;

use super::{Delivery, Faulty, eventually, log};

pub(crate) type Item = HashMap<String, AttributeValue>;

/// What a producer hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

/// Embedded services, and functions wired to them. Nothing runs by itself until it is told to.
pub(crate) struct World {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) functions: Functions,
    pub(crate) running: Running,
    http: reqwest::Client,
    clients: Clients,
    metrics: Arc<Mutex<Vec<serde_json::Value>>>,
}

impl World {
    /// As deployed.
    pub(crate) async fn new() -> Self {
        Self::with(None, Options::default(), |_, parts| parts).await
    }

    /// As deployed, with `faulty` below the SDK clients of all three functions.
    pub(crate) async fn faulty(faulty: &Faulty) -> Self {
        let faulty = faulty.clone();
        Self::with(None, Options::default(), |cloud, parts| Parts {
            ingress: Clients::new(&cloud.sdk_config(http(&faulty)), CallBudget::INGRESS),
            background: Clients::new(&cloud.sdk_config(http(&faulty)), CallBudget::BACKGROUND),
            ..parts
        })
        .await
    }

    /// As deployed, but for what `change` makes of the parts.
    pub(crate) async fn with(
        data: Option<&Path>,
        apiera: Options,
        change: impl FnOnce(&Cloud, Parts) -> Parts,
    ) -> Self {
        log();
        let sources = Sources::builtin().unwrap();
        let cloud = Cloud::start(data, &sources, apiera).await.unwrap();
        let metrics = Arc::new(Mutex::new(vec![]));
        let kept = metrics.clone();
        let sink = Metrics::to(&cloud.resources.inbox_table, move |line| {
            kept.lock().unwrap().push(serde_json::from_str(line).unwrap());
        });
        let parts = change(&cloud, Parts::of(&cloud, sources, sink));
        let here = parts.wire(&cloud.resources).unwrap();
        Self {
            clients: cloud.clients(CallBudget::BACKGROUND),
            cloud: Arc::new(cloud),
            functions: Functions::Here(Arc::new(here)),
            running: Running::nothing(),
            http: reqwest::Client::new(),
            metrics,
        }
    }

    /// Takes deliveries over HTTP.
    pub(crate) fn serve(mut self) -> Self {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        self.running.serve(Front::bind(any).unwrap(), &self.functions);
        self
    }

    /// Lets the event source mappings poll.
    pub(crate) fn poll(mut self) -> Self {
        self.running.poll(&self.cloud, &self.functions);
        self
    }

    /// Lets the sweeper sweep every second.
    pub(crate) fn sweep(mut self) -> Self {
        self.running.sweep(Duration::from_secs(1), &self.functions);
        self
    }

    /// The functions in this process.
    pub(crate) fn here(&self) -> &Here {
        match &self.functions {
            Functions::Here(here) => here,
            Functions::Invoked(_) => unreachable!("a World's functions are here"),
        }
    }

    /// Delivers over HTTP; the world must [`serve`](Self::serve).
    pub(crate) async fn post(&self, delivery: &Delivery) -> Answer {
        let url =
            format!("http://{}/webhooks/{}", self.running.address().unwrap(), delivery.source);
        let mut request = self.http.post(url).header("content-type", "application/json");
        for (name, value) in &delivery.headers {
            request = request.header(name, value);
        }
        let response = request.body(delivery.body.clone()).send().await.unwrap();
        Answer {
            status: response.status().as_u16(),
            retry_after: response
                .headers()
                .get("retry-after")
                .map(|value| value.to_str().unwrap().to_owned()),
            body: response.text().await.unwrap(),
        }
    }

    /// An item of the business table.
    pub(crate) async fn effect(&self, pk: &str, sk: &str) -> Option<Item> {
        let call = self.dynamodb().get_item().table_name(&self.cloud.resources.business_table);
        let call = call.key("pk", text(pk)).key("sk", text(sk)).consistent_read(true);
        call.send().await.unwrap().item
    }

    /// All of the business table.
    pub(crate) async fn effects(&self) -> Vec<Item> {
        self.scan(&self.cloud.resources.business_table).await
    }

    /// A row of the inbox as it is stored.
    pub(crate) async fn row(&self, key: &str) -> Option<Item> {
        let call = self.dynamodb().get_item().table_name(&self.cloud.resources.inbox_table);
        call.key("pk", text(key)).consistent_read(true).send().await.unwrap().item
    }

    /// All rows of the inbox: without body items, control items and the like.
    pub(crate) async fn rows(&self) -> Vec<Item> {
        let all = self.scan(&self.cloud.resources.inbox_table).await;
        all.into_iter().filter(|item| !string(item, "pk").starts_with('~')).collect()
    }

    /// Waits until the row has this status.
    pub(crate) async fn until(&self, key: &str, status: &str) -> Item {
        eventually(&format!("{key} is {status}"), Duration::from_secs(60), async || {
            self.row(key).await.filter(|row| string(row, "status") == status)
        })
        .await
    }

    /// Waits until a metric of a source sums up to this. Metrics come after the row that they tell of.
    pub(crate) async fn until_metric(&self, name: &str, source: &str, sum: f64) {
        let what = format!("{name} of {source} is {sum}");
        eventually(&what, Duration::from_secs(60), async || {
            (self.metric(name, Some(source)) == sum).then_some(())
        })
        .await;
    }

    /// The sum of a metric over all lines, and under one source if named.
    pub(crate) fn metric(&self, name: &str, source: Option<&str>) -> f64 {
        let lines = self.metrics.lock().unwrap();
        let of_source = |line: &&serde_json::Value| source.is_none_or(|s| line["source"] == s);
        lines.iter().filter(of_source).filter_map(|line| line[name].as_f64()).sum()
    }

    /// Every metric line so far.
    pub(crate) fn metric_lines(&self) -> Vec<serde_json::Value> {
        self.metrics.lock().unwrap().clone()
    }

    /// A client without faults.
    pub(crate) fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        self.clients.dynamodb.clone()
    }

    /// A client without faults.
    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        self.clients.sqs.clone()
    }

    async fn scan(&self, table: &str) -> Vec<Item> {
        let pages = self.dynamodb().scan().table_name(table).consistent_read(true);
        pages.into_paginator().items().send().collect::<Result<_, _>>().await.unwrap()
    }
}

/// A faulty client as the SDK takes it.
pub(crate) fn http(faulty: &Faulty) -> aws_smithy_runtime_api::client::http::SharedHttpClient {
    aws_smithy_runtime_api::client::http::SharedHttpClient::new(faulty.clone())
}

pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// A text attribute, or nothing.
pub(crate) fn string<'i>(item: &'i Item, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// A number attribute, or zero.
pub(crate) fn number(item: &Item, name: &str) -> i64 {
    let digits = item.get(name).and_then(|value| value.as_n().ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
