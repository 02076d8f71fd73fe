//! Other keys, other templates, other functions.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha512};

use super::*;

fn kudos_signed_with(key: impl AsRef<[u8]>) -> String {
    kudos(key, &format!("{T}.{BODY}"))
}

#[test]
fn the_secret_of_another() {
    let name = |text: &str| shared::key::SourceName::parse(text).unwrap();
    let known = [
        given(KUDOS),
        Known { whose: Whose::Previous(name("kudos")), text: SecretText::new("before") },
        Known { whose: Whose::Other(name("kallglot")), text: SecretText::new("kallglot's") },
    ];
    let of = |key: &str| words("kudos", &kudos_signed_with(key), BODY, &known);
    assert_eq!(of("before"), ["previous_secret"]);
    assert_eq!(of("kallglot's"), ["other_secret"]);
}

#[test]
fn a_secret_that_became_another_key() {
    let signed = format!("{T}.{BODY}");
    for (secret, key, word) in [
        ("c2VjcmV0LWtleQ==", b"secret-key".to_vec(), "secret_decoded"),
        ("whsec_c2VjcmV0LWtleQ==", b"secret-key".to_vec(), "secret_decoded"),
        ("whsec_c2VjcmV0LWtleQ==", b"c2VjcmV0LWtleQ==".to_vec(), "secret_raw"),
        ("deadbeef00", vec![0xde, 0xad, 0xbe, 0xef, 0], "secret_decoded"),
        ("secret", b"secret\n".to_vec(), "secret_space"),
        (" secret ", b"secret".to_vec(), "secret_space"),
        ("\"secret\"", b"secret".to_vec(), "secret_quotes"),
        ("secret", b"\"secret\"".to_vec(), "secret_quotes"),
        ("secret", STANDARD.encode("secret").into(), "secret_encoded"),
        ("secret", br#"{"secrets":["secret"]}"#.to_vec(), "secret_document"),
        ("secret", vec![], "secret_empty"),
    ] {
        let said = words("kudos", &kudos(key, &signed), BODY, &[given(secret)]);
        assert_eq!(said, [word], "{secret}");
    }
    let signed = format!("msg_1.{T}.{BODY}");
    for (secret, key, word) in [
        (APIERA, APIERA.into(), "secret_raw"),
        (APIERA, APIERA[6..].into(), "secret_raw"),
        (&APIERA[6..], APIERA.into(), "secret_raw"),
        ("v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", apiera_key(), "secret_prefix"),
        (APIERA, STANDARD.encode(apiera_key()).into(), "secret_raw"),
    ] {
        let said = words("apiera", &apiera(&key, &signed), BODY, &[given(secret)]);
        assert_eq!(said, [word], "{secret}");
    }
}

#[test]
fn another_template_was_signed() {
    for signed in [
        BODY.to_owned(),
        format!("{T}{BODY}"),
        format!("{T}:{BODY}"),
        format!("v0:{T}:{BODY}"),
        format!("{BODY}.{T}"),
        format!("{T}\n{BODY}"),
        format!("t={T}.{BODY}"),
        T.to_owned(),
    ] {
        let headers = kudos(KUDOS, &signed);
        assert_eq!(words("kudos", &headers, BODY, &[given(KUDOS)]), ["signed_content"], "{signed}");
    }
    for signed in [format!("{T}.{BODY}"), BODY.to_owned(), format!("msg_1.{BODY}")] {
        let headers = apiera(&apiera_key(), &signed);
        assert_eq!(
            words("apiera", &headers, BODY, &[given(APIERA)]),
            ["signed_content"],
            "{signed}"
        );
    }
    // The id of another scheme is named as sources.toml would.
    let headers = format!("webhook-id: msg_1\n{}", kudos(KUDOS, &format!("msg_1.{T}.{BODY}")));
    let capture = Capture::read(headers.as_bytes(), Some(BODY.into())).unwrap();
    let at = Timestamp::from_secs(T.parse().unwrap());
    let Verdict::Wrong(wrong) = judge(&profile("kudos"), &capture, &[given(KUDOS)], at) else {
        panic!("it verifies");
    };
    let said = wrong.mistakes[0].what();
    assert!(said.contains("{header:webhook-id}.{timestamp}.{body}"), "{said}");
    assert_eq!(wrong.mistakes.len(), 1);
}

#[test]
fn another_value_was_signed_than_the_header_shows() {
    let signed = format!("evt_7.{T}.{BODY}");
    let headers = format!("{}x-event-id: evt_7\n", apiera(&apiera_key(), &signed));
    assert_eq!(words("apiera", &headers, BODY, &[given(APIERA)]), ["value_elsewhere"]);
}

#[test]
fn another_function_was_used() {
    let content = format!("{T}.{BODY}");
    let mut sha512 = Hmac::<Sha512>::new_from_slice(KUDOS.as_bytes()).unwrap();
    sha512.update(content.as_bytes());
    let sha512 = sha512.finalize().into_bytes();
    let first = Sha256::digest(format!("{KUDOS}{content}"));
    let last = Sha256::digest(format!("{content}{KUDOS}"));
    for digest in [&sha512[..], &first[..], &last[..], &Sha256::digest(&content)[..]] {
        let headers = format!("X-Kudos-Signature: t={T},v1={}\n", hex(digest));
        assert_eq!(words("kudos", &headers, BODY, &[given(KUDOS)]), ["function"]);
    }
}

#[test]
fn a_digest_of_the_body_in_another_header_explains_nothing() {
    let digest = STANDARD.encode(Sha256::digest(BODY));
    let headers = format!("{}Content-Digest: sha-256=:{digest}:\n", kudos("unknown", "x"));
    let capture = Capture::read(headers.as_bytes(), Some(BODY.into())).unwrap();
    let at = Timestamp::from_secs(T.parse().unwrap());
    let verdict = judge(&profile("kudos"), &capture, &[given(KUDOS)], at);
    let Verdict::Wrong(wrong) = verdict else { panic!("it verifies") };
    assert!(!wrong.explained && wrong.mistakes.is_empty(), "{wrong:?}");
    assert!(wrong.guesses > 1000);
}

#[test]
fn an_encoding_of_another_scheme() {
    let bytes = mac(KUDOS.as_bytes(), format!("{T}.{BODY}"));
    for digest in
        [STANDARD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes), STANDARD.encode(hex(&bytes))]
    {
        let headers = format!("X-Kudos-Signature: t={T},v1={digest}\n");
        assert_eq!(words("kudos", &headers, BODY, &[given(KUDOS)]), ["encoding"], "{digest}");
    }
    let bytes = mac(&apiera_key(), format!("msg_1.{T}.{BODY}"));
    let headers = |digest: String| {
        format!("webhook-id: msg_1\nwebhook-timestamp: {T}\nwebhook-signature: v1,{digest}\n")
    };
    let said = words("apiera", &headers(hex(&bytes)), BODY, &[given(APIERA)]);
    assert_eq!(said, ["encoding"]);
    let said = words("apiera", &headers(hex(&bytes).to_uppercase()), BODY, &[given(APIERA)]);
    assert_eq!(said, ["encoding"]);
}
