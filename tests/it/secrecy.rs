//! What must never be read in a log line or a metric: payloads, header values, secrets, and what a
//! panic says. Our crates speak as loudly as they can here, all others as in production.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use processor::handler::{Context, Event, HandlerError, Registry};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use shared::effects::Effects;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::runs::bench::{Bench, secs};
use crate::support::deliveries::KUDOS_SECRET;
use crate::support::world::string;
use crate::support::{Delivery, Fault};

/// In everything that is nobody's business but the handlers'.
const CANARY: &str = "canary-7f3a";

/// The lines of this thread, written as in production.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Collects for as long as the guard lives.
    fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let json = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_writer(move || writer.clone());
        let filter = shared::logs::filter(Some("TRACE"));
        let subscriber = tracing_subscriber::registry().with(filter).with(json);
        // While there is one subscriber alone, `tracing` asks that of the thread which comes by a
        // place first, and a test of another thread, which has none, would silence the place for all.
        static SECOND: OnceLock<tracing::Dispatch> = OnceLock::new();
        SECOND.get_or_init(|| tracing::Dispatch::new(tracing_subscriber::registry()));
        (lines, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// No line of log and no metric holds the canary, however bytes may be shown.
    fn assert_silent(&self, bench: &Bench) {
        let bytes = format!("{:?}", CANARY.as_bytes());
        let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let shapes = [CANARY, bytes.trim_matches(['[', ']']), &hex];
        let metrics = bench.world.metric_lines().into_iter().map(|line| line.to_string());
        for line in self.text().lines().map(str::to_owned).chain(metrics) {
            assert!(!shapes.iter().any(|shape| line.contains(shape)), "{line}");
        }
    }

    /// The lines were there to be read at all.
    fn assert_said(&self, all: &[&str]) {
        let text = self.text();
        for said in all {
            assert!(text.contains(said), "no line says {said:?} in {text}");
        }
    }
}

fn kudos(id: &str, event_type: &str) -> Value {
    json!({"event_id": id, "event_type": event_type, "data": {"card": CANARY}})
}

async fn secret(bench: &Bench, name: &str, value: &str) {
    bench.world.cloud.put_secret(name, value).await.unwrap();
}

#[tokio::test]
async fn nothing_of_a_delivery_is_told_by_the_ingress() {
    let (lines, _guard) = Lines::collect();
    let bench = Bench::new(Registry::default()).await;
    let good = bench.kudos(&kudos("1", "job.run")).with("Authorization", CANARY);
    assert_eq!(bench.deliver(&good).await, 200);
    let other = bench.kudos(&kudos("1", "job.other")).with("X-Kudos-Event-Id", CANARY);
    assert_eq!(bench.deliver(&other).await, 200, "a duplicate with another body and id");
    assert_eq!(bench.deliver(&good.clone().tampered()).await, 401);
    for value in [CANARY, &format!("t=1,v1={CANARY}"), &format!("t={CANARY}"), ""] {
        let headers = vec![("X-Kudos-Signature".to_owned(), value.to_owned())];
        let forged = Delivery { headers, ..good.clone() };
        assert_eq!(bench.deliver(&forged).await, 401, "{value}");
    }
    let twice = format!(r#"{{"event_id":"1","event_id":"{CANARY}","event_type":"a"}}"#);
    for body in [CANARY, &twice, &format!(r#"{{"event_id":["{CANARY}"],"event_type":"a"}}"#)] {
        let t = bench.dial.now().secs();
        let unusable = Delivery::kudos_body(body.as_bytes(), &[KUDOS_SECRET], t);
        assert_eq!(bench.deliver(&unusable).await, 400);
    }
    for operation in ["SendMessage", "PutItem"] {
        bench.faulty.plan(move |called, _| match called == operation {
            true => Fault::Refused("ValidationException"),
            false => Fault::None,
        });
        bench.deliver(&bench.kudos(&kudos(operation, "job.run"))).await;
    }
    lines.assert_said(&["delivery", "signature refused", "another body", "not stored", "unusable"]);
    lines.assert_silent(&bench);
}

#[tokio::test]
async fn no_secret_is_told_whatever_is_wrong_with_it() {
    let (lines, _guard) = Lines::collect();
    let bench = Bench::new(Registry::default()).await;
    let body = kudos("1", "job.run").to_string();
    let values = [
        format!(r#"{{"secrets":["{CANARY}"]}}"#),
        format!(r#"{{"secrets":["{CANARY}"],"more":"{CANARY}"}}"#),
        format!(r#"{{"secrets":[" {CANARY} "]}}"#),
        format!(r#"{{"secrets":["{CANARY}"," {CANARY}"]}}"#),
        format!(r#"{{"secrets":["{CANARY}","{CANARY}","{CANARY}"]}}"#),
        format!(r#"{{"secrets":"{CANARY}"}}"#),
        CANARY.to_owned(),
    ];
    let mut answers = vec![];
    for value in values {
        secret(&bench, "kudos", &value).await;
        // No copy serves for this long.
        bench.dial.forward(secs(3600));
        let t = bench.dial.now().secs();
        for key in [CANARY, KUDOS_SECRET] {
            let delivery = Delivery::kudos_body(body.as_bytes(), &[key], t);
            answers.push(bench.deliver(&delivery).await);
        }
    }
    assert_eq!(answers, [200, 401, 200, 401, 503, 503, 200, 503, 503, 503, 503, 503, 503, 503]);
    lines.assert_said(&["no secret to verify with", "cannot be decoded", "signature refused"]);
    lines.assert_silent(&bench);
}

#[derive(Deserialize)]
struct Card {
    #[expect(dead_code, reason = "it never fits")]
    card: u32,
}

async fn typed(_: Event<Card>, ctx: Context) -> Result<Effects, HandlerError> {
    Ok(ctx.effects())
}

async fn panics(event: Event<Value>, _: Context) -> Result<Effects, HandlerError> {
    panic!("cannot handle {}", event.data)
}

async fn calls(event: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
    // Nobody listens on port 1.
    let url = format!("http://127.0.0.1:1/{CANARY}?token={CANARY}");
    ctx.http().post(url).bearer_auth(CANARY).json(&event.data).send().await?;
    Ok(ctx.effects())
}

async fn credentials(_: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
    ctx.credentials::<Card>().await?;
    Ok(ctx.effects())
}

async fn refused(event: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
    let card = event.data["card"].as_str().unwrap_or_default();
    Ok(ctx.effects().put("", card, [("card", card.into())]))
}

async fn applied(event: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
    let card = event.data["card"].as_str().unwrap_or_default();
    Ok(ctx.effects().put(card, card, [("card", card.into())]))
}

/// Panics of this thread reach the log as in production; those of other tests stay as they are.
fn quiet_panics_here() {
    let here = std::thread::current().id();
    let before = std::panic::take_hook();
    shared::logs::quiet_panics();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let quietly = std::thread::current().id() == here && is_of_handler(panic);
        if quietly { quiet(panic) } else { before(panic) }
    }));
}

/// An assertion of the test itself must be read.
fn is_of_handler(panic: &std::panic::PanicHookInfo<'_>) -> bool {
    panic.payload_as_str().is_some_and(|text| text.starts_with("cannot handle"))
}

#[tokio::test]
async fn nothing_of_a_payload_or_a_panic_is_told_by_the_processor() {
    quiet_panics_here();
    let (lines, _guard) = Lines::collect();
    let registry = Registry::default()
        .on("kudos", "job.typed", typed)
        .on("kudos", "job.panics", panics)
        .on("kudos", "job.calls", calls)
        .on("kudos", "job.credentials", credentials)
        .on("kudos", "job.refused", refused)
        .on("kudos", "job.applied", applied);
    let bench = Bench::new(registry).await;
    secret(&bench, "kudos/api", &json!({"card": CANARY}).to_string()).await;
    for (name, status, error) in [
        ("typed", "failed", "payload: data.card: is not u32"),
        ("panics", "pending", "the handler panicked"),
        ("calls", "pending", "call to 127.0.0.1 could not connect"),
        ("credentials", "pending", "secret kudos/api is not the JSON expected"),
        ("refused", "failed", "the effects are refused (ValidationException)"),
        ("applied", "done", ""),
        ("unknown", "ignored", ""),
    ] {
        let body = kudos(name, &format!("job.{name}"));
        assert_eq!(bench.deliver(&bench.kudos(&body)).await, 200);
        let key = format!("kudos#{name}");
        bench.run(&key).await;
        let row = bench.row(&key).await;
        assert_eq!((string(&row, "status"), string(&row, "last_error")), (status, error), "{name}");
    }
    let mut stray = bench.message("kudos#stray");
    stray["body"] = CANARY.into();
    bench.process(&[stray]).await;
    bench.dial.forward(secs(1000));
    bench.sweep().await.unwrap();
    assert!(bench.world.effect(CANARY, CANARY).await.is_some(), "the handlers do get to see it");
    lines.assert_said(&["handler error", "event finished", "event failed", "released", "sweep"]);
    lines.assert_said(&["\"message\":\"panic\"", "secrecy.rs"]);
    lines.assert_silent(&bench);
}

/// Reads a card number; its error quotes what it was given, as many crates' errors do.
fn card_number<'d, D: Deserializer<'d>>(json: D) -> Result<u64, D::Error> {
    let text = String::deserialize(json)?;
    text.parse().map_err(|_| serde::de::Error::custom(format!("no card number: {text}")))
}

#[tokio::test]
async fn not_even_an_error_of_a_payloads_own_type_brings_a_value_to_light() {
    #[derive(Deserialize)]
    struct Paid {
        #[serde(deserialize_with = "card_number")]
        #[expect(dead_code, reason = "it never fits")]
        card: u64,
    }
    async fn paid(_: Event<Paid>, ctx: Context) -> Result<Effects, HandlerError> {
        Ok(ctx.effects())
    }
    let (lines, _guard) = Lines::collect();
    let bench = Bench::new(Registry::default().on("kudos", "job.run", paid)).await;
    let cards = [
        CANARY.to_owned(),
        format!("x, expected {CANARY}"),
        format!("missing field `{CANARY}`"),
        format!("x at line 1 column 2, expected {CANARY} at line 3"),
    ];
    for (id, card) in cards.into_iter().enumerate() {
        let id = id.to_string();
        let body = json!({"event_id": id, "event_type": "job.run", "data": {"card": card}});
        assert_eq!(bench.deliver(&bench.kudos(&body)).await, 200);
        bench.run(&format!("kudos#{id}")).await;
        let row = bench.row(&format!("kudos#{id}")).await;
        assert_eq!(string(&row, "status"), "failed");
        assert!(!string(&row, "last_error").contains(CANARY), "{}", string(&row, "last_error"));
    }
    lines.assert_silent(&bench);
}
