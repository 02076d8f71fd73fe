//! The producers that many have, with the mistakes that are usual with each.

use super::*;

/// Two Slack deliveries differ in how their bodies look: events are JSON, commands are forms.
const FORM: &str = "payload=%7B%22type%22%3A%22block_actions%22%2C%22text%22%3A%22a+b%22%7D";

fn preset(name: &str) -> Profile {
    let text = format!("[s]\npreset = \"{name}\"\n{}", include_str!("../../../../sources.toml"));
    Sources::parse(&text).unwrap().get("s").unwrap().clone()
}

/// What is said of a request to a preset; nothing if nothing explains it.
fn said(name: &str, headers: &str, body: impl AsRef<[u8]>, secret: &str) -> Vec<&'static str> {
    let capture = Capture::read(headers.as_bytes(), Some(body.as_ref().to_vec())).unwrap();
    let at = Timestamp::from_secs(T.parse().unwrap());
    match judge(&preset(name), &capture, &[given(secret)], at) {
        Verdict::Right(_) => vec!["right"],
        Verdict::Wrong(wrong) if wrong.explained => {
            wrong.mistakes.iter().map(super::super::mistake::Mistake::word).collect()
        }
        Verdict::Wrong(_) => vec![],
    }
}

#[test]
fn stripe() {
    let secret = "whsec_c3RyaXBlLXNlY3JldA==";
    let with = |key: &[u8]| {
        format!("Stripe-Signature: t={T},v1={}", hex(&mac(key, format!("{T}.{BODY}"))))
    };
    assert_eq!(said("stripe", &with(secret.as_bytes()), BODY, secret), ["right"]);
    assert_eq!(said("stripe", &with(b"stripe-secret"), BODY, secret), ["secret_decoded"]);
    assert_eq!(said("stripe", &with(&secret.as_bytes()[6..]), BODY, secret), ["secret_raw"]);
    let spaced = BODY.replace(",\"", ", \"");
    assert_eq!(said("stripe", &with(secret.as_bytes()), spaced, secret), ["body_reserialised"]);
    // An event of the CLI's test mode is signed as v0 too.
    let both = format!("{},v0={}", with(secret.as_bytes()), "0".repeat(64));
    assert_eq!(said("stripe", &both, BODY, secret), ["right"]);
}

#[test]
fn github() {
    let digest = hex(&mac(b"gh", BODY));
    let with = |value: &str| format!("X-Hub-Signature-256: {value}\nX-GitHub-Event: push");
    assert_eq!(said("github", &with(&format!("sha256={digest}")), BODY, "gh"), ["right"]);
    assert_eq!(said("github", &with(&digest), BODY, "gh"), ["tag"]);
    assert_eq!(said("github", &with(&format!("sha1={digest}")), BODY, "gh"), ["tag"]);
    let renamed = format!("X-Hub-Signature: sha256={digest}");
    assert_eq!(said("github", &renamed, BODY, "gh"), ["header_name"]);
    // The hook is set to application/x-www-form-urlencoded, and a framework took the JSON out.
    let digest = hex(&mac(b"gh", FORM));
    let json = r#"{"type":"block_actions","text":"a b"}"#;
    assert_eq!(said("github", &with(&format!("sha256={digest}")), json, "gh"), ["form"]);
}

#[test]
fn slack() {
    let with = |content: String| {
        let digest = hex(&mac(b"slack", content));
        format!("X-Slack-Signature: v0={digest}\nX-Slack-Request-Timestamp: {T}")
    };
    let right = with(format!("v0:{T}:{FORM}"));
    assert_eq!(said("slack", &right, FORM, "slack"), ["right"]);
    let decoded = r#"payload={"type":"block_actions","text":"a b"}"#;
    assert_eq!(said("slack", &right, decoded, "slack"), ["percent_undone"]);
    let stripe_like = with(format!("{T}.{FORM}"));
    assert_eq!(said("slack", &stripe_like, FORM, "slack"), ["signed_content"]);
}

#[test]
fn shopify() {
    let with = |digest: String| format!("X-Shopify-Hmac-Sha256: {digest}");
    let digest = mac(b"shop", BODY);
    assert_eq!(said("shopify", &with(STANDARD.encode(&digest)), BODY, "shop"), ["right"]);
    assert_eq!(said("shopify", &with(hex(&digest)), BODY, "shop"), ["encoding"]);
    let of_hex = with(STANDARD.encode(hex(&digest)));
    assert_eq!(said("shopify", &of_hex, BODY, "shop"), ["encoding"]);
}

#[test]
fn standard_webhooks_and_svix() {
    for (preset, prefix) in
        [("standard-webhooks", "webhook"), ("svix", "webhook"), ("svix", "svix")]
    {
        let with = |key: &[u8], tag: &str| {
            let digest = STANDARD.encode(mac(key, format!("msg_1.{T}.{BODY}")));
            format!(
                "{prefix}-id: msg_1\n{prefix}-timestamp: {T}\n{prefix}-signature: {tag}{digest}\n"
            )
        };
        let of = |key: &[u8], tag: &str| said(preset, &with(key, tag), BODY, APIERA);
        assert_eq!(of(&apiera_key(), "v1,"), ["right"]);
        assert_eq!(of(APIERA.as_bytes(), "v1,"), ["secret_raw"]);
        assert_eq!(of(&apiera_key(), "v1="), ["tag"]);
        assert_eq!(of(&apiera_key(), ""), ["tag"]);
    }
}
