//! From three producers to their effects, once.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::support::deliveries::rfc3339_now;
use crate::support::world::{number, string};
use crate::support::{Delivery, World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn each_producers_event_takes_effect_once_and_a_duplicate_changes_nothing() {
    let world = World::new().await.serve().poll();
    let session = json!({"id": "sess_1", "object": "session", "status": "ended"});
    let deliveries = [
        Delivery::payment("evt_1", 1250),
        Delivery::kallglot("evt_1", "session.ended", &rfc3339_now(), &session),
        Delivery::apiera("evt_1", "product.created", "123e4567-e89b-12d3-a456-426614174001"),
    ];
    for delivery in &deliveries {
        assert_eq!(world.post(delivery).await.status, 200);
    }
    for source in ["kudos", "kallglot", "apiera"] {
        let row = world.until(&format!("{source}#evt_1"), "done").await;
        assert_eq!(string(&row, "outcome"), "applied");
        assert_eq!(number(&row, "attempts"), 1);
    }
    let effects = world.effects().await;
    assert_eq!(effects.len(), 4, "a ledger line, totals, a session and a product");
    for delivery in &deliveries {
        let again = world.post(delivery).await;
        assert_eq!((again.status, again.body.as_str()), (200, r#"{"received":true}"#));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.effects().await, effects);
    let totals = world.effect("kudos#acme", "totals").await.unwrap();
    assert_eq!((number(&totals, "payments"), number(&totals, "paid_cents")), (1, 1250));
    let state = world.effect("kallglot#sess_1", "state").await.unwrap();
    assert_eq!(string(&state, "status"), "ended");
    let product = world.effect("apiera#123e4567-e89b-12d3-a456-426614174001", "product").await;
    assert!(product.is_some_and(|product| !string(&product, "sku").is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_producers_is_refused_and_leaves_nothing() {
    let world = World::new().await.serve().poll();
    let good = Delivery::payment("evt_1", 1);
    let mut unsigned = good.clone();
    unsigned.headers.clear();
    let mut unknown = good.clone();
    unknown.source = "nobody";
    for (delivery, status) in
        [(good.clone().tampered(), 401), (unsigned, 401), (unknown.clone(), 404)]
    {
        let answer = world.post(&delivery).await;
        assert_eq!((answer.status, answer.retry_after), (status, None));
    }
    assert_eq!(world.rows().await.len(), 0);
    assert_eq!(world.metric("SignatureRefused", Some("kudos")), 2.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_identical_deliveries_at_once_are_one_row_and_one_effect() {
    let world = World::new().await.serve().poll();
    let delivery = Delivery::payment("evt_50", 700);
    let answers = join_all((0..50).map(|_| world.post(&delivery))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    world.until("kudos#evt_50", "done").await;
    assert_eq!(world.rows().await.len(), 1);
    let totals = world.effect("kudos#acme", "totals").await.unwrap();
    assert_eq!((number(&totals, "payments"), number(&totals, "paid_cents")), (1, 700));
    assert_eq!(world.metric("Stored", Some("kudos")), 1.0);
    world.until_metric("Applied", "kudos", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_types_end_as_ignored() {
    let world = World::new().await.serve().poll();
    let at = &rfc3339_now();
    for delivery in [
        Delivery::kudos("evt_1", "invoice.invented", &json!({})),
        Delivery::kallglot("evt_1", "analysis.complete", at, &json!({})),
        Delivery::apiera("evt_1", "order.created", "x"),
    ] {
        assert_eq!(world.post(&delivery).await.status, 200);
        let row = world.until(&format!("{}#evt_1", delivery.source), "ignored").await;
        assert_eq!(string(&row, "outcome"), "no_handler");
        assert!(number(&row, "expires_at") > 0);
        world.until_metric("Ignored", delivery.source, 1.0).await;
    }
    assert_eq!(world.effects().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_endpoint_raises_its_alarm_although_it_has_no_id() {
    let world = World::new().await.serve().poll();
    let body = br#"{
  "type": "webhook_endpoint.disabled",
  "data": {
    "endpoint_id": "wh_01ABC",
    "url": "https://your-app.com/webhooks",
    "reason": "too_many_failures",
    "failed_events": 100
  }
}"#;
    let delivery = Delivery::kallglot_body(body).with("Kallglot-Webhook-Id", "wh_del_1");
    for _ in 0..2 {
        assert_eq!(world.post(&delivery).await.status, 200);
    }
    let rows = eventually("the alarm is handled", Duration::from_secs(30), async || {
        let rows = world.rows().await;
        rows.iter().all(|row| string(row, "status") == "done").then_some(rows)
    })
    .await;
    assert_eq!(rows.len(), 1);
    assert!(string(&rows[0], "event_id").starts_with("wh_del_1#sha256:"));
    assert_eq!(world.metric("EndpointDisabled", Some("kallglot")), 1.0);
    let endpoint = world.effect("kallglot#endpoints", "wh_01ABC").await.unwrap();
    assert_eq!(number(&endpoint, "failed_events"), 100);
}
