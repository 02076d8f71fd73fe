//! What every event costs in requests and capacity units. These are promises: a change that breaks
//! one makes every event of every user dearer.
#![allow(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::time::Duration;

use bench::counts::Counted;
use bench::meter::Counts;
use shared::limits::{DUE_FIRST, RESEND_AFTER};

const KIB: usize = 1024;

/// The requests, by name.
fn requests(counts: &Counts) -> Vec<(&str, usize)> {
    counts.requests.iter().map(|(operation, count)| (operation.as_str(), *count)).collect()
}

#[tokio::test]
async fn a_new_event_takes_two_requests_and_two_more_to_process() {
    let mut counted = Counted::start().await.unwrap();
    for bytes in [600, KIB] {
        let cost = counted.event(bytes).await.unwrap();
        assert_eq!(requests(&cost.stored), [("PutItem", 1), ("SendMessage", 1)]);
        assert_eq!(requests(&cost.processed), [("TransactWriteItems", 1), ("UpdateItem", 1)]);
    }
}

#[tokio::test]
async fn a_body_of_its_own_takes_two_requests_more_and_one_to_read() {
    let mut counted = Counted::start().await.unwrap();
    let cost = counted.event(16 * KIB).await.unwrap();
    let expected = [("BatchWriteItem", 1), ("GetItem", 1), ("PutItem", 1), ("SendMessage", 1)];
    assert_eq!(requests(&cost.stored), expected);
    let expected = [("BatchGetItem", 1), ("TransactWriteItems", 1), ("UpdateItem", 1)];
    assert_eq!(requests(&cost.processed), expected);
}

#[tokio::test]
async fn a_batch_of_ten_takes_two_requests_an_event() {
    let mut counted = Counted::start().await.unwrap();
    let mut ids = vec![];
    for _ in 0..10 {
        let delivery = counted.delivery(KIB);
        counted.deliver(&delivery).await.unwrap();
        ids.push(delivery.id);
    }
    let counts = counted.process(&ids).await.unwrap();
    assert_eq!(requests(&counts), [("TransactWriteItems", 10), ("UpdateItem", 10)]);
}

#[tokio::test]
async fn a_duplicate_takes_one_request_and_one_unit() {
    let mut counted = Counted::start().await.unwrap();
    let table = counted.bed().cloud.resources.inbox_table.clone();
    for (bytes, request) in [(KIB, "PutItem"), (16 * KIB, "GetItem")] {
        let delivery = counted.delivery(bytes);
        counted.deliver(&delivery).await.unwrap();
        for state in ["young", "finished"] {
            let (status, counts) = counted.deliver(&delivery).await.unwrap();
            assert_eq!((status, requests(&counts)), (200, vec![(request, 1)]), "{state}");
            let units = counts.writes(&table) + counts.read_units.get(&table).unwrap_or(&0.0);
            assert_eq!(units, 1.0, "{state}, {bytes} bytes");
            if state == "young" {
                counted.process(std::slice::from_ref(&delivery.id)).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_bad_signature_costs_nothing_in_dynamodb_and_sqs() {
    let mut counted = Counted::start().await.unwrap();
    let forged = counted.delivery(KIB).tampered();
    let (status, counts) = counted.deliver(&forged).await.unwrap();
    assert_eq!(status, 401);
    let secrets = counts.of("GetSecretValue");
    assert!(secrets <= 1 && counts.all() == secrets, "{counts:?}");
}

#[tokio::test]
async fn write_units_stay_what_they_are() {
    let mut counted = Counted::start().await.unwrap();
    // The targets are 6, 9 and 12 at 1, 4 and 16 KiB; the inbox has to stay at least as good as it is.
    for (bytes, most) in [
        (600, 6.0),
        (KIB, 6.0),
        (4 * KIB, 8.0),
        (16 * KIB, 10.0),
        (256 * KIB, 60.0),
        (5_000_000, 1_100.0),
    ] {
        let cost = counted.event(bytes).await.unwrap();
        assert_eq!(cost.bytes, bytes);
        assert!(cost.inbox_units <= most, "{bytes} bytes: {} units", cost.inbox_units);
        assert_eq!(cost.effect_units, 2.0, "one effect, in a transaction");
        assert_eq!(cost.stored.disputed, 0, "the engine's units and DynamoDB's rule");
    }
}

#[tokio::test]
async fn a_sweep_costs_by_what_is_due_and_not_by_what_is_there() {
    let mut counted = Counted::start().await.unwrap();
    let nothing = counted.sweep().await.unwrap();
    assert_eq!(nothing.write_units.len(), 0, "{nothing:?}");
    for _ in 0..30 {
        counted.event(KIB).await.unwrap();
    }
    let finished = counted.sweep().await.unwrap();
    assert_eq!(finished.requests, nothing.requests, "finished rows");
    for _ in 0..12 {
        let delivery = counted.delivery(KIB);
        counted.deliver(&delivery).await.unwrap();
    }
    let waiting = counted.sweep().await.unwrap();
    assert_eq!(waiting.requests, nothing.requests, "rows that are not yet due");

    counted.forward(DUE_FIRST.max(RESEND_AFTER) + Duration::from_secs(1));
    let due = counted.sweep().await.unwrap();
    assert_eq!(due.of("UpdateItem"), 12);
    // Ten pointers go in one request, but each shard has its own.
    assert!((2..=4).contains(&due.of("SendMessageBatch")), "{due:?}");
    let writes = due.of("UpdateItem") + due.of("SendMessageBatch");
    assert_eq!(due.all(), nothing.all() + writes);
}
