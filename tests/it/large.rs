//! Bodies of every size, byte for byte: in the row while that is cheap, else beside it.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use local::apiera::Options;
use local::stack::Parts;
use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::json;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use shared::effects::Effects;
use shared::inbox::{Claiming, Fenced, Inbox};
use shared::key::EventKey;
use shared::limits::{BODY_BYTES_MAX, BODY_PART_BYTES, ROW_BYTES_CHEAP};
use tokio::sync::Mutex;

use crate::support::deliveries::{KUDOS_SECRET, unix_now};
use crate::support::world::{Item, number, string, text};
use crate::support::{Delivery, World, eventually};

/// The largest item that DynamoDB takes.
const ITEM_BYTES_MAX: usize = 409_600;

/// Commits the length and the digest of the payload's very characters.
async fn digest(event: Event<Box<RawValue>>, ctx: Context) -> Result<Effects, HandlerError> {
    let json = event.data.get();
    let attributes = [
        ("bytes", i64::try_from(json.len()).unwrap().into()),
        ("sha256", hex(json.as_bytes()).into()),
    ];
    Ok(ctx.effects().put_if_absent("blob", event.key.id.as_str(), attributes))
}

async fn world() -> World {
    let change = |_: &_, parts| Parts {
        handlers: Registry::default().on("kudos", "blob.stored", digest),
        ..parts
    };
    World::with(None, Options::default(), change).await.serve()
}

/// A Kudos body of this length, and its payload. Written so that JSON that is read and written
/// again is not the same: spaces, escapes, a number with a trailing zero.
fn body(id: &str, filler: Filler, bytes: usize) -> (String, String) {
    let envelope = format!(r#"{{ "event_type":"blob.stored", "event_id":"{id}", "data":"#);
    let begin = r#"{"z": 1.50, "a":1e2, "é":"\u00e9\/", "text":""#;
    let room = bytes - envelope.len() - begin.len() - 4;
    let text: String = match filler {
        Filler::Plain => "the same again, ".chars().cycle().take(room).collect(),
        // 64 letters at random: six bits in each byte, of which nothing can save more than two.
        Filler::Random => (0..room).map(|_| fastrand::alphanumeric()).collect(),
    };
    let payload = format!(r#"{begin}{text}"}}"#);
    let body = format!("{envelope}{payload} }}");
    assert_eq!(body.len(), bytes);
    (body, payload)
}

#[derive(Clone, Copy)]
enum Filler {
    Plain,
    Random,
}

/// How a body is expected to be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    Inline(&'static str),
    Parts(&'static str, usize),
}

/// Delivers as a producer does: again when it is asked to. Several megabytes on a busy machine may
/// well take longer than an answer may.
async fn deliver(world: &World, body: &str) {
    // Two such deliveries at once would be in each other's way.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
    let _turn = ONE_AT_A_TIME.lock().await;
    for _ in 0..40 {
        let delivery = Delivery::kudos_body(body.as_bytes(), &[KUDOS_SECRET], unix_now());
        let answer = world.post(&delivery).await;
        if answer.status == 200 {
            return;
        }
        assert!(answer.status >= 500, "{answer:?}");
        println!("{} bytes: to be delivered again", body.len());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("never stored");
}

/// The row when it is done. On a machine so busy that the answer's budget ran out in the middle of
/// six megabytes, it is the sweeper who sends.
async fn done(world: &World, id: &str) -> Item {
    let key = format!("kudos#{id}");
    eventually(&format!("{key} is done"), Duration::from_secs(240), async || {
        world.row(&key).await.filter(|row| string(row, "status") == "done")
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_every_size_reach_the_handler_byte_for_byte() {
    use {Filler::*, Kept::*};
    let world = world().await.poll().sweep();
    for (id, filler, bytes, kept) in [
        ("evt_600", Random, 600, Inline("identity")),
        ("evt_800", Random, 800, Inline("deflate")),
        ("evt_1000", Random, 1_000, Parts("identity", 1)),
        ("evt_4k", Plain, 4_096, Inline("deflate")),
        ("evt_4k_random", Random, 4_096, Parts("identity", 1)),
        ("evt_300k", Random, 300 * 1024, Parts("deflate", 1)),
        ("evt_large", Random, 5_900_000, Parts("deflate", 12)),
    ] {
        let (body, payload) = body(id, filler, bytes);
        deliver(&world, &body).await;
        let row = done(&world, id).await;
        assert_eq!(string(&row, "outcome"), "applied", "{id}");
        let effect = world.effect("blob", id).await.unwrap();
        assert_eq!(string(&effect, "sha256"), hex(payload.as_bytes()), "{id}");
        assert_eq!(number(&effect, "bytes"), payload.len() as i64, "{id}");

        assert!(size(&row) <= ROW_BYTES_CHEAP, "{id}: a row of {} bytes", size(&row));
        assert_eq!(how_kept(&world, &row).await, kept, "{id}");
        let stored = stored_body(&world, id).await;
        assert!(stored == body.as_bytes(), "{id}: {} bytes came back", stored.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_costs_one_write_unit_in_every_state_of_its_life() {
    let world = world().await;
    let inbox = inbox(&world);
    let mut largest = 0;
    let mut weigh = |row: &Item| {
        let bytes = size(row);
        largest = largest.max(bytes);
        assert!(bytes <= ROW_BYTES_CHEAP, "{}: {bytes} bytes", string(row, "pk"));
    };
    // Around the length at which a body no longer fits beside the row's own attributes.
    for bytes in (200..1_300).step_by(20) {
        let id = format!("evt_{bytes:04}");
        deliver(&world, &body(&id, Filler::Random, bytes).0).await;
        let (key, now) = (key(&id), world.here().clock.now());
        let row = async || world.row(&key.to_string()).await.unwrap();
        weigh(&row().await);
        let Claiming::Won(claim) = inbox.claim(&key, now).await.unwrap() else { panic!("{id}") };
        weigh(&row().await);
        let why = "Apiera answered 503 Service Unavailable";
        let released = inbox.release(&claim, Duration::ZERO, true, why, now).await.unwrap();
        assert_eq!(released.0, Fenced::Done);
        weigh(&row().await);
    }
    let world = world.poll();
    for row in world.rows().await {
        weigh(&world.until(string(&row, "pk"), "done").await);
    }
    println!("the largest row was {largest} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_of_a_large_event_changes_nothing() {
    let world = world().await.poll().sweep();
    let (body, _) = body("evt_1", Filler::Random, 3_000_000);
    deliver(&world, &body).await;
    let row = done(&world, "evt_1").await;
    let effects = world.effects().await;
    deliver(&world, &body).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.rows().await, [row]);
    assert_eq!(world.effects().await, effects);
    assert!(stored_body(&world, "evt_1").await == body.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_of_a_large_event_leaves_no_body_items_behind() {
    let world = world().await;
    let (body, _) = body("evt_1", Filler::Random, 1_000_000);
    deliver(&world, &body).await;
    let (row, before) = (world.row("kudos#evt_1").await.unwrap(), parts(&world).await);
    assert_eq!(before.len() as i64, number(&row, "body_parts"));
    deliver(&world, &body).await;
    assert_eq!(parts(&world).await.len(), before.len(), "body items that no row names");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_larger_than_lambda_takes_is_413() {
    let world = world().await;
    // The front door measures the whole event, so it refuses a little earlier.
    let over = Delivery::kudos_body(&vec![b' '; BODY_BYTES_MAX], &[KUDOS_SECRET], unix_now());
    assert_eq!(world.post(&over).await.status, 413);
    // The function itself measures the decoded body; unsigned, what fits is refused as such.
    for (bytes, status) in [(BODY_BYTES_MAX, 401), (BODY_BYTES_MAX + 1, 413)] {
        let answer = world.functions.ingress(event(&" ".repeat(bytes))).await.unwrap();
        assert_eq!(answer["statusCode"], status, "{bytes} bytes");
    }
    assert_eq!(world.rows().await.len(), 0);
}

/// An unsigned delivery to Kudos as an HTTP API hands it over.
fn event(body: &str) -> serde_json::Value {
    json!({
        "version": "2.0",
        "rawPath": "/webhooks/kudos",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": "POST", "path": "/webhooks/kudos"}},
        "isBase64Encoded": false,
        "body": body,
    })
}

/// Where the body is; its items are looked at on the way.
async fn how_kept(world: &World, row: &Item) -> Kept {
    let encoding = match string(row, "body_encoding") {
        "identity" => "identity",
        "deflate" => "deflate",
        other => panic!("encoding {other}"),
    };
    let count = number(row, "body_parts");
    assert_eq!(row.contains_key("body"), count == 0, "in the row or beside it");
    if count == 0 {
        return Kept::Inline(encoding);
    }
    let key = |n| format!("~body#{}#{n}", string(row, "receipt"));
    for n in 0..count {
        let part = world.row(&key(n)).await.unwrap();
        let AttributeValue::B(bytes) = &part["data"] else { panic!("no bytes") };
        let full = bytes.as_ref().len() == BODY_PART_BYTES;
        assert!(full || n == count - 1, "part {n} has {} bytes", bytes.as_ref().len());
        assert!(size(&part) <= ITEM_BYTES_MAX);
        assert_eq!(number(&part, "expires_at"), number(row, "body_expires_at"));
    }
    assert_eq!(world.row(&key(count)).await, None, "one more than the row says");
    Kept::Parts(encoding, usize::try_from(count).unwrap())
}

async fn stored_body(world: &World, id: &str) -> Vec<u8> {
    let inbox = inbox(world);
    let row = inbox.row(&key(id)).await.unwrap().unwrap();
    inbox.body(&row).await.unwrap()
}

fn inbox(world: &World) -> Inbox {
    let table = &world.cloud.resources.inbox_table;
    Inbox::new(world.dynamodb(), table, Duration::from_secs(3600))
}

fn key(id: &str) -> EventKey {
    EventKey::parse(&format!("kudos#{id}")).unwrap()
}

/// The keys of all body items.
async fn parts(world: &World) -> Vec<Item> {
    let scan = world.dynamodb().scan().table_name(&world.cloud.resources.inbox_table);
    let scan = scan.filter_expression("begins_with(pk, :body)").projection_expression("pk");
    let scan = scan.expression_attribute_values(":body", text("~body#")).consistent_read(true);
    scan.into_paginator().items().send().collect::<Result<_, _>>().await.unwrap()
}

/// What DynamoDB counts for an item, by its documentation: names, and values as bytes; a number is
/// a byte for two digits and one more.
fn size(item: &Item) -> usize {
    let weight = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        other => panic!("not in a row: {other:?}"),
    };
    item.iter().map(|(name, value)| name.len() + weight(value)).sum()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
