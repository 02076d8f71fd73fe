//! Published vectors first: we must not only agree with ourselves.

use http::{HeaderName, HeaderValue};

use super::*;
use crate::source::Sources;

fn scheme(source: &str) -> Scheme {
    Sources::builtin().unwrap().get(source).unwrap().scheme.clone()
}

fn prefix_scheme(header: &'static str, prefix: &str, encoding: Encoding) -> Scheme {
    Scheme {
        aliases: vec![],
        header: HeaderName::from_static(header),
        form: Form::Prefix(prefix.into()),
        timestamp: None,
        tolerance: Duration::ZERO,
        signed: vec![Part::Body],
        encoding,
        secret: SecretRule::Text,
    }
}

fn raw(headers: &[(&'static str, &str)], body: &str) -> Raw {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    Raw { headers: map, body: Bytes::copy_from_slice(body.as_bytes()) }
}

fn check(scheme: &Scheme, secrets: &[&str], raw: &Raw, at: i64) -> Result<usize, Refusal> {
    let secrets: Vec<_> =
        secrets.iter().map(|s| Secret::decode(s, scheme.secret).unwrap()).collect();
    verify(scheme, &secrets, raw, Timestamp::from_secs(at))
        .map(|matched| secrets.iter().position(|s| *s.fingerprint() == matched.signed_by).unwrap())
}

const KG_BODY: &str = r#"{"id":"evt_01HXYZ123456789","type":"session.ended","api_version":"v1","created_at":"2026-03-26T11:04:20Z","data":{"id":"sess_01HXYZ123456789","object":"session","status":"ended","duration":245.3}}"#;
const KG_SIG: &str = "5db358e4f6fafc4ea3817fd5e457b486644c32e3545098b5ada586fc443a06c4";
const KD_BODY: &str =
    r#"{"event_id":"evt_01TEST0001","event_type":"subscription.upgraded","data":{"tenant":"A"}}"#;
const KD_OLD: &str = "3ffca50d706a10077fc0b3e7654c3aba72956ef7efc0d49d64f3debdb7e11646";
const KD_NEW: &str = "ce9337be391c264b3f457aa9eda5aadeffcf4bfcab0a4f7bd40d346f9d12ec20";
const KD_T: i64 = 1_780_130_531;

fn kudos(header: &str) -> Result<usize, Refusal> {
    let secrets = ["kudos-test-secret-new", "kudos-test-secret-old"];
    check(&scheme("kudos"), &secrets, &raw(&[("x-kudos-signature", header)], KD_BODY), KD_T)
}

fn sw(sig: &str, id: &str, t: &str, body: &str, secret: &str) -> Result<usize, Refusal> {
    let headers = [("webhook-id", id), ("webhook-timestamp", t), ("webhook-signature", sig)];
    check(&scheme("apiera"), &[secret], &raw(&headers, body), t.parse().unwrap())
}

#[test]
fn standard_webhooks_published_vectors_verify() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let sig = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let (id, t, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
    assert_eq!(sw(sig, id, t, body, secret), Ok(0));
    assert_eq!(sw(sig, id, t, r#"{"test":2432232314}"#, secret), Err(Refusal::Mismatch));
    let svix = "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=";
    let body = r#"{"event_type":"ping","data":{"success":true}}"#;
    let secret = "whsec_plJ3nmyCDGBKInavdOK15jsl";
    assert_eq!(sw(svix, "msg_loFOjxBNrRLzqYUf", "1731705121", body, secret), Ok(0));
}

#[test]
fn github_and_shopify_published_vectors_verify() {
    let github = prefix_scheme("x-hub-signature-256", "sha256=", Encoding::Hex);
    let sig = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let delivery = raw(&[("x-hub-signature-256", sig)], "Hello, World!");
    assert_eq!(check(&github, &["It's a Secret to Everybody"], &delivery, 0), Ok(0));
    let shopify = prefix_scheme("x-shopify-hmac-sha256", "", Encoding::Base64);
    let sig = "B23tXN681gZ0qIWNRrgtzBE9XSDo5yaUu6wfmhu3a7g=";
    let delivery = raw(&[("x-shopify-hmac-sha256", sig)], r#"{"foo": "bar"}"#);
    assert_eq!(check(&shopify, &["test_secret_key"], &delivery, 0), Ok(0));
}

#[test]
fn openssl_made_vectors_verify_for_the_three_producers() {
    let kallglot = |body: &str, sig: &str| {
        let header = format!("t=1774523060,v1={sig}");
        let delivery = raw(&[("kallglot-signature", &header)], body);
        check(&scheme("kallglot"), &["kallglot-test-secret"], &delivery, 1_774_523_060)
    };
    assert_eq!(kallglot(KG_BODY, KG_SIG), Ok(0));
    assert_eq!(kallglot(KG_BODY, &KG_SIG.to_uppercase()), Ok(0));
    assert_eq!(kallglot(&format!("{KG_BODY}\n"), KG_SIG), Err(Refusal::Mismatch));
    let utf8 = r#"{"id":"evt_u","type":"transcript.ready","api_version":"v1","created_at":"2026-03-26T11:04:20Z","data":{"text":"Grüße – zwölf 🙂"}}"#;
    let sig = "5b14360d5f011ffae3d34211b0ab5ad6d52cec4f7f9d2bbc116cccfe1a0564b4";
    assert_eq!(kallglot(utf8, sig), Ok(0));
    let body = r#"{"productUuid":"123e4567-e89b-12d3-a456-426614174001"}"#;
    let apiera = |sig: &str| {
        let id = "550e8400-e29b-41d4-a716-446655440000";
        sw(sig, id, "1774523060", body, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    };
    assert_eq!(apiera("v1,ftSfpmIsx15wFV3TdugQJWk0Udhk7nZFseZIpDFeqsA="), Ok(0));
    let undecoded_key = "v1,Zoj+Hx67KycaNvUNDBSc6f3CPvnV8sVrevvmgijUGK4=";
    assert_eq!(apiera(undecoded_key), Err(Refusal::Mismatch));
}

#[test]
fn any_digest_may_match_any_secret_and_the_older_is_told_apart() {
    assert_eq!(kudos(&format!("t={KD_T},v1={KD_OLD}")), Ok(1));
    assert_eq!(kudos(&format!("t={KD_T},v1={KD_NEW}")), Ok(0));
    assert_eq!(kudos(&format!("t={KD_T},v1={KD_OLD},v1={KD_NEW}")), Ok(0));
    assert_eq!(kudos(&format!(" t={KD_T} ,\tv0=zz, v1={KD_NEW} ")), Ok(0));
    assert_eq!(kudos(&format!("t={KD_T},v1={KD_OLD},t={KD_T},v1={KD_NEW}")), Ok(0));
    assert_eq!(kudos(&format!("t={KD_T},v1=zz,v1={KD_NEW}")), Ok(0));
}

#[test]
fn a_header_that_breaks_the_grammar_is_refused() {
    for (header, why) in [
        (format!("v1={KD_NEW}"), "no time"),
        (format!("t={KD_T}"), "no digest of the expected version"),
        (format!("t={KD_T},v0={KD_NEW}"), "no digest of the expected version"),
        (format!("t={},t={KD_T},v1={KD_NEW}", KD_T - 4000), "two different times"),
        (format!("t={KD_T},v1={}", &KD_NEW[..10]), "no digest can be decoded"),
        (format!("t={KD_T},v1={}", &KD_NEW[..63]), "no digest can be decoded"),
        (format!("t={KD_T},v1={KD_NEW}0"), "no digest can be decoded"),
        (format!("t={KD_T},v1="), "no digest can be decoded"),
        (format!("t={KD_T},v1=+{}", &KD_NEW[1..]), "no digest can be decoded"),
        (format!("t={KD_T}{}", format!(",v1={KD_NEW}").repeat(17)), "too many digests"),
        (",,,".into(), "no time"),
        (String::new(), "no time"),
    ] {
        assert_eq!(kudos(&header), Err(Refusal::Malformed(why)), "{header}");
    }
    for t in ["-1", "+1780130531", "1780130531.0", "01780130531", "0", "", "x", "1780130531 "]
        .into_iter()
        .chain(["99999999999999999999", "9223372036854775807", "-9223372036854775808", "0x6a"])
    {
        let refused = kudos(&format!("t={t},v1={KD_NEW}"));
        assert!(matches!(refused, Err(Refusal::Malformed(_))) || t.ends_with(' '), "{t}");
    }
    let missing = check(&scheme("kudos"), &["s"], &raw(&[], KD_BODY), KD_T);
    assert_eq!(missing, Err(Refusal::Missing));
}

#[test]
fn time_counts_in_both_directions_and_milliseconds_are_not_seconds() {
    let delivery = raw(&[("x-kudos-signature", &format!("t={KD_T},v1={KD_NEW}"))], KD_BODY);
    let at = |offset| check(&scheme("kudos"), &["kudos-test-secret-new"], &delivery, KD_T + offset);
    for inside in [-300, 0, 300] {
        assert_eq!(at(inside), Ok(0), "{inside}");
    }
    for outside in [-86_400, -301, 301, i64::MAX - KD_T] {
        assert_eq!(at(outside), Err(Refusal::OutOfTolerance), "{outside}");
    }
    assert_eq!(kudos(&format!("t={KD_T}000,v1={KD_NEW}")), Err(Refusal::OutOfTolerance));
}

#[test]
fn standard_webhooks_lists_count_only_our_version_and_canonical_base64() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let good = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let try_sig = |sig: &str| {
        sw(sig, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#, secret)
    };
    for right in [
        format!("v1a,AAAA v2,AAAA v1,{good}"),
        format!("v1,AAAA  v1,{good}"),
        format!("v1,AAAA,v1,{good}"),
        format!("foo v1,{good}"),
    ] {
        assert_eq!(try_sig(&right), Ok(0), "{right}");
    }
    for wrong in [
        format!("v1a,{good}"),
        format!("v1,{}", good.trim_end_matches('=')),
        format!("v1,{}", good.replace('+', "-").replace('/', "_")),
        "v1,abc".into(),
        "v1".into(),
        good.into(),
    ] {
        assert!(matches!(try_sig(&wrong), Err(Refusal::Malformed(_))), "{wrong}");
    }
}

#[test]
fn one_wrong_bit_anywhere_never_verifies() {
    let good = format!("t={KD_T},v1={KD_NEW}");
    let secrets = ["kudos-test-secret-new"];
    for bit in 0..KD_BODY.len() * 8 {
        let mut body = KD_BODY.as_bytes().to_vec();
        body[bit / 8] ^= 1 << (bit % 8);
        let mut delivery = raw(&[("x-kudos-signature", &good)], "");
        delivery.body = body.into();
        assert_eq!(check(&scheme("kudos"), &secrets, &delivery, KD_T), Err(Refusal::Mismatch));
    }
    for bit in 0..256 {
        let mut digest: Vec<u8> = KD_NEW.into();
        let digit = (KD_NEW.as_bytes()[bit / 4] as char).to_digit(16).unwrap() ^ 1 << (bit % 4);
        digest[bit / 4] = char::from_digit(digit, 16).unwrap() as u8;
        let header = format!("t={KD_T},v1={}", String::from_utf8(digest).unwrap());
        assert_eq!(kudos(&header), Err(Refusal::Mismatch));
    }
}
