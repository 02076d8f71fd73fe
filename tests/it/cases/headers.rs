//! Header maps: names in any case, null where a map should be, and what an unrelated header may
//! hold.

use ingress::event::HttpEvent;
use serde_json::{Map, Value, json};

use super::desk::Desk;
use super::judge::{Case, Refused, Taken, case, judge};
use super::producers::{Apiera, Kallglot, Kudos, Post, Producer};
use super::shapes::{Request, Shape};

/// `webhook-id` as `Webhook-Id`.
fn title(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{}", first.to_ascii_uppercase(), rest.to_ascii_lowercase())
    });
    words.collect::<Vec<_>>().join("-")
}

/// `webhook-id` as `wEbHoOk-Id`.
fn mixed(name: &str) -> String {
    let case = |(at, c): (usize, char)| match at % 2 {
        0 => c.to_ascii_lowercase(),
        _ => c.to_ascii_uppercase(),
    };
    name.chars().enumerate().map(case).collect()
}

/// The same map with every name spelled anew.
fn respell(map: &mut Value, spell: fn(&str) -> String) {
    if let Some(headers) = map.as_object_mut() {
        *headers = headers.iter().map(|(name, value)| (spell(name), value.clone())).collect();
    }
}

// https://github.com/github/docs/issues/20134
// https://github.com/sendgrid/sendgrid-nodejs/issues/1307
#[tokio::test(flavor = "multi_thread")]
async fn header_names_are_found_in_any_case() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        type Spell = fn(&str) -> String;
        let spellings: [Case<Spell>; 4] = [
            case("names in lower case", Taken, |name| name.to_ascii_lowercase()),
            case("names in upper case", Taken, |name| name.to_ascii_uppercase()),
            case("names in title case", Taken, title),
            case("names in mixed case", Taken, mixed),
        ];
        for Case { kind, answer, input: spell } in spellings {
            for shape in Shape::ALL {
                let post = Post::new(producer, &format!("{}_{shape:?}", spell("evt")));
                // Afterwards, because some doors spell names their own way.
                let mut event = post.request().event(shape);
                respell(&mut event["headers"], spell);
                respell(&mut event["multiValueHeaders"], spell);
                let kind = format!("{kind}, {shape:?}");
                judge(&desk, &kind, answer, &post, event).await;
            }
        }
    }
}

// https://github.com/aws/aws-lambda-rust-runtime/issues/509
// https://github.com/aws/aws-lambda-web-adapter/issues/732
#[tokio::test(flavor = "multi_thread")]
async fn an_unrelated_header_cannot_cost_a_signed_event() {
    let others = || {
        [
            case("control character in another header", Taken, ("user-agent", json!("a\u{1}b"))),
            case("NUL in another header", Taken, ("user-agent", json!("a\u{0}b"))),
            case("DEL in another header", Taken, ("user-agent", json!("a\u{7f}b"))),
            case("CRLF in another header", Taken, ("user-agent", json!("a\r\nx-evil: 1"))),
            case("letter beyond ASCII in another header", Taken, ("x-city", json!("Orléans"))),
            case("C1 control in another header", Taken, ("x-city", json!("a\u{85}b"))),
            case("emoji in another header", Taken, ("x-city", json!("\u{1f642}"))),
            case("null as a header's value", Taken, ("x-other", json!(null))),
            case("number as a header's value", Taken, ("x-other", json!(1e300))),
            case("boolean as a header's value", Taken, ("x-other", json!(true))),
            case("list as a header's value", Taken, ("x-other", json!(["a", null, 5]))),
            case("object as a header's value", Taken, ("x-other", json!({"a": {}}))),
            case("empty header", Taken, ("x-other", json!(""))),
            case("header without a name", Taken, ("", json!("x"))),
            case("space in a header's name", Taken, ("x other", json!("x"))),
            case("letter beyond ASCII in a header's name", Taken, ("x-größe", json!("x"))),
            case("colon in a header's name", Taken, ("x:y", json!("x"))),
            case("header of 60,000 bytes", Taken, ("x-long", json!("x".repeat(60_000)))),
        ]
    };
    for (producer, shape) in [
        (Kudos, Shape::HttpApi),
        (Kallglot, Shape::RestApi),
        (Apiera, Shape::FunctionUrl),
        (Kudos, Shape::Balancer),
        (Apiera, Shape::BalancerMulti),
        (Kallglot, Shape::HttpApiOne),
    ] {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input: (name, value) }) in others().into_iter().enumerate() {
            let post = Post::new(producer, &format!("evt_{n}"));
            let mut event = post.request().event(shape);
            if event["headers"].is_object() {
                event["headers"][name] = value.clone();
            }
            if event["multiValueHeaders"].is_object() {
                event["multiValueHeaders"][name] = json!([value]);
            }
            judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_headers_are_no_trouble() {
    let desk = Desk::new().await;
    for (producer, shape) in [(Kudos, Shape::HttpApi), (Apiera, Shape::BalancerMulti)] {
        let mut post = Post::new(producer, "evt_many");
        for n in 0..1_000 {
            post = post.with(&format!("x-other-{n}"), "x");
        }
        let Case { kind, answer, input } =
            case("a thousand headers", Taken, post.request().event(shape));
        judge(&desk, kind, answer, &post, input).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_headers_than_the_library_holds_do_not_end_the_invocation() {
    let desk = Desk::new().await;
    for (producer, shape) in [(Kudos, Shape::HttpApi), (Apiera, Shape::BalancerMulti)] {
        let mut post = Post::new(producer, "evt_most");
        for n in 0..40_000 {
            post = post.with(&format!("x{n}"), "");
        }
        let Case { kind, answer, input } =
            case("40,000 headers", Taken, post.request().event(shape));
        judge(&desk, kind, answer, &post, input).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_header_that_cannot_be_read_is_refused() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let name = producer.header().to_ascii_lowercase();
        let good = Post::new(producer, "evt_1");
        let value = good.signature.clone().unwrap();
        for Case { kind, answer, input } in [
            case("signature header null", Refused, json!(null)),
            case("signature header a number", Refused, json!(5)),
            case("signature header a list", Refused, json!([value])),
            case("signature header empty", Refused, json!("")),
            case("signature header blank", Refused, json!(" \t ")),
            case("signature header with a control character", Refused, {
                json!(format!("{value}\u{1}"))
            }),
            case("signature header with a letter beyond ASCII", Refused, {
                json!(format!("{value},ä"))
            }),
        ] {
            for shape in [Shape::HttpApi, Shape::FunctionUrl, Shape::Balancer] {
                let mut request = good.request();
                request.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
                let mut event = request.event(shape);
                event["headers"][&name] = input.clone();
                judge(&desk, &format!("{kind}, {shape:?}"), answer, &good, event).await;
            }
        }
        judge(&desk, "then a good one", Taken, &good, good.event()).await;
    }
}

/// What an emulator or a proxy may do to the two maps.
struct Maps {
    shapes: &'static [Shape],
    headers: fn(Value) -> Value,
    multi: fn(Value) -> Value,
}

fn same(map: Value) -> Value {
    map
}

/// The mark of a field that is to be left out.
fn absent(_: Value) -> Value {
    json!("absent")
}

fn null(_: Value) -> Value {
    Value::Null
}

fn empty(_: Value) -> Value {
    json!({})
}

/// Every name there, with no values.
fn without_values(map: Value) -> Value {
    let Value::Object(map) = map else { return map };
    map.into_iter().map(|(name, _)| (name, json!([]))).collect::<Map<_, _>>().into()
}

/// A text where the list of values should be.
fn texts(map: Value) -> Value {
    let Value::Object(map) = map else { return map };
    map.into_iter().map(|(name, values)| (name, values[0].clone())).collect::<Map<_, _>>().into()
}

const ONE: &[Shape] = &[Shape::RestApi, Shape::HttpApiOne];
const SINGLE: &[Shape] = &[Shape::HttpApi, Shape::FunctionUrl, Shape::Balancer];
const MULTI: &[Shape] = &[Shape::BalancerMulti];

// https://github.com/aws/aws-lambda-rust-runtime/issues/365
// https://github.com/aws/aws-lambda-rust-runtime/pull/387
// https://github.com/glassechidna/serverlessish/pull/4
// https://github.com/dougmoscrop/serverless-http/issues/269
#[tokio::test(flavor = "multi_thread")]
async fn either_map_of_headers_is_enough_and_neither_is_a_refusal() {
    let maps = |shapes, headers, multi| Maps { shapes, headers, multi };
    let cases = || {
        [
            case("multi-value map null", Taken, maps(ONE, same, null)),
            case("multi-value map absent", Taken, maps(ONE, same, absent)),
            case("multi-value map empty", Taken, maps(ONE, same, empty)),
            case("multi-value map with no values", Taken, maps(ONE, same, without_values)),
            case("multi-value map with texts for lists", Taken, maps(ONE, same, texts)),
            case("plain map null beside the other", Taken, maps(ONE, null, same)),
            case("plain map absent beside the other", Taken, maps(ONE, absent, same)),
            case("plain map empty beside the other", Taken, maps(ONE, empty, same)),
            case("multi-value map null beside the plain one", Taken, maps(SINGLE, same, null)),
            case("balancer with only the plain map", Taken, maps(SINGLE, same, absent)),
            case("balancer with only the multi-value map", Taken, maps(MULTI, absent, same)),
            case("plain map null, multi-value good", Taken, maps(MULTI, null, same)),
            case("both maps null", Refused, maps(&Shape::ALL, null, null)),
            case("both maps absent", Refused, maps(&Shape::ALL, absent, absent)),
            case("both maps empty", Refused, maps(&Shape::ALL, empty, empty)),
        ]
    };
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input }) in cases().into_iter().enumerate() {
            for shape in input.shapes {
                let post = Post::new(producer, &format!("evt_{n}_{shape:?}"));
                let mut event = post.request().event(*shape);
                for (field, change) in
                    [("headers", input.headers), ("multiValueHeaders", input.multi)]
                {
                    let map = change(event[field].take());
                    if map == "absent" {
                        event.as_object_mut().unwrap().remove(field);
                    } else {
                        event[field] = map;
                    }
                }
                judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
            }
        }
    }
}

/// Takes everything away that is not needed to know the request.
fn bare(request: &Request, shape: Shape) -> Value {
    let event = request.event(shape);
    let mut kept = Map::new();
    for name in ["rawPath", "path", "httpMethod", "headers", "multiValueHeaders", "body"] {
        if let Some(value) = event.get(name) {
            kept.insert(name.into(), value.clone());
        }
    }
    kept.insert("isBase64Encoded".into(), true.into());
    if event.get("rawPath").is_some() {
        kept.insert("requestContext".into(), json!({ "http": { "method": request.method } }));
    }
    kept.into()
}

fn strange(request: &Request, shape: Shape) -> Value {
    let mut event = request.event(shape);
    event["cookies"] = json!(5);
    event["queryStringParameters"] = json!([]);
    event["stageVariables"] = json!("x");
    event["requestContext"]["authorizer"] = json!([null]);
    event["requestContext"]["identity"] = json!(null);
    event["requestContext"]["timeEpoch"] = json!("soon");
    event["a field of next year"] = json!({ "deep": [[[]]] });
    event
}

fn nulls(request: &Request, shape: Shape) -> Value {
    let mut event = request.event(shape);
    for name in ["queryStringParameters", "pathParameters", "stageVariables", "cookies"] {
        event[name] = Value::Null;
    }
    event["requestContext"]["stage"] = Value::Null;
    event["requestContext"]["identity"] = Value::Null;
    event
}

// https://github.com/aws/aws-lambda-rust-runtime/issues/365
#[tokio::test(flavor = "multi_thread")]
async fn fields_that_are_not_needed_may_be_absent_null_or_strange() {
    type Change = fn(&Request, Shape) -> Value;
    let cases: fn() -> [Case<Change>; 3] = || {
        [
            case("nothing but the request itself", Taken, bare),
            case("unknown and strange other fields", Taken, strange),
            case("null in fields not needed", Taken, nulls),
        ]
    };
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input: change }) in cases().into_iter().enumerate() {
            for shape in Shape::ALL {
                let post = Post::new(producer, &format!("evt_{n}_{shape:?}"));
                let event = change(&post.request(), shape);
                judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
            }
        }
    }
}

// https://github.com/aws/aws-lambda-rust-runtime/issues/509
#[test]
fn json_that_a_strict_reader_refuses_is_still_a_request() {
    let post = Post::new(Kudos, "evt_1");
    let event = post.event().to_string();
    let signature = post.signature.as_deref().unwrap();
    // Written into the text of the event: no value in memory can hold these.
    for Case { kind, answer, input: (place, text) } in [
        case("half of a pair in another header", Taken, {
            (r#""headers":{"#, r#""headers":{"x-city":"\ud83d","#.to_owned())
        }),
        case("half of a pair in the agent that the context repeats", Taken, {
            (r#""userAgent":"#, r#""userAgent":"\ude42","other":"#.into())
        }),
        case(
            "1e400 where a time is",
            Taken,
            (r#""timeEpoch":"#, r#""timeEpoch":1e400,"x":"#.into()),
        ),
        case("100,000 brackets in a field not needed", Taken, {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            (r#""version":"#, format!(r#""deep":{deep},"version":"#))
        }),
    ] {
        let text = event.replacen(place, &text, 1);
        assert_ne!(text, event, "{kind}: the place is there");
        let read: HttpEvent = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{kind}: {error}, and the answer is {answer:?}");
        });
        assert_eq!(read.request.headers()["x-kudos-signature"], signature, "{kind}");
        assert!(**read.request.body() == *post.body, "{kind}");
    }
}
