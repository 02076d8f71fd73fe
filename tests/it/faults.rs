//! Faults of ours: nothing is lost, and the producer hears the right thing.

use std::time::Duration;

use crate::support::world::{number, string};
use crate::support::{Delivery, Fault, Faulty, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_put_whose_answer_is_lost_is_sent_once() {
    let faulty = Faulty::new();
    let world = World::faulty(&faulty).await.serve();
    faulty.plan(|operation, seen| match (operation, seen) {
        ("PutItem", 0) => Fault::AnswerLost,
        _ => Fault::None,
    });
    assert_eq!(world.post(&Delivery::payment("evt_1", 5)).await.status, 200);
    assert_eq!(faulty.calls("PutItem"), 2, "the SDK's retry met its own row");
    assert_eq!(faulty.calls("SendMessage"), 1);
    let world = world.poll();
    world.until("kudos#evt_1", "done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_event_is_answered_2xx_even_when_the_send_fails() {
    for fault in [Fault::Failed, Fault::Refused("AccessDenied"), Fault::Hangs] {
        let faulty = Faulty::new();
        let world = World::faulty(&faulty).await.serve();
        faulty.plan(move |operation, _| match operation {
            "SendMessage" => fault,
            _ => Fault::None,
        });
        let answer = world.post(&Delivery::payment("evt_1", 5)).await;
        assert_eq!(answer.status, 200, "{fault:?}");
        let row = world.row("kudos#evt_1").await.unwrap();
        assert_eq!(string(&row, "status"), "pending");
        assert!(number(&row, "due_at") > 0);
        assert_eq!(world.metric("SendFailed", Some("kudos")), 1.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_take_it_is_answered_so_that_the_producer_comes_again() {
    let faulty = Faulty::new();
    let world = World::faulty(&faulty).await.serve();
    for (fault, status) in [
        (Fault::Refused("ProvisionedThroughputExceededException"), 503),
        (Fault::Refused("ThrottlingException"), 503),
        (Fault::Refused("TransactionConflictException"), 503),
        (Fault::Refused("AccessDeniedException"), 503),
        (Fault::Refused("ResourceNotFoundException"), 503),
        (Fault::Refused("ValidationException"), 503),
        (Fault::Failed, 503),
        (Fault::Hangs, 503),
    ] {
        faulty.plan(move |operation, _| match operation {
            "PutItem" => fault,
            _ => Fault::None,
        });
        let began = std::time::Instant::now();
        let answer = world.post(&Delivery::payment("evt_1", 5)).await;
        assert_eq!(
            (answer.status, answer.retry_after.as_deref()),
            (status, Some("30")),
            "{fault:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(6), "{fault:?}");
        assert_eq!(faulty.calls("SendMessage"), 0);
    }
    faulty.heal();
    assert_eq!(world.post(&Delivery::payment("evt_1", 5)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_store_that_is_down_from_the_start_is_503_for_everyone() {
    let faulty = Faulty::new();
    let world = World::faulty(&faulty).await.serve();
    faulty.plan(|operation, _| match operation {
        "GetSecretValue" => Fault::Failed,
        _ => Fault::None,
    });
    let good = Delivery::payment("evt_1", 5);
    let mut unsigned = good.clone();
    unsigned.headers.clear();
    for delivery in [&good, &unsigned, &good.clone().tampered()] {
        let answer = world.post(delivery).await;
        assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("30")));
    }
    assert_eq!(world.metric("SecretUnavailable", Some("kudos")), 3.0);
    faulty.heal();
    assert_eq!(world.post(&good).await.status, 200, "a failed read is not remembered");
    assert_eq!(world.post(&good.tampered()).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_asked_of_dynamodb_or_sqs_before_the_signature_holds() {
    let faulty = Faulty::new();
    let world = World::faulty(&faulty).await.serve();
    let good = Delivery::payment("evt_1", 5);
    assert_eq!(world.post(&good.clone().tampered()).await.status, 401);
    assert_eq!(faulty.all_calls(), faulty.calls("GetSecretValue"));
    assert_eq!(world.post(&good).await.status, 200);
    faulty.heal();
    assert_eq!(world.post(&Delivery::payment("evt_2", 5)).await.status, 200);
    assert_eq!(faulty.all_calls(), 2, "a new event is one put and one send");
    faulty.heal();
    assert_eq!(world.post(&good).await.status, 200);
    assert_eq!(faulty.all_calls(), 1, "a duplicate is one refused put");
}
