//! Faults between the put, the send and the answer: nothing is lost and nothing happens twice.

use super::desk::{Desk, secs};
use super::judge::{Case, Status, Taken, case, judge};
use super::producers::{Kallglot, Kudos, Post, Producer};
use crate::support::Fault;
use crate::support::world::{number, string};

/// Every call of one operation meets this fault.
fn always(desk: &Desk, failing: &'static str, fault: Fault) {
    desk.faulty.plan(move |operation, _| match operation {
        other if other == failing => fault,
        _ => Fault::None,
    });
}

// https://github.com/SATYAM-PRATIBHAN/arcmindAI/pull/283
// https://github.com/Sachinchaurasiya360/InternHack/issues/854
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_asks_for_another_delivery_which_then_succeeds() {
    let desk = Desk::new().await;
    let refused = Fault::Refused;
    for (n, Case { kind, answer, input: fault }) in [
        case("throughput exceeded", Status(503), {
            refused("ProvisionedThroughputExceededException")
        }),
        case("throttled", Status(503), refused("ThrottlingException")),
        case("request limit exceeded", Status(503), refused("RequestLimitExceeded")),
        case("internal error", Status(503), Fault::Failed),
        case("value refused", Status(503), refused("ValidationException")),
        case("table not there", Status(503), refused("ResourceNotFoundException")),
        case("access denied", Status(503), refused("AccessDeniedException")),
        case("token expired", Status(503), refused("ExpiredTokenException")),
        case("credentials unknown", Status(503), refused("UnrecognizedClientException")),
        case("transaction in the way", Status(503), refused("TransactionConflictException")),
        case("item collection too large", Status(503), {
            refused("ItemCollectionSizeLimitExceededException")
        }),
        case("code never heard of", Status(503), refused("SomethingNewException")),
        case("no answer at all", Status(503), Fault::Hangs),
    ]
    .into_iter()
    .enumerate()
    {
        let producer = Producer::ALL[n % 3];
        let small = Post::new(producer, &format!("evt_{n}"));
        // Of random letters, so that it cannot be packed into the row.
        let noise: String = std::iter::repeat_with(fastrand::alphanumeric).take(3_000).collect();
        let large =
            Post::data(producer, &format!("evt_large_{n}"), &format!(r#"{{"x":"{noise}"}}"#));
        for (post, operation) in [(small, "PutItem"), (large, "BatchWriteItem")] {
            always(&desk, operation, fault);
            judge(&desk, kind, answer, &post, post.event()).await;
            assert!(desk.faulty.calls(operation) > 0, "{kind}: {operation}");
            assert_eq!(desk.faulty.calls("SendMessage"), 0, "{kind}");
            desk.faulty.heal();
            judge(&desk, &format!("after {kind}"), Taken, &post, post.event()).await;
        }
    }
}

// https://github.com/aashutoshkumarbhardwaj/CreatorOs/issues/984
// https://github.com/JSONbored/loopover/issues/786
// https://github.com/Sachinchaurasiya360/InternHack/issues/854
#[tokio::test(flavor = "multi_thread")]
async fn once_stored_it_is_answered_2xx_and_sent_by_a_redelivery_or_a_sweep() {
    let refused = Fault::Refused;
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: fault }) in [
        case("send throttled", Status(200), refused("RequestThrottled")),
        case("too many messages in flight", Status(200), refused("OverLimit")),
        case("send denied", Status(200), refused("AccessDenied")),
        case("queue gone", Status(200), refused("QueueDoesNotExist")),
        case("key of the queue throttled", Status(200), refused("KMS.ThrottlingException")),
        case("parameter refused", Status(200), refused("InvalidParameterValue")),
        case("queue fails", Status(200), Fault::Failed),
        case("queue never answers", Status(200), Fault::Hangs),
    ]
    .into_iter()
    .enumerate()
    {
        for by_sweep in [false, true] {
            let producer = Producer::ALL[n % 3];
            let post = Post::new(producer, &format!("evt_{n}_{by_sweep}")).at(&desk.t());
            always(&desk, "SendMessage", fault);
            let failed = desk.world.metric("SendFailed", None);
            assert_eq!(Status(desk.send(&post).await), answer, "{kind}");
            desk.faulty.heal();
            assert_eq!(desk.world.metric("SendFailed", None), failed + 1.0, "{kind}");
            assert_eq!(desk.status(&post.row()).await, "pending", "{kind}");
            assert_eq!(desk.queued().await.len(), 0, "{kind}");
            // At once it may still be under way.
            assert_eq!(desk.send(&post).await, 200, "{kind}");
            assert_eq!(desk.queued().await.len(), 0, "{kind}: sent beside the first request");
            if by_sweep {
                desk.turn(secs(121));
                assert_eq!(desk.sweep().await.sent, 1, "{kind}");
            } else {
                desk.turn(secs(11));
                assert_eq!(desk.send(&post.clone().at(&desk.t())).await, 200, "{kind}");
            }
            let [message] = &desk.queued().await[..] else { panic!("{kind}: not sent once") };
            assert!(!desk.run(&post.row()).await);
            desk.batch(&[desk.record("again", &message.body, "g")]).await;
            assert_eq!(desk.applied(&post.row()).await, 1, "{kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pointer_that_the_queue_calls_invalid_is_shown_as_failed() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: code }) in [
        case("message contents refused", Status(200), "InvalidMessageContents"),
        case("message too long", Status(200), "MessageTooLong"),
    ]
    .into_iter()
    .enumerate()
    {
        always(&desk, "SendMessage", Fault::Refused(code));
        let post = Post::new(Kallglot, &format!("evt_{n}"));
        assert_eq!(Status(desk.send(&post).await), answer, "{kind}");
        let row = desk.row(&post.row()).await;
        assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "unsendable"));
        assert!(!row.contains_key("expires_at"), "{kind}: kept until somebody decides");
    }
}

// https://github.com/aashutoshkumarbhardwaj/CreatorOs/issues/984
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_dies_between_put_and_send_is_sent_by_the_redelivery() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let post = Post::new(producer, "evt_1");
        always(&desk, "SendMessage", Fault::Hangs);
        tokio::select! {
            status = desk.send(&post) => panic!("answered {status}"),
            () = async {
                while desk.faulty.calls("SendMessage") == 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            } => {}
        }
        desk.faulty.heal();
        assert_eq!(desk.status(&post.row()).await, "pending");
        desk.turn(secs(10));
        assert_eq!(desk.send(&post).await, 200);
        assert_eq!(desk.queued().await.len(), 0, "the first request may be alive for 10 seconds");
        desk.turn(secs(1));
        assert_eq!(desk.send(&post).await, 200);
        assert_eq!(desk.queued().await.len(), 1);
        assert_eq!(desk.send(&post).await, 200);
        assert!(!desk.run(&post.row()).await);
        assert_eq!(desk.applied(&post.row()).await, 1);
    }
}

// https://github.com/aws/aws-sdk-java/issues/2667
// https://github.com/aws/aws-sdk-go/issues/3765
#[tokio::test(flavor = "multi_thread")]
async fn a_put_whose_answer_is_lost_is_no_duplicate_of_itself() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        desk.faulty.plan(|operation, seen| match (operation, seen) {
            ("PutItem", 0) => Fault::AnswerLost,
            _ => Fault::None,
        });
        let post = Post::new(producer, "evt_1");
        let Case { kind, answer, input } =
            case("put applied, its answer lost once", Taken, post.clone());
        judge(&desk, kind, answer, &input, input.event()).await;
        assert_eq!((desk.faulty.calls("PutItem"), desk.faulty.calls("SendMessage")), (2, 1));

        // Lost every time: nobody knows, so the producer is asked to come again.
        always(&desk, "PutItem", Fault::AnswerLost);
        let post = Post::new(producer, "evt_2");
        let lost = desk.ask(post.event()).await;
        assert_eq!((lost.status, lost.retry_after.as_deref()), (503, Some("30")));
        desk.faulty.heal();
        desk.turn(secs(31));
        assert_eq!(desk.send(&post.clone().at(&desk.t())).await, 200);
        assert_eq!(desk.queued().await.len(), 1);
        assert!(!desk.run(&post.row()).await);
        assert_eq!(desk.applied(&post.row()).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_delivery_whose_put_is_lost_is_not_sent() {
    let desk = Desk::new().await;
    desk.faulty.plan(|operation, seen| match (operation, seen) {
        ("PutItem", 0) => Fault::AnswerLost,
        _ => Fault::None,
    });
    let post = Post::bytes(Kudos, "evt_1", b"[]");
    assert_eq!(desk.send(&post).await, 400);
    assert_eq!(desk.queued().await.len(), 0);
    assert_eq!(desk.status(&post.unusable_row()).await, "failed");
}

// https://github.com/pynamodb/PynamoDB/issues/259
// https://github.com/useautumn/autumn/pull/2577
#[tokio::test(flavor = "multi_thread")]
async fn an_event_expires_thirty_days_after_its_end_and_never_before_it() {
    let desk = Desk::new().await;
    let post = Post::new(Kallglot, "evt_done");
    let key = post.row();
    desk.plan(&key, [super::desk::Fate::Retry, super::desk::Fate::Wait]);
    desk.store(std::slice::from_ref(&post)).await;
    let expires = async || desk.row(&key).await.get("expires_at").cloned();
    assert_eq!(expires().await, None, "stored");
    assert!(desk.run(&key).await);
    assert_eq!(expires().await, None, "backing off");
    desk.turn(secs(60));
    tokio::join!(desk.run(&key), async {
        desk.entered().await;
        assert_eq!(desk.status(&key).await, "processing");
        assert_eq!(expires().await, None, "running");
        desk.go_on();
    });
    let end = desk.row(&key).await;
    let digits = end["expires_at"].as_n().expect("a number, as DynamoDB's TTL asks");
    assert_eq!(digits.len(), 10, "seconds: {digits}");
    assert_eq!(number(&end, "expires_at"), number(&end, "finished_at") / 1000 + 2_592_000);
    let table = &desk.world.cloud.resources.inbox_table;
    let ttl = desk.world.dynamodb().describe_time_to_live().table_name(table).send().await.unwrap();
    let ttl = ttl.time_to_live_description.unwrap();
    assert_eq!(ttl.attribute_name.as_deref(), Some("expires_at"), "as the template names it");

    let ignored =
        Post { event_type: Some("x.y".into()), ..Post::new(super::producers::Apiera, "i") };
    desk.store(std::slice::from_ref(&ignored)).await;
    desk.run(&ignored.row()).await;
    let end = desk.row(&ignored.row()).await;
    assert_eq!(number(&end, "expires_at"), number(&end, "finished_at") / 1000 + 2_592_000);

    let failed = Post::new(Kudos, "evt_failed");
    desk.plan(&failed.row(), [super::desk::Fate::Permanent]);
    desk.store(std::slice::from_ref(&failed)).await;
    desk.run(&failed.row()).await;
    let row = desk.row(&failed.row()).await;
    assert_eq!((string(&row, "status"), row.get("expires_at")), ("failed", None));

    let unusable = Post::bytes(Kudos, "evt_2", b"{}").at(&desk.t());
    assert_eq!(desk.send(&unusable).await, 400);
    let row = desk.row(&unusable.unusable_row()).await;
    assert_eq!(number(&row, "expires_at"), desk.now().secs() + 90 * 86_400);
}
