//! Paths, stages, methods, and the answers that a producer takes as more than they say.

use shared::key::SourceName;
use shared::source::Sources;

use super::desk::{Desk, PATIENT};
use super::judge::{Case, Status, Taken, case, judge};
use super::producers::{Kallglot, Kudos, Post, Producer};
use super::shapes::{Shape, Stage};

// https://github.com/aws-powertools/powertools-lambda-python/issues/621
// https://github.com/aws/aws-lambda-rust-runtime/issues/668
#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_found_in_the_path_or_beside_it() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input: stage }) in [
            case("no named stage", Taken, Stage::None),
            case("stage in front of the path", Taken, Stage::InPath("prod")),
            case("stage left out of the path", Taken, Stage::Beside("prod")),
            case("stage called webhooks, in front of the path", Taken, Stage::InPath("webhooks")),
            case("stage called webhooks, left out of the path", Taken, Stage::Beside("webhooks")),
            case("stage called as a source", Taken, Stage::InPath("kudos")),
            case("stage with a dollar sign, in front", Taken, Stage::InPath("$default")),
            case("stage of one letter, in front", Taken, Stage::InPath("w")),
        ]
        .into_iter()
        .enumerate()
        {
            for shape in Shape::STAGED {
                let post = Post::new(producer, &format!("evt_{n}_{shape:?}"));
                let mut request = post.request();
                request.stage = stage;
                judge(&desk, kind, answer, &post, request.event(shape)).await;
            }
        }
    }
}

/// Payload 1.0 shows the base path under which a domain name maps to the API.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_before_the_prefix_is_the_doors() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: (path, stage) }) in [
        case("base path in front", Taken, ("/hooks/webhooks/kudos", Stage::Beside("prod"))),
        case("base path of two parts", Taken, ("/hooks/v1/webhooks/kudos", Stage::None)),
        case("stage twice in front", Taken, ("/prod/webhooks/kudos", Stage::InPath("prod"))),
        case("base path called as the prefix", Taken, ("/webhooks/webhooks/kudos", Stage::None)),
    ]
    .into_iter()
    .enumerate()
    {
        for shape in Shape::ALL {
            let post = Post::new(Kudos, &format!("evt_{n}_{shape:?}"));
            let mut request = post.request();
            path.clone_into(&mut request.path);
            request.stage = stage;
            judge(&desk, kind, answer, &post, request.event(shape)).await;
        }
    }
}

// https://github.com/postalsys/emailengine/pull/119
// https://github.com/Traewelling/traewelling/pull/2328
#[tokio::test(flavor = "multi_thread")]
async fn a_path_to_no_source_is_404_and_never_410() {
    let desk = Desk::new().await;
    for Case { kind, answer, input: (path, stage) } in [
        case("unknown source", Status(404), ("/webhooks/nobody", Stage::None)),
        case("name of a preset", Status(404), ("/webhooks/stripe", Stage::None)),
        case("no source", Status(404), ("/webhooks/", Stage::None)),
        case("no source and no slash", Status(404), ("/webhooks", Stage::None)),
        case("root", Status(404), ("/", Stage::None)),
        case("empty path", Status(404), ("", Stage::None)),
        case("source in capitals", Status(404), ("/webhooks/Kudos", Stage::None)),
        case("prefix in capitals", Status(404), ("/Webhooks/kudos", Stage::None)),
        case("something behind the source", Status(404), ("/webhooks/kudos/x", Stage::None)),
        case("two slashes in the middle", Status(404), ("/webhooks//kudos", Stage::None)),
        case("source with an escape", Status(404), ("/webhooks/%6Budos", Stage::None)),
        case("dots in the path", Status(404), ("/webhooks/x/../kudos", Stage::None)),
        case("query in the path", Status(404), ("/webhooks/kudos?a=b", Stage::None)),
        case("prefix at the end of a word", Status(404), ("/mywebhooks/kudos", Stage::None)),
    ] {
        for shape in Shape::ALL {
            let post = Post::new(Kudos, "evt_1");
            let mut request = post.request();
            path.clone_into(&mut request.path);
            request.stage = stage;
            let event = request.event(shape);
            judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_at_the_end_and_a_query_do_not_matter() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: (path, query) }) in [
        case("slash at the end", Taken, ("/webhooks/kudos/", "")),
        case("query beside the path", Taken, ("/webhooks/kudos", "a=b&source=kallglot")),
    ]
    .into_iter()
    .enumerate()
    {
        for shape in Shape::ALL {
            let post = Post::new(Kudos, &format!("evt_{n}_{shape:?}"));
            let mut request = post.request();
            path.clone_into(&mut request.path);
            let mut event = request.event(shape);
            event["rawQueryString"] = query.into();
            event["queryStringParameters"] = serde_json::json!({ "source": "kallglot" });
            judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, event).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_method_but_post_is_405_and_says_which_is_right() {
    let desk = Desk::new().await;
    for Case { kind, answer, input: method } in [
        case("GET", Status(405), "GET"),
        case("HEAD", Status(405), "HEAD"),
        case("PUT", Status(405), "PUT"),
        case("PATCH", Status(405), "PATCH"),
        case("DELETE", Status(405), "DELETE"),
        case("OPTIONS", Status(405), "OPTIONS"),
        case("a method of no standard", Status(405), "PURGE"),
        case("post in small letters", Status(405), "post"),
    ] {
        for shape in Shape::ALL {
            let post = Post::new(Kudos, "evt_1");
            let mut request = post.request();
            method.clone_into(&mut request.method);
            judge(&desk, &format!("{kind}, {shape:?}"), answer, &post, request.event(shape)).await;
            let whole = desk.ask(request.event(shape)).await.whole;
            let allow = match shape {
                Shape::BalancerMulti => &whole["multiValueHeaders"]["allow"][0],
                _ => &whole["headers"]["allow"],
            };
            assert_eq!(allow, "POST", "{shape:?}");
        }
    }
    let Case { kind, answer, input } =
        case("GET of an unknown source", Status(404), "/webhooks/nobody");
    let post = Post::new(Kudos, "evt_1");
    let mut request = post.request();
    (request.method, request.path) = ("GET".into(), input.into());
    judge(&desk, kind, answer, &post, request.event(Shape::HttpApi)).await;
}

// https://github.com/postalsys/emailengine/pull/119
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_source_stores_and_answers_as_ever() {
    let desk = Desk::new().await;
    let kallglot = SourceName::parse("kallglot").unwrap();
    desk.inbox().pause(&kallglot, true, desk.now()).await.unwrap();
    let post = Post::new(Kallglot, "evt_1");
    assert_eq!(desk.send(&post).await, 200);
    assert_eq!(desk.stored(&post.row()).await, post.body);
    assert!(!desk.run(&post.row()).await, "its pointer is not needed meanwhile");
    assert_eq!(
        (desk.status(&post.row()).await.as_str(), desk.runs(&post.row()).len()),
        ("pending", 0)
    );
    desk.inbox().pause(&kallglot, false, desk.now()).await.unwrap();
    desk.turn(std::time::Duration::from_secs(600));
    desk.queued().await;
    assert_eq!(desk.sweep().await.sent, 1);
    let [message] = &desk.queued().await[..] else { panic!("not one message") };
    desk.batch(&[desk.record("m", &message.body, "g")]).await;
    assert_eq!(desk.applied(&post.row()).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn gone_is_said_only_by_a_source_that_is_written_down_as_gone() {
    let text = include_str!("../../../infra/sources.toml");
    let text = text.replace("[kallglot.contract]\n", "[kallglot.contract]\ngone = true\n");
    let desk = Desk::with(Sources::parse(&text).unwrap(), PATIENT).await;
    let gone = Post::new(Kallglot, "evt_1");
    for Case { kind, answer, input } in [
        case("signed delivery to a source that is gone", Status(410), gone.clone()),
        case("unsigned delivery to a source that is gone", Status(410), gone.clone().unsigned()),
        case("delivery to another source", Taken, Post::new(Kudos, "evt_1")),
    ] {
        for shape in if answer == Taken { &Shape::ALL[..1] } else { &Shape::ALL[..] } {
            judge(&desk, kind, answer, &input, input.request().event(*shape)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_spelled_as_its_door_reads_it() {
    let desk = Desk::new().await;
    for shape in Shape::ALL {
        let good = Post::new(Kudos, &format!("evt_{shape:?}"));
        for (post, status, phrase) in
            [(good.clone(), 200, "200 OK"), (good.unsigned(), 401, "401 Unauthorized")]
        {
            let whole = desk.ask(post.request().event(shape)).await.whole;
            assert_eq!(whole["statusCode"], status);
            assert_eq!(whole["isBase64Encoded"], false);
            assert!(whole["body"].is_string());
            let content_type = "application/json";
            let described = whole["statusDescription"].as_str();
            match shape {
                Shape::BalancerMulti => {
                    assert_eq!(whole["multiValueHeaders"]["content-type"][0], content_type);
                    assert_eq!((whole.get("headers"), described), (None, Some(phrase)));
                }
                Shape::Balancer => {
                    assert_eq!(whole["headers"]["content-type"], content_type);
                    assert_eq!(described, Some(phrase));
                }
                _ => {
                    assert_eq!(whole["headers"]["content-type"], content_type);
                    assert_eq!((whole.get("multiValueHeaders"), described), (None, None));
                }
            }
        }
    }
}
