//! What the ingress does to a body before it calls anybody: signature, digest, envelope. Beside it
//! HMAC-SHA256 alone, which no implementation can do without.
//!
//! `cargo bench -p shared`; the figures of one run are comparable with each other.
#![allow(missing_docs, reason = "made by a macro")]
#![allow(clippy::expect_used, reason = "a benchmark may panic; that is how it fails")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use sha2::Sha256;
use shared::delivery::Verified;
use shared::envelope;
use shared::secret::{SecretRule, SecretSet};
use shared::signature::Raw;
use shared::source::Sources;
use shared::time::Timestamp;

const SECRET: &str = "kallglot-local-secret";
const NOW: Timestamp = Timestamp::from_secs(1_796_054_400);
const SIZES: [(&str, usize); 4] =
    [("1 KiB", 1 << 10), ("16 KiB", 16 << 10), ("256 KiB", 256 << 10), ("5 MB", 5_000_000)];
/// A piece of payload with what holds parsers up: escapes, long numbers, texts beyond ASCII.
const ENTRY: &str = r#"{"id":"tl_5f3a9c0e7b214d86","kind":"speech","at":"2026-11-30T12:00:07Z","offset_ms":184467,"confidence":0.9271,"participant":"Zo\u00eb Martín","text":"could we move the \"express\" delivery to tuesday"}"#;

/// A signed Kallglot event of about this many bytes.
fn delivery(bytes: usize) -> Raw {
    let head = r#"{"id":"evt_0123456789","type":"session.ended","api_version":"v1","created_at":"2026-11-30T12:00:00Z","data":{"id":"sess_1","timeline":["#;
    let entries = vec![ENTRY; bytes.saturating_sub(head.len()) / (ENTRY.len() + 1)];
    let body = format!("{head}{}]}}}}", entries.join(","));
    let t = NOW.secs();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(format!("{t}.{body}").as_bytes());
    let digest: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let mut headers = HeaderMap::new();
    headers.insert("kallglot-signature", format!("t={t},v1={digest}").parse().expect("a value"));
    Raw { headers, body: body.into() }
}

fn receive(criterion: &mut Criterion) {
    let sources = Sources::builtin().expect("the tree's own");
    let profile = sources.get("kallglot").expect("in the tree");
    let secrets = format!(r#"{{"secrets":["{SECRET}"]}}"#);
    let secrets = SecretSet::parse(&secrets, SecretRule::Text).expect("a secret");
    let key = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    let fields = ["id", "type", "created_at", "data"].map(|name| [name.to_owned()]);
    let fields = fields.each_ref().map(<[String; 1]>::as_slice);

    let hash = |raw: &Raw| {
        let mut mac = key.clone();
        mac.update(&raw.body);
        mac.verify_slice(&[0; 32]).is_err()
    };
    let verify = |raw: &Raw| Verified::check(profile, &secrets, raw, NOW).is_ok();
    let envelope = |raw: &Raw| envelope::fields(&raw.body, &fields).is_ok();
    let both = |raw: &Raw| verify(raw) && envelope(raw);
    let read = |raw: &Raw| {
        let verified = Verified::check(profile, &secrets, raw, NOW);
        verified.is_ok_and(|verified| verified.read().event_type().is_some())
    };
    for (size, bytes) in SIZES {
        let raw = delivery(bytes);
        let mut group = criterion.benchmark_group("receive");
        group.throughput(Throughput::Bytes(raw.body.len() as u64));
        let mut bench = |what: &str, run: &dyn Fn(&Raw) -> bool| {
            group.bench_with_input(BenchmarkId::new(what, size), &raw, |bencher, raw| {
                bencher.iter(|| assert!(black_box(run(black_box(raw)))));
            });
        };
        bench("hashing alone", &hash);
        bench("verify", &verify);
        bench("envelope", &envelope);
        bench("verify + envelope", &both);
        // With the digest that notices one id with two bodies.
        bench("verify + read", &read);
        group.finish();
    }
}

criterion_group!(benches, receive);
criterion_main!(benches);
