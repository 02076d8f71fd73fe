//! Files as people have them: what tools copy, print and export.

use serde_json::json;

use super::*;

fn value() -> String {
    format!("t={T},v1={}", hex(&mac(KUDOS.as_bytes(), format!("{T}.{BODY}"))))
}

fn said(headers: impl AsRef<[u8]>, body: Option<&str>) -> Vec<&'static str> {
    let capture = Capture::read(headers.as_ref(), body.map(Into::into)).unwrap();
    let at = capture.received_at.unwrap_or(Timestamp::from_secs(T.parse().unwrap()));
    match judge(&profile("kudos"), &capture, &[given(KUDOS)], at) {
        Verdict::Right(_) => vec!["right"],
        Verdict::Wrong(wrong) => {
            wrong.mistakes.iter().map(super::super::mistake::Mistake::word).collect()
        }
    }
}

#[test]
fn headers_as_tools_show_them() {
    let value = value();
    let utf16: Vec<u8> = format!("\u{feff}X-Kudos-Signature: {value}\r\n")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(said(utf16, Some(BODY)), ["right"]);
    for headers in [
        format!(
            "> POST / HTTP/1.1\n> X-Kudos-Signature: {value}\n>\n* sent\n< HTTP/1.1 401\n< x-kudos-signature: other\n"
        ),
        format!("\u{feff}{}", json!({"X-Kudos-Signature": value})),
        json!([{"key": "X-Kudos-Signature", "value": value}]).to_string(),
        json!(["Host", "x", "X-Kudos-Signature", value]).to_string(),
        format!("{{'Host': 'x', 'X-Kudos-Signature': '{value}'}}"),
        format!("{{\n  'host': 'x',\n  'x-kudos-signature': '{value}'\n}}"),
        format!("X-Kudos-Signature = {value}\n"),
        format!("Host\tx\nX-Kudos-Signature\t{value}\n"),
        format!("Host:\nlocalhost\nX-Kudos-Signature:\n{value}\n"),
        format!("curl -X POST https://x/ -H 'Host: x' -H 'X-Kudos-Signature: {value}' --data @b"),
        format!("curl https://x/ \\\n  -H \"X-Kudos-Signature: {value}\" \\\n  -d @b"),
    ] {
        assert_eq!(said(&headers, Some(BODY)), ["right"], "{headers}");
    }
    // A CGI's names are other names.
    let cgi = format!("HTTP_HOST=x\nHTTP_X_KUDOS_SIGNATURE={value}\n");
    assert_eq!(said(cgi, Some(BODY)), ["header_name"]);
    // An empty header is no name for the next one's value.
    assert_eq!(said(format!("X-Empty:\nX-Kudos-Signature: {value}\n"), Some(BODY)), ["right"]);
}

#[test]
fn requests_as_tools_export_them() {
    let value = value();
    let headers = json!({"X-Kudos-Signature": value});
    let list = json!([{"name": "X-Kudos-Signature", "value": value}]);
    let entry = json!({
        "startedDateTime": "2026-03-26T11:04:22.000Z",
        "response": {"headers": [{"name": "x", "value": "y"}]},
        "request": {"method": "POST", "headers": list, "postData": {"text": BODY}},
    });
    let event = json!({"headers": headers, "body": BODY, "isBase64Encoded": false});
    let quoted = BODY.replace('\'', r"'\''");
    for request in [
        json!({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": [entry]}})
            .to_string(),
        entry.to_string(),
        entry["request"].to_string(),
        json!([event]).to_string(),
        json!({"level": "INFO", "event": event}).to_string(),
        json!({"headers": headers, "rawBody": BODY}).to_string(),
        json!({"headers": headers, "content": BODY}).to_string(),
        json!({"header": 1, "headers": headers, "body": {"mode": "raw", "raw": BODY}}).to_string(),
        format!("curl 'https://x/' -H 'X-Kudos-Signature: {value}' --data-raw '{quoted}'"),
        format!(
            "$ curl https://x/ --header=\"X-Kudos-Signature: {value}\" --data-binary $'{BODY}'"
        ),
    ] {
        assert_eq!(said(&request, None), ["right"], "{request}");
    }
    assert!(Capture::read(b"curl https://x/ -H 'a: b' -d @body.json", None).is_err());
    let broken = json!({"headers": headers, "body": "{", "isBase64Encoded": true}).to_string();
    assert!(Capture::read(broken.as_bytes(), None).is_err());
}

#[test]
fn bodies_in_other_character_sets_and_with_more_around_them() {
    // What Latin-1 has, and what only Windows-1252 has.
    let latin = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let windows = BODY.replace("Zürich", "–");
    let windows_bytes = BODY.replace("Zürich", "\u{96}");
    let cases: [(&str, Vec<u8>, &str); 9] = [
        (BODY, latin(BODY), "character_set"),
        (&windows, latin(&windows_bytes), "character_set"),
        (&windows, windows.replace('–', "â€“").into_bytes(), "character_set"),
        (BODY, utf16(BODY), "character_set"),
        (BODY, utf16(&format!("\u{feff}{BODY}")), "character_set"),
        (BODY, format!("2026-03-26 INFO body={BODY}").into(), "more_than_body"),
        (BODY, format!("{BODY}\n{{\"received\":true}}").into(), "more_than_body"),
        (BODY, format!("'{BODY}'\n").into(), "printed_body"),
        ("{\"u\":\"/a%20b\"}", "{\"u\":\"/a b\"}".into(), "percent_undone"),
    ];
    for (signed, captured, word) in cases {
        let headers = kudos(KUDOS, &format!("{T}.{signed}"));
        assert_eq!(words("kudos", &headers, &captured, &[given(KUDOS)]), [word], "{signed}");
    }
}

/// Sorted keys tell nothing of their order: every order is tried, also below another mistake.
#[test]
fn a_sorted_body_under_other_mistakes() {
    let signed = r#"{"type":"a.b","id":"evt_1","data":{"z":1.50,"a":"é"}}"#;
    let sorted = r#"{"data": {"a": "\u00e9", "z": 1.5}, "id": "evt_1", "type": "a.b"}"#;
    let headers = kudos(KUDOS, &format!("{T}.{signed}"));
    let of = |captured: &[u8]| words("kudos", &headers, captured, &[given(KUDOS)]);
    assert_eq!(of(sorted.as_bytes()), ["body_reserialised"], "two things are lost");
    let base64 = STANDARD.encode(sorted);
    assert_eq!(of(base64.as_bytes()), ["base64_not_undone", "body_reserialised"]);
    let twice = STANDARD.encode(base64);
    let all = ["base64_not_undone", "base64_not_undone", "body_reserialised"];
    assert_eq!(of(twice.as_bytes()), all);
    let mojibake = sorted.replace("\\u00e9", "Ã©");
    assert_eq!(of(mojibake.as_bytes()), ["character_set", "body_reserialised"]);
}

#[test]
fn what_is_missing_is_named() {
    let digest = STANDARD.encode(mac(&apiera_key(), format!("msg_1.{T}.{BODY}")));
    let headers = format!("webhook-id: msg_1\nwebhook-signature: v1,{digest}");
    let capture = Capture::read(headers.as_bytes(), Some(BODY.into())).unwrap();
    let at = Timestamp::from_secs(T.parse().unwrap());
    let Verdict::Wrong(wrong) = judge(&profile("apiera"), &capture, &[given(APIERA)], at) else {
        panic!("it has no time");
    };
    assert!(!wrong.explained);
    assert_eq!(wrong.mistakes[0].what(), "the header webhook-timestamp is not there");
    let cut = &BODY[..40];
    let headers = kudos(KUDOS, &format!("{T}.{BODY}"));
    let capture = Capture::read(headers.as_bytes(), Some(cut.into())).unwrap();
    let Verdict::Wrong(wrong) = judge(&profile("kudos"), &capture, &[given(KUDOS)], at) else {
        panic!("it is cut off");
    };
    assert!(wrong.hints.iter().any(|hint| hint.contains("JSON has no end")), "{wrong:?}");
}
