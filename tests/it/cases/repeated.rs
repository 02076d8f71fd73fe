//! A header sent twice: what each shape makes of it, and what it therefore loses.

use super::desk::Desk;
use super::judge::{Case, Refused, Taken, case, judge};
use super::producers::{Apiera, NOW, Post, Producer};
use super::shapes::Shape;
use crate::support::world::string;

/// These join repeated headers with a comma, or keep them all.
const ALL_SEEN: [Shape; 5] =
    [Shape::HttpApi, Shape::FunctionUrl, Shape::RestApi, Shape::HttpApiOne, Shape::BalancerMulti];
/// This one shows only the last.
const LAST_SEEN: [Shape; 1] = [Shape::Balancer];

/// A delivery whose header `name` is sent with these values, in this order.
struct Twice {
    shapes: &'static [Shape],
    name: &'static str,
    values: [String; 2],
}

impl Twice {
    fn event(&self, post: &Post, shape: Shape) -> serde_json::Value {
        let mut request = post.request();
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(self.name));
        let twice = self.values.iter().map(|value| (self.name.to_owned(), value.clone()));
        request.headers.extend(twice);
        request.event(shape)
    }
}

async fn judge_twice(desk: &Desk, producer: Producer, cases: Vec<Case<Twice>>) {
    for (n, Case { kind, answer, input }) in cases.into_iter().enumerate() {
        for shape in input.shapes {
            let id = format!("evt_{n}_{shape:?}");
            let post = Post::new(producer, &id);
            // What stands for the right value is put in here, because it signs the id.
            let fill = |text: &String| {
                let stale = post.clone().at(&(NOW - 4_000).to_string());
                text.replace("{good}", post.signature.as_deref().unwrap())
                    .replace("{stale}", stale.signature.as_deref().unwrap())
                    .replace("{id}", &id)
            };
            let values = [fill(&input.values[0]), fill(&input.values[1])];
            let event = Twice { values, ..input }.event(&post, *shape);
            judge(desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
        }
    }
}

// https://github.com/glassechidna/serverlessish/pull/4
#[tokio::test(flavor = "multi_thread")]
async fn a_signature_sent_twice_counts_if_one_of_those_shown_is_right() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let zeros = Post::new(producer, "x").digests(&[("v1", &wrong(producer))]);
        let bad = zeros.signature.unwrap();
        let name = producer.header();
        let of = |shapes, first: &str, last: &str| Twice {
            shapes,
            name,
            values: [first.to_owned(), last.to_owned()],
        };
        let cases = vec![
            case(
                "signature twice, the last right, all shown",
                Taken,
                of(&ALL_SEEN, &bad, "{good}"),
            ),
            case("signature twice, the first right, all shown", Taken, {
                of(&ALL_SEEN, "{good}", &bad)
            }),
            case("signature twice, both right", Taken, of(&Shape::ALL, "{good}", "{good}")),
            case("signature twice, both wrong", Refused, of(&Shape::ALL, &bad, &bad)),
            case("signature twice, the last right, only it shown", Taken, {
                of(&LAST_SEEN, &bad, "{good}")
            }),
            case("signature twice, the first right, only the last shown", Refused, {
                of(&LAST_SEEN, "{good}", &bad)
            }),
            case("signature twice, one of them empty", Taken, of(&ALL_SEEN, "", "{good}")),
        ];
        judge_twice(&desk, producer, cases).await;
    }
}

/// A digest of the right form that no secret made.
fn wrong(producer: Producer) -> String {
    match producer {
        Apiera => format!("{}=", "A".repeat(43)),
        _ => "0".repeat(64),
    }
}

// https://github.com/profullstack/sh1pt/pull/509
#[tokio::test(flavor = "multi_thread")]
async fn two_signature_headers_with_two_times_are_refused_where_both_are_shown() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let name = producer.header();
        let of = |shapes, first: &str, last: &str| Twice {
            shapes,
            name,
            values: [first.to_owned(), last.to_owned()],
        };
        let fresh = format!("t={NOW}");
        let cases = vec![
            case("stale signature, then a fresh time", Refused, of(&ALL_SEEN, "{stale}", &fresh)),
            case("fresh time, then a stale signature", Refused, of(&ALL_SEEN, &fresh, "{stale}")),
            case("stale and fresh signature, both shown", Refused, {
                of(&ALL_SEEN, "{stale}", "{good}")
            }),
            case("fresh and stale signature, both shown", Refused, {
                of(&ALL_SEEN, "{good}", "{stale}")
            }),
            case("stale and fresh signature, only the last shown", Taken, {
                of(&LAST_SEEN, "{stale}", "{good}")
            }),
            case("fresh and stale signature, only the last shown", Refused, {
                of(&LAST_SEEN, "{good}", "{stale}")
            }),
        ];
        judge_twice(&desk, producer, cases).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_header_sent_twice_is_refused_where_both_are_shown() {
    let desk = Desk::new().await;
    let (now, stale) = (NOW.to_string(), (NOW - 4_000).to_string());
    let time = |shapes, first: &String, last: &String| Twice {
        shapes,
        name: "Webhook-Timestamp",
        values: [first.clone(), last.clone()],
    };
    let id = |shapes, first: &str, last: &str| Twice {
        shapes,
        name: "Webhook-Id",
        values: [first.to_owned(), last.to_owned()],
    };
    let cases = vec![
        case("same time twice, both shown", Refused, time(&ALL_SEEN, &now, &now)),
        case("stale and fresh time, both shown", Refused, time(&ALL_SEEN, &stale, &now)),
        case("fresh and stale time, both shown", Refused, time(&ALL_SEEN, &now, &stale)),
        case("stale and fresh time, only the last shown", Taken, time(&LAST_SEEN, &stale, &now)),
        case("fresh and stale time, only the last shown", Refused, time(&LAST_SEEN, &now, &stale)),
        case("same id twice, both shown", Refused, id(&ALL_SEEN, "{id}", "{id}")),
        case("two ids, both shown", Refused, id(&ALL_SEEN, "{id}", "msg_other")),
        case("two ids, the right one last, only it shown", Taken, {
            id(&LAST_SEEN, "msg_other", "{id}")
        }),
        case("two ids, the wrong one last, only it shown", Refused, {
            id(&LAST_SEEN, "{id}", "msg_other")
        }),
    ];
    judge_twice(&desk, Apiera, cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsigned_type_sent_twice_is_what_the_shape_shows() {
    let desk = Desk::new().await;
    for (shape, seen) in [
        (Shape::HttpApi, "job.one,job.two"),
        (Shape::FunctionUrl, "job.one,job.two"),
        (Shape::RestApi, "job.one"),
        (Shape::HttpApiOne, "job.one"),
        (Shape::Balancer, "job.two"),
        (Shape::BalancerMulti, "job.one"),
    ] {
        let Case { kind, answer, input: values } =
            case("type header twice", Taken, ["job.one", "job.two"].map(str::to_owned));
        let post = Post::new(Apiera, &format!("evt_{shape:?}"));
        let twice = Twice { shapes: &[], name: "X-Webhook-Event-Type", values };
        judge(&desk, kind, answer, &post, twice.event(&post, shape)).await;
        assert_eq!(string(&desk.row(&post.row()).await, "event_type"), seen, "{shape:?}");
    }
}
