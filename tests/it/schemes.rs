//! The presets: published vectors, what one wrong bit does, and a round trip for every scheme.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use sha2::Sha256;
use shared::delivery::{Content, Verified};
use shared::secret::{SecretRule, SecretSet};
use shared::signature::{Encoding, Form, Part, Raw, Refusal, TimestampAt};
use shared::source::{Profile, Sources};
use shared::time::Timestamp;

/// The tree's producers, and one source on each preset, named like it.
pub(crate) fn all_sources() -> Sources {
    let presets = ["standard-webhooks", "svix", "stripe", "github", "slack", "shopify"];
    let tables: String =
        presets.iter().map(|name| format!("[{name}]\npreset = \"{name}\"\n")).collect();
    Sources::parse(&format!("{}\n{tables}", include_str!("../../infra/sources.toml"))).unwrap()
}

/// A delivery to a preset, as published or as openssl made it.
struct Vector {
    preset: &'static str,
    secret: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
    at: i64,
}

/// Published: standard-webhooks README and Svix docs (`SW`, `SVIX`), GitHub docs and octokit
/// (`GH`), Shopify's SDK (`SH`). Stripe and Slack publish none with a body: made with
/// `printf '<signed>' | openssl dgst -sha256 -hmac <secret>`.
const VECTORS: &[Vector] = &[
    Vector {
        preset: "standard-webhooks",
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        headers: &[
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ],
        body: r#"{"test": 2432232314}"#,
        at: 1_614_265_330,
    },
    Vector {
        preset: "svix",
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        headers: &[
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ],
        body: r#"{"test": 2432232314}"#,
        at: 1_614_265_330,
    },
    Vector {
        preset: "svix",
        secret: "whsec_plJ3nmyCDGBKInavdOK15jsl",
        headers: &[
            ("svix-id", "msg_loFOjxBNrRLzqYUf"),
            ("svix-timestamp", "1731705121"),
            ("svix-signature", "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
        ],
        body: r#"{"event_type":"ping","data":{"success":true}}"#,
        at: 1_731_705_121,
    },
    Vector {
        preset: "github",
        secret: "It's a Secret to Everybody",
        headers: &[(
            "x-hub-signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        )],
        body: "Hello, World!",
        at: 0,
    },
    Vector {
        preset: "github",
        secret: "mysecret",
        headers: &[(
            "x-hub-signature-256",
            "sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3",
        )],
        body: r#"{"foo":"bar"}"#,
        at: 0,
    },
    Vector {
        preset: "shopify",
        secret: "test_secret_key",
        headers: &[("x-shopify-hmac-sha256", "B23tXN681gZ0qIWNRrgtzBE9XSDo5yaUu6wfmhu3a7g=")],
        body: r#"{"foo": "bar"}"#,
        at: 0,
    },
    Vector {
        preset: "stripe",
        secret: "whsec_stripe_test_secret",
        headers: &[(
            "stripe-signature",
            "t=1533204620,v1=3394d147ba5c7d6d7d5f41910d0b17ae9dbf918d10e4ccc7eee7bc3305c5eddb,\
             v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef",
        )],
        body: r#"{"id":"evt_1","type":"invoice.paid","created":1533204620,"data":{"object":{}}}"#,
        at: 1_533_204_620,
    },
    Vector {
        preset: "slack",
        secret: "8f742231b10e8888abcd99yyyzzz85a5",
        headers: &[
            ("x-slack-request-timestamp", "1531420618"),
            (
                "x-slack-signature",
                "v0=20fa0e9d3d18fb14629a0a434ab2b61802daf746d0565c33de7038954d22a918",
            ),
        ],
        body: r#"{"type":"event_callback","event_id":"Ev1","event_time":1531420618,"event":{"type":"app_mention"}}"#,
        at: 1_531_420_618,
    },
];

impl Vector {
    fn raw(&self) -> Raw {
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            headers.append(*name, HeaderValue::from_static(value));
        }
        Raw { headers, body: self.body.as_bytes().into() }
    }

    fn check(&self, sources: &Sources, mut raw: Raw) -> Result<(), Refusal> {
        let profile = sources.get(self.preset).unwrap();
        let secrets = json!({ "secrets": [self.secret] }).to_string();
        let secrets = SecretSet::parse(&secrets, profile.scheme.secret).unwrap();
        raw.rename(&profile.scheme);
        Verified::check(profile, &secrets, &raw, Timestamp::from_secs(self.at)).map(drop)
    }
}

#[test]
fn published_vectors_verify() {
    let sources = all_sources();
    for vector in VECTORS {
        assert_eq!(vector.check(&sources, vector.raw()), Ok(()), "{}", vector.preset);
    }
}

#[test]
fn one_wrong_bit_in_body_header_or_secret_never_verifies() {
    let sources = all_sources();
    for vector in VECTORS {
        for bit in 0..vector.body.len() * 8 {
            let mut body = vector.body.as_bytes().to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            let raw = Raw { body: body.into(), ..vector.raw() };
            assert!(vector.check(&sources, raw).is_err(), "{} body bit {bit}", vector.preset);
        }
        let mut other = vector.secret.to_owned();
        other.replace_range(6..7, if &other[6..7] == "x" { "y" } else { "x" });
        let other = Vector { secret: other.leak(), ..*vector };
        assert!(other.check(&sources, vector.raw()).is_err(), "{} secret", vector.preset);
        for (name, value) in vector.headers {
            for at in 0..value.len() {
                let mut text = value.as_bytes().to_vec();
                text[at] ^= 1;
                let Ok(text) = HeaderValue::from_bytes(&text) else { continue };
                let mut raw = vector.raw();
                raw.headers.insert(*name, text.clone());
                // Stripe's v0 is filler that nobody checks; that it may change is the point of it.
                let filler = value.find(",v0=").is_some_and(|v0| at > v0);
                let refused = vector.check(&sources, raw).is_err();
                assert!(refused || filler, "{} {name}: {text:?}", vector.preset);
            }
        }
    }
}

#[test]
fn presets_read_id_type_and_time_where_the_producer_puts_them() {
    let sources = all_sources();
    for (preset, id, event_type) in
        [("stripe", "evt_1", "invoice.paid"), ("slack", "Ev1", "app_mention")]
    {
        let vector = VECTORS.iter().find(|vector| vector.preset == preset).unwrap();
        let profile = sources.get(preset).unwrap();
        let secrets = json!({ "secrets": [vector.secret] }).to_string();
        let secrets = SecretSet::parse(&secrets, profile.scheme.secret).unwrap();
        let (raw, at) = (vector.raw(), Timestamp::from_secs(vector.at));
        let delivery = Verified::check(profile, &secrets, &raw, at).unwrap().read();
        assert_eq!(delivery.key().id.as_str(), id);
        assert_eq!(delivery.event_type().unwrap().as_str(), event_type);
        assert_eq!(delivery.occurred_at(), Some(at));
    }
}

#[test]
fn slacks_question_is_answered_only_after_its_signature_holds() {
    let sources = all_sources();
    let slack = sources.get("slack").unwrap();
    let body = r#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}"#;
    let headers = [
        ("x-slack-request-timestamp", "1531420618"),
        (
            "x-slack-signature",
            "v0=2b617e8d1eba789c3e90a54b772adadfc772137987c87d3c1e4129005632e406",
        ),
    ];
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, HeaderValue::from_static(value));
    }
    let raw = Raw { headers: map, body: body.into() };
    let now = Timestamp::from_secs(1_531_420_618);
    let secrets = |secret: &str| {
        let json = json!({ "secrets": [secret] }).to_string();
        SecretSet::parse(&json, SecretRule::Text).unwrap()
    };
    let right = secrets("8f742231b10e8888abcd99yyyzzz85a5");
    let delivery = Verified::check(slack, &right, &raw, now).unwrap().read();
    let challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P";
    assert_eq!(delivery.content(), &Content::Handshake(challenge.into()));
    let wrong = secrets("another");
    assert_eq!(Verified::check(slack, &wrong, &raw, now).unwrap_err(), Refusal::Mismatch);
}

/// Signs as a producer with this profile would, by the scheme's own description.
pub(crate) fn signed(profile: &Profile, key: &[u8], id: &str, t: i64, body: &[u8]) -> HeaderMap {
    let scheme = &profile.scheme;
    let t = t.to_string();
    let mut headers = HeaderMap::new();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in &scheme.signed {
        match part {
            Part::Text(text) => mac.update(text.as_bytes()),
            Part::Timestamp => mac.update(t.as_bytes()),
            Part::Header(name) => {
                headers.insert(name.clone(), HeaderValue::from_str(id).unwrap());
                mac.update(id.as_bytes());
            }
            Part::Body => mac.update(body),
        }
    }
    let digest = mac.finalize().into_bytes();
    let digest = match scheme.encoding {
        Encoding::Hex => digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        Encoding::Base64 => STANDARD.encode(digest),
    };
    let value = match (&scheme.form, &scheme.timestamp) {
        (Form::Tags(version), Some(TimestampAt::Tag(tag))) => {
            format!("{tag}={t},{version}={digest}")
        }
        (Form::Tags(version), _) => format!("{version}={digest}"),
        (Form::Versions(version), _) => format!("{version},{digest}"),
        (Form::Prefix(prefix), _) => format!("{prefix}{digest}"),
    };
    if let Some(TimestampAt::Header(name)) = &scheme.timestamp {
        headers.insert::<HeaderName>(name.clone(), HeaderValue::from_str(&t).unwrap());
    }
    headers.insert(scheme.header.clone(), HeaderValue::from_str(&value).unwrap());
    headers
}
