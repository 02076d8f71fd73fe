//! What is read from an authentic delivery, and under which key it is kept.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};

use super::*;
use crate::source::Sources;

/// Reads a body as if its signature held, which only a test inside this module can pretend.
fn read(
    source: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (String, Content, bool, Option<u32>) {
    let sources = Sources::builtin().unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().unwrap();
        map.append(name, HeaderValue::from_str(value).unwrap());
    }
    let raw = Raw { headers: map, body: Bytes::copy_from_slice(body) };
    let secret = crate::secret::Secret::decode("YQ==", crate::secret::SecretRule::Text).unwrap();
    let made_by = Match { signed_by: secret.fingerprint().clone(), by_older_only: false };
    let verified = Verified { profile: sources.get(source).unwrap(), raw: &raw, made_by };
    let delivery = verified.read();
    let key = delivery.key().id.to_string();
    (key, delivery.content().clone(), delivery.id_disagrees(), delivery.attempt())
}

fn kudos(body: &str) -> (String, Content) {
    let (key, content, ..) = read("kudos", &[], body.as_bytes());
    (key, content)
}

fn event(event_type: &str) -> Content {
    Content::Event(EventType::parse(event_type).unwrap())
}

#[test]
fn id_and_type_come_from_the_signed_body() {
    let body = br#"{"event_id":"evt_1","event_type":"payment.succeeded","data":{}}"#;
    let headers = [("x-kudos-event-id", "evt_other"), ("x-kudos-delivery-attempt", "3")];
    let read = read("kudos", &headers, body);
    assert_eq!(read, ("evt_1".into(), event("payment.succeeded"), true, Some(3)));
}

#[test]
fn a_delivery_without_a_usable_id_is_keyed_by_its_digest() {
    for (id, why) in [
        (r#""event_id":"","#, Unusable::UnfitId(NameError::Blank)),
        (r#""event_id":"   ","#, Unusable::UnfitId(NameError::Blank)),
        (r#""event_id":null,"#, Unusable::NoId),
        ("", Unusable::NoId),
        (r#""event_id":5,"#, Unusable::UnfitId(NameError::Character)),
        (r#""event_id":"evt_\udc00","#, Unusable::UnfitId(NameError::Character)),
        (r#""event_id":"a\u0000","#, Unusable::UnfitId(NameError::Character)),
        (r#""event_id":"a","data":1,"data":2,"#, Unusable::Body(NotAnEnvelope::FieldTwice)),
        (r#""event_id":"a","event_id":"a","#, Unusable::Body(NotAnEnvelope::FieldTwice)),
    ] {
        let (key, content) = kudos(&format!(r#"{{{id}"event_type":"a.b"}}"#));
        assert!(key.starts_with("sha256:") && key.len() == 71, "{key}");
        assert!(matches!(content, Content::Unusable(w, _) if w == why), "{id} {content:?}");
    }
    assert_ne!(kudos(r#"{"event_type":"a"}"#).0, kudos(r#"{"event_type":"b"}"#).0);
}

#[test]
fn an_id_like_one_of_our_own_is_none() {
    let digest = "0f".repeat(32);
    for (id, is_ours) in [
        (format!("sha256:{digest}"), true),
        (format!("wh_1#sha256:{digest}"), true),
        (format!("sha256:{}", &digest[1..]), false),
        ("sha256:00".to_owned(), false),
    ] {
        let (_, content) = kudos(&format!(r#"{{"event_id":"{id}","event_type":"a"}}"#));
        let why = Unusable::UnfitId(NameError::Reserved);
        assert_eq!(matches!(content, Content::Unusable(w, _) if w == why), is_ours, "{id}");
    }
}

#[test]
fn a_delivery_without_a_usable_type_is_unusable() {
    for (event_type, why) in [
        ("", Unusable::NoType),
        (r#","event_type":5"#, Unusable::NoType),
        (r#","event_type":null"#, Unusable::NoType),
        (r#","event_type":" ""#, Unusable::UnfitType(NameError::Blank)),
    ] {
        let (_, content) = kudos(&format!(r#"{{"event_id":"a"{event_type}}}"#));
        assert_eq!(content, Content::Unusable(why, None), "{event_type}");
    }
}

#[test]
fn a_type_that_may_come_without_an_id_is_keyed_by_delivery_and_digest() {
    let body = br#"{"type":"webhook_endpoint.disabled","data":{"endpoint_id":"wh_01ABC"}}"#;
    let (key, content, ..) = read("kallglot", &[("kallglot-webhook-id", "wh_del_1")], body);
    assert!(key.starts_with("wh_del_1#sha256:"), "{key}");
    assert_eq!(content, event("webhook_endpoint.disabled"));
    assert!(read("kallglot", &[], body).0.starts_with("sha256:"));
    let other = br#"{"type":"session.started","data":{}}"#;
    let (_, content, ..) = read("kallglot", &[("kallglot-webhook-id", "wh_del_1")], other);
    assert!(matches!(content, Content::Unusable(Unusable::NoId, Some(_))));
}

#[test]
fn header_ids_are_taken_but_not_an_ambiguous_one() {
    let with = |id: &str| {
        let headers = [("webhook-id", id), ("x-webhook-event-type", "product.created")];
        let (key, content, ..) = read("apiera", &headers, b"{}");
        (key, content)
    };
    assert_eq!(with("550e8400"), ("550e8400".into(), event("product.created")));
    assert_eq!(
        with("a.b").1,
        Content::Unusable(
            Unusable::AmbiguousId,
            Some(EventType::parse("product.created").unwrap())
        )
    );
    assert!(matches!(
        read("apiera", &[("webhook-id", "a")], b"{}").1,
        Content::Unusable(Unusable::NoType, None)
    ));
    let not_json = read("apiera", &[("webhook-id", "a"), ("x-webhook-event-type", "t")], b"[]").1;
    assert!(matches!(not_json, Content::Unusable(Unusable::Body(_), None)));
}

#[test]
fn the_attempt_counts_from_one_for_everyone() {
    let body = br#"{"id":"a","type":"b","data":{}}"#;
    let attempt = |value| read("kallglot", &[("kallglot-retry-count", value)], body).3;
    assert_eq!((attempt("0"), attempt("7"), attempt("x")), (Some(1), Some(8), None));
}
