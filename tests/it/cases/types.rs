//! The event's type: in the body where the signature covers it, or in a header where none does.

use super::desk::Desk;
use super::judge::{Case, Taken, Unusable, case, judge};
use super::producers::{Apiera, Post, Producer};
use crate::support::world::string;

// https://github.com/OpenHands/automation/pull/236
// https://github.com/magda-io/magda/issues/3209
#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_a_usable_type_is_kept_under_its_digest() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let (_, name) = producer.fields();
        let long = format!("\"{}\"", "x".repeat(129));
        let cases = [
            case("type absent", Unusable, None),
            case("type null", Unusable, Some("null")),
            case("type empty", Unusable, Some(r#""""#)),
            case("type of spaces", Unusable, Some(r#""  ""#)),
            case("type a number", Unusable, Some("5")),
            case("type false", Unusable, Some("false")),
            case("type a list", Unusable, Some(r#"["job.done"]"#)),
            case("type an object", Unusable, Some(r#"{"name":"job.done"}"#)),
            case("type with a control character", Unusable, Some(r#""job\u0007done""#)),
            case("type with half of a pair", Unusable, Some(r#""job.\ud83d""#)),
            case("type of 129 bytes", Unusable, Some(long.as_str())),
        ];
        for (n, Case { kind, answer, input }) in cases.into_iter().enumerate() {
            let id = format!("\"evt_{n}\"");
            let mut body = producer.body(&id, input.unwrap_or("null"), "{}");
            if input.is_none() {
                body = body.replace(&format!("{name:?}:null,"), "");
            }
            let post = Post::bytes(producer, "", body.as_bytes());
            judge(&desk, kind, answer, &post, post.event()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_is_any_short_text() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let long = format!("job.{}", "x".repeat(124));
        let cases = [
            case("type of 128 bytes", Taken, long.as_str()),
            case("type with a space and signs", Taken, "job.a b/#?*"),
            case("type beyond ASCII", Taken, "job.größe\u{1f642}"),
            case("type in capitals", Taken, "job.DONE"),
        ];
        for (n, Case { kind, answer, input }) in cases.into_iter().enumerate() {
            let id = format!("evt_{n}");
            let quoted = serde_json::to_string(input).unwrap();
            let body = producer.body(&format!("{id:?}"), &quoted, "{}");
            let post = Post::bytes(producer, &id, body.as_bytes());
            judge(&desk, kind, answer, &post, post.event()).await;
            assert_eq!(string(&desk.row(&post.row()).await, "event_type"), input);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_nobody_handles_is_taken_and_ends_as_ignored() {
    let desk = Desk::new().await;
    for producer in Producer::ALL {
        let body = producer.body(r#""evt_1""#, r#""never.heard.of""#, "{}");
        let mut post = Post::bytes(producer, "evt_1", body.as_bytes());
        post.event_type = Some("never.heard.of".into());
        assert_eq!(desk.send(&post).await, 200);
        assert_eq!(desk.queued().await.len(), 1);
        assert!(!desk.run(&post.row()).await);
        assert_eq!(desk.status(&post.row()).await, "ignored");
    }
}

// https://github.com/magda-io/magda/issues/3209
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_only_an_unsigned_header_tells_is_only_a_hint() {
    let desk = Desk::new().await;
    let of = |id: &str, event_type: Option<&str>| Post {
        event_type: event_type.map(str::to_owned),
        ..Post::data(Apiera, id, &format!(r#"{{"uuid":{id:?}}}"#))
    };
    let long = "x".repeat(129);
    for Case { kind, answer, input } in [
        case("type header as sent", Taken, of("msg_1", Some("job.created"))),
        case("type header altered on the way", Taken, of("msg_2", Some("job.paid"))),
        case("type header absent", Unusable, of("msg_3", None)),
        case("type header empty", Unusable, of("msg_4", Some(""))),
        case("type header of 129 bytes", Unusable, of("msg_5", Some(&long))),
        case("type header beyond ASCII", Unusable, of("msg_6", Some("größe"))),
    ] {
        judge(&desk, kind, answer, &input, input.event()).await;
    }
    // Altered in a replay it changes nothing: not the row, not what ran.
    let row = desk.row("apiera#msg_1").await;
    assert_eq!(desk.send(&of("msg_1", Some("job.paid"))).await, 200);
    assert_eq!(desk.row("apiera#msg_1").await, row);
    assert_eq!(
        desk.runs("apiera#msg_1"),
        [r#"{"uuid":"msg_1"}"#],
        "only signed bytes are handed on"
    );
    assert_eq!(desk.queued().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn white_space_around_the_type_header_is_no_part_of_the_type() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input }) in [
        case("spaces around the type header's value", Taken, "  job.created "),
        case("tabs around the type header's value", Taken, "\tjob.created\t"),
    ]
    .into_iter()
    .enumerate()
    {
        let post =
            Post { event_type: Some(input.to_owned()), ..Post::new(Apiera, &format!("msg_{n}")) };
        judge(&desk, kind, answer, &post, post.event()).await;
        assert_eq!(string(&desk.row(&post.row()).await, "event_type"), "job.created");
    }
}
