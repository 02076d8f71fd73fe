//! Every producer's deliveries, judged by the functions' own check.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use shared::delivery::{Content, Verified};
use shared::secret::SecretSet;
use shared::signature::{Raw, Refusal};
use shared::source::{Profile, Sources};
use shared::time::Timestamp;

use super::event::{Template, TemplateError};
use super::producer::{Delivery, Sender};
use super::sign::{Keys, SignError};
use super::summary::meaning;
use crate::secrets::{SecretText, document};

const NEW: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl";
const NOW: Timestamp = Timestamp::from_secs(1_796_054_571);

/// The three producers, one of each preset, and one with a scheme of its own.
fn sources() -> Sources {
    let presets = ["standard-webhooks", "svix", "stripe", "github", "slack", "shopify"];
    let presets = presets.map(|preset| format!("[of-{preset}]\npreset = \"{preset}\"\n"));
    let own = r#"
        [own]
        title = "Own"
        ordering = "none"
        signature = { header = "x-own", form = "prefix", version = "", timestamp = "header:x-time", signed = "{timestamp}\n{header:x-id}\n{body}", encoding = "base64", secret = "text", tolerance_s = 60 }
        event = { id = "header:x-id", type = "body:meta.kind", time = "body:meta.at", payload = "payload", attempt = { header = "x-try", first = 0 } }
        contract = { timeout_s = 5, retries = ["5xx"], unusable = 200 }
    "#;
    let text = format!("{}\n{own}\n{}", presets.concat(), include_str!("../../../sources.toml"));
    Sources::parse(&text).unwrap()
}

fn secrets(texts: &[&str]) -> Vec<SecretText> {
    texts.iter().copied().map(SecretText::new).collect()
}

fn sender<'p>(profile: &'p Profile, event_type: Option<&str>, data: Option<&str>) -> Sender<'p> {
    let data = data.map(|data| data.as_bytes().to_vec());
    Sender {
        profile,
        template: Template::new(profile, event_type, None, data, "run").unwrap(),
        keys: Keys::new(&profile.scheme, &secrets(&[NEW, OLD]), false).unwrap(),
        age: Duration::ZERO,
        attempt: 1,
        tamper: false,
    }
}

fn raw(delivery: &Delivery, profile: &Profile) -> Raw {
    let mut headers = HeaderMap::new();
    for (name, value) in &delivery.headers {
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    let mut raw = Raw { headers, body: Bytes::from(delivery.body.clone()) };
    raw.rename(&profile.scheme);
    raw
}

/// Key, type and attempt as the functions read them, with these secrets active.
fn read(
    delivery: &Delivery,
    profile: &Profile,
    active: &[&str],
) -> Result<(String, Option<String>, Option<u32>), Refusal> {
    let set = SecretSet::parse(&document(&secrets(active)), profile.scheme.secret).unwrap();
    let raw = raw(delivery, profile);
    let delivery = Verified::check(profile, &set, &raw, NOW)?.read();
    assert!(!matches!(delivery.content(), Content::Unusable(..)), "{:?}", delivery.content());
    let event_type = delivery.event_type().map(|t| t.as_str().to_owned());
    Ok((delivery.key().id.as_str().to_owned(), event_type, delivery.attempt()))
}

fn header<'d>(delivery: &'d Delivery, name: &str) -> Option<&'d str> {
    let found = delivery.headers.iter().find(|(header, _)| header == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn every_producer_is_understood() {
    for profile in sources().iter() {
        let sender = sender(profile, None, None);
        let (first, second) = (sender.delivery(1, NOW), sender.delivery(2, NOW));
        let (id, event_type, _) = read(&first, profile, &[NEW]).unwrap();
        let (other, ..) = read(&second, profile, &[NEW]).unwrap();
        assert_ne!(id, other, "{}", profile.name);
        assert_eq!(event_type.as_deref(), Some(sender.template.event_type.as_str()));
        assert_eq!(read(&first, profile, &[OLD]), Err(Refusal::Mismatch), "{}", profile.name);
        if let Some(own) = sender.template.id(1)
            && !id.starts_with("sha256:")
        {
            assert_eq!(id, own);
        }
    }
}

#[test]
fn a_changed_body_is_refused_and_so_is_an_old_signature() {
    for profile in sources().iter() {
        let tampered = Sender { tamper: true, ..sender(profile, None, None) };
        let refused = read(&tampered.delivery(1, NOW), profile, &[NEW]);
        assert_eq!(refused, Err(Refusal::Mismatch), "{}", profile.name);
        let old = Sender { age: Duration::from_secs(301), ..sender(profile, None, None) };
        let refused = read(&old.delivery(1, NOW), profile, &[NEW]);
        let timed = profile.scheme.timestamp.is_some();
        assert_eq!(refused.is_err(), timed, "{}", profile.name);
    }
}

#[test]
fn during_a_rotation_either_secret_is_enough() {
    for profile in sources().iter() {
        let both = Keys::new(&profile.scheme, &secrets(&[NEW, OLD]), true);
        match both {
            Ok(keys) => {
                let sender = Sender { keys, ..sender(profile, None, None) };
                let delivery = sender.delivery(1, NOW);
                for active in [&[NEW][..], &[OLD], &[NEW, OLD]] {
                    assert!(read(&delivery, profile, active).is_ok(), "{}", profile.name);
                }
            }
            Err(error) => assert_eq!(error, SignError::One),
        }
    }
    let sources = sources();
    let kudos = &sources.get("kudos").unwrap().scheme;
    assert!(matches!(Keys::new(kudos, &secrets(&[NEW]), true), Err(SignError::OneSecret)));
    assert!(matches!(Keys::new(kudos, &[], false), Err(SignError::NoSecret)));
    assert!(matches!(Keys::new(kudos, &secrets(&[" x"]), false), Err(SignError::Malformed(_))));
}

#[test]
fn retries_say_that_they_are() {
    let sources = sources();
    let attempt = |source: &str, attempt| {
        let profile = sources.get(source).unwrap();
        let delivery = Sender { attempt, ..sender(profile, None, None) }.delivery(1, NOW);
        let read = read(&delivery, profile, &[NEW]).unwrap();
        (delivery, read.2)
    };
    let (first, count) = attempt("kudos", 1);
    assert_eq!((header(&first, "x-kudos-delivery-attempt"), count), (None, None));
    assert_eq!(header(&first, "x-kudos-event-id"), Some("evt_run_1"));
    let (third, count) = attempt("kudos", 3);
    assert_eq!(count, Some(3));
    assert_eq!(header(&third, "x-kudos-original-event-id"), Some("evt_run_1"));
    // 30 s and 2 min after the first attempt.
    assert_eq!(header(&third, "x-kudos-first-sent-at"), Some("2026-11-30T16:00:21Z"));
    let (first, count) = attempt("kallglot", 1);
    assert_eq!((header(&first, "kallglot-retry-count"), count), (Some("0"), Some(1)));
    let (third, count) = attempt("kallglot", 3);
    assert_eq!((header(&third, "kallglot-retry-count"), count), (Some("2"), Some(3)));
    assert_eq!(header(&third, "kallglot-original-timestamp"), Some("1796054211"));
    let (again, _) = attempt("of-slack", 2);
    assert_eq!(header(&again, "x-slack-retry-num"), Some("1"));
    assert_eq!(attempt("own", 4).1, Some(4));
    assert!(header(&attempt("of-svix", 1).0, "svix-signature").is_some());
}

#[test]
fn bodies_are_written_as_the_producer_writes_them() {
    let sources = sources();
    let body = |source: &str, event_type: Option<&str>, data: Option<&str>| {
        let profile = sources.get(source).unwrap();
        String::from_utf8(sender(profile, event_type, data).delivery(1, NOW).body).unwrap()
    };
    assert_eq!(
        body("kudos", Some("x.y"), Some("{\"n\": {n}, \"of\": \"{id}\"}\n")),
        r#"{"event_id":"evt_run_1","event_type":"x.y","data":{"n": 1, "of": "evt_run_1"}}"#
    );
    assert_eq!(
        body("kallglot", None, Some("{}")),
        r#"{"id":"evt_run_1","type":"session.started","api_version":"v1","created_at":"2026-11-30T16:02:51Z","data":{}}"#
    );
    let disabled = body("kallglot", Some("webhook_endpoint.disabled"), None);
    assert!(disabled.starts_with(r#"{"type":"webhook_endpoint.disabled","data":{"#), "{disabled}");
    assert_eq!(body("apiera", None, Some("{\"a\":1}")), "{\"a\":1}");
    for whole in [r#"{"event_id": "e{n}", "event_type": "t"}"#, "no json"] {
        assert_eq!(body("kudos", None, Some(whole)), whole.replace("{n}", "1"));
    }
    let kudos = sources.get("kudos").unwrap();
    let whole = || Some(br#"{"event_id":"e","event_type":"t"}"#.to_vec());
    assert_eq!(Template::new(kudos, None, None, whole(), "").unwrap().event_type, "t");
    assert!(Template::new(kudos, None, None, whole(), "").unwrap().is_one_event());
    for (event_type, id) in [(Some("x"), None), (None, Some("x"))] {
        let refused = Template::new(kudos, event_type, id, whole(), "");
        assert!(matches!(refused, Err(TemplateError::Whole(_))));
    }
    let question = body("of-slack", Some("url_verification"), None);
    assert!(question.contains("\"challenge\":\"Evrun_1\""), "{question}");
}

#[test]
fn an_answer_means_to_each_producer_what_its_contract_says() {
    let sources = sources();
    for (source, status, said) in [
        ("kudos", 204, "delivered"),
        ("kudos", 401, "final"),
        ("kudos", 408, "again"),
        ("kudos", 410, "pauses the subscription"),
        ("kudos", 503, "again"),
        ("kallglot", 401, "again"),
        ("apiera", 408, "final"),
        ("apiera", 429, "again"),
        ("of-github", 503, "final"),
    ] {
        let meaning = meaning(status, sources.get(source).unwrap());
        assert!(meaning.contains(said), "{source} {status}: {meaning}");
    }
}
