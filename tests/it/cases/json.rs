//! What JSON allows, what serialisers write all the same, and what only looks like JSON.

use super::desk::Desk;
use super::judge::{Case, Taken, Unusable, case, judge};
use super::producers::{Post, Producer};

// https://github.com/serde-rs/json/issues/827
// https://github.com/serde-rs/json/issues/495
// https://github.com/apache/openwhisk-package-kafka/pull/319
// https://github.com/apify/apify-client-python/pull/87
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_is_handed_on_as_it_was_written() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let wide = format!("[{}0]", "0,".repeat(20_000));
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input: value }) in [
            case("first half of a pair in the payload", Taken, r#""\ud83d""#),
            case("second half of a pair in the payload", Taken, r#""\ude42""#),
            case("pair the wrong way round in the payload", Taken, r#""\ude42\ud83d""#),
            case("half of a pair in a payload's key", Taken, r#"{"\ud83d":1}"#),
            case("NUL escaped in the payload", Taken, r#""\u0000""#),
            case("1e400", Taken, "1e400"),
            case("-1e400", Taken, "-1e400"),
            case("1e-400", Taken, "1e-400"),
            case("integer of 30 digits", Taken, "123456789012345678901234567890"),
            case("integer above 2^53", Taken, "9007199254740993"),
            case("integer above 2^64", Taken, "18446744073709551616"),
            case("negative integer below 64 bits", Taken, "-9223372036854775809"),
            case("fraction of 40 digits", Taken, "0.1234567890123456789012345678901234567890"),
            case("money with a zero behind", Taken, "10.10"),
            case("minus zero", Taken, "-0"),
            case("5,000 lists in each other", Taken, deep.as_str()),
            case("20,000 numbers in a list", Taken, wide.as_str()),
            case("empty key", Taken, r#"{"":null}"#),
            case(
                "names of the envelope in the payload",
                Taken,
                r#"{"event_id":"x","id":5,"type":[]}"#,
            ),
            case("prototype's name as a key", Taken, r#"{"__proto__":{"admin":true}}"#),
        ]
        .into_iter()
        .enumerate()
        {
            let data = format!(r#"{{"v":{value}}}"#);
            let post = Post::data(producer, &format!("evt_{n}"), &data);
            judge(&desk, kind, answer, &post, post.event()).await;
            assert!(desk.runs(&post.row()) == [data], "{kind}: handed on as written");
        }
    }
}

// https://github.com/apache/openwhisk-package-kafka/pull/319
// https://github.com/open-mercato/cezar/issues/75
// https://github.com/getsentry/sentry/issues/67467
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_one_json_object_is_kept_and_not_run() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let (id, event_type) = producer.fields();
        let whole = |value: &str| {
            format!(r#"{{"{id}":"evt_1","{event_type}":"job.done","data":{{"v":{value}}}}}"#)
        };
        let good = whole("1");
        let literal = |value: &str| whole(value).into_bytes();
        let text = |text: String| text.into_bytes();
        for Case { kind, answer, input: body } in [
            case("NaN", Unusable, literal("NaN")),
            case("Infinity", Unusable, literal("Infinity")),
            case("-Infinity", Unusable, literal("-Infinity")),
            case("undefined", Unusable, literal("undefined")),
            case("None and True of Python", Unusable, literal("[None,True]")),
            case("hex number", Unusable, literal("0x10")),
            case("number with a zero in front", Unusable, literal("01")),
            case("number with a plus in front", Unusable, literal("+1")),
            case("number that ends in a point", Unusable, literal("1.")),
            case("number with separators", Unusable, literal("1_000")),
            case("control character as it is in a string", Unusable, literal("\"a\u{1}\"")),
            case("line end as it is in a string", Unusable, literal("\"a\nb\"")),
            case("escape that JSON does not have", Unusable, literal(r#""\x41""#)),
            case("escape cut short", Unusable, literal(r#""\ud8""#)),
            case("single quotes", Unusable, text(good.replace('"', "'"))),
            case("keys without quotes", Unusable, text(good.replace("\"v\"", "v"))),
            case("comma at the end", Unusable, text(good.replace("}}", "},}"))),
            case("comment", Unusable, text(format!("{good} // sent by hand"))),
            case("cut after the first key", Unusable, text(format!("{{{id:?}:"))),
            case("cut one byte before the end", Unusable, text(good[..good.len() - 1].into())),
            case("cut inside a string", Unusable, text(good[..good.len() - 20].into())),
            case("letters behind the object", Unusable, text(format!("{good}x"))),
            case("bracket behind the object", Unusable, text(format!("{good}}}"))),
            case("two objects", Unusable, text(format!("{good}{good}"))),
            case("an object on each line", Unusable, text(format!("{good}\n{good}\n"))),
            case("NUL behind the object", Unusable, text(format!("{good}\0"))),
            case("byte order mark in front", Unusable, text(format!("\u{feff}{good}"))),
            case("prefix against hijacking", Unusable, text(format!(")]}}',\n{good}"))),
            case("call back", Unusable, text(format!("f({good})"))),
            case("list of one event", Unusable, text(format!("[{good}]"))),
            case("empty list", Unusable, text("[]".into())),
            case("text", Unusable, text("\"evt_1\"".into())),
            case("object inside a text", Unusable, serde_json::to_vec(&good).unwrap()),
            case("number", Unusable, text("5".into())),
            case("true", Unusable, text("true".into())),
            case("null", Unusable, text("null".into())),
            case("white space only", Unusable, text(" \r\n\t".into())),
            case("nothing", Unusable, vec![]),
        ] {
            let post = Post::bytes(producer, "evt_1", &body);
            judge(&desk, kind, answer, &post, post.event()).await;
        }
        // None of it was taken for the event that it resembles.
        assert!(desk.find(&Post::new(producer, "evt_1").row()).await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_that_two_readers_would_read_differently_is_unusable() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let (id, event_type) = producer.fields();
        // The first letter of a name, written as an escape.
        let escaped = |name: &str| format!("\\u00{:02x}{}", name.as_bytes()[0], &name[1..]);
        let envelope = |tail: &str| {
            format!(r#"{{"{id}":"evt_1","{event_type}":"job.done","data":{{}}{tail}}}"#)
        };
        for Case { kind, answer, input } in [
            case("id twice, the same", Unusable, envelope(&format!(r#","{id}":"evt_1""#))),
            case("id twice, different", Unusable, envelope(&format!(r#","{id}":"evt_2""#))),
            case("id twice, one of them null", Unusable, envelope(&format!(r#","{id}":null"#))),
            case("id twice, once as an escape", Unusable, {
                envelope(&format!(r#","{}":"evt_2""#, escaped(id)))
            }),
            case("type twice", Unusable, envelope(&format!(r#","{event_type}":"job.other""#))),
            case("type twice, once as an escape", Unusable, {
                envelope(&format!(r#","{}":"job.other""#, escaped(event_type)))
            }),
            case("payload twice", Unusable, envelope(r#","data":{"admin":true}"#)),
            case("payload twice, once as an escape", Unusable, envelope(r#","d\u0061ta":{}"#)),
        ] {
            let post = Post::bytes(producer, "evt_1", input.as_bytes());
            judge(&desk, kind, answer, &post, post.event()).await;
        }
        for (n, Case { kind, answer, input }) in [
            case("unknown envelope field twice", Taken, r#","x":1,"x":2"#.to_owned()),
            case("id in capitals beside the id", Taken, format!(r#","{}":"x""#, id.to_uppercase())),
            case("half of a pair in an envelope key", Taken, r#","\ud83d":1"#.into()),
            case("1e400 beside the envelope", Taken, r#","n":1e400"#.into()),
            case("names spelled with escapes, once each", Taken, String::new()),
        ]
        .into_iter()
        .enumerate()
        {
            let own = format!("evt_good_{n}");
            let mut body = envelope(&input).replace("evt_1", &own);
            if input.is_empty() {
                body = body.replacen(id, &escaped(id), 1).replacen("\"data\"", r#""d\u0061ta""#, 1);
            }
            let post = Post::bytes(producer, &own, body.as_bytes());
            judge(&desk, kind, answer, &post, post.event()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_is_absent_or_of_another_kind_is_the_handlers_business() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input }) in [
            case("payload null", Taken, "null"),
            case("payload a text", Taken, r#""x""#),
            case("payload a number", Taken, "1e400"),
            case("payload a list", Taken, "[1,2]"),
            case("payload empty", Taken, "{}"),
        ]
        .into_iter()
        .enumerate()
        {
            let post = Post::data(producer, &format!("evt_{n}"), input);
            judge(&desk, kind, answer, &post, post.event()).await;
            assert_eq!(desk.runs(&post.row()), [input], "{kind}");
        }
    }
}
