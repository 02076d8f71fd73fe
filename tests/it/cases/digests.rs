//! The signature header's grammar: white space, versions, several digests, and how long they are.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};

use super::desk::Desk;
use super::judge::{Refused, Taken, case, judge_all};
use super::producers::{Apiera, NOW, Post, Producer, hex};

/// A digest of the right form that no secret made.
const BAD_HEX: &str = "00000000000000000000000000000000000000000000000000000000000000ff";
const BAD_BASE64: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

// https://github.com/flowglad/flowglad/pull/1712
// https://github.com/fossasia/eventyay-veditor/pull/19
#[tokio::test(flavor = "multi_thread")]
async fn white_space_and_empty_elements_between_tags_mean_nothing() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let of = |id: &str, form: &str| {
            let post = Post::new(producer, id);
            let value = form.replace("{d}", &post.digest()).replace("{t}", &NOW.to_string());
            post.signature(&value)
        };
        let cases = [
            case("space after the comma", Taken, of("evt_1", "t={t}, v1={d}")),
            case("spaces and tabs around elements", Taken, of("evt_2", " \tt={t} \t,\t v1={d} \t")),
            case("no space at all", Taken, of("evt_3", "t={t},v1={d}")),
            case("comma at the end", Taken, of("evt_4", "t={t},v1={d},")),
            case("commas in front and between", Taken, of("evt_5", ",,t={t},,v1={d}")),
            case("digest before the time", Taken, of("evt_6", "v1={d},t={t}")),
            case("unknown tags between", Taken, of("evt_7", "t={t},alg=sha256,x=,=y,z,v1={d}")),
            case("same time twice", Taken, of("evt_8", "t={t},v1={d},t={t}")),
            case("space before the equals sign", Refused, of("evt_9", "t={t},v1 ={d}")),
            case("space after the equals sign", Refused, of("evt_10", "t={t},v1= {d}")),
            case("semicolons for commas", Refused, of("evt_11", "t={t};v1={d}")),
            case("quotes around the digest", Refused, of("evt_12", "t={t},v1=\"{d}\"")),
            case("quotes around the header", Refused, of("evt_13", "\"t={t},v1={d}\"")),
            case("only commas", Refused, of("evt_14", ",,,")),
            case("tags without values", Refused, of("evt_15", "t=,v1=")),
            case("only the digest", Refused, of("evt_16", "{d}")),
        ];
        judge_all(&desk, cases).await;
    }
}

// https://github.com/fossasia/eventyay-veditor/pull/19
#[tokio::test(flavor = "multi_thread")]
async fn white_space_between_versions_means_nothing() {
    let desk = Desk::new().await;
    let of = |id: &str, form: &str| {
        let post = Post::new(Apiera, id);
        let value = form.replace("{d}", &post.digest()).replace("{bad}", BAD_BASE64);
        post.signature(&value)
    };
    let cases = [
        case("two spaces between digests", Taken, of("msg_1", "v1,{bad}  v1,{d}")),
        case("tab between digests", Taken, of("msg_2", "v1,{bad}\tv1,{d}")),
        case("spaces around the list", Taken, of("msg_3", "  v1,{d}\t ")),
        case("space after a version's comma", Taken, of("msg_4", "v1, {d}")),
        case("comma between digests", Taken, of("msg_5", "v1,{bad},v1,{d}")),
        case("equals sign for the comma", Refused, of("msg_6", "v1={d}")),
        case("version without digest", Refused, of("msg_7", "v1,")),
        case("digest without version", Refused, of("msg_8", "{d}")),
        case("quotes around the list", Refused, of("msg_9", "\"v1,{d}\"")),
        case("space inside the digest", Refused, {
            let post = Post::new(Apiera, "msg_10");
            let digest = post.digest();
            post.signature(&format!("v1,{} {}", &digest[..20], &digest[20..]))
        }),
    ];
    judge_all(&desk, cases).await;
}

// https://github.com/svix/svix-webhooks/issues/55
// https://github.com/stripe/stripe-node/issues/1768
#[tokio::test(flavor = "multi_thread")]
async fn only_digests_of_the_known_version_count() {
    for producer in Producer::ALL {
        let desk = Desk::new().await;
        let bad = if producer == Apiera { BAD_BASE64 } else { BAD_HEX };
        let of = |id: &str, digests: &[(&str, &str)]| {
            let post = Post::new(producer, id);
            let good = post.digest();
            let fill = |digest: &str| digest.replace("{d}", &good).replace("{bad}", bad);
            let digests: Vec<_> = digests.iter().map(|(v, d)| (*v, fill(d))).collect();
            let digests: Vec<_> = digests.iter().map(|(v, d)| (*v, d.as_str())).collect();
            post.digests(&digests)
        };
        let many = |before: usize| {
            let mut digests = vec![("v1", "{bad}"); before];
            digests.push(("v1", "{d}"));
            digests
        };
        let cases = [
            case("right digest under an older version", Refused, {
                of("evt_1", &[("v0", "{d}"), ("v1", "{bad}")])
            }),
            case("right digest under a newer version only", Refused, of("evt_2", &[("v2", "{d}")])),
            case("right digest under the asymmetric version", Refused, {
                of("evt_3", &[("v1a", "{d}")])
            }),
            case(
                "right digest under the version in capitals",
                Refused,
                of("evt_4", &[("V1", "{d}")]),
            ),
            case("right digest under a longer name", Refused, of("evt_5", &[("xv1", "{d}")])),
            case("junk under an older version", Taken, of("evt_6", &[("v0", "zz"), ("v1", "{d}")])),
            case("unknown versions before ours", Taken, {
                of("evt_7", &[("v1a", "AAAA"), ("v2", "AAAA"), ("v1", "{d}")])
            }),
            case("unknown versions behind ours", Taken, {
                of("evt_8", &[("v1", "{d}"), ("v3", "{bad}")])
            }),
            case("wrong, then right", Taken, of("evt_9", &[("v1", "{bad}"), ("v1", "{d}")])),
            case("right, then wrong", Taken, of("evt_10", &[("v1", "{d}"), ("v1", "{bad}")])),
            case("junk beside the right one", Taken, of("evt_11", &[("v1", "zz"), ("v1", "{d}")])),
            case("right one last of sixteen", Taken, of("evt_12", &many(15))),
            case("more than sixteen digests", Refused, of("evt_13", &many(16))),
            case("a thousand digests", Refused, of("evt_14", &many(999))),
            case("all digests wrong", Refused, of("evt_15", &[("v1", "{bad}"), ("v1", "{bad}")])),
            case("signature of another producer's form", Refused, {
                let post = Post::new(producer, "evt_16");
                let form = if producer == Apiera { "t={t},v1={d}" } else { "v1,{d}" };
                let form = form.replace("{t}", &post.t).replace("{d}", &post.digest());
                post.signature(&form)
            }),
            case("hash name in front of the digest", Refused, {
                let post = Post::new(producer, "evt_17");
                let digest = post.digest();
                post.signature(&format!("sha256={digest}"))
            }),
        ];
        judge_all(&desk, cases).await;
    }
}

// https://github.com/profullstack/sh1pt/pull/509
#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_time_is_signed_and_checked() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let (old, now) = ((NOW - 4_000).to_string(), NOW.to_string());
        // Signed at one time, with a header that shows several.
        let of = |signed_at: &str, form: &str| {
            let post = Post::new(producer, "evt_1").at(signed_at);
            let value = form.replace("{old}", &old).replace("{now}", &now);
            let value = value.replace("{d}", &post.digest());
            post.signature(&value)
        };
        let cases = [
            case("signed old time, then a fresh one", Refused, of(&old, "t={old},t={now},v1={d}")),
            case(
                "fresh time, then the signed old one",
                Refused,
                of(&old, "t={now},t={old},v1={d}"),
            ),
            case("signed fresh time, then an old one", Refused, of(&now, "t={now},v1={d},t={old}")),
            case("fresh time behind the digest", Refused, of(&old, "t={old},v1={d},t={now}")),
            case("same time in another spelling", Refused, of(&now, "t={now},t=0{now},v1={d}")),
            case("second time empty", Refused, of(&now, "t={now},v1={d},t=")),
            case("no time", Refused, of(&now, "v1={d}")),
            case("time under a capital letter", Refused, of(&now, "T={now},v1={d}")),
            case("time under a longer name", Refused, of(&now, "ts={now},v1={d}")),
            case("another time than the signed one", Refused, {
                of(&now, "t={now},v1={d}").signature(&format!(
                    "t={},v1={}",
                    NOW + 1,
                    Post::new(producer, "evt_1").digest()
                ))
            }),
            case("one time", Taken, of(&now, "t={now},v1={d}")),
        ];
        judge_all(&desk, cases).await;
    }
}

// https://github.com/JhaSourav07/commitpulse/issues/6543
// https://github.com/inkbox-ai/inkbox/issues/144
#[tokio::test(flavor = "multi_thread")]
async fn a_hex_digest_of_another_length_or_alphabet_is_refused() {
    for producer in Producer::TAGGED {
        let desk = Desk::new().await;
        let of = |id: &str, change: &dyn Fn(String) -> String| {
            let post = Post::new(producer, id);
            let digest = change(post.digest());
            post.digests(&[("v1", &digest)])
        };
        let base64 = |id: &str, engine: &dyn Fn(&[u8]) -> String| {
            let post = Post::new(producer, id);
            let digest = engine(&post.mac(producer.key()));
            post.digests(&[("v1", &digest)])
        };
        let upper_first = |d: String| d[..32].to_uppercase() + &d[32..];
        let cases = [
            case("first 10 hex digits", Refused, of("evt_1", &|d| d[..10].into())),
            case("63 hex digits", Refused, of("evt_2", &|d| d[..63].into())),
            case("65 hex digits", Refused, of("evt_3", &|d| d + "0")),
            case("hex digest twice over", Refused, of("evt_4", &|d| d.repeat(2))),
            case("62 hex digits", Refused, of("evt_5", &|d| d[..62].into())),
            case("no digits", Refused, of("evt_6", &|_| String::new())),
            case("64 letters that are no hex", Refused, of("evt_7", &|_| "z".repeat(64))),
            case("0x before the digits", Refused, of("evt_8", &|d| format!("0x{d}"))),
            case("0x in place of two digits", Refused, of("evt_9", &|d| format!("0x{}", &d[2..]))),
            case("signs in place of digits", Refused, of("evt_10", &|d| format!("+{}", &d[1..]))),
            case(
                "space among the digits",
                Refused,
                of("evt_11", &|d| format!("{} {}", &d[..9], &d[9..])),
            ),
            case(
                "colons between bytes",
                Refused,
                of("evt_12", &|d| d[..2].to_owned() + ":" + &d[2..]),
            ),
            case("64 KiB of digits", Refused, of("evt_13", &|d| d.repeat(1024))),
            case("base64 where hex is due", Refused, base64("evt_14", &|b| STANDARD.encode(b))),
            case(
                "URL-safe base64 where hex is due",
                Refused,
                base64("evt_15", &|b| URL_SAFE.encode(b)),
            ),
            case("hex of the hex digits", Refused, of("evt_16", &|d| hex(d.as_bytes()))),
            case("capital hex digits", Taken, of("evt_17", &|d| d.to_uppercase())),
            case("hex digits in mixed case", Taken, of("evt_18", &upper_first)),
        ];
        judge_all(&desk, cases).await;
    }
}

/// An id whose digest has both characters in which the two alphabets of base64 differ.
fn id_with_plus_and_slash() -> String {
    let ids = (0..).map(|n| format!("msg_alphabet_{n}"));
    let both = |id: &String| {
        let digest = Post::new(Apiera, id).digest();
        digest.contains('+') && digest.contains('/')
    };
    ids.into_iter().find(both).unwrap()
}

// https://github.com/jackmusick/bifrost/pull/727
// https://github.com/textbee/textbee/issues/161
#[tokio::test(flavor = "multi_thread")]
async fn a_base64_digest_counts_only_in_its_canonical_spelling() {
    let desk = Desk::new().await;
    let id = id_with_plus_and_slash();
    let post = Post::new(Apiera, &id);
    let bytes = post.mac(Apiera.key());
    let good = post.digest();
    let of = |digest: &str| post.clone().digests(&[("v1", digest)]);
    // The last letter carries two bits that no byte has: they have to be zero.
    let mut loose = good.clone().into_bytes();
    loose[42] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        .iter()
        .copied()
        .skip_while(|letter| *letter != loose[42])
        .nth(1)
        .unwrap();
    let loose = String::from_utf8(loose).unwrap();
    let cases = [
        case("URL-safe digest", Refused, of(&URL_SAFE.encode(&bytes))),
        case("digest without padding", Refused, of(&STANDARD_NO_PAD.encode(&bytes))),
        case("padding twice", Refused, of(&format!("{good}="))),
        case("unused bits set", Refused, of(&loose)),
        case("three base64 letters", Refused, of("abc")),
        case("digest cut after 31 bytes", Refused, of(&STANDARD.encode(&bytes[..31]))),
        case("digest with a byte more", Refused, of(&STANDARD.encode([&bytes[..], b"x"].concat()))),
        case("empty digest", Refused, of("")),
        case("letters of no alphabet", Refused, of(&"!".repeat(44))),
        case("percent-encoded digest", Refused, of(&good.replace('+', "%2B").replace('=', "%3D"))),
        case("hex where base64 is due", Refused, of(&hex(&bytes))),
        case("base64 of the hex digits", Refused, of(&STANDARD.encode(hex(&bytes)))),
        case("canonical base64", Taken, of(&good)),
    ];
    judge_all(&desk, cases).await;
}
