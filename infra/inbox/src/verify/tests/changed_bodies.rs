//! Bodies that were changed on their way.

use std::io::Write as _;

use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;

use super::*;

const COMPACT: &str = r#"{"event_id":"evt_1","data":"é"}"#;

/// What explains a body that was captured so although it was signed otherwise.
fn explained(signed: &str, captured: impl AsRef<[u8]>) -> Vec<&'static str> {
    let headers = kudos(KUDOS, &format!("{T}.{signed}"));
    words("kudos", &headers, captured, &[given(KUDOS)])
}

#[test]
fn json_that_was_written_anew() {
    for (signed, captured) in [
        ("{\n  \"event_id\": \"evt_1\",\n  \"data\": \"é\"\n}", COMPACT),
        ("{\n    \"event_id\": \"evt_1\",\n    \"data\": \"é\"\n}\n", COMPACT),
        ("{\n\t\"event_id\": \"evt_1\",\n\t\"data\": \"é\"\n}", COMPACT),
        (COMPACT, "{\n  \"event_id\": \"evt_1\",\n  \"data\": \"é\"\n}"),
        (r#"{"event_id": "evt_1", "data": "é"}"#, COMPACT),
        (r#"{"event_id": "evt_1", "data": "\u00e9"}"#, COMPACT),
        (r#"{"event_id":"evt_1","data":"\u00E9"}"#, COMPACT),
        (COMPACT, r#"{"data":"é","event_id":"evt_1"}"#),
        (r#"{"data":"é","event_id":"evt_1"}"#, COMPACT),
        (r#"{"u":"a\/b"}"#, r#"{"u":"a/b"}"#),
        (r#"{"u":"a/b"}"#, r#"{"u":"a\/b"}"#),
        (r#"{"u":"\u003ca\u0026b"}"#, r#"{"u":"<a&b"}"#),
        (r#"{"u":"<a&b"}"#, r#"{"u":"\u003ca\u0026b"}"#),
        (r#"{"u":"it\u0027s \u002B1"}"#, r#"{"u":"it's +1"}"#),
        (r#"{"u":1.5}"#, r#"{"u":1.50}"#),
        (r#"{"u":1000.0}"#, r#"{"u":1e3}"#),
        ("{\n  \"u\" : [ 1, 2 ],\n  \"e\" : { }\n}", r#"{"u":[1,2],"e":{}}"#),
        (r#"[{"b":1,"a":2}]"#, r#"[ {"b": 1,"a": 2} ]"#),
    ] {
        let sorted_away = signed == COMPACT && captured.starts_with("{\"data");
        if sorted_away {
            // The order of keys that sorting has lost cannot be had back.
            continue;
        }
        assert_eq!(explained(signed, captured), ["body_reserialised"], "{signed} as {captured}");
    }
}

#[test]
fn white_space_that_was_lost_or_added() {
    let with = |end: &str| format!("{COMPACT}{end}");
    for (signed, captured, word) in [
        (with("\n"), with(""), "newline_missing"),
        (with("\r\n"), with(""), "newline_missing"),
        (with(""), with("\n"), "newline_extra"),
        (with(""), with("\r\n"), "newline_extra"),
        (with(""), with("\n\n"), "white_space"),
        (with(""), format!("  {COMPACT} "), "white_space"),
        ("a\r\nb".into(), "a\nb".into(), "line_ends"),
        ("a\nb".into(), "a\r\nb".into(), "line_ends"),
        ("abc".into(), "a\nb\nc".into(), "line_ends"),
        (with(""), format!("\u{feff}{COMPACT}"), "bom"),
        (format!("\u{feff}{COMPACT}"), with(""), "bom"),
    ] {
        assert_eq!(explained(&signed, &captured), [word], "{signed:?} as {captured:?}");
    }
}

#[test]
fn what_was_put_around_a_body() {
    let base64 = |text: &str| STANDARD.encode(text);
    let string = json!(COMPACT).to_string();
    let form = "payload=%7B%22event_id%22%3A%22evt_1%22%2C%22data%22%3A%22%C3%A9%22%7D";
    for (signed, captured, word) in [
        (COMPACT.into(), base64(COMPACT), "base64_not_undone"),
        (COMPACT.into(), format!("{}\n", STANDARD_NO_PAD.encode(COMPACT)), "base64_not_undone"),
        (base64(COMPACT), COMPACT.into(), "base64_signed"),
        (COMPACT.into(), form.into(), "form"),
        (form.into(), COMPACT.into(), "form"),
        (COMPACT.into(), string.clone(), "json_string"),
        (string.clone(), COMPACT.into(), "json_string"),
        (COMPACT.into(), string.trim_matches('"').into(), "json_string"),
        (COMPACT.into(), json!({"level": "info", "body": COMPACT}).to_string(), "wrapped_body"),
        (r#"{"x": 1}"#.into(), r#"{"event_id":"e","data":{"x": 1}}"#.into(), "part_of_body"),
        (COMPACT.into(), format!("POST / HTTP/1.1\r\nhost: x\r\n\r\n{COMPACT}"), "headers_in_body"),
        ("café".into(), "cafÃ©".into(), "character_set"),
        (r#"{"a":"x\ny"}"#.into(), "{\"a\":\"x\ny\"}".into(), "escapes_undone"),
        (String::new(), COMPACT.into(), "empty_body"),
        ("[object Object]".into(), COMPACT.into(), "object_object"),
    ] {
        assert_eq!(explained(&signed, &captured), [word], "{signed} as {captured}");
    }
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    gzip.write_all(COMPACT.as_bytes()).unwrap();
    assert_eq!(explained(COMPACT, gzip.finish().unwrap()), ["compressed"]);
}
