//! The guides' own examples, run: `build.rs` takes them out of `docs/`.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use local::apiera::Options;
use local::cloud::local_secret;
use local::front::Front;
use local::stack::Parts;
use processor::handler::Registry;
use serde_json::{Value, json};
use shared::source::Sources;

use crate::support::deliveries::unix_now;
use crate::support::world::{Item, number, string};
use crate::support::{Delivery, World};

/// A block of a guide.
macro_rules! block {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// The guide's handlers, as they would be in the processor.
#[expect(unreachable_pub, reason = "it is a module of another crate that is shown")]
mod acme {
    include!(concat!(env!("OUT_DIR"), "/handler.rs"));
}

/// The tree's handlers and the guide's.
fn registry() -> Registry {
    include!(concat!(env!("OUT_DIR"), "/register.rs"))
}

/// The tree's `sources.toml` with `table` behind it.
fn tree_and(table: &str) -> String {
    format!("{}\n{table}", include_str!("../../infra/sources.toml"))
}

fn sources(table: &str) -> Sources {
    Sources::parse(&tree_and(table)).unwrap()
}

/// An inbox with the guide's producer, which has its secret, and these handlers.
async fn world(handlers: Registry) -> World {
    let sources = sources(block!("sources.toml"));
    let secret = local_secret(sources.get("acme").unwrap());
    let change = |_: &_, parts| Parts { sources, handlers, ..parts };
    let world = World::with(None, Options::default(), change).await;
    put_secret(&world, "acme", &json!({ "secrets": [secret] })).await;
    world.serve().poll()
}

async fn put_secret(world: &World, name: &str, value: &Value) {
    world.cloud.put_secret(name, &value.to_string()).await.unwrap();
}

/// The guide's delivery, with these changes, signed as Acme signs.
fn delivery(change: impl FnOnce(&mut Value)) -> Delivery {
    let mut body: Value = serde_json::from_str(block!("delivery.json")).unwrap();
    change(&mut body);
    signed("acme", "acme-signature", "acme-local-secret", &body.to_string())
}

fn signed(source: &'static str, header: &str, secret: &str, body: &str) -> Delivery {
    let mut delivery = Delivery::kudos_body(body.as_bytes(), &[secret], unix_now());
    delivery.source = source;
    delivery.headers[0].0 = header.to_owned();
    delivery
}

/// The business table as the guide shows it.
async fn effects(world: &World) -> Vec<Value> {
    let plain = |item: &Item| {
        let value = |name: &String| match item[name].as_s() {
            Ok(text) => json!(text),
            Err(_) => json!(number(item, name)),
        };
        item.keys().map(|name| (name.clone(), value(name))).collect()
    };
    let mut effects: Vec<Value> = world.effects().await.iter().map(plain).collect();
    effects.sort_by_key(|effect| (effect["pk"].to_string(), effect["sk"].to_string()));
    effects
}

fn promised_effects() -> Vec<Value> {
    serde_json::from_str(block!("effects.json")).unwrap()
}

/// Long enough for a second run to show.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_delivery_has_the_effects_that_the_guide_promises_once() {
    let world = world(registry()).await;
    let delivery = delivery(|_| ());
    assert_eq!(world.post(&delivery).await.status, 200);
    let row = world.until("acme#evt_acme_1", "done").await;
    assert_eq!(string(&row, "outcome"), "applied");
    assert_eq!(effects(&world).await, promised_effects());
    assert_eq!(world.post(&delivery).await.status, 200);
    assert_eq!(world.post(&delivery.tampered()).await.status, 401);
    a_while().await;
    assert_eq!(effects(&world).await, promised_effects());
    assert_eq!(world.metric("Duplicate", Some("acme")), 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_handler_the_event_ends_as_ignored() {
    let world = world(processor::handlers::all()).await;
    assert_eq!(world.post(&delivery(|_| ())).await.status, 200);
    let row = world.until("acme#evt_acme_1", "ignored").await;
    assert_eq!(string(&row, "outcome"), "no_handler");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_say_what_the_guide_shows() {
    let world = world(registry()).await;
    let totals = [("evt_acme_2", json!(-1)), ("evt_acme_3", json!("4200"))];
    for (id, total) in totals {
        let delivery = delivery(|body| {
            body["id"] = json!(id);
            body["data"]["total_cents"] = total;
        });
        assert_eq!(world.post(&delivery).await.status, 200);
        let row = world.until(&format!("acme#{id}"), "failed").await;
        let shown = block!("failures.text").lines().find(|line| line.contains(id));
        let shown = shown.unwrap_or_else(|| panic!("the guide shows no failure of {id}"));
        let said =
            format!("failed, {}: {}", string(&row, "error_kind"), string(&row, "last_error"));
        assert!(shown.ends_with(&said), "the guide shows {shown}, the row says {said}");
    }
    assert_eq!(effects(&world).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_may_repeat_and_carries_the_same_key() {
    let world = world(registry()).await;
    let mails = Front::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", mails.local_addr());
    put_secret(&world, "acme/api", &json!({ "url": url })).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // Refuses the first mail. A wrong key is refused each time, so that the event never ends.
    let served = tokio::spawn(mails.serve(move |event| {
        let nth = counted.fetch_add(1, Ordering::SeqCst);
        let right = event["headers"]["idempotency-key"] == "acme#evt_acme_4";
        let status = if right && nth > 0 { 202 } else { 500 };
        async move { Ok(json!({ "statusCode": status, "body": "" })) }
    }));
    let delivery = delivery(|body| {
        body["id"] = json!("evt_acme_4");
        body["type"] = json!("order.shipped");
    });
    assert_eq!(world.post(&delivery).await.status, 200);
    let row = world.until("acme#evt_acme_4", "done").await;
    assert_eq!(number(&row, "attempts"), 2);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    let promised = json!({"pk": "acme#cus_7", "sk": "shipped#evt_acme_4", "order": "ord_55"});
    assert_eq!(effects(&world).await, [promised]);
    served.abort();
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "says why nothing was tested")]
async fn the_shell_lines_deliver() {
    let tools = shell("curl --version && openssl version").await;
    if !tools.is_some_and(|tools| tools.status.success()) {
        println!("not run: there is no bash, curl or openssl");
        return;
    }
    let world = world(registry()).await;
    let address = world.running.address().unwrap().to_string();
    let lines = block!("deliver.sh");
    assert!(lines.contains("127.0.0.1:9000"), "the shell lines name another address: {lines}");
    let lines = lines.replace("127.0.0.1:9000", &address);
    for _ in 0..2 {
        let Output { stdout, stderr, .. } = shell(&lines).await.unwrap();
        let (heard, said) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(heard.starts_with("HTTP/1.1 200 OK"), "{heard}{said}");
        world.until("acme#evt_acme_1", "done").await;
    }
    a_while().await;
    assert_eq!(effects(&world).await, promised_effects());
}

async fn shell(lines: &str) -> Option<Output> {
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["-euc", lines]).env("NO_PROXY", "*").kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(60), bash.output()).await;
    output.expect("bash ends within a minute").ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_form_receives_as_its_preset_does() {
    let sources = sources(block!("preset.toml"));
    let payments = sources.get("payments").unwrap();
    assert_eq!(payments.title, "Payments");
    assert_eq!(payments.scheme.tolerance, Duration::from_secs(600));
    let secret = local_secret(payments);
    let change = |_: &_, parts| Parts { sources, ..parts };
    let world = World::with(None, Options::default(), change).await.serve();
    put_secret(&world, "payments", &json!({ "secrets": [secret] })).await;
    let body = json!({"id": "evt_1", "type": "invoice.paid", "created": unix_now(), "data": {}});
    let delivery = signed("payments", "stripe-signature", &secret, &body.to_string());
    assert_eq!(world.post(&delivery).await.status, 200);
    assert!(world.row("payments#evt_1").await.is_some());
}

#[test]
fn mistakes_are_reported_as_the_guide_shows() {
    let error = Sources::parse(&tree_and(block!("mistakes.toml"))).unwrap_err();
    // Where the table stands in the file is not the guide's business.
    let said: Vec<_> = error.0.iter().map(|mistake| mistake.what.as_str()).collect();
    let lines =
        block!("mistakes.text").lines().filter_map(|line| line.trim().strip_prefix("line "));
    let shown: Vec<_> = lines.filter_map(|line| Some(line.split_once(": ")?.1)).collect();
    assert_eq!(said, shown);
}
