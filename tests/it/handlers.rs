//! The handlers as deployed, when an event comes late, comes again, or comes before what it speaks of.

use processor::handlers;
use reqwest::StatusCode;
use serde_json::json;

use crate::runs::bench::{Bench, Fate, days, secs};
use crate::support::world::{Item, number, string, text};
use crate::support::{Delivery, Fault};

const PRODUCT: &str = "123e4567-e89b-12d3-a456-426614174001";

async fn bench() -> Bench {
    Bench::new(handlers::all()).await
}

async fn upgrade(bench: &Bench, id: &str, plan: &str) {
    let event = json!({
        "event_id": id,
        "event_type": "subscription.upgraded",
        "data": {"tenant": "acme", "plan": plan},
    });
    assert_eq!(bench.deliver(&bench.kudos(&event)).await, 200);
}

async fn plan(bench: &Bench) -> String {
    let item = bench.world.effect("kudos#acme", "subscription").await.unwrap();
    string(&item, "plan").to_owned()
}

async fn outcome(bench: &Bench, key: &str) -> String {
    string(&bench.row(key).await, "outcome").to_owned()
}

#[tokio::test]
async fn an_upgrade_that_is_sent_late_does_not_undo_a_newer_one() {
    let bench = bench().await;
    bench.faulty.plan(|operation, _| match operation {
        "SendMessage" => Fault::Refused("AccessDeniedException"),
        _ => Fault::None,
    });
    upgrade(&bench, "old", "pro").await;
    bench.faulty.heal();
    bench.dial.forward(secs(1));
    upgrade(&bench, "new", "max").await;
    assert_eq!(bench.run("kudos#new").await, Fate::Deleted);
    bench.dial.forward(secs(121));
    assert_eq!(bench.sweep().await.unwrap().sent, 1);
    assert_eq!(bench.run("kudos#old").await, Fate::Deleted);
    assert_eq!(
        (outcome(&bench, "kudos#old").await, plan(&bench).await),
        ("stale".into(), "max".into())
    );
}

#[tokio::test]
async fn an_upgrade_that_is_replayed_beyond_the_inboxs_memory_does_nothing() {
    let bench = bench().await;
    for (id, name) in [("old", "pro"), ("new", "max")] {
        upgrade(&bench, id, name).await;
        assert_eq!(bench.run(&format!("kudos#{id}")).await, Fate::Deleted);
        assert_eq!(plan(&bench).await, name);
        bench.dial.forward(secs(1));
    }
    forget(&bench, "kudos#old").await;
    bench.dial.forward(days(40));
    upgrade(&bench, "old", "pro").await;
    assert_eq!(bench.run("kudos#old").await, Fate::Deleted);
    let seen = (outcome(&bench, "kudos#old").await, plan(&bench).await);
    assert_eq!(seen, ("already_applied".into(), "max".into()));
}

/// The row expires.
async fn forget(bench: &Bench, key: &str) {
    let delete = bench.world.dynamodb().delete_item();
    let delete = delete.table_name(&bench.world.cloud.resources.inbox_table);
    delete.key("pk", text(key)).send().await.unwrap();
}

async fn product(bench: &Bench) -> Option<Item> {
    bench.world.effect(&format!("apiera#{PRODUCT}"), "product").await
}

#[tokio::test]
async fn a_new_product_that_the_api_does_not_know_yet_is_asked_for_again() {
    let bench = bench().await;
    let created = Delivery::apiera("1", "product.created", PRODUCT);
    assert_eq!(bench.deliver(&created).await, 200);
    bench.world.cloud.apiera.fail_next(2, StatusCode::NOT_FOUND);
    for _ in 0..2 {
        assert_eq!(bench.run("apiera#1").await, Fate::ComesBack);
        assert_eq!(product(&bench).await, None, "nobody has said that it is deleted");
        bench.dial.forward(secs(10));
    }
    assert_eq!(bench.run("apiera#1").await, Fate::Deleted);
    let product = product(&bench).await.unwrap();
    assert!(!string(&product, "sku").is_empty() && !product.contains_key("deleted"));
}

#[tokio::test]
async fn a_product_that_stays_unknown_counts_as_deleted() {
    for (event_type, attempts) in [("product.updated", 3), ("product.deleted", 1)] {
        let bench = bench().await;
        bench.world.cloud.apiera.delete_product(PRODUCT);
        assert_eq!(bench.deliver(&Delivery::apiera("1", event_type, PRODUCT)).await, 200);
        for _ in 1..attempts {
            assert_eq!(bench.run("apiera#1").await, Fate::ComesBack, "{event_type}");
            bench.dial.forward(secs(10));
        }
        assert_eq!(bench.run("apiera#1").await, Fate::Deleted, "{event_type}");
        assert_eq!(number(&bench.row("apiera#1").await, "attempts"), attempts);
        assert_eq!(product(&bench).await.unwrap()["deleted"].as_bool(), Ok(&true));
    }
}
