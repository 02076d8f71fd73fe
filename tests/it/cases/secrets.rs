//! Signing secrets: two at a time, in every spelling, and what there is to say without one.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;
use shared::aws::CallBudget;

use super::desk::{Desk, secs};
use super::judge::{Case, Refused, Status, Taken, case, judge};
use super::producers::{Apiera, Kudos, Post, Producer};
use crate::support::Fault;

type Key<'k> = &'k [u8];

/// After this nothing that was read before is used any more.
const FORGOTTEN: std::time::Duration = secs(16 * 60);

/// A fresh reading of this secret value is due.
async fn set(desk: &Desk, producer: Producer, value: &str) {
    desk.world.cloud.put_secret(producer.name(), value).await.unwrap();
    desk.turn(FORGOTTEN);
}

/// A key's text as it would be pasted into the secret store.
fn pasted(producer: Producer, key: &[u8]) -> String {
    match producer {
        Apiera => format!("whsec_{}", STANDARD.encode(key)),
        _ => String::from_utf8(key.to_vec()).unwrap(),
    }
}

// https://github.com/sandbaseai/sandbase-harness/issues/325
// https://github.com/SPSCommerce/sps-api-standards/pull/105
#[tokio::test(flavor = "multi_thread")]
async fn either_of_two_secrets_counts_until_one_is_revoked() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let (new, old, other) =
            (b"the new key".as_slice(), b"the old key".as_slice(), b"no key".as_slice());
        let value = |keys: &[&[u8]]| {
            let keys: Vec<_> = keys.iter().map(|key| pasted(producer, key)).collect();
            json!({ "secrets": keys }).to_string()
        };
        let (both, reversed) = (value(&[new, old]), value(&[old, new]));
        let (only_new, only_old) = (value(&[new]), value(&[old]));
        let twice = value(&[new, new]);
        let cases: [Case<(&str, Vec<Key>)>; 11] = [
            case("[new, old], signed by the new one", Taken, (&both, vec![new])),
            case("[new, old], signed by the old one", Taken, (&both, vec![old])),
            case("[new, old], signed by both", Taken, (&both, vec![old, new])),
            case(
                "[new, old], signed by the old and an unknown one",
                Taken,
                (&both, vec![other, old]),
            ),
            case("[new, old], signed by an unknown one", Refused, (&both, vec![other])),
            case("[old, new], signed by the new one", Taken, (&reversed, vec![new])),
            case("[new], signed by both", Taken, (&only_new, vec![old, new])),
            case("[new], signed by the revoked one", Refused, (&only_new, vec![old])),
            case("[old], signed by both", Taken, (&only_old, vec![old, new])),
            case("[old], signed by a new one we do not have", Refused, (&only_old, vec![new])),
            case("[new, new], signed by it", Taken, (&twice, vec![new])),
        ];
        for (n, Case { kind, answer, input: (value, signers) }) in cases.into_iter().enumerate() {
            set(&desk, producer, value).await;
            let post = Post::new(producer, &format!("evt_{n}")).at(&desk.t());
            let digests: Vec<_> = signers.iter().map(|key| post.digest_by(key)).collect();
            let digests: Vec<_> = digests.iter().map(|digest| ("v1", digest.as_str())).collect();
            let post = post.digests(&digests);
            judge(&desk, kind, answer, &post, post.event()).await;
        }
        let by_older = desk.world.metric("SignedByOlderSecret", Some(producer.name()));
        assert_eq!(by_older, 3.0, "an old signature is seen while it still works");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_takes_effect_without_waiting_for_what_is_remembered() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        desk.store(&[Post::new(producer, "evt_1")]).await;
        let new = b"made a moment ago";
        let value = json!({ "secrets": [pasted(producer, new), pasted(producer, producer.key())] });
        desk.world.cloud.put_secret(producer.name(), &value.to_string()).await.unwrap();
        // Far less than a minute, but no longer "just now".
        desk.turn(secs(5));
        let post = Post::new(producer, "evt_2").at(&desk.t());
        let Case { kind, answer, input } =
            case("signed by a secret added 5 seconds ago", Taken, post.digest_by(new));
        let post = post.digests(&[("v1", &input)]);
        judge(&desk, kind, answer, &post, post.event()).await;
    }
}

// https://github.com/standard-webhooks/standard-webhooks/issues/235
// https://github.com/polarsource/polar/pull/13522
// https://github.com/routecraftjs/routecraft/pull/700
// https://github.com/sesori-ai/sesori_auth_server/pull/87
#[tokio::test(flavor = "multi_thread")]
async fn a_base64_secret_is_one_key_in_every_spelling_or_none() {
    // 22 bytes, so that there is padding, and both letters in which the alphabets differ.
    let key = b"\xfb\xef\xbe\xff\xff\xff plus sixteen ok";
    let (std, bare) = (STANDARD.encode(key), STANDARD_NO_PAD.encode(key));
    let (url, url_bare) = (URL_SAFE.encode(key), URL_SAFE_NO_PAD.encode(key));
    assert!(std.contains('+') && std.contains('/') && std.ends_with("=="));
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input }) in [
        case("whsec_ and padded base64", Taken, format!("whsec_{std}")),
        case("padded base64 alone", Taken, std.clone()),
        case("whsec_ and unpadded base64", Taken, format!("whsec_{bare}")),
        case("unpadded base64 alone", Taken, bare.clone()),
        case("whsec_ and URL-safe base64", Taken, format!("whsec_{url}")),
        case("URL-safe base64 alone", Taken, url),
        case("whsec_ and unpadded URL-safe base64", Taken, format!("whsec_{url_bare}")),
        case("unpadded URL-safe base64 alone", Taken, url_bare),
        case("version in front of whsec_", Status(503), format!("v1,whsec_{std}")),
        case("whsec_ twice", Status(503), format!("whsec_whsec_{std}")),
        case("whsec_ in capitals", Status(503), format!("WHSEC_{std}")),
        case("whsec_ and nothing", Status(503), "whsec_".into()),
        case("empty secret", Status(503), String::new()),
        case("space before the secret", Status(503), format!(" whsec_{std}")),
        case("line end behind the secret", Status(503), format!("whsec_{std}\n")),
        case("space inside the secret", Status(503), format!("whsec_{} {}", &std[..8], &std[8..])),
        case("one sign of padding too few", Status(503), format!("whsec_{bare}=")),
        case("signs of no base64", Status(503), "whsec_!!!!".into()),
        case("hex digits of an odd number", Status(503), "whsec_abcde".into()),
        case("both alphabets in one", Status(503), format!("whsec_-_{}", &std[2..])),
    ]
    .into_iter()
    .enumerate()
    {
        set(&desk, Apiera, &json!({ "secrets": [input] }).to_string()).await;
        let post = Post::new(Apiera, &format!("msg_{n}")).at(&desk.t());
        let post = post.clone().digests(&[("v1", &post.digest_by(key))]);
        judge(&desk, kind, answer, &post, post.event()).await;
        if answer == Status(503) {
            // Nobody can say that this one is wrong.
            let unsigned = post.clone().unsigned();
            judge(&desk, kind, Status(503), &unsigned, unsigned.event()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_secret_is_its_own_bytes() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        for (n, Case { kind, answer, input: (stored, key) }) in [
            case("text secret with whsec_ in front", Taken, ("whsec_YWJj", &b"whsec_YWJj"[..])),
            case("text secret, signed by its base64", Refused, ("whsec_YWJj", b"abc")),
            case("text secret of one letter", Taken, ("k", b"k")),
            case("text secret beyond ASCII", Taken, ("schlüssel", "schlüssel".as_bytes())),
            case("text secret with a space inside", Taken, ("two words", b"two words")),
            case("text secret, signed in capitals", Refused, ("secret", b"SECRET")),
            case("text secret, line end behind it", Status(503), ("secret\n", b"secret")),
            case("text secret, empty", Status(503), ("", b"")),
        ]
        .into_iter()
        .enumerate()
        {
            set(&desk, producer, &json!({ "secrets": [stored] }).to_string()).await;
            let post = Post::new(producer, &format!("evt_{n}")).at(&desk.t());
            let post = post.clone().digests(&[("v1", &post.digest_by(key))]);
            judge(&desk, kind, answer, &post, post.event()).await;
        }
    }
}

// https://github.com/hivecommons/hive/issues/2877
// https://github.com/JhaSourav07/commitpulse/issues/5480
#[tokio::test(flavor = "multi_thread")]
async fn without_a_usable_secret_everyone_is_asked_to_come_again() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let mut asked = 0.0;
        for Case { kind, answer, input } in [
            case("no secrets in the list", Status(503), r#"{"secrets":[]}"#),
            case("three secrets", Status(503), r#"{"secrets":["YQ==","Yg==","Yw=="]}"#),
            case("value not JSON", Status(503), "hunter2"),
            case("value empty", Status(503), " "),
            case("value a list", Status(503), r#"["YQ=="]"#),
            case("value a text", Status(503), r#""YQ==""#),
            case("value without the list", Status(503), r#"{"secret":"YQ=="}"#),
            case("list null", Status(503), r#"{"secrets":null}"#),
            case("list a text", Status(503), r#"{"secrets":"YQ=="}"#),
            case("number in the list", Status(503), r#"{"secrets":[5]}"#),
            case("only an empty secret", Status(503), r#"{"secrets":[""]}"#),
            case("secret gone", Status(503), ""),
        ] {
            if input.is_empty() {
                let secrets = desk.world.cloud.clients(CallBudget::BACKGROUND).secrets;
                let id = format!("local/{}", producer.name());
                let delete = secrets.delete_secret().secret_id(id);
                delete.force_delete_without_recovery(true).send().await.unwrap();
                desk.turn(FORGOTTEN);
            } else {
                set(&desk, producer, input).await;
            }
            let good = Post::new(producer, "evt_1").at(&desk.t());
            let wrong = good.clone().digests(&[("v1", &good.digest_by(b"another"))]);
            let by_nothing = good.clone().digests(&[("v1", &good.digest_by(b""))]);
            for post in [&good, &good.clone().unsigned(), &wrong, &by_nothing] {
                judge(&desk, kind, answer, post, post.event()).await;
                asked += 1.0;
            }
        }
        let counted = desk.world.metric("SecretUnavailable", Some(producer.name()));
        assert_eq!(counted, asked);
        assert_eq!(desk.world.metric("SignatureRefused", None), 0.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_secret_of_two_refuses_nobody() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let bad = if producer == Apiera { "not base64!" } else { " spaces around " };
        let good = pasted(producer, producer.key());
        for (n, secrets) in [[bad, &good], [&good, bad]].into_iter().enumerate() {
            set(&desk, producer, &json!({ "secrets": secrets }).to_string()).await;
            let post = Post::new(producer, &format!("evt_{n}")).at(&desk.t());
            let by_bad = post.digest_by(b"what the bad one may be");
            for Case { kind, answer, input } in [
                case("one of two unreadable, signed by the other", Taken, post.digest()),
                case("one of two unreadable, signed by neither", Status(503), by_bad),
            ] {
                let post = post.clone().digests(&[("v1", &input)]);
                judge(&desk, kind, answer, &post, post.event()).await;
            }
            let Case { kind, answer, input } =
                case("one of two unreadable, unsigned", Refused, post.unsigned());
            judge(&desk, kind, answer, &input, input.event()).await;
        }
    }
}

// https://github.com/Jan-IngenHousz-Institute/open-jii/pull/1313
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_first_reading_is_not_remembered() {
    let desk = Desk::new().await;
    for (n, Case { kind, answer, input: fault }) in [
        case("store fails", Status(503), Fault::Failed),
        case("store answers not found", Status(503), Fault::Refused("ResourceNotFoundException")),
        case("store denies access", Status(503), Fault::Refused("AccessDeniedException")),
        case("store cannot decrypt", Status(503), Fault::Refused("DecryptionFailure")),
        case("store throttles", Status(503), Fault::Refused("ThrottlingException")),
        case("store's answer is lost", Status(503), Fault::AnswerLost),
        case("store never answers", Status(503), Fault::Hangs),
    ]
    .into_iter()
    .enumerate()
    {
        desk.turn(FORGOTTEN);
        desk.faulty.plan(move |operation, _| match operation {
            "GetSecretValue" => fault,
            _ => Fault::None,
        });
        let post = Post::new(Kudos, &format!("evt_{n}")).at(&desk.t());
        judge(&desk, kind, answer, &post, post.event()).await;
        desk.faulty.heal();
        judge(&desk, "then a good one", Taken, &post, post.event()).await;
        let unsigned = post.unsigned();
        judge(&desk, "then an unsigned one", Refused, &unsigned, unsigned.event()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_goes_down_later_costs_nothing_for_a_while() {
    let desk = Desk::new().await;
    desk.store(&[Post::new(Kudos, "evt_0")]).await;
    desk.faulty.plan(|operation, _| match operation {
        "GetSecretValue" => Fault::Failed,
        _ => Fault::None,
    });
    for (n, Case { kind, answer, input: minutes }) in [
        case("store down for 2 minutes", Taken, 2),
        case("store down for 14 minutes", Taken, 12),
        case("store down for 16 minutes", Status(503), 2),
    ]
    .into_iter()
    .enumerate()
    {
        desk.turn(secs(minutes * 60));
        let post = Post::new(Kudos, &format!("evt_late_{n}")).at(&desk.t());
        judge(&desk, kind, answer, &post, post.event()).await;
        // Against what was read long ago, nobody is finally refused.
        let wrong = post.digests(&[("v1", &"0".repeat(64))]);
        judge(&desk, kind, Status(503), &wrong, wrong.event()).await;
    }
}
