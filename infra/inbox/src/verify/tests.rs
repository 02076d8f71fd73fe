//! Requests made wrong on purpose, and what is said of them.

mod changed_bodies;
mod forms;
mod headers;
mod keys_and_contents;
mod pairs;
mod presets;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use shared::source::{Profile, Sources};
use shared::time::Timestamp;

use super::capture::Capture;
use super::judge::{Verdict, judge};
use super::keys::{Known, Whose};
use crate::secrets::SecretText;

const KUDOS: &str = "kudos-test-secret-new";
const APIERA: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const T: &str = "1774523060";
const BODY: &str = r#"{"event_id":"evt_1","event_type":"payment.succeeded","data":{"tenant":"Zürich <AG>","url":"https://a.b/c","amount_cents":1250,"rate":1.50,"list":[1,2,{"a":[]}],"empty":{}}}"#;

fn profile(source: &str) -> Profile {
    Sources::builtin().unwrap().get(source).unwrap().clone()
}

fn mac(key: &[u8], content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(content.as_ref());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn given(text: &str) -> Known {
    Known { whose: Whose::Given, text: SecretText::new(text) }
}

/// The words of what explains this request; nothing if nothing does.
fn words(
    source: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
    known: &[Known],
) -> Vec<&'static str> {
    words_at(source, headers, body, known, 3)
}

fn words_at(
    source: &str,
    headers: &str,
    body: impl AsRef<[u8]>,
    known: &[Known],
    after: i64,
) -> Vec<&'static str> {
    let capture = Capture::read(headers.as_bytes(), Some(body.as_ref().to_vec())).unwrap();
    let at = Timestamp::from_secs(T.parse::<i64>().unwrap() + after);
    match judge(&profile(source), &capture, known, at) {
        Verdict::Right(_) => vec!["right"],
        Verdict::Wrong(wrong) if wrong.explained => {
            wrong.mistakes.iter().map(super::mistake::Mistake::word).collect()
        }
        Verdict::Wrong(wrong) => panic!("{wrong:?}"),
    }
}

/// A Kudos request whose signature covers `signed`.
fn kudos(key: impl AsRef<[u8]>, signed: &str) -> String {
    format!("X-Kudos-Signature: t={T},v1={}\n", hex(&mac(key.as_ref(), signed)))
}

fn apiera(key: &[u8], signed: &str) -> String {
    let digest = STANDARD.encode(mac(key, signed));
    format!("webhook-id: msg_1\nwebhook-timestamp: {T}\nwebhook-signature: v1,{digest}\n")
}

fn apiera_key() -> Vec<u8> {
    STANDARD.decode(&APIERA[6..]).unwrap()
}

#[test]
fn a_right_request_is_right() {
    let headers = kudos(KUDOS, &format!("{T}.{BODY}"));
    assert_eq!(words("kudos", &headers, BODY, &[given("other"), given(KUDOS)]), ["right"]);
    let headers = apiera(&apiera_key(), &format!("msg_1.{T}.{BODY}"));
    assert_eq!(words("apiera", &headers, BODY, &[given(APIERA)]), ["right"]);
}
