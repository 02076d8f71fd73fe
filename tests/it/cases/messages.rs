//! Messages that are sent again, moved to the dead-letter queue, or brought back from it.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use local::apiera::Options;
use local::stack::Parts;
use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::{Value, json};
use shared::effects::{Change, Effects};
use shared::limits::{RECEIVES_MAX, RECEIVES_MAX_FIFO};

use super::desk::{Desk, Fate, pointer, secs};
use super::producers::{Apiera, Kallglot, Kudos, Post, Producer};
use crate::support::world::{number, string};
use crate::support::{Delivery, Fault, World};

const NONE: &str = r#"{"batchItemFailures":[]}"#;

/// What an operator's redrive makes of a dead-lettered message: the same body in a new message.
fn redriven(desk: &Desk, key: &str) -> Value {
    let mut record = desk.record("00000000-0000-4000-8000-00000000d1ce", &pointer(key), "g");
    record["attributes"]["DeadLetterQueueSourceArn"] = record["eventSourceARN"].clone();
    record
}

// https://github.com/reddb-io/reddb/issues/1805
// https://github.com/aws-samples/sample-citadel/pull/103
#[tokio::test(flavor = "multi_thread")]
async fn of_a_redriven_message_the_row_decides() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let ids = ["pending", "done", "failed", "running"];
        let posts = ids.map(|id| Post::new(producer, id));
        let keys = desk.store(&posts).await;
        let [pending, done, failed, running] = &keys[..] else { unreachable!("four ids") };
        desk.plan(failed, [Fate::Permanent]);
        desk.plan(running, [Fate::Hang]);
        assert!(!desk.run(done).await && !desk.run(failed).await);
        tokio::select! {
            _ = desk.run(running) => panic!("did not hang"),
            () = desk.entered() => {}
        }
        for key in [done, failed] {
            let row = desk.row(key).await;
            assert_eq!(desk.batch(&[redriven(&desk, key)]).await, NONE, "{key}");
            assert_eq!(desk.row(key).await, row, "{key}: nothing about it changes");
        }
        assert_eq!(desk.batch(&[redriven(&desk, pending)]).await, NONE);
        desk.batch(&[redriven(&desk, running)]).await;
        assert_eq!(desk.runs(running).len(), 1, "its lease still holds");
        desk.turn(secs(75));
        assert_eq!(desk.batch(&[redriven(&desk, running)]).await, NONE);
        for (key, runs, applied) in [(pending, 1, 1), (done, 1, 1), (failed, 1, 0), (running, 2, 1)]
        {
            assert_eq!((desk.runs(key).len(), desk.applied(key).await), (runs, applied), "{key}");
        }
        // An operator's decision about the row is what makes a failed event run again.
        let row = desk.inbox().row(&shared::key::EventKey::parse(failed).unwrap()).await.unwrap();
        let outcome = desk.inbox().redrive(&row.unwrap(), desk.now()).await.unwrap();
        assert_eq!(outcome, shared::inbox::Redriven::Done);
        assert_eq!(desk.batch(&[redriven(&desk, failed)]).await, NONE);
        assert_eq!((desk.status(failed).await.as_str(), desk.applied(failed).await), ("done", 1));
    }
}

// https://github.com/aws/aws-lambda-dotnet/issues/1307
// https://github.com/floci-io/floci/issues/1411
#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_message_alone_tells_the_event_and_the_row_tells_the_rest() {
    let desk = Desk::new().await;
    for producer in Producer::ALL {
        let post = Post::new(producer, "evt \"1\" \u{e9}\u{1f642}");
        // Apiera's ids are header values.
        let post = if producer == Apiera { Post::new(producer, "msg \"1\"") } else { post };
        assert_eq!(desk.send(&post).await, 200);
        let [message] = &desk.queued().await[..] else { panic!("not one message") };
        assert!(message.body.is_ascii(), "{}", message.body);
        desk.plan(&post.row(), [Fate::Retry]);
        let mut bare = desk.record("m", &message.body, "g");
        for lost in ["attributes", "messageAttributes", "md5OfBody", "awsRegion", "eventSource"] {
            bare.as_object_mut().unwrap().remove(lost);
        }
        assert_ne!(desk.batch(std::slice::from_ref(&bare)).await, NONE);
        let row = desk.row(&post.row()).await;
        assert_eq!(string(&row, "event_type"), "job.done");
        assert_eq!(
            (number(&row, "attempts"), string(&row, "last_error")),
            (1, "the ledger is closed")
        );
        assert!(number(&row, "received_at") > 0 && number(&row, "first_claimed_at") > 0);
        desk.turn(secs(60));
        assert_eq!(desk.batch(&[bare]).await, NONE);
        assert!(number(&desk.row(&post.row()).await, "finished_at") > 0);
        assert_eq!(desk.applied(&post.row()).await, 1);
    }
}

// https://github.com/hmchangw/newchat/pull/506
// https://github.com/reddb-io/reddb/issues/1805
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_send_is_not_swallowed_by_the_queues_own_deduplication() {
    let desk = Desk::new().await;
    let post = Post::new(Kudos, "evt_1");
    let key = post.row();
    let mut dedup_ids = vec![];
    let mut taken = async |what: &str| {
        let [message] = &desk.queued().await[..] else { panic!("{what}: swallowed") };
        dedup_ids.push(message.dedup_id.clone().expect("a FIFO message has one"));
    };
    // All of this is within the five minutes of the machine's own clock that SQS remembers.
    assert_eq!(desk.send(&post).await, 200);
    taken("the first send").await;
    desk.plan(&key, [Fate::Retry]);
    assert!(desk.run(&key).await);
    for sweep in 1..=3 {
        desk.turn(secs(1_000));
        assert_eq!(desk.sweep().await.sent, 1);
        taken(&format!("sweep {sweep}")).await;
    }
    assert_eq!(desk.send(&post.clone().at(&desk.t())).await, 200);
    assert_eq!(desk.queued().await.len(), 1, "a redelivery of what is unfinished");
    assert!(!desk.run(&key).await);
    assert_eq!(desk.applied(&key).await, 1);
    dedup_ids.sort();
    dedup_ids.dedup();
    assert_eq!(dedup_ids.len(), 4, "a fresh one each time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_arrived_although_it_failed_is_no_second_run() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let post = Post::new(producer, "evt_1");
        desk.faulty.plan(|operation, seen| match (operation, seen) {
            ("SendMessage", 0) => Fault::AnswerLost,
            ("SendMessage", _) => Fault::Failed,
            _ => Fault::None,
        });
        assert_eq!(desk.send(&post).await, 200);
        desk.faulty.heal();
        desk.turn(secs(121));
        assert_eq!(desk.sweep().await.sent, 1);
        let messages = desk.queued().await;
        assert_eq!(messages.len(), 2, "the one nobody knew of, and the sweeper's");
        for message in messages {
            assert_eq!(desk.batch(&[desk.record("m", &message.body, "g")]).await, NONE);
        }
        assert_eq!((desk.applied(&post.row()).await, desk.runs(&post.row()).len()), (1, 1));
    }
}

// https://github.com/localstack/localstack/issues/10281
#[tokio::test(flavor = "multi_thread")]
async fn each_queue_has_a_dead_letter_queue_of_its_own_kind() {
    let desk = Desk::new().await;
    let resources = &desk.world.cloud.resources;
    for (url, fifo) in [(&resources.queue_url, false), (&resources.fifo_queue_url, true)] {
        let call = desk.world.sqs().get_queue_attributes().queue_url(url);
        let call = call.attribute_names(QueueAttributeName::RedrivePolicy);
        let attributes = call.send().await.unwrap().attributes.unwrap();
        let policy = &attributes[&QueueAttributeName::RedrivePolicy];
        let policy: Value = serde_json::from_str(policy).unwrap();
        let target = policy["deadLetterTargetArn"].as_str().unwrap();
        assert_eq!(target.ends_with(".fifo"), fifo, "{target}");
        let receives = policy["maxReceiveCount"].to_string();
        let expected = if fifo { RECEIVES_MAX_FIFO } else { RECEIVES_MAX };
        assert_eq!(receives.trim_matches('"'), expected.to_string());
    }
}

// https://github.com/elastic-ipfs/infrastructure/issues/154
// https://github.com/LeanerCloud/CUDly/issues/1574
// https://github.com/floci-io/floci/pull/3060
// https://github.com/KensioSoftware/yulin/issues/1347
#[test]
fn the_mappings_report_records_one_by_one_and_filter_nothing() {
    let template = include_str!("../../../template.yaml");
    let mapping = "\n          Type: SQS\n";
    let mappings: Vec<&str> = template.split(mapping).skip(1).collect();
    assert_eq!(mappings.len(), 2, "one for each queue");
    for rest in mappings {
        // A mapping ends where the indentation does.
        let lines = rest.lines().take_while(|l| l.is_empty() || l.starts_with("          "));
        let text: String = lines.map(|line| line.trim().to_owned() + "\n").collect();
        assert!(text.contains("FunctionResponseTypes"), "{text}");
        assert!(text.contains("ReportBatchItemFailures"), "{text}");
        assert!(!text.contains("Filter"), "{text}");
    }
}

/// Fails the first time for the event called `fails`.
async fn once(event: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
    if event.key.id.as_str() == "fails" && ctx.attempt == 1 {
        return Err(HandlerError::retry("the first time"));
    }
    Ok(ctx.effects().update(Change::of(&event.key.to_string(), "count").add("applied", 1)))
}

// https://github.com/elastic-ipfs/infrastructure/issues/154
#[tokio::test(flavor = "multi_thread")]
async fn through_the_mapping_only_the_failed_record_is_received_again() {
    let world = World::with(None, Options::default(), |_, parts| Parts {
        handlers: Registry::default().on("kallglot", "job.*", once).on("kudos", "job.*", once),
        ..parts
    });
    // Stored before anybody polls, so that they are received together.
    let world = world.await.serve();
    for id in ["first", "fails", "last"] {
        let kallglot = json!({"id": id, "type": "job.done", "data": {}}).to_string();
        for delivery in [
            Delivery::kallglot_body(kallglot.as_bytes()),
            Delivery::kudos(id, "job.done", &json!({})),
        ] {
            assert_eq!(world.post(&delivery).await.status, 200);
        }
    }
    let world = world.poll();
    for source in [Kallglot, Kudos].map(Producer::name) {
        for (id, attempts) in [("first", 1), ("fails", 2), ("last", 1)] {
            let key = format!("{source}#{id}");
            let row = world.until(&key, "done").await;
            assert_eq!(number(&row, "attempts"), attempts, "{key}");
            let effect = world.effect(&key, "count").await.unwrap();
            assert_eq!(number(&effect, "applied"), 1, "{key}");
        }
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(world.metric("HandlerError", None), 2.0);
}
