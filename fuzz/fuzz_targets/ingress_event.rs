//! Any bytes as a Lambda event, and any bytes as the body of a well-signed one: what is believed can
//! be read, what is not is refused, and nothing panics.
#![no_main]

use std::sync::LazyLock;

use hmac::{Hmac, KeyInit as _, Mac as _};
use ingress::event::HttpEvent;
use ingress::route::route;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use sha2::Sha256;
use shared::delivery::Verified;
use shared::secret::SecretSet;
use shared::signature::Raw;
use shared::source::Sources;
use shared::time::Timestamp;

static SOURCES: LazyLock<Sources> = LazyLock::new(|| Sources::builtin().unwrap());
const NOW: i64 = 1_800_000_000;

fn take(event: &str, must_verify: bool) {
    let Ok(HttpEvent { request, .. }) = serde_json::from_str::<HttpEvent>(event) else { return };
    let Ok(profile) = route(&SOURCES, &request) else { return };
    let (parts, body) = request.into_parts();
    let mut raw = Raw { headers: parts.headers, body: body.to_vec().into() };
    raw.rename(&profile.scheme);
    let secrets = SecretSet::parse(r#"{"secrets":["c2VjcmV0"]}"#, profile.scheme.secret).unwrap();
    let checked = Verified::check(profile, &secrets, &raw, Timestamp::from_secs(NOW));
    assert!(checked.is_ok() || !must_verify);
    if let Ok(verified) = checked {
        let delivery = verified.read();
        assert!(delivery.key().to_string().starts_with(profile.name.as_str()));
        assert!(delivery.body() == &raw.body[..]);
    }
}

fn signed(data: &[u8]) -> String {
    use base64::Engine as _;
    let mut mac = Hmac::<Sha256>::new_from_slice(b"c2VjcmV0").unwrap();
    mac.update(format!("{NOW}.").as_bytes());
    mac.update(data);
    let digest: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let body = base64::engine::general_purpose::STANDARD.encode(data);
    json!({
        "rawPath": "/webhooks/kudos", "requestContext": {"http": {"method": "POST"}},
        "headers": {"X-Kudos-Signature": format!("t={NOW},v1={digest}")},
        "body": body, "isBase64Encoded": true,
    })
    .to_string()
}

fuzz_target!(|data: &[u8]| {
    if let Ok(event) = std::str::from_utf8(data) {
        take(event, false);
    }
    take(&signed(data), true);
});
