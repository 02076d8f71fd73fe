//! The signed time: how far from the clock, and how it is written.

use super::desk::Desk;
use super::judge::{Case, Refused, Status, Taken, case, judge, judge_all};
use super::producers::{Apiera, Kallglot, NOW, Post, Producer, TYPE};
use crate::support::world::string;

// https://github.com/stripe/stripe-dotnet/issues/1183
// https://github.com/stripe/stripe-php/issues/657
#[tokio::test(flavor = "multi_thread")]
async fn a_time_counts_within_300_seconds_either_way() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for Case { kind, answer, input: offset } in [
            case("now", Taken, 0),
            case("300 seconds ago", Taken, -300),
            case("300 seconds ahead", Taken, 300),
            case("301 seconds ago", Refused, -301),
            case("301 seconds ahead", Refused, 301),
            case("a day ago", Refused, -86_400),
            case("a day ahead", Refused, 86_400),
            case("a year ahead", Refused, 31_536_000),
            case("the year 1970", Refused, 1 - NOW),
        ] {
            let post = Post::new(producer, &format!("evt_{offset}"));
            let post = post.at(&(NOW + offset).to_string());
            judge(&desk, kind, answer, &post, post.event()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_read_in_whole_seconds() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        // Half a second before the clock shows the next one.
        desk.turn(std::time::Duration::from_millis(999));
        for Case { kind, answer, input: offset } in [
            case("300 seconds ago, late in the second", Taken, -300),
            case("301 seconds ago, late in the second", Refused, -301),
            case("301 seconds ahead, late in the second", Refused, 301),
        ] {
            let post = Post::new(producer, "evt_1").at(&(NOW + offset).to_string());
            judge(&desk, kind, answer, &post, post.event()).await;
        }
    }
}

// https://github.com/mercadopago/sdk-nodejs/issues/458
// https://github.com/workos/emulate/issues/35
#[tokio::test(flavor = "multi_thread")]
async fn a_time_in_another_unit_is_out_of_tolerance() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let cases = [
            case("milliseconds", Refused, NOW * 1_000),
            case("microseconds", Refused, NOW * 1_000_000),
            case("nanoseconds", Refused, NOW * 1_000_000_000),
            case("minutes", Refused, NOW / 60),
        ];
        let post = |at: i64| Post::new(producer, "evt_1").at(&at.to_string());
        judge_all(&desk, cases.map(|c| case_of(&c, post(c.input)))).await;
        let seconds = post(NOW);
        judge(&desk, "then seconds", Taken, &seconds, seconds.event()).await;
    }
}

/// The same kind and answer with another input.
fn case_of<I>(of: &Case<I>, input: Post) -> Case<Post> {
    Case { kind: of.kind, answer: of.answer, input }
}

// https://github.com/open-mercato/open-mercato/pull/3945
// https://github.com/camunda/connectors/pull/8989
#[tokio::test(flavor = "multi_thread")]
async fn a_time_is_plain_digits() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let cases = || {
            [
                case("minus one", Refused, "-1"),
                case("minus before the right time", Refused, "-1800000000"),
                case("plus before the right time", Refused, "+1800000000"),
                case("the right time with a fraction", Refused, "1800000000.0"),
                case("the right time with a half", Refused, "1800000000.5"),
                case("the right time with an exponent", Refused, "18e8"),
                case("zeros before the right time", Refused, "001800000000"),
                case("twenty digits", Refused, "99999999999999999999"),
                case("largest signed 64-bit number", Refused, "9223372036854775807"),
                case("smallest signed 64-bit number", Refused, "-9223372036854775808"),
                case("largest unsigned 64-bit number", Refused, "18446744073709551615"),
                case("one above 64 bits and the right time", Refused, "18446744075509551616"),
                case("far too many digits", Refused, {
                    "1111111111111111111111111111111111111111111111111111111111111111111111111111"
                }),
                case("hex", Refused, "0x6b49d200"),
                case("octal", Refused, "0o15322351000"),
                case("underscores among digits", Refused, "1_800_000_000"),
                case("commas among digits", Refused, "1,800,000,000"),
                case("empty time", Refused, ""),
                case("zero", Refused, "0"),
                case("RFC 3339", Refused, "2027-01-15T08:00:00Z"),
                case("letters behind", Refused, "1800000000s"),
                case("space among digits", Refused, "1800 000000"),
                case("quotes around", Refused, "\"1800000000\""),
                case("NaN", Refused, "NaN"),
                case("digits of another script", Refused, "١٨٠٠٠٠٠٠٠٠"),
            ]
        };
        let posts = cases().map(|c| case_of(&c, Post::new(producer, "evt_1").at(c.input)));
        judge_all(&desk, posts).await;
        let good = Post::new(producer, "evt_1");
        judge(&desk, "then a good one", Taken, &good, good.event()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn white_space_around_a_time_is_the_headers_and_not_the_times() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let cases = [
            case("blank time under its tag", Refused, Post::new(producer, "evt_1").at(" ")),
            case(
                "space before the digits",
                Refused,
                Post::new(producer, "evt_2").at(" 1800000000"),
            ),
            case("tab before the digits", Refused, Post::new(producer, "evt_3").at("\t1800000000")),
        ];
        judge_all(&desk, cases).await;
    }
    let desk = Desk::new().await;
    for Case { kind, answer, input: (id, t) } in [
        case("spaces around the time header's value", Taken, ("msg_1", "  1800000000 ")),
        case("tabs around the time header's value", Taken, ("msg_2", "\t1800000000\t")),
        case("blank time header", Refused, ("msg_3", " ")),
    ] {
        // HTTP takes white space off a value, so the producer has not signed it.
        let mut post = Post::new(Apiera, id);
        t.clone_into(&mut post.t);
        judge(&desk, kind, answer, &post, post.event()).await;
    }
    for Case { kind, answer, input: name } in [
        case("no time header", Refused, "Webhook-Timestamp"),
        case("no id header", Refused, "Webhook-Id"),
        case("no signature header", Refused, "Webhook-Signature"),
    ] {
        let post = Post::new(Apiera, "msg_4");
        let mut request = post.request();
        request.headers.retain(|(other, _)| other != name);
        judge(&desk, kind, answer, &post, request.event(super::shapes::Shape::HttpApi)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_older_than_the_memory_is_parked_and_other_times_are_not_judged() {
    let desk = Desk::new().await;
    let of = |n: usize, time: &str| {
        let (id, event_type) = Kallglot.fields();
        let head = format!(r#""{id}":"evt_{n}","{event_type}":"{TYPE}""#);
        let body = format!(r#"{{{head},"created_at":{time},"data":{{"n":1}}}}"#);
        Post::bytes(Kallglot, &format!("evt_{n}"), body.as_bytes())
    };
    for (n, Case { kind, answer, input: time }) in [
        case("happened a moment ago", Taken, r#""2027-01-15T07:59:58Z""#),
        case("happened 29 days ago", Taken, r#""2026-12-17T08:00:00Z""#),
        case("happens in a year", Taken, r#""2028-01-15T08:00:00Z""#),
        case("time of the event null", Taken, "null"),
        case("time of the event no time", Taken, r#""yesterday""#),
        case("time of the event without a zone", Taken, r#""2020-01-01T00:00:00""#),
        case("time of the event an object", Taken, "{}"),
        case("time of the event in milliseconds", Taken, "1600000000000"),
    ]
    .into_iter()
    .enumerate()
    {
        let post = of(n, time);
        judge(&desk, kind, answer, &post, post.event()).await;
    }
    let Case { kind, answer, input } =
        case("happened 31 days ago", Status(200), r#""2026-12-15T07:59:59Z""#);
    let old = of(100, input);
    assert_eq!(Status(desk.send(&old).await), answer, "{kind}");
    let row = desk.row(&old.row()).await;
    assert_eq!((string(&row, "status"), string(&row, "error_kind")), ("failed", "beyond_memory"));
    assert_eq!(desk.queued().await.len(), 0, "nobody can tell whether it ran");
}
