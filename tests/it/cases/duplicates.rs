//! The same event again: as it was, with another payload, under another delivery id.

use serde_json::json;

use super::desk::{Desk, Fate, secs};
use super::producers::{Apiera, Kallglot, Kudos, Post, Producer};
use super::shapes::Shape;
use crate::support::world::{number, string};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_delivery_through_every_shape_is_one_event() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let post = Post::new(producer, "evt_1");
        for shape in Shape::ALL {
            assert_eq!(desk.ask(post.request().event(shape)).await.status, 200, "{shape:?}");
        }
        assert_eq!(desk.row_count().await, 1);
        assert_eq!(desk.queued().await.len(), 1);
        desk.run(&post.row()).await;
        assert_eq!(desk.send(&post).await, 200, "after it is done, too");
        assert_eq!((desk.queued().await.len(), desk.applied(&post.row()).await), (0, 1));
        assert_eq!(desk.world.metric("Duplicate", Some(producer.name())), 6.0);
    }
}

// https://github.com/hyperlocalise/hyperlocalise/pull/754
// https://github.com/saleor/apps/issues/339
#[tokio::test(flavor = "multi_thread")]
async fn a_new_delivery_id_and_a_new_count_are_the_same_event() {
    let desk = Desk::new().await;
    let headers = |producer, n: u32| match producer {
        Kudos => vec![("X-Kudos-Delivery-Attempt", format!("{}", n + 1))],
        Kallglot => vec![
            ("Kallglot-Webhook-Id", format!("wh_del_{n}")),
            ("Kallglot-Retry-Count", format!("{n}")),
        ],
        Apiera => vec![("X-Webhook-Attempt", format!("{n}"))],
    };
    for producer in Producer::ALL {
        for n in 0..4 {
            // Each attempt is signed anew.
            let mut post = Post::new(producer, "evt_1").at(&desk.t());
            for (name, value) in headers(producer, n) {
                post = post.with(name, &value);
            }
            assert_eq!(desk.send(&post).await, 200);
            desk.turn(secs(1));
        }
        let key = Post::new(producer, "evt_1").row();
        assert_eq!(desk.queued().await.len(), 1);
        assert!(!desk.run(&key).await && !desk.run(&key).await);
        assert_eq!(desk.applied(&key).await, 1);
        let first = if producer == Apiera { 0 } else { 1 };
        assert_eq!(number(&desk.row(&key).await, "first_attempt"), first, "as first received");
    }
    assert_eq!(desk.row_count().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_is_no_number_is_no_trouble() {
    for value in ["", "x", "-1", "99999999999999999999", "1.5", "1,2", "\u{e9}"] {
        let desk = Desk::new().await;
        let post = Post::new(Kallglot, "evt_1").with("Kallglot-Retry-Count", value);
        assert_eq!(desk.send(&post).await, 200, "{value:?}");
        assert!(!desk.row("kallglot#evt_1").await.contains_key("first_attempt"), "{value:?}");
    }
}

// https://github.com/8x8/jaas_demo/issues/8
// https://github.com/jcagarcia/grape-idempotency/issues/13
#[tokio::test(flavor = "multi_thread")]
async fn of_one_id_with_two_payloads_the_first_stands() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let first = Post::data(producer, "evt_1", r#"{"plan":"pro"}"#);
        let others = [
            Post::data(producer, "evt_1", r#"{"plan":"free"}"#),
            Post::data(producer, "evt_1", r#"{ "plan":"pro"}"#),
        ];
        assert_eq!(desk.send(&first).await, 200);
        let row = desk.row(&first.row()).await;
        let differs = || desk.world.metric("BodyMismatch", Some(producer.name()));
        for (n, other) in others.iter().enumerate() {
            assert_eq!(desk.send(other).await, 200);
            assert_eq!(differs() as usize, n + 1, "it is counted");
        }
        assert_eq!(desk.row(&first.row()).await, row, "nothing about the row changes");
        assert_eq!(desk.send(&first).await, 200);
        assert_eq!(differs(), 2.0, "the first payload again is no mismatch");
        assert_eq!(desk.queued().await.len(), 1);
        desk.run(&first.row()).await;
        assert_eq!(desk.send(&others[0]).await, 200);
        assert_eq!(desk.runs(&first.row()), [r#"{"plan":"pro"}"#]);
        assert_eq!(desk.stored(&first.row()).await, first.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_delivery_again_hears_the_same_and_is_one_row() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let post = Post::bytes(producer, "evt_1", b"{\"truncated\":");
        for _ in 0..3 {
            assert_eq!(desk.send(&post.clone().at(&desk.t())).await, producer.unusable());
            desk.turn(secs(3_700));
        }
        assert_eq!(desk.row_count().await, 1);
        assert_eq!(desk.queued().await.len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_event_is_run_again_by_a_later_replay_unless_its_source_is_ordered() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let key = Post::new(producer, "evt_1").row();
        desk.plan(&key, [Fate::Permanent]);
        desk.store(&[Post::new(producer, "evt_1")]).await;
        desk.run(&key).await;
        let again = async || {
            assert_eq!(desk.send(&Post::new(producer, "evt_1").at(&desk.t())).await, 200);
            desk.queued().await.len()
        };
        assert_eq!(again().await, 0, "at once it is the producer's own retry");
        desk.turn(secs(3_601));
        let (sent, applied) = if producer == Kudos { (0, 0) } else { (1, 1) };
        assert_eq!(again().await, sent, "{producer:?}");
        desk.run(&key).await;
        assert_eq!(desk.applied(&key).await, applied, "{producer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_told_repeats_what_was_sent() {
    let desk = Desk::new().await;
    for producer in Producer::ALL {
        let post = Post::data(producer, "evt_1", r#"{"card":"4111-canary"}"#);
        let digest = post.digest();
        let unusable = Post::bytes(producer, "evt_2", b"4111-canary");
        for post in [post.clone(), post.clone().signature("4111-canary"), post.unsigned(), unusable]
        {
            let told = desk.ask(post.event()).await.whole.to_string();
            assert!(!told.contains("canary") && !told.contains(&digest), "{told}");
        }
    }
    let lines = json!(desk.world.metric_lines()).to_string();
    assert!(!lines.contains("canary") && !lines.contains("evt_1"), "{lines}");
    for row in desk.world.rows().await {
        assert!(!string(&row, "last_error").contains("canary"));
    }
}
