//! Headers and times that are not as they should be, and the forms in which captures come.

use serde_json::json;

use super::*;

fn value() -> String {
    let digest = hex(&mac(KUDOS.as_bytes(), format!("{T}.{BODY}")));
    format!("t={T},v1={digest}")
}

fn of_headers(headers: &str) -> Vec<&'static str> {
    words("kudos", headers, BODY, &[given(KUDOS)])
}

#[test]
fn the_signature_header_under_another_name_or_changed() {
    let value = value();
    let (time, digest) = value.split_once(',').unwrap();
    let digest = &digest[3..];
    for (headers, said) in [
        (format!("X-Signature: {value}"), vec!["header_name"]),
        (format!("HTTP_X_KUDOS_SIGNATURE: {value}"), vec!["header_name"]),
        (format!("Kallglot-Signature: {value}"), vec!["header_name"]),
        (format!("X-Kudos-Signature: \"{value}\""), vec!["wrapped"]),
        (format!("X-Kudos-Signature: \\\"{value}\\\""), vec!["wrapped"]),
        (format!("X-Kudos-Signature: {}", value.replace(',', ";")), vec!["wrapped"]),
        (format!("X-Kudos-Signature: {}", value.replace('=', "%3D")), vec!["wrapped"]),
        (format!("X-Kudos-Signature: X-Kudos-Signature: {value}"), vec!["wrapped"]),
        (format!("X-Kudos-Signature: {time},v1={}", &digest[..40]), vec!["truncated"]),
        (format!("X-Kudos-Signature: {time},v1={}", &digest[..63]), vec!["truncated"]),
        (format!("X-Kudos-Signature: {time},v1={}…", &digest[..12]), vec!["truncated"]),
        (format!("X-Kudos-Signature: {time},v1={}***", &digest[..16]), vec!["truncated"]),
        (format!("X-Kudos-Signature: {time},v0={digest}"), vec!["tag"]),
        (format!("X-Kudos-Signature: {time},sha256={digest}"), vec!["tag"]),
        (format!("X-Kudos-Signature: {time},{digest}"), vec!["tag"]),
    ] {
        assert_eq!(of_headers(&headers), said, "{headers}");
    }
    assert_eq!(
        of_headers(&format!(
            "x-kudos-signature: {}",
            value.replace(digest, &digest.to_uppercase())
        )),
        ["right"]
    );
}

#[test]
fn times_that_are_wrong() {
    let old = |after| {
        words_at("kudos", &format!("X-Kudos-Signature: {}", value()), BODY, &[given(KUDOS)], after)
    };
    assert_eq!(old(300), ["right"]);
    assert_eq!(old(301), ["stale"]);
    assert_eq!(old(-301), ["ahead"]);
    let millis = format!("{T}123");
    let digest = hex(&mac(KUDOS.as_bytes(), format!("{millis}.{BODY}")));
    assert_eq!(of_headers(&format!("X-Kudos-Signature: t={millis},v1={digest}")), ["milliseconds"]);
    let digest = hex(&mac(KUDOS.as_bytes(), format!("{T}000.{BODY}")));
    assert_eq!(of_headers(&format!("X-Kudos-Signature: t={T},v1={digest}")), ["time_unit"]);
    let other = "1774523055";
    let digest = hex(&mac(KUDOS.as_bytes(), format!("{other}.{BODY}")));
    let headers = format!("X-Kudos-Signature: t={T},v1={digest}\nX-Request-Timestamp: {other}\n");
    assert_eq!(of_headers(&headers), ["time_elsewhere"]);
    let headers =
        format!("{}webhook-timestamp: {T}\n", apiera(&apiera_key(), &format!("msg_1.{T}.{BODY}")));
    assert_eq!(words("apiera", &headers, BODY, &[given(APIERA)]), ["header_twice"]);
    let digest = hex(&mac(KUDOS.as_bytes(), format!("+{T}.{BODY}")));
    assert_eq!(of_headers(&format!("X-Kudos-Signature: t=+{T},v1={digest}")), ["grammar"]);
}

#[test]
fn captures_come_in_many_forms() {
    let value = value();
    for headers in [
        format!("HTTP/1.1 200 OK\r\ndate: x\r\nX-Kudos-Signature: {value}\r\n\r\n"),
        format!("POST /webhooks/kudos HTTP/1.1\nHost: x\nX-Kudos-Signature: {value}\n"),
        format!("> POST / HTTP/2\n> host: x\n> x-kudos-signature: {value}\n>\n"),
        format!("-H 'X-Kudos-Signature: {value}' \\\n-H 'Host: x'\n"),
        format!("x-kudos-signature: t={T},\n  {}\n", value.split_once(',').unwrap().1),
        json!({"X-Kudos-Signature": value, "host": "x"}).to_string(),
        json!({"x-kudos-signature": [value]}).to_string(),
        json!([{"name": "x-kudos-signature", "value": value}]).to_string(),
        json!([["x-kudos-signature", value]]).to_string(),
    ] {
        assert_eq!(of_headers(&headers), ["right"], "{headers}");
    }
}

#[test]
fn an_event_of_a_door_holds_the_body_and_the_time() {
    let epoch = T.parse::<i64>().unwrap() * 1000;
    let base64 = STANDARD.encode(BODY);
    for (body, encoded) in [(BODY, false), (base64.as_str(), true)] {
        for name in ["headers", "multiValueHeaders"] {
            let value = if name == "headers" { json!(value()) } else { json!([value()]) };
            let event = json!({
                "version": "2.0",
                name: {"x-kudos-signature": value},
                "requestContext": {"timeEpoch": epoch},
                "body": body,
                "isBase64Encoded": encoded,
            });
            let text = event.to_string();
            for second in [None, Some(text.clone().into_bytes())] {
                let capture = Capture::read(text.as_bytes(), second).unwrap();
                assert_eq!(capture.received_at, Some(Timestamp::from_millis(epoch)));
                let at = capture.received_at.unwrap();
                let verdict = judge(&profile("kudos"), &capture, &[given(KUDOS)], at);
                assert!(matches!(verdict, Verdict::Right(_)), "{verdict:?}");
            }
        }
    }
    let parsed =
        format!("{{\"headers\":{{\"x-kudos-signature\":\"{}\"}},\"body\":{BODY}}}", value());
    let capture = Capture::read(parsed.as_bytes(), None).unwrap();
    assert_eq!(capture.body, BODY.as_bytes());
}

#[test]
fn a_body_may_follow_the_headers_in_one_file() {
    let text = format!("X-Kudos-Signature: {}\r\n\r\n{BODY}", value());
    let capture = Capture::read(text.as_bytes(), None).unwrap();
    assert_eq!(capture.body, BODY.as_bytes());
    assert!(Capture::read(b"nothing here", Some(vec![])).is_err());
    assert!(Capture::read(b"a: b", None).is_err());
}
