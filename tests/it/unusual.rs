//! Deliveries that are authentic and yet no ordinary event: each is kept, and answered as its
//! producer's contract says.

mod doors;
mod names;

use futures_util::future::join_all;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use shared::limits::{UNUSABLE_BODY_BYTES, UNUSABLE_WHOLE_PER_HOUR};
use shared::source::{Ordering, Sources};

use crate::runs::bench::{Bench, Fate, days, secs};
use crate::runs::script::Script;
use crate::support::deliveries::{KUDOS_SECRET, unix_now};
use crate::support::world::{Item, number, string};
use crate::support::{Delivery, Fault};

/// The one delivery of these bytes by a source, signed now.
fn signed(source: &str, body: &[u8]) -> Delivery {
    match source {
        "kudos" => Delivery::kudos_body(body, &[KUDOS_SECRET], unix_now()),
        "kallglot" => Delivery::kallglot_body(body),
        _ => Delivery::apiera_body("1", "job.run", body),
    }
}

/// The key of what has no usable id: the body's digest.
fn digest_key(source: &str, body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{source}#sha256:{hex}")
}

/// Nothing is in a queue, and none was ever asked to take something.
async fn assert_never_queued(bench: &Bench) {
    assert_eq!(bench.faulty.calls("SendMessage"), 0);
    for ordering in [Ordering::None, Ordering::PerType] {
        assert_eq!(bench.queued(ordering).await.len(), 0);
    }
}

fn assert_unusable(row: &Item) {
    let shown = (string(row, "status"), string(row, "error_kind"));
    assert_eq!(shown, ("failed", "unusable"), "{row:?}");
    let received = number(row, "received_at") / 1000;
    assert_eq!(number(row, "expires_at"), received + 90 * 86_400);
    assert!(!string(row, "last_error").is_empty());
}

#[tokio::test]
async fn what_is_no_event_is_kept_as_it_came_and_answered_by_the_contract() {
    let long_id = "x".repeat(257);
    let bodies: Vec<Vec<u8>> = vec![
        b"not json".to_vec(),
        b"".to_vec(),
        b"[]".to_vec(),
        b"{\"id\":\"\xff\",\"event_id\":\"\xff\"}".to_vec(),
        b"\xef\xbb\xbf{\"id\":\"1\",\"event_id\":\"1\",\"type\":\"a\",\"event_type\":\"a\"}"
            .to_vec(),
        br#"{"type":"a","event_type":"a"}"#.to_vec(),
        br#"{"id":"1","event_id":"1"}"#.to_vec(),
        br#"{"id":null,"event_id":null,"type":"a","event_type":"a"}"#.to_vec(),
        br#"{"id":"  ","event_id":"  ","type":"a","event_type":"a"}"#.to_vec(),
        br#"{"id":7,"event_id":7,"type":"a","event_type":"a"}"#.to_vec(),
        br#"{"id":"a\nb","event_id":"a\nb","type":"a","event_type":"a"}"#.to_vec(),
        br#"{"id":"1","event_id":"1","id":"2","event_id":"2","type":"a","event_type":"a"}"#
            .to_vec(),
        br#"{"id":"1","event_id":"1","type":"","event_type":""}"#.to_vec(),
        json!({"id": long_id, "event_id": long_id, "type": "a", "event_type": "a"})
            .to_string()
            .into_bytes(),
    ];
    for (source, status) in [("kudos", 400), ("kallglot", 200)] {
        let bench = Bench::scripted(&Script::default()).await;
        for body in &bodies {
            let answer = bench.deliver(&signed(source, body)).await;
            assert_eq!(answer, status, "{source} {}", String::from_utf8_lossy(body));
            let key = digest_key(source, body);
            assert_unusable(&bench.row(&key).await);
            assert_eq!(&bench.payload(&key).await, body);
        }
        assert_eq!(bench.world.rows().await.len(), bodies.len());
        assert_eq!(bench.world.metric("Unusable", Some(source)), bodies.len() as f64);
        assert_eq!(bench.listed(&format!("failed#{source}")).await.len(), bodies.len());
        assert_never_queued(&bench).await;
    }
}

#[tokio::test]
async fn apiera_hears_200_for_what_is_no_event() {
    let bench = Bench::scripted(&Script::default()).await;
    let mut typeless = signed("apiera", b"{}");
    typeless.headers.retain(|(name, _)| name != "X-Webhook-Event-Type");
    let long = Delivery::apiera_body(&"x".repeat(257), "job.run", br#"{"n":2}"#);
    let dotted = Delivery::apiera_body("a.b", "job.run", br#"{"n":3}"#);
    for delivery in [signed("apiera", b"not json"), typeless, long, dotted] {
        assert_eq!(bench.deliver(&delivery).await, 200, "{delivery:?}");
        assert_unusable(&bench.row(&digest_key("apiera", &delivery.body)).await);
    }
    assert_eq!(bench.world.metric("Unusable", Some("apiera")), 4.0);
    assert_never_queued(&bench).await;
}

#[tokio::test]
async fn in_a_flood_of_unusable_deliveries_only_the_first_hundred_are_kept_whole() {
    let bench = Bench::scripted(&Script::default()).await;
    let bodies: Vec<Vec<u8>> = (0..UNUSABLE_WHOLE_PER_HOUR + 5)
        .map(|_| std::iter::repeat_with(|| fastrand::u8(..)).take(2000).collect())
        .collect();
    let large = bodies.iter().map(|body| signed("kudos", body));
    for delivery in large.clone() {
        assert_eq!(bench.deliver(&delivery).await, 400);
    }
    let mut cut = vec![];
    for body in &bodies {
        let kept = bench.payload(&digest_key("kudos", body)).await;
        assert!(body.starts_with(&kept));
        cut.extend((kept.len() < body.len()).then_some(kept.len()));
    }
    assert_eq!(cut, [UNUSABLE_BODY_BYTES; 5]);
    let whole = usize::try_from(UNUSABLE_WHOLE_PER_HOUR).unwrap();
    let last = bench.payload(&digest_key("kudos", &bodies[whole])).await;
    assert_eq!(last.len(), UNUSABLE_BODY_BYTES, "in the order in which they came");
    // Another source has its own count, and another hour begins at zero.
    let others = bodies[..2].iter().map(|body| signed("kallglot", body));
    for delivery in others {
        assert_eq!(bench.deliver(&delivery).await, 200);
        assert_eq!(bench.payload(&digest_key("kallglot", &delivery.body)).await.len(), 2000);
    }
    bench.dial.forward(secs(3600));
    let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(2000).collect();
    let later = Delivery::kudos_body(&noise, &[KUDOS_SECRET], bench.dial.now().secs());
    assert_eq!(bench.deliver(&later).await, 400);
    assert_eq!(bench.payload(&digest_key("kudos", &noise)).await, noise);
}

#[tokio::test]
async fn an_event_from_before_the_inboxs_memory_is_parked_and_not_run() {
    let bench = Bench::scripted(&Script::default()).await;
    let created = |age: std::time::Duration| {
        let at = aws_smithy_types::DateTime::from_secs(bench.dial.now().minus(age).secs());
        at.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap()
    };
    let old = created(days(31));
    let young = created(days(29));
    let event = |id: &str, at: &str| Delivery::kallglot(id, "job.run", at, &json!({}));
    for _ in 0..2 {
        assert_eq!(bench.deliver(&event("old", &old)).await, 200);
    }
    assert_never_queued(&bench).await;
    let row = bench.row("kallglot#old").await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "beyond_memory"));
    assert!(!row.contains_key("expires_at"), "it waits for an operator");
    assert_eq!(bench.listed("failed#kallglot").await, ["kallglot#old"]);
    assert_eq!(bench.world.metric("BeyondMemory", Some("kallglot")), 1.0);
    assert_eq!(bench.world.metric("Failed", Some("kallglot")), 1.0);
    assert_eq!(bench.run("kallglot#old").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#old").await, 0);
    assert_eq!(bench.deliver(&event("young", &young)).await, 200);
    assert_eq!(bench.run("kallglot#young").await, Fate::Deleted);
    assert_eq!(bench.applied("kallglot#young").await, 1);
}

/// The producers of the tree, changed.
fn sources(from: &str, to: &str) -> Sources {
    let text = include_str!("../../infra/sources.toml");
    assert!(text.contains(from));
    Sources::parse(&text.replace(from, to)).unwrap()
}

#[tokio::test]
async fn types_that_the_profile_ignores_are_remembered_and_never_queued() {
    // It becomes the last key of the table above.
    let ignoring = sources(
        "[kallglot.contract]",
        "ignored = [\"job.ignored\", \"noise.*\"]\n\n[kallglot.contract]",
    );
    let script = Script::default();
    let bench = Bench::with(ignoring, |_| script.registry()).await;
    for (id, event_type) in [("1", "job.ignored"), ("2", "noise.a.b")] {
        let body = json!({"id": id, "type": event_type, "data": {}});
        for _ in 0..2 {
            assert_eq!(bench.deliver(&bench.kallglot(&body)).await, 200);
        }
        let row = bench.row(&format!("kallglot#{id}")).await;
        let shown = (string(&row, "status"), string(&row, "outcome"));
        assert_eq!(shown, ("ignored", "ignored_type"));
        assert!(number(&row, "expires_at") > 0 && !row.contains_key("due_at"));
        assert_eq!(bench.payload(&format!("kallglot#{id}")).await, body.to_string().as_bytes());
    }
    assert_never_queued(&bench).await;
    assert_eq!(bench.world.metric("Ignored", Some("kallglot")), 2.0);
    bench.store(&["kallglot#3"]).await;
    assert_eq!(bench.queued(Ordering::None).await.len(), 1, "other types go on");
    assert_eq!(script.ran().len(), 0);
}

#[tokio::test]
async fn only_a_source_that_is_gone_answers_410() {
    let gone = sources("[kudos.contract]", "[kudos.contract]\ngone = true");
    let bench = Bench::with(gone, |_| Script::default().registry()).await;
    let forged = bench.job("kudos#1").tampered();
    for delivery in [bench.job("kudos#1"), forged] {
        assert_eq!(bench.deliver(&delivery).await, 410);
    }
    assert_eq!(bench.faulty.all_calls(), 0, "and nothing is looked up for it");
    let answers = join_all(
        [bench.job("kallglot#1"), bench.job("apiera#1")].map(async |d| bench.deliver(&d).await),
    );
    assert_eq!(answers.await, [200, 200]);
}

#[tokio::test]
async fn a_pointer_that_the_queue_calls_invalid_leaves_a_failed_event_and_a_2xx() {
    for key in ["kallglot#1", "kudos#1"] {
        let bench = Bench::scripted(&Script::default()).await;
        bench.faulty.plan(|operation, _| match operation {
            "SendMessage" => Fault::Refused("InvalidMessageContents"),
            _ => Fault::None,
        });
        bench.store(&[key]).await;
        let source = key.split('#').next().unwrap();
        let row = bench.row(key).await;
        let shown = (string(&row, "status"), string(&row, "error_kind"));
        assert_eq!(shown, ("failed", "unsendable"));
        assert!(number(&row, "finished_at") > 0 && !row.contains_key("expires_at"));
        assert_eq!(bench.world.metric("Unsendable", Some(source)), 1.0);
        assert_eq!(bench.world.metric("Failed", Some(source)), 1.0);
        assert_eq!(bench.listed(&format!("failed#{source}")).await, [key]);
        bench.faulty.heal();
        bench.dial.forward(days(1));
        bench.store(&[key]).await;
        assert_eq!(bench.sweep().await.unwrap().sent, 0);
        assert_never_queued(&bench).await;
    }
}
