//! Properties that hold for whatever comes: signatures, envelopes, routes, `sources.toml`.

use http::{HeaderMap, HeaderValue};
use ingress::event::HttpEvent;
use proptest::prelude::*;
use serde_json::json;
use shared::delivery::Verified;
use shared::envelope;
use shared::key::{EventId, EventKey};
use shared::queue::Pointer;
use shared::secret::{SecretRule, SecretSet};
use shared::signature::{Raw, Refusal};
use shared::source::{Profile, Sources};
use shared::time::Timestamp;

use crate::schemes::{all_sources, signed};

const NOW: i64 = 1_800_000_000;

fn secrets(profile: &Profile, key: &[u8]) -> SecretSet {
    use base64::Engine as _;
    let text = match profile.scheme.secret {
        SecretRule::Text => String::from_utf8(key.to_vec()).unwrap(),
        SecretRule::Base64 => {
            format!("whsec_{}", base64::engine::general_purpose::STANDARD.encode(key))
        }
    };
    SecretSet::parse(&json!({ "secrets": [text] }).to_string(), profile.scheme.secret).unwrap()
}

fn check(
    profile: &Profile,
    set: &SecretSet,
    headers: HeaderMap,
    body: &[u8],
) -> Result<(), Refusal> {
    let raw = Raw { headers, body: body.to_vec().into() };
    Verified::check(profile, set, &raw, Timestamp::from_secs(NOW)).map(|verified| {
        // Whatever is authentic can be read.
        drop(verified.read());
    })
}

proptest! {
    #[test]
    fn what_a_scheme_signs_it_verifies(
        key in "[!-~]{1,80}", id in "[a-zA-Z0-9_-]{1,40}", offset in -300_i64..=300,
        body in prop::collection::vec(any::<u8>(), 0..300), flip in any::<prop::sample::Index>(),
    ) {
        for profile in all_sources().iter() {
            let set = secrets(profile, key.as_bytes());
            let headers = signed(profile, key.as_bytes(), &id, NOW + offset, &body);
            prop_assert_eq!(check(profile, &set, headers.clone(), &body), Ok(()));
            if !body.is_empty() {
                let mut other = body.clone();
                let at = flip.index(other.len());
                other[at] ^= 1;
                prop_assert_eq!(check(profile, &set, headers, &other), Err(Refusal::Mismatch));
            }
        }
    }

    #[test]
    fn a_header_of_anything_is_refused_and_never_panics(
        value in "[ -~]{0,200}", time in "[ -~]{0,24}", id in "[ -~]{0,40}",
    ) {
        for profile in all_sources().iter() {
            let set = secrets(profile, b"some secret");
            let mut headers = signed(profile, b"some secret", "id", NOW, b"{}");
            let names: Vec<_> = headers.keys().cloned().collect();
            for name in names {
                let text = match name.as_str() {
                    name if name.contains("timestamp") => &time,
                    name if name.ends_with("-id") => &id,
                    _ => &value,
                };
                headers.insert(name, HeaderValue::from_str(text).unwrap());
            }
            let refused = check(profile, &set, headers, b"{}").is_err();
            prop_assert!(refused);
        }
    }

    #[test]
    fn headers_that_look_almost_right_never_panic(
        parts in prop::collection::vec(
            prop_oneof!["t=", "v1=", "v0=", ",", " ", "=", "1800000000", "[0-9a-f]{64}", "v1,", "[A-Za-z0-9+/=]{44}"],
            0..12,
        ),
    ) {
        let value = parts.concat();
        for profile in all_sources().iter() {
            let mut headers = signed(profile, b"some secret", "id", NOW, b"{}");
            headers.insert(profile.scheme.header.clone(), HeaderValue::from_str(&value).unwrap());
            let set = secrets(profile, b"some secret");
            let refused = check(profile, &set, headers, b"{}").is_err();
            prop_assert!(refused);
        }
    }

    #[test]
    fn an_envelope_never_panics_and_agrees_with_a_full_parse(
        body in prop_oneof![".{0,200}", r#"\{("(id|type|x)":("[a-z\\u0-9]{0,8}"|null|[0-9e+-]{1,6}|\[\]|\{\}),?){0,4}\}"#],
    ) {
        let path = ["id".to_owned()];
        let found = envelope::fields(body.as_bytes(), &[&path]);
        let full: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(&body);
        if let (Ok(found), Ok(full)) = (&found, &full) {
            let read = found[0].map(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).unwrap());
            prop_assert_eq!(read.as_ref(), full.get("id"));
        }
        // A full parse accepts no more than we do, but for a field that is there twice.
        prop_assert!(full.is_err() || found.is_ok() || body.matches("id").count() > 1);
    }

    #[test]
    fn envelope_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = envelope::fields(&body, &[&["a".to_owned(), "b".to_owned()]]);
    }

    #[test]
    fn keys_and_pointers_read_back(id in "\\PC{1,80}") {
        if let Ok(id) = EventId::parse(&id) {
            let key = EventKey { source: shared::key::SourceName::parse("kudos").unwrap(), id };
            prop_assert_eq!(EventKey::parse(&key.to_string()), Some(key.clone()));
            let pointer = Pointer { key: key.clone(), event_type: None };
            prop_assert!(pointer.body().is_ascii());
            prop_assert_eq!(Pointer::parse(&pointer.body()), Ok(key));
        }
    }

    #[test]
    fn a_sources_file_of_anything_is_an_error_with_lines_and_never_panics(
        text in prop_oneof![
            ".{0,300}",
            r#"(\[[a-z.]{1,20}\]\n|[a-z_]{1,12} = ("[a-z:.{}-]{0,20}"|[0-9]{1,5}|\[\]|true|\{ [a-z]{1,5} = 1 \})\n){0,20}"#,
        ],
    ) {
        if let Err(error) = Sources::parse(&text) {
            let lines = text.lines().count().max(1) + 1;
            prop_assert!(error.0.iter().all(|mistake| (1..=lines).contains(&mistake.line)));
            prop_assert!(!error.0.is_empty());
        }
    }

    #[test]
    fn one_key_dropped_from_the_file_in_the_tree_is_never_a_panic(line in 0_usize..300) {
        let text = include_str!("../../infra/sources.toml");
        let kept: Vec<&str> =
            text.lines().enumerate().filter(|(at, _)| *at != line).map(|(_, l)| l).collect();
        let _ = Sources::parse(&kept.join("\n"));
    }

    #[test]
    fn an_event_of_anything_is_a_request_or_a_clean_error(
        path in "[/a-z%.]{0,30}", method in "[A-Z]{0,8}", name in ".{0,20}", value in ".{0,30}",
        body in ".{0,60}", base64 in any::<Option<bool>>(), multi in any::<bool>(),
    ) {
        let mut event = json!({
            "rawPath": path, "headers": {name.clone(): value.clone()}, "body": body,
            "requestContext": {"http": {"method": method}, "stage": value},
        });
        if let Some(base64) = base64 {
            event["isBase64Encoded"] = base64.into();
        }
        if multi {
            event["multiValueHeaders"] = json!({ name: [value, null, 5] });
        }
        let _ = serde_json::from_str::<HttpEvent>(&event.to_string());
    }
}
