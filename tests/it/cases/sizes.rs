//! Sizes: of the decoded body, whatever the transport makes of it.

use shared::limits::BODY_BYTES_MAX;

use super::desk::Desk;
use super::judge::{Case, Status, Taken, case, judge};
use super::producers::{Apiera, Kallglot, Kudos, Post, Producer};
use super::shapes::Shape;

/// A usable event whose body has exactly this many bytes.
fn of_size(producer: Producer, id: &str, bytes: usize, filler: &str) -> Post {
    let empty = Post::data(producer, id, r#"{"x":""}"#).body.len();
    let letters = bytes - empty;
    assert_eq!(letters % filler.len(), 0, "the filler fits");
    let data = format!(r#"{{"x":"{}"}}"#, filler.repeat(letters / filler.len()));
    Post::data(producer, id, &data)
}

// https://github.com/softwaremill/elasticmq/issues/1077
// https://github.com/hookdeck/outpost/pull/845
#[tokio::test(flavor = "multi_thread")]
async fn a_body_larger_than_a_message_or_an_item_is_taken() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: (producer, bytes) }) in [
        case("262,000 bytes", Taken, (Kudos, 262_000)),
        case("262,145 bytes, one above a message", Taken, (Kallglot, 262_145)),
        case("409,601 bytes, one above an item", Taken, (Apiera, 409_601)),
        case("1,048,577 bytes", Taken, (Kudos, 1_048_577)),
    ]
    .into_iter()
    .enumerate()
    {
        let post = of_size(producer, &format!("evt_{n}"), bytes, "x");
        judge(&desk, kind, answer, &post, post.event()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_is_small_whatever_the_body_is() {
    let desk = Desk::new().await;
    for producer in Producer::ALL {
        let post = of_size(producer, "evt_1", 300_000, "x");
        assert_eq!(desk.send(&post).await, 200);
        let [message] = &desk.queued().await[..] else { panic!("not one message") };
        assert!(message.body.len() < 100, "{}", message.body);
    }
}

// https://github.com/MionKit/mion/pull/269
#[tokio::test(flavor = "multi_thread")]
async fn the_limit_counts_decoded_bytes_and_not_base64() {
    let limit = BODY_BYTES_MAX;
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: (shape, bytes) }) in [
        case("a byte below the limit, base64 text far above it", Taken, {
            (Shape::HttpApi, limit - 1)
        }),
        case("a byte above the limit", Status(413), (Shape::HttpApi, limit + 1)),
        case("a byte above the limit, multi-value", Status(413), (Shape::BalancerMulti, limit + 1)),
        case("twice the limit", Status(413), (Shape::RestApi, 2 * limit)),
    ]
    .into_iter()
    .enumerate()
    {
        let post = of_size(Kallglot, &format!("evt_{n}"), bytes, "x");
        let event = post.request().event(shape);
        assert!(event["body"].as_str().unwrap().len() > limit);
        judge(&desk, kind, answer, &post, event).await;
    }
    let Case { kind, answer, input: bytes } = case("exactly the limit, as text", Taken, limit);
    let post = of_size(Kudos, "evt_exact", bytes, "x");
    let mut request = post.request();
    request.base64 = false;
    judge(&desk, kind, answer, &post, request.event(Shape::HttpApi)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_counts_bytes_and_not_letters() {
    let desk = Desk::new().await;
    // An emoji is four bytes of UTF-8, two units of UTF-16 and one letter.
    let empty = Post::data(Kudos, "evt_0", r#"{"x":""}"#).body.len();
    let above = BODY_BYTES_MAX + 4 - (BODY_BYTES_MAX - empty) % 4;
    for (n, Case { kind, answer, input: bytes }) in [
        case("emoji, up to 3 bytes above the limit", Status(413), above),
        case("emoji, up to 3 bytes below the limit", Taken, above - 4),
    ]
    .into_iter()
    .enumerate()
    {
        let post = of_size(Kudos, &format!("evt_{n}"), bytes, "\u{1f642}");
        let mut request = post.request();
        request.base64 = false;
        judge(&desk, kind, answer, &post, request.event(Shape::HttpApi)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_too_large_is_refused_before_anything_is_read() {
    let desk = Desk::new().await;
    let large = vec![b'x'; BODY_BYTES_MAX + 1];
    let Case { kind, answer, input: bytes } =
        case("unsigned, a byte above the limit", Status(413), large);
    let post = Post::bytes(Kudos, "evt_1", &bytes).unsigned();
    judge(&desk, kind, answer, &post, post.event()).await;
    assert_eq!(desk.faulty.all_calls(), 0, "not even a secret");
}
