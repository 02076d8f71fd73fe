//! `inbox verify`: ten puzzles, each a request as it might be captured.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::tool::{Said, bare, ended};
use crate::support::{Delivery, Tool, World};

/// Published nowhere, used nowhere else.
const SECRET: &str = "kallglot-test-secret";
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const T: &str = "1774523060";
const BODY: &str = r#"{"id":"evt_01HXYZ123456789","type":"session.ended","api_version":"v1","created_at":"2026-03-26T11:04:20Z","data":{"id":"sess_01HXYZ123456789","object":"session","status":"ended","duration":245.3}}"#;

fn hex(key: &[u8], content: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(content).finalize();
    mac.into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn base64(key: &[u8], content: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(content).finalize();
    STANDARD.encode(mac.into_bytes())
}

/// Files of one captured request.
struct Captured {
    folder: tempfile::TempDir,
}

impl Captured {
    fn new(headers: &str, body: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("headers"), headers).unwrap();
        std::fs::write(folder.path().join("body"), body).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    fn args(&self, source: &str) -> Vec<String> {
        [
            "verify",
            "--source",
            source,
            "--headers",
            &self.path("headers"),
            "--body",
            &self.path("body"),
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// With this secret, three seconds after it was signed.
    async fn judged(&self, source: &str, secret: &str) -> Said {
        let mut args = vec!["--json".to_owned()];
        args.extend(self.args(source));
        args.extend(["--secret", secret, "--at", "1774523063"].map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        ended(bare(&args).output().await.unwrap())
    }
}

/// The mistakes that are named.
async fn mistakes(captured: &Captured, source: &str, secret: &str) -> Vec<String> {
    let said = captured.judged(source, secret).await;
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(!said.stdout.contains(secret) && !said.stderr.contains(secret), "{said:?}");
    let verdict: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(verdict["explained"], true, "{said:?}");
    let list = verdict["mistakes"].as_array().unwrap().iter();
    let words = list.map(|m| {
        assert!(!m["what"].as_str().unwrap().is_empty() && !m["next"].as_str().unwrap().is_empty());
        m["mistake"].as_str().unwrap().to_owned()
    });
    words.collect()
}

fn kallglot(digest: &str) -> String {
    format!(
        "POST /webhooks/kallglot HTTP/1.1\nHost: x.example\nKallglot-Signature: t={T},v1={digest}\n"
    )
}

#[tokio::test]
async fn a_published_vector_verifies() {
    // The digest was computed apart from this code.
    let digest = "5db358e4f6fafc4ea3817fd5e457b486644c32e3545098b5ada586fc443a06c4";
    let captured = Captured::new(&kallglot(digest), BODY);
    let said = captured.judged("kallglot", SECRET).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let verdict: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(verdict["event_id"], "evt_01HXYZ123456789");
    assert_eq!(verdict["event_type"], "session.ended");
}

#[tokio::test]
async fn puzzle_1_a_framework_parsed_the_body_and_python_wrote_it_again() {
    let sent = BODY.replace(":", ": ").replace(": //", "://").replace(",\"", ", \"");
    // What is left alone are the colons in times.
    let sent = sent.replace("T11: 04: 20Z", "T11:04:20Z");
    let captured = Captured::new(&kallglot(&hex(SECRET.as_bytes(), &format!("{T}.{BODY}"))), sent);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["body_reserialised"]);
}

#[tokio::test]
async fn puzzle_2_an_editor_added_a_newline_and_the_capture_is_a_day_old() {
    let digest = hex(SECRET.as_bytes(), &format!("{T}.{BODY}"));
    let captured = Captured::new(&kallglot(&digest), format!("{BODY}\n"));
    let mut args = captured.args("kallglot");
    args.extend(["--secret", SECRET, "--at", "2026-03-27T11:04:20Z"].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = ended(bare(&args).output().await.unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("these 2 together explain it"), "{said:?}");
    assert!(said.stdout.contains("the file ends with a newline"), "{said:?}");
    assert!(said.stdout.contains("stale: signed 24 h 0 min before"), "{said:?}");
    assert!(said.stdout.contains("--at"), "{said:?}");
}

#[tokio::test]
async fn puzzle_3_the_whsec_text_was_used_as_the_key() {
    let content = format!("msg_1.{T}.{BODY}");
    let headers = format!(
        "webhook-id: msg_1\nwebhook-timestamp: {T}\nwebhook-signature: v1,{}\n",
        base64(WHSEC.as_bytes(), &content)
    );
    let captured = Captured::new(&headers, BODY);
    assert_eq!(mistakes(&captured, "apiera", WHSEC).await, ["secret_raw"]);
}

#[tokio::test]
async fn puzzle_4_the_sender_signs_the_body_alone_in_base64() {
    let captured = Captured::new(&kallglot(&base64(SECRET.as_bytes(), BODY)), BODY);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["encoding", "signed_content"]);
}

#[tokio::test]
async fn puzzle_5_the_log_holds_an_event_with_base64_and_the_flag_is_lost() {
    let digest = hex(SECRET.as_bytes(), &format!("{T}.{BODY}"));
    let headers = json!({"headers": {"kallglot-signature": format!("t={T},v1={digest}")}});
    let captured = Captured::new(&headers.to_string(), STANDARD.encode(BODY));
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["base64_not_undone"]);
}

#[tokio::test]
async fn puzzle_6_milliseconds() {
    let millis = format!("{T}250");
    let digest = hex(SECRET.as_bytes(), &format!("{millis}.{BODY}"));
    let headers = format!("Kallglot-Signature: t={millis},v1={digest}\n");
    let captured = Captured::new(&headers, BODY);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["milliseconds"]);
}

#[tokio::test]
async fn puzzle_7_a_log_cut_the_signature_and_a_php_service_escaped_slashes() {
    let sent = r#"{"id":"evt_1","type":"a.b","data":{"url":"https://x.example/a"}}"#;
    let signed = sent.replace('/', "\\/");
    let digest = hex(SECRET.as_bytes(), &format!("{T}.{signed}"));
    let captured = Captured::new(&kallglot(&format!("{}...", &digest[..20])), sent);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["truncated", "body_reserialised"]);
}

#[tokio::test]
async fn puzzle_8_the_secret_file_has_a_newline_that_became_part_of_the_key() {
    let digest = hex(format!("{SECRET}\n").as_bytes(), &format!("{T}.{BODY}"));
    let captured = Captured::new(&kallglot(&digest), BODY);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["secret_space"]);
}

#[tokio::test]
async fn puzzle_9_a_proxy_renamed_the_header_and_quoted_it() {
    let digest = hex(SECRET.as_bytes(), &format!("{T}.{BODY}"));
    let headers = format!("HTTP_KALLGLOT_SIGNATURE: \"t={T},v1={digest}\"\n");
    let captured = Captured::new(&headers, BODY);
    assert_eq!(mistakes(&captured, "kallglot", SECRET).await, ["header_name", "wrapped"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn puzzle_10_the_secret_of_another_source_or_of_last_week() {
    let world = World::new().await;
    let tool = Tool::of(&world);
    let judged = async |delivery: Delivery| {
        let headers = delivery.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
        let captured = Captured::new(&headers.collect::<String>(), &delivery.body);
        let args = captured.args("kudos");
        let args: Vec<&str> =
            ["--json"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let said = tool.run(&args).await;
        let verdict: Value = serde_json::from_str(&said.stdout).unwrap();
        (said.code.unwrap(), verdict)
    };
    let signed_with = |secret: &str| {
        let body = br#"{"event_id":"e","event_type":"t"}"#;
        Delivery::kudos_body(body, &[secret], crate::support::deliveries::unix_now())
    };
    let (code, verdict) = judged(signed_with("kudos-local-secret")).await;
    assert_eq!((code, &verdict["verifies"]), (0, &json!(true)), "{verdict}");
    let (code, verdict) = judged(signed_with("kallglot-local-secret")).await;
    assert_eq!(
        (code, &verdict["mistakes"][0]["mistake"]),
        (1, &json!("other_secret")),
        "{verdict}"
    );
    assert!(verdict["mistakes"][0]["what"].as_str().unwrap().contains("kallglot"), "{verdict}");
    world.cloud.put_secret("kudos", r#"{"secrets":["kudos-of-today"]}"#).await.unwrap();
    let (code, verdict) = judged(signed_with("kudos-local-secret")).await;
    assert_eq!(
        (code, &verdict["mistakes"][0]["mistake"]),
        (1, &json!("previous_secret")),
        "{verdict}"
    );
}

#[tokio::test]
async fn what_nothing_explains_is_said_with_what_is_odd() {
    let headers = format!(
        "Kallglot-Signature: t={T},v1={}\nContent-Length: 7\n",
        hex(b"a secret that nobody knows", "x")
    );
    let captured = Captured::new(&headers, BODY);
    let mut args = captured.args("kallglot");
    args.extend(["--secret", SECRET, "--at", T].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = ended(bare(&args).output().await.unwrap());
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("nothing explains it"), "{said:?}");
    assert!(said.stdout.contains("content-length: 7, the body here has 196"), "{said:?}");
    assert!(said.stdout.contains("secrets tried: "), "{said:?}");
    assert!(!said.stdout.contains(SECRET), "{said:?}");
}

#[tokio::test]
async fn files_that_cannot_be_read_are_exit_code_2() {
    let captured = Captured::new("no header here", BODY);
    let said = captured.judged("kallglot", SECRET).await;
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("no header in it"), "{said:?}");
    let none =
        ["verify", "--source", "kudos", "--headers", "/none", "--body", "/none", "--secret", "x"];
    let said = ended(bare(&none).output().await.unwrap());
    assert_eq!(said.code, Some(2), "{said:?}");
}
