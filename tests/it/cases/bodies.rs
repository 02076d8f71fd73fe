//! The bytes that were signed: the six shapes, base64 or not, and what receivers do to text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::desk::Desk;
use super::judge::{Case, Refused, Status, Taken, Unusable, case, judge, judge_all};
use super::producers::{Kudos, Post, Producer};
use super::shapes::Shape;

// https://github.com/stripe/stripe-node/issues/1768
// https://github.com/LeanerCloud/CUDly/pull/1483
#[tokio::test(flavor = "multi_thread")]
async fn the_signed_bytes_come_through_every_shape() {
    let desk = Desk::new().await;
    for shape in Shape::ALL {
        for producer in Producer::ALL {
            for Case { kind, answer, input: base64 } in
                [case("body in base64", Taken, true), case("body as text", Taken, false)]
            {
                let post = Post::new(producer, &format!("{shape:?}-{base64}"));
                let mut request = post.request();
                request.base64 = base64;
                let kind = format!("{kind}, {shape:?}");
                judge(&desk, &kind, answer, &post, request.event(shape)).await;
            }
        }
    }
}

// https://github.com/octokit/webhooks.js/issues/71
// https://github.com/jonpulice/node-shopify-auth/issues/2
#[tokio::test(flavor = "multi_thread")]
async fn spellings_that_a_parser_would_change_stay_as_they_are() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let cases = [
            case("escape with capital digits", Taken, r#"{"note":"\u001B[0m"}"#),
            case("escape with small digits", Taken, r#"{"note":"\u001b[0m"}"#),
            case("escaped letter", Taken, r#"{"n\u006fte":"\u0041\/"}"#),
            case("line separator U+2028 as it is", Taken, "{\"note\":\"\u{2028}\u{2028}7-22\"}"),
            case("paragraph separator U+2029 as it is", Taken, "{\"note\":\"\u{2029}\"}"),
            case("line separator escaped", Taken, r#"{"note":"\u2028"}"#),
            case("emoji as it is", Taken, "{\"note\":\"\u{1f642}\"}"),
            case("emoji as a pair of escapes", Taken, r#"{"note":"\ud83d\ude42"}"#),
            case("decomposed umlaut", Taken, "{\"note\":\"u\u{308}\"}"),
            case("spaces between tokens", Taken, "{ \"b\" : 1 ,\t\"a\" : [ ] }"),
            case("indented over lines", Taken, "{\n  \"b\": 1,\n  \"a\": 2\n}"),
            case("CRLF between tokens", Taken, "{\r\n\"a\": 2\r\n}"),
            case("numbers with zeros and exponents", Taken, r#"{"a":1.0,"b":-0,"c":1E+2}"#),
            case("a key twice in the payload", Taken, r#"{"a":1,"a":2}"#),
            case("DEL and NEL in a string", Taken, "{\"note\":\"\u{7f}\u{85}\"}"),
        ];
        for (n, Case { kind, answer, input: data }) in cases.into_iter().enumerate() {
            // UTF-8 either way: one producer shows that it makes no difference.
            let encodings = if producer == Kudos { &[true, false][..] } else { &[true][..] };
            for base64 in encodings {
                let post = Post::data(producer, &format!("evt_{n}_{base64}"), data);
                let mut request = post.request();
                request.base64 = *base64;
                judge(&desk, kind, answer, &post, request.event(Shape::HttpApi)).await;
                assert_eq!(desk.runs(&post.row()), [data], "{kind}: handed on");
            }
        }
    }
}

// https://github.com/sendgrid/sendgrid-csharp/issues/1018
// https://github.com/channable/hoff/issues/127
#[tokio::test(flavor = "multi_thread")]
async fn white_space_around_the_body_is_part_of_what_is_signed() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let plain = |id: &str| String::from_utf8(Post::new(producer, id).body).unwrap();
        let around = |id: &str, before: &str, after: &str| {
            Post::bytes(producer, id, format!("{before}{}{after}", plain(id)).as_bytes())
        };
        let cases = [
            case("CRLF behind the body", Taken, around("evt_1", "", "\r\n")),
            case("LF behind the body", Taken, around("evt_2", "", "\n")),
            case("spaces and a tab around the body", Taken, around("evt_3", " \t", "  ")),
            case("CRLF was signed and is gone", Refused, {
                around("evt_4", "", "\r\n").carrying(plain("evt_4").as_bytes())
            }),
            case("LF was added", Refused, {
                Post::new(producer, "evt_5").carrying(format!("{}\n", plain("evt_5")).as_bytes())
            }),
            case("CRLF became LF", Refused, {
                let lf = format!("{}\n", plain("evt_6"));
                around("evt_6", "", "\r\n").carrying(lf.as_bytes())
            }),
        ];
        judge_all(&desk, cases).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_not_the_signed_ones_are_refused() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let of = |data: &str| Post::data(producer, "evt_1", data).body;
        let signed =
            |data: &str, sent: &str| Post::data(producer, "evt_1", data).carrying(&of(sent));
        let good = Post::new(producer, "evt_1");
        let text = STANDARD.encode(&good.body);
        let mut flipped = good.body.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let cases = [
            case("escape digits in another case", Refused, {
                signed(r#"{"a":"\u001B"}"#, r#"{"a":"\u001b"}"#)
            }),
            case("line separator escaped afterwards", Refused, {
                signed("{\"a\":\"\u{2028}\"}", r#"{"a":"\u2028"}"#)
            }),
            case("keys in another order", Refused, signed(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#)),
            case("white space taken out", Refused, signed(r#"{"a": 1}"#, r#"{"a":1}"#)),
            case("a number rounded", Refused, {
                signed(r#"{"a":12345678901234567890}"#, r#"{"a":12345678901234567000}"#)
            }),
            case("normalised to NFC", Refused, {
                signed("{\"a\":\"e\u{301}\"}", "{\"a\":\"\u{e9}\"}")
            }),
            case("bytes replaced by U+FFFD", Refused, {
                Post::bytes(producer, "evt_1", b"{\"a\":\"\xff\"}")
                    .carrying("{\"a\":\"\u{fffd}\"}".as_bytes())
            }),
            case("a byte order mark in front", Refused, {
                good.clone().carrying(&[b"\xef\xbb\xbf", &good.body[..]].concat())
            }),
            case("one bit flipped", Refused, good.clone().carrying(&flipped)),
            case("body left away", Refused, good.clone().carrying(b"")),
            case("base64 text sent as the body", Refused, good.clone().carrying(text.as_bytes())),
            case("digest made over the base64 text", Refused, {
                Post::bytes(producer, "evt_1", text.as_bytes()).carrying(&good.body)
            }),
        ];
        judge_all(&desk, cases).await;
        judge(&desk, "then a good one", Taken, &good, good.event()).await;
    }
}

// https://github.com/oomol-lab/open-flow/pull/89
// https://github.com/denoland/deno_registry2/issues/33
#[tokio::test(flavor = "multi_thread")]
async fn signed_bytes_that_are_no_json_are_kept_and_unsigned_ones_are_not() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let (id, event_type) = producer.fields();
        let envelope = |tail: &[u8]| {
            let head = format!(r#"{{"{id}":"evt_1","{event_type}":"job.done","data":{{"n":""#);
            [head.as_bytes(), tail, b"\"}}"].concat()
        };
        let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases = [
            case("invalid UTF-8 in the payload", Unusable, envelope(b"\xff\xfe")),
            case("truncated UTF-8", Unusable, envelope(b"\xf0\x9f\x99")),
            case("overlong UTF-8", Unusable, envelope(b"\xc0\xaf")),
            case("surrogate in UTF-8", Unusable, envelope(b"\xed\xa0\xbd")),
            case("Latin-1 text", Unusable, envelope(b"Beno\xeet")),
            case("UTF-16", Unusable, utf16),
            case("form with JSON in a field", Unusable, b"payload=%7B%22event_id%22%3A1%7D".into()),
            case("form of several fields", Unusable, b"a=1&b=2".into()),
            case(
                "multipart",
                Unusable,
                b"--x\r\ncontent-type: text/plain\r\n\r\n{}\r\n--x--".into(),
            ),
            case("XML", Unusable, b"<?xml version=\"1.0\"?><event/>".into()),
            case("compressed bytes", Unusable, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03".into()),
            case("empty body", Unusable, vec![]),
        ];
        for Case { kind, answer, input: body } in cases {
            let post = Post::bytes(producer, "evt_1", &body);
            let shapes = if body.is_empty() { &Shape::ALL[..1] } else { &Shape::ALL[..] };
            for (n, shape) in shapes.iter().enumerate() {
                let event = post.request().event(*shape);
                if n == 0 {
                    judge(&desk, kind, answer, &post, event).await;
                } else {
                    // The first answer again, and no second row.
                    assert_eq!(desk.ask(event).await.status, producer.unusable(), "{kind}");
                }
            }
            let unsigned = post.clone().unsigned();
            judge(&desk, kind, Refused, &unsigned, unsigned.event()).await;
        }
    }
}

// https://github.com/denoland/deno_registry2/issues/33
#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_body_of_any_content_type_is_refused() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for Case { kind, answer, input: content_type } in [
            case("unsigned form", Refused, "application/x-www-form-urlencoded"),
            case("unsigned JSON", Refused, "application/json"),
            case("unsigned text", Refused, "text/plain;charset=UTF-8"),
            case("unsigned without content type", Refused, ""),
        ] {
            for shape in Shape::ALL {
                let post = Post::bytes(producer, "evt_1", b"payload=%7B%7D").unsigned();
                let mut request = post.request();
                request.headers.retain(|(name, _)| name != "Content-Type");
                if !content_type.is_empty() {
                    request.headers.push(("content-type".into(), content_type.into()));
                }
                judge(&desk, kind, answer, &post, request.event(shape)).await;
            }
        }
    }
}

// https://github.com/aws/aws-lambda-rust-runtime/issues/517
// https://github.com/aws/aws-lambda-rust-runtime/blob/main/lambda-events/src/encodings/http.rs
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_base64_is_answered_and_the_next_event_served() {
    let desk = Desk::new().await;
    let good = Post::new(Kudos, "evt_1");
    let text = good.request().event(Shape::HttpApi)["body"].as_str().unwrap().to_owned();
    for Case { kind, answer, input: body } in [
        case("flag set, body no base64", Status(400), "not base64!".to_owned()),
        case("flag set, padding missing", Status(400), "e30".to_owned()),
        case("flag set, URL-safe base64", Status(400), "_-8=".to_owned()),
        case("flag set, base64 in lines", Status(400), format!("{}\r\n{}", &text[..8], &text[8..])),
        case("flag set, JSON as it is", Status(400), String::from_utf8(good.body.clone()).unwrap()),
    ] {
        for shape in Shape::ALL {
            let mut event = good.request().event(shape);
            event["body"] = json!(body);
            judge(&desk, kind, answer, &good, event).await;
        }
    }
    for Case { kind, answer, input: body } in [
        case("flag set, no body", Refused, json!(null)),
        case("flag set, empty body", Refused, json!("")),
        case("flag not set, body in base64", Refused, json!(text)),
    ] {
        for shape in Shape::ALL {
            let mut event = good.request().event(shape);
            event["body"] = body.clone();
            event["isBase64Encoded"] = (!kind.contains("not set")).into();
            judge(&desk, kind, answer, &good, event).await;
        }
    }
    judge(&desk, "then a good one", Taken, &good, good.event()).await;
}
