//! Rotating a signing secret while deliveries keep coming refuses none and restarts nothing; and
//! what is refused when the secret store is down or holds something wrong.
#![expect(clippy::print_stdout, reason = "counts, shown with --nocapture")]

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::join;
use local::apiera::Options;
use local::stack::Parts;
use serde_json::json;
use shared::aws::{CallBudget, Clients};
use shared::limits::{SECRETS_FRESH, SECRETS_REFRESH_MIN, SECRETS_STALE};
use shared::time::{Clock, Timestamp};

use crate::support::deliveries::{KUDOS_SECRET, unix_now};
use crate::support::world::http;
use crate::support::{Answer, Delivery, Fault, Faulty, World};

const OLD: &str = KUDOS_SECRET;
const NEW: &str = "kudos-rotated-secret";
const SECOND: Duration = Duration::from_secs(1);

/// A world whose clock stands still until it is moved, so that the age of a copy is exact, and
/// whose ingress has `faulty` below its clients.
struct Bench {
    world: World,
    faulty: Faulty,
    now: Arc<AtomicI64>,
    /// Deliveries made, which numbers their ids.
    made: Cell<u32>,
}

impl Bench {
    async fn new() -> Self {
        let now = Arc::new(AtomicI64::new(unix_now() * 1000));
        let (hand, faulty) = (now.clone(), Faulty::new());
        let clock = Clock::from_fn(move || Timestamp::from_millis(hand.load(Ordering::SeqCst)));
        let below = faulty.clone();
        let world = World::with(None, Options::default(), |cloud, parts| Parts {
            ingress: Clients::new(&cloud.sdk_config(http(&below)), CallBudget::INGRESS),
            clock,
            ..parts
        });
        Self { world: world.await.serve(), faulty, now, made: Cell::new(0) }
    }

    fn forward(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// A new payment, signed now with one `v1` for each secret.
    fn payment(&self, secrets: &[&str]) -> Delivery {
        self.made.set(self.made.get() + 1);
        let data = json!({"tenant": "acme", "amount_cents": 1, "currency": "EUR"});
        let id = format!("evt_{}", self.made.get());
        let body = json!({"event_id": id, "event_type": "payment.succeeded", "data": data});
        let t = Timestamp::from_millis(self.now.load(Ordering::SeqCst)).secs();
        Delivery::kudos_body(body.to_string().as_bytes(), secrets, t)
    }

    async fn post(&self, secrets: &[&str]) -> Answer {
        self.world.post(&self.payment(secrets)).await
    }

    /// The status of the answer to a new delivery that is signed with these secrets.
    async fn status(&self, secrets: &[&str]) -> u16 {
        self.post(secrets).await.status
    }

    async fn store(&self, secrets: &[&str]) {
        self.store_text(&json!({ "secrets": secrets }).to_string()).await;
    }

    async fn store_text(&self, value: &str) {
        self.world.cloud.put_secret("kudos", value).await.unwrap();
    }

    /// The secret store fails from now on; counts anew.
    fn store_goes_down(&self) {
        self.faulty.plan(|operation, _| match operation {
            "GetSecretValue" => Fault::Failed,
            _ => Fault::None,
        });
    }

    fn reads(&self) -> usize {
        self.faulty.calls("GetSecretValue")
    }

    fn by_older(&self) -> f64 {
        self.world.metric("SignedByOlderSecret", Some("kudos"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_under_constant_deliveries_refuses_none() {
    const EACH: u32 = 20;
    let bench = Bench::new().await;
    let signs_with = RefCell::new(vec![OLD]);
    let (accepted, over) = (Cell::new(0), Cell::new(false));
    let producer = async {
        while !over.get() {
            let secrets = signs_with.borrow().clone();
            let answer = bench.post(&secrets).await;
            assert_eq!((answer.status, answer.retry_after), (200, None), "{secrets:?}");
            accepted.set(accepted.get() + 1);
            // The clock goes on: a copy of the secrets is a minute old after 300 deliveries.
            bench.forward(Duration::from_millis(200));
        }
    };
    let some_deliveries = async || {
        let until = accepted.get() + EACH;
        while accepted.get() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let operator = async {
        some_deliveries().await;
        bench.store(&[NEW, OLD]).await;
        some_deliveries().await;
        bench.forward(SECRETS_FRESH);
        some_deliveries().await;
        assert!(bench.by_older() > 0.0, "signed with the old one alone, and counted");
        *signs_with.borrow_mut() = vec![OLD, NEW];
        some_deliveries().await;
        let by_older = bench.by_older();
        some_deliveries().await;
        assert_eq!(bench.by_older(), by_older, "signed with both, the newer one counts");
        *signs_with.borrow_mut() = vec![NEW];
        some_deliveries().await;
        bench.store(&[NEW]).await;
        some_deliveries().await;
        bench.forward(SECRETS_FRESH);
        some_deliveries().await;
        over.set(true);
    };
    join(producer, operator).await;
    println!("{} deliveries, {} signed by the older one", accepted.get(), bench.by_older());
    assert!(accepted.get() >= 8 * EACH);
    assert_eq!(bench.world.metric("Stored", Some("kudos")), f64::from(accepted.get()));
    assert_eq!(bench.world.metric("AnsweredFault", Some("kudos")), 0.0);
    let revoked = bench.post(&[OLD]).await;
    assert_eq!((revoked.status, revoked.retry_after), (401, None));
    assert_eq!(bench.status(&[NEW]).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_secret_is_believed_for_a_minute_at_most() {
    let bench = Bench::new().await;
    bench.store(&[NEW, OLD]).await;
    assert_eq!(bench.status(&[OLD]).await, 200);
    bench.store(&[NEW]).await;
    bench.forward(SECRETS_FRESH - SECOND);
    assert_eq!(bench.status(&[OLD]).await, 200);
    bench.forward(SECOND);
    assert_eq!(bench.status(&[OLD]).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mismatch_reads_the_secrets_again_at_once_but_not_for_everyone() {
    let bench = Bench::new().await;
    assert_eq!(bench.status(&[OLD]).await, 200);
    bench.store(&[NEW, OLD]).await;
    bench.forward(SECRETS_REFRESH_MIN);
    bench.faulty.heal();
    assert_eq!(bench.status(&[NEW]).await, 200);
    assert_eq!(bench.reads(), 1);
    // What anybody can send must not become a call for each.
    for _ in 0..10 {
        assert_eq!(bench.status(&["nobody's"]).await, 401);
    }
    assert_eq!(bench.reads(), 1);
    bench.forward(SECRETS_REFRESH_MIN);
    for _ in 0..10 {
        assert_eq!(bench.status(&["nobody's"]).await, 401);
    }
    assert_eq!(bench.reads(), 2);
    // No secret can help a header that is malformed, or a time that is too old.
    bench.forward(SECRETS_REFRESH_MIN);
    let mut malformed = bench.payment(&[OLD]);
    malformed.headers[0].1 = "v1=00".into();
    let late = Delivery::kudos_body(b"{}", &[OLD], unix_now() - 1000);
    for delivery in [malformed, late] {
        assert_eq!(bench.world.post(&delivery).await.status, 401);
    }
    assert_eq!(bench.reads(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_copy_serves_for_fifteen_minutes_while_the_store_is_down() {
    let bench = Bench::new().await;
    assert_eq!(bench.status(&[OLD]).await, 200);
    bench.store_goes_down();
    for (age, status) in [
        (SECRETS_FRESH, 200),
        (SECRETS_STALE - SECOND, 200),
        (SECRETS_STALE, 503),
        (SECRETS_STALE * 2, 503),
    ] {
        let began = bench.now.load(Ordering::SeqCst);
        bench.forward(age);
        let answer = bench.post(&[OLD]).await;
        assert_eq!(answer.status, status, "after {age:?}");
        assert_eq!(answer.retry_after.is_some(), status == 503, "after {age:?}");
        bench.now.store(began, Ordering::SeqCst);
    }
    bench.forward(SECRETS_STALE * 3);
    bench.faulty.heal();
    assert_eq!(bench.status(&[OLD]).await, 200, "a failure is not remembered");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_store_is_down_nobody_is_refused_for_good() {
    let bench = Bench::new().await;
    assert_eq!(bench.status(&[OLD]).await, 200);
    assert_eq!(bench.status(&[NEW]).await, 401, "against secrets read just now");
    bench.store_goes_down();
    for age in [SECRETS_REFRESH_MIN, SECRETS_FRESH, SECRETS_FRESH * 2] {
        bench.forward(age);
        // The second meets a read that has failed a moment ago.
        for _ in 0..2 {
            let answer = bench.post(&[NEW]).await;
            assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("30")));
            assert_eq!(bench.status(&[OLD]).await, 200, "the copy still serves");
        }
    }
    bench.faulty.heal();
    bench.forward(SECRETS_REFRESH_MIN);
    assert_eq!(bench.status(&[NEW]).await, 401);
    assert_eq!(bench.world.metric("SignatureRefused", Some("kudos")), 2.0);
    assert_eq!(bench.world.metric("SecretUnavailable", Some("kudos")), 6.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_second_secret_refuses_nobody_for_good_and_lets_the_good_in() {
    for secrets in [["", OLD], [OLD, ""], [OLD, " pasted with spaces "]] {
        let bench = Bench::new().await;
        bench.store(&secrets).await;
        for _ in 0..2 {
            assert_eq!(bench.status(&[OLD]).await, 200, "{secrets:?}");
            let answer = bench.post(&[NEW]).await;
            assert_eq!(
                (answer.status, answer.retry_after.as_deref()),
                (503, Some("30")),
                "{secrets:?}"
            );
            bench.forward(SECRETS_FRESH);
        }
        bench.store(&[NEW, OLD]).await;
        assert_eq!(bench.status(&[NEW]).await, 200, "mended without a restart");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_value_that_holds_no_secret_is_as_if_the_store_were_down() {
    for value in ["", "not json", "[]", r#"{"secrets":[]}"#, r#"{"secrets":["a","b","c"]}"#] {
        let bench = Bench::new().await;
        assert_eq!(bench.status(&[OLD]).await, 200);
        bench.store_text(value).await;
        bench.forward(SECRETS_FRESH);
        assert_eq!(bench.status(&[OLD]).await, 200, "the last copy serves: {value:?}");
        bench.forward(SECRETS_REFRESH_MIN);
        assert_eq!(bench.status(&[NEW]).await, 503, "{value:?}");
        bench.forward(SECRETS_STALE);
        assert_eq!(bench.status(&[OLD]).await, 503, "{value:?}");
    }
}
