//! What the ingress does to a body before it calls anybody: signature, digest, envelope. Beside it
//! HMAC-SHA256 alone, which no implementation can do without.
//!
//! `cargo bench -p bench`; the figures of one run are comparable with each other.
#![allow(missing_docs, reason = "made by a macro")]
#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "a benchmark may panic")]

use std::hint::black_box;

use bench::delivery::{Deliveries, SECRET};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use shared::delivery::Verified;
use shared::envelope;
use shared::secret::{SecretRule, SecretSet};
use shared::signature::Raw;
use shared::source::Sources;
use shared::time::Clock;

const KIB: usize = 1024;
const SIZES: [(&str, usize); 4] =
    [("1 KiB", KIB), ("16 KiB", 16 * KIB), ("256 KiB", 256 * KIB), ("5 MB", 5_000_000)];

fn receive(criterion: &mut Criterion) {
    let sources = Sources::builtin().expect("the tree's own");
    let profile = sources.get("kallglot").expect("in the tree");
    let secrets = format!(r#"{{"secrets":["{SECRET}"]}}"#);
    let secrets = SecretSet::parse(&secrets, SecretRule::Text).expect("a secret");
    let now = Clock::system().now();
    let fields = ["id", "type", "created_at", "data"].map(|name| [name.to_owned()]);
    let fields = fields.each_ref().map(<[String; 1]>::as_slice);
    let key = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    let mut deliveries = Deliveries::new("bench");

    for (name, bytes) in SIZES {
        let raw = deliveries.next(bytes, now).raw();
        let mut group = criterion.benchmark_group("receive");
        group.throughput(Throughput::Bytes(raw.body.len() as u64));
        let mut bench = |what: &str, run: &dyn Fn(&Raw) -> bool| {
            group.bench_with_input(BenchmarkId::new(what, name), &raw, |bencher, raw| {
                bencher.iter(|| assert!(black_box(run(black_box(raw)))));
            });
        };
        let verify = |raw: &Raw| Verified::check(profile, &secrets, raw, now).is_ok();
        let envelope = |raw: &Raw| envelope::fields(&raw.body, &fields).is_ok();
        let read = |raw: &Raw| {
            let verified = Verified::check(profile, &secrets, raw, now);
            verified.is_ok_and(|verified| verified.read().event_type().is_some())
        };
        bench("hashing alone", &|raw| {
            let mut mac = key.clone();
            mac.update(&raw.body);
            mac.verify_slice(&[0; 32]).is_err()
        });
        bench("verify", &verify);
        bench("envelope", &envelope);
        bench("verify + envelope", &|raw| verify(raw) && envelope(raw));
        // With the digest that notices one id with two bodies.
        bench("verify + read", &read);
        group.finish();
    }
}

criterion_group!(benches, receive);
criterion_main!(benches);
