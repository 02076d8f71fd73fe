//! Apiera's API as a limit, as a liar and as a sluggard: what it refuses comes again without using
//! up an attempt, and what it does not answer is given up and tried again.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use local::apiera::Options;
use reqwest::StatusCode;

use crate::support::world::{Item, number, string};
use crate::support::{Delivery, World, eventually};

/// The ids of products.
const ONE: &str = "123e4567-e89b-12d3-a456-426614174001";
const TWO: &str = "123e4567-e89b-12d3-a456-426614174002";
const THREE: &str = "123e4567-e89b-12d3-a456-426614174003";

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_delays_events_and_uses_up_no_attempt() {
    const EVENTS: usize = 100;
    let options = Options { requests_per_minute: 20, ..Options::default() };
    let world = World::with(None, options, |_, parts| parts).await.serve().poll();
    let deliveries = (0..EVENTS).map(|n| {
        let product = format!("123e4567-e89b-12d3-a456-{n:012}");
        Delivery::apiera(&format!("evt_{n}"), "product.updated", &product)
    });
    let answers = stream::iter(deliveries).map(|delivery| {
        let world = &world;
        async move { world.post(&delivery).await.status }
    });
    let answers: Vec<u16> = answers.buffer_unordered(8).collect().await;
    assert_eq!(answers, [200; EVENTS]);

    let rows = eventually("all rows are over", Duration::from_secs(900), async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let rows = world.rows().await;
        let over = |row: &Item| !matches!(string(row, "status"), "pending" | "processing");
        rows.iter().all(over).then_some(rows)
    })
    .await;
    let api = &world.cloud.apiera;
    let (asked, limited) = (api.product_requests(), api.rate_limited());
    println!("{asked} product requests, {limited} of them refused");
    assert_eq!(rows.len(), EVENTS);
    for row in &rows {
        let seen = (string(row, "status"), string(row, "outcome"), number(row, "attempts"));
        assert_eq!(seen, ("done", "applied", 1), "{}", string(row, "event_id"));
    }
    assert!(limited > 0, "the limit was never met");
    assert_eq!(asked, EVENTS + limited, "an event that was served is not asked for again");
    assert_eq!(world.metric("HandlerError", Some("apiera")), limited as f64);
    assert_eq!(api.token_requests(), 1, "all wait for one token");
    assert_eq!(world.effects().await.len(), EVENTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_names_no_time_uses_up_no_attempt_either() {
    let world = World::new().await.serve().poll();
    world.cloud.apiera.fail_next(1, StatusCode::TOO_MANY_REQUESTS);
    deliver(&world, "evt_1", ONE).await;
    let row = eventually("the event is done", Duration::from_secs(180), async || {
        world.row("apiera#evt_1").await.filter(|row| string(row, "status") == "done")
    })
    .await;
    assert_eq!((string(&row, "outcome"), number(&row, "attempts")), ("applied", 1));
    assert_eq!(world.cloud.apiera.product_requests(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_api_uses_up_an_attempt_each_time() {
    let world = World::new().await.serve().poll();
    world.cloud.apiera.fail_next(2, StatusCode::BAD_GATEWAY);
    let row = run(&world, "evt_1", ONE).await;
    assert_eq!((string(&row, "outcome"), number(&row, "attempts")), ("applied", 3));
    assert_eq!(world.cloud.apiera.product_requests(), 3);
    assert_eq!(world.cloud.apiera.token_requests(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_gone_leaves_a_mark() {
    let world = World::new().await.serve().poll();
    let item = async || world.effect(&format!("apiera#{ONE}"), "product").await.unwrap();
    run(&world, "evt_1", ONE).await;
    let before = item().await;
    assert!(!string(&before, "sku").is_empty() && !before.contains_key("deleted"));

    world.cloud.apiera.delete_product(ONE);
    let deleted = Delivery::apiera("evt_2", "product.deleted", ONE);
    assert_eq!(world.post(&deleted).await.status, 200);
    let row = world.until("apiera#evt_2", "done").await;
    assert_eq!((string(&row, "outcome"), number(&row, "attempts")), ("applied", 1));
    let gone = item().await;
    assert_eq!(gone["deleted"].as_bool(), Ok(&true));
    assert!(!["sku", "name", "status"].iter().any(|name| gone.contains_key(*name)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_replaced() {
    let world = World::new().await.serve().poll();
    run(&world, "evt_1", ONE).await;
    world.cloud.apiera.revoke_tokens();
    let row = run(&world, "evt_2", TWO).await;
    assert_eq!((string(&row, "outcome"), number(&row, "attempts")), ("applied", 2));
    let api = &world.cloud.apiera;
    assert_eq!((api.token_requests(), api.product_requests()), (2, 3));
    let row = run(&world, "evt_3", THREE).await;
    assert_eq!(number(&row, "attempts"), 1, "the new token is kept");
    assert_eq!(api.token_requests(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_does_not_answer_is_given_up_and_tried_again() {
    let world = World::new().await.serve().poll();
    run(&world, "evt_1", ONE).await;
    // Longer than a handler waits for one call, shorter than the run itself may take.
    world.cloud.apiera.delay(Duration::from_secs(15));
    deliver(&world, "evt_2", TWO).await;
    let error = eventually("the call is given up", Duration::from_secs(60), async || {
        let row = world.row("apiera#evt_2").await.unwrap();
        row.get("last_error").map(|error| error.as_s().unwrap().clone())
    })
    .await;
    assert_eq!(error, "call to 127.0.0.1 timed out");
    world.cloud.apiera.delay(Duration::ZERO);
    let row = world.until("apiera#evt_2", "done").await;
    assert_eq!(string(&row, "outcome"), "applied");
    assert!(number(&row, "attempts") >= 2);
    assert!(!row.contains_key("last_error"));
}

async fn deliver(world: &World, id: &str, product: &str) {
    let delivery = Delivery::apiera(id, "product.updated", product);
    assert_eq!(world.post(&delivery).await.status, 200);
}

/// Delivers an event about the product; its row when it is done.
async fn run(world: &World, id: &str, product: &str) -> Item {
    deliver(world, id, product).await;
    world.until(&format!("apiera#{id}"), "done").await
}
