//! What an id may be, where it comes from, and what has none.

use super::desk::{Desk, secs};
use super::judge::{Case, Refused, Taken, Unusable, case, judge, judge_all};
use super::producers::{Apiera, Post, Producer, TYPE};
use super::shapes::Shape;
use crate::support::world::string;

/// A body whose id is this JSON text, with a payload that makes it different from others.
fn with_id(producer: Producer, id: &str, n: usize) -> Post {
    let body = producer.body(id, &format!("{TYPE:?}"), &format!(r#"{{"n":{n}}}"#));
    Post::bytes(producer, "", body.as_bytes())
}

/// A body without an id.
fn without_id(producer: Producer, n: usize) -> Post {
    let (id, _) = producer.fields();
    let post = with_id(producer, "null", n);
    let body = String::from_utf8(post.body).unwrap().replace(&format!("{id:?}:null,"), "");
    Post::bytes(producer, "", body.as_bytes())
}

// https://github.com/anolilab/lunora/pull/246
// https://github.com/ever-co/ever-gauzy/pull/10198
#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_a_usable_id_is_kept_under_its_digest() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let cases = [
            case("id absent", Unusable, None),
            case("id null", Unusable, Some("null")),
            case("id empty", Unusable, Some(r#""""#)),
            case("id of spaces", Unusable, Some(r#""   ""#)),
            case("id of escaped white space", Unusable, Some(r#""\t\n\u2003""#)),
            case("id of no-break spaces", Unusable, Some("\"\u{a0}\u{a0}\"")),
            case("id a number", Unusable, Some("5")),
            case("id a fraction", Unusable, Some("5.0")),
            case("id true", Unusable, Some("true")),
            case("id a list", Unusable, Some(r#"["evt_1"]"#)),
            case("id an object", Unusable, Some(r#"{"id":"evt_1"}"#)),
            case("id with an escaped control character", Unusable, Some(r#""evt\u0001""#)),
            case("id with NUL", Unusable, Some(r#""evt\u0000""#)),
            case("id with a line end", Unusable, Some(r#""evt\n1""#)),
            case("id with a tab", Unusable, Some(r#""evt\t1""#)),
            case("id with DEL", Unusable, Some("\"evt\u{7f}\"")),
            case("id with a C1 control", Unusable, Some("\"evt\u{85}\"")),
            case("id with half of a pair, the first", Unusable, Some(r#""evt_\ud83d""#)),
            case("id with half of a pair, the second", Unusable, Some(r#""evt_\udc00""#)),
            case("id with a pair the wrong way round", Unusable, Some(r#""\ude42\ud83d""#)),
        ];
        for (n, Case { kind, answer, input: id }) in cases.into_iter().enumerate() {
            // Two different events: the second is no duplicate of the first.
            for m in [n, 1_000 + n] {
                let post = match id {
                    Some(id) => with_id(producer, id, m),
                    None => without_id(producer, m),
                };
                judge(&desk, kind, answer, &post, post.event()).await;
            }
        }
        assert_eq!(desk.world.metric("Unusable", Some(producer.name())), 40.0);
        let empty = format!("{}#", producer.name());
        assert!(desk.find(&empty).await.is_none(), "no row has an empty id");
    }
}

// https://github.com/opennextjs/opennextjs-aws/issues/138
// https://github.com/saleor/saleor/pull/18409
#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_at_most_256_bytes() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let of = |id: &str| Post::new(producer, id);
        let cases = [
            case("id of 129 bytes", Taken, of(&"x".repeat(129))),
            case("id of 256 bytes", Taken, of(&"x".repeat(256))),
            case("id of 64 emoji, 256 bytes", Taken, of(&"\u{1f642}".repeat(64))),
            case("id of 128 umlauts, 256 bytes", Taken, of(&"ü".repeat(128))),
            case("id of 257 bytes", Unusable, of(&"x".repeat(257))),
            case("id of 65 emoji, 260 bytes", Unusable, of(&"\u{1f642}".repeat(65))),
            case("id of 129 umlauts, 258 bytes", Unusable, of(&"ü".repeat(129))),
            case("id of 2,000 bytes", Unusable, of(&"x".repeat(2_000))),
            case("id of 2,100 bytes", Unusable, of(&"x".repeat(2_100))),
            case("id of 300,000 bytes", Unusable, of(&"x".repeat(300_000))),
        ];
        judge_all(&desk, cases).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_compared_byte_by_byte() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let of = |id: &str| Post::new(producer, id);
        // All in one table: each is an event of its own.
        let cases = [
            case("id with spaces, slashes and a number sign", Taken, of("a b/../c#d")),
            case("id with our own separator", Taken, of("kudos#evt_1")),
            case("id that starts with a tilde", Taken, of("~control#kudos")),
            case("id that looks like a digest", Taken, of("sha256:00")),
            case("composed letter", Taken, of("\u{e9}vt")),
            case("decomposed letter", Taken, of("e\u{301}vt")),
            case("plain letter", Taken, of("evt")),
            case("letter in the other case", Taken, of("Evt")),
            case("space in front of an id", Taken, of(" evt")),
            case("space behind an id", Taken, of("evt ")),
            case("zero-width space in an id", Taken, of("e\u{200b}vt")),
            case("number in quotes", Taken, of("0")),
            case("number in quotes with a zero", Taken, of("00")),
            case("quotes and a backslash", Taken, of(r#""quoted\""#)),
            case("line separator in an id", Taken, of("evt\u{2028}")),
            case("text from right to left", Taken, of("\u{202e}txe\u{5d0}")),
            case("markup", Taken, of("</script><b>'&amp;")),
            case("null in quotes", Taken, of("null")),
            case("noncharacter", Taken, of("evt\u{ffff}")),
            case("pair of escapes", Taken, {
                let body = producer.body(r#""\ud83d\ude42""#, &format!("{TYPE:?}"), r#"{"n":1}"#);
                Post { id: "\u{1f642}".into(), ..Post::bytes(producer, "", body.as_bytes()) }
            }),
        ];
        judge_all(&desk, cases).await;
        // Spelled otherwise in JSON, it is still the same text.
        for same in [r#""\u0065vt""#, r#""\u00e9vt""#] {
            assert_eq!(desk.send(&with_id(producer, same, 1)).await, 200);
            assert_eq!(desk.queued().await.len(), 0, "{same} is an id of the table");
        }
        assert_eq!(desk.world.metric("BodyMismatch", Some(producer.name())), 2.0);
        assert_eq!(desk.row_count().await, 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_a_signed_header_has_the_same_limits() {
    let desk = Desk::new().await;
    let of = |id: &str, n: usize| Post::data(Apiera, id, &format!(r#"{{"n":{n}}}"#));
    let cases = [
        case("id header of 256 bytes", Taken, of(&"x".repeat(256), 1)),
        case("id header with inner spaces", Taken, of("msg 1 2", 2)),
        case("id header with signs", Taken, of("a/b#c=~\"'\\", 3)),
        case("id header with a comma", Taken, of("msg_1,msg_2", 4)),
        case("id header of 257 bytes", Unusable, of(&"x".repeat(257), 5)),
        case("id header of 2,100 bytes", Unusable, of(&"x".repeat(2_100), 6)),
        case("id header empty", Unusable, of("", 7)),
        case("id header with the separator", Unusable, of("msg.1", 8)),
        case("id header of separators", Unusable, of("...", 9)),
        case("id header beyond ASCII", Refused, of("évt", 10)),
        case("id header with a control character", Refused, of("msg\u{1}", 11)),
    ];
    judge_all(&desk, cases).await;
    for Case { kind, answer, input } in [
        case("spaces around the id header's value", Taken, "  msg_spaces \t"),
        case("tab before the id header's value", Taken, "\tmsg_tab"),
    ] {
        let post = Post::new(Apiera, input.trim());
        let mut event = post.event();
        event["headers"]["webhook-id"] = input.into();
        judge(&desk, kind, answer, &post, event).await;
    }
}

// https://github.com/prathamdby/pr-agent/issues/476
// https://github.com/ShipfoxHQ/shipfox/pull/709
#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_repeats_the_id_is_never_the_key() {
    let desk = Desk::new().await;
    let name = "X-Kudos-Event-Id";
    let disagreed = || desk.world.metric("IdMismatch", Some("kudos"));
    let cases = || {
        [
            case("id header absent", Taken, (None, 0.0)),
            case("id header the same", Taken, (Some("{id}"), 0.0)),
            case("id header the same with spaces around", Taken, (Some(" {id} "), 0.0)),
            case("id header of another event", Taken, (Some("evt_other"), 1.0)),
            case("id header that only looks empty", Taken, (Some(""), 1.0)),
            case("id header in another case", Taken, (Some("{ID}"), 1.0)),
        ]
    };
    for (n, Case { kind, answer, input: (header, counted) }) in cases().into_iter().enumerate() {
        let before = disagreed();
        let mut post = Post::new(super::producers::Kudos, &format!("evt_{n}"));
        if let Some(header) = header {
            let value = header.replace("{id}", &post.id);
            post = post.clone().with(name, &value.replace("{ID}", &post.id.to_uppercase()));
        }
        judge(&desk, kind, answer, &post, post.event()).await;
        assert_eq!(disagreed() - before, counted, "{kind}");
    }
    // The same signed bytes under a new header: a duplicate, whatever the header says.
    let replay = Post::new(super::producers::Kudos, "evt_0").with(name, "evt_new");
    for shape in Shape::ALL {
        assert_eq!(desk.ask(replay.request().event(shape)).await.status, 200);
    }
    assert_eq!(desk.row_count().await, 6);
    assert_eq!((desk.queued().await.len(), desk.applied("kudos#evt_0").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_id_from_three_producers_is_three_events() {
    let desk = Desk::new().await;
    for Case { kind, answer, input: producer } in
        Producer::ALL.map(|producer| case("an id that another producer uses", Taken, producer))
    {
        let post = Post::new(producer, "evt_1");
        judge(&desk, kind, answer, &post, post.event()).await;
    }
    assert_eq!(desk.row_count().await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_about_a_disabled_endpoint_needs_no_id() {
    let desk = Desk::new().await;
    let kallglot = super::producers::Kallglot;
    let body = br#"{"type":"webhook_endpoint.disabled","data":{"endpoint_id":"wh_1"}}"#;
    let post = Post::bytes(kallglot, "", body);
    for _ in 0..2 {
        assert_eq!(desk.send(&post.clone().with("Kallglot-Webhook-Id", "wh_del_1")).await, 200);
        desk.turn(secs(1));
    }
    let rows = desk.world.rows().await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(string(row, "status"), "pending");
    assert!(string(row, "event_id").starts_with("wh_del_1#sha256:"));
    assert_eq!(desk.queued().await.len(), 1);
}
