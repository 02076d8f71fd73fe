//! Two mistakes at once, and mistakes in bodies that nobody has thought of.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::verify::json::{Style, Tree};

/// Few keys, so that not many orders of them are tried in vain.
const SHORT: &str = r#"{"event_id":"evt_1","data":{"amount":1.5,"url":"https://a.b/c"}}"#;

/// A change of the body: what was signed, what was captured, and its word.
fn bodies() -> Vec<(String, String, &'static str)> {
    let spaced = Tree::read(SHORT).unwrap().write(Style::PLAIN[1]);
    vec![
        (SHORT.into(), SHORT.into(), ""),
        (SHORT.into(), format!("{SHORT}\n"), "newline_extra"),
        (format!("{SHORT}\n"), SHORT.into(), "newline_missing"),
        (spaced, SHORT.into(), "body_reserialised"),
        (SHORT.into(), STANDARD.encode(SHORT), "base64_not_undone"),
    ]
}

#[test]
fn two_mistakes_are_both_named() {
    let keys = [
        (KUDOS, KUDOS, ""),
        (KUDOS, "kudos-test-secret-new\n", "secret_space"),
        ("whsec_c2VjcmV0LWtleQ==", "secret-key", "secret_decoded"),
    ];
    let contents =
        [("{t}.{body}", ""), ("{body}", "signed_content"), ("{t}{body}", "signed_content")];
    for (secret, key, of_key) in keys {
        for (content, of_content) in contents {
            for (signed, captured, of_body) in bodies() {
                for (after, of_time) in [(0, ""), (4000, "stale")] {
                    let words = [of_key, of_content, of_body, of_time];
                    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
                    let content = content.replace("{t}", T).replace("{body}", &signed);
                    let headers = kudos(key, &content);
                    let found = words_at("kudos", &headers, &captured, &[given(secret)], after);
                    let expected = if words.is_empty() { vec!["right"] } else { words };
                    assert_eq!(found, expected, "{secret} {captured}");
                }
            }
        }
    }
}

#[test]
fn two_changes_of_one_body_are_both_named() {
    let spaced = Tree::read(SHORT).unwrap().write(Style::PLAIN[1]);
    let headers = kudos(KUDOS, &format!("{T}.{spaced}"));
    let said = words("kudos", &headers, STANDARD.encode(SHORT), &[given(KUDOS)]);
    assert_eq!(said, ["base64_not_undone", "body_reserialised"]);
    let headers = kudos(KUDOS, &format!("{T}.{SHORT}\n"));
    let said = words("kudos", &headers, STANDARD.encode(SHORT), &[given(KUDOS)]);
    assert_eq!(said, ["base64_not_undone", "newline_missing"]);
}

#[test]
fn a_header_and_a_body_at_once() {
    let digest = hex(&mac(KUDOS.as_bytes(), format!("{T}.{BODY}")));
    let headers = format!("X-Signature: \"t={T},v1={}\"", &digest[..50]);
    // Four differences: three of the header cost nothing to look for.
    let said = words("kudos", &headers, format!("{BODY}\n"), &[given(KUDOS)]);
    assert_eq!(said, ["header_name", "wrapped", "truncated", "newline_extra"]);
}

/// JSON of any shape, with what serialisers differ in.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zäß/<>&'😀\\\\\"\n]{0,8}".prop_map(Value::from),
    ];
    let object = prop::collection::vec(("[a-z/é]{1,4}", leaf.clone()), 1..5);
    let inner = prop_oneof![leaf, object.prop_map(|entries| entries.into_iter().collect())];
    prop::collection::vec(("[a-z]{1,6}", inner), 1..6).prop_map(|e| e.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the body and the styles, a body that was written anew is known as that.
    #[test]
    fn any_body_in_any_style_is_found(
        value in json_value(),
        from in 0..594_usize,
        to in 0..1188_usize,
    ) {
        let text = value.to_string();
        let tree = Tree::read(&text).unwrap();
        let captured = tree.write(Style::all().nth(from).unwrap());
        let signed = Tree::read(&captured).unwrap().write(Style::all().nth(to).unwrap());
        let headers = kudos(KUDOS, &format!("{T}.{signed}"));
        let said = words("kudos", &headers, &captured, &[given(KUDOS)]);
        if signed == captured {
            prop_assert_eq!(said, ["right"]);
        } else {
            prop_assert_eq!(said.len(), 1, "{:?}", said);
        }
    }

    /// Styles change how a text is written, never what it says.
    #[test]
    fn no_style_changes_what_a_text_says(value in json_value(), style in 0..1188_usize) {
        let text = value.to_string();
        let style = Style::all().nth(style).unwrap();
        let written = Tree::read(&text).unwrap().write(style);
        prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        // Written twice is written once.
        let again = Tree::read(&written).unwrap().write(style);
        prop_assert_eq!(again, written);
    }
}

proptest! {
    // Each of these searches to the end.
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Nothing that a file may hold makes it fall over, and no secret and no digest is shown.
    #[test]
    fn anything_is_judged(
        headers in ".{0,200}",
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let headers = format!("{}{headers}", kudos("x", "y"));
        let capture = Capture::read(headers.as_bytes(), Some(body)).unwrap();
        let verdict = judge(&profile("kudos"), &capture, &[given(KUDOS)], Timestamp::from_secs(0));
        prop_assert!(matches!(verdict, Verdict::Wrong(_)));
        let shown = format!("{verdict:?}");
        prop_assert!(!shown.contains(KUDOS));
    }
}

#[test]
fn the_styles_are_those_of_the_serialisers_they_name() {
    let text = json!({"b": [1, {"a": "é/<"}], "a": 1.5}).to_string();
    let tree = Tree::read(&text).unwrap();
    let written: Vec<String> = Style::all().map(|style| tree.write(style)).collect();
    for known in [
        "{\"a\":1.5,\"b\":[1,{\"a\":\"é/<\"}]}",
        "{\"a\": 1.5, \"b\": [1, {\"a\": \"\\u00e9/<\"}]}",
        "{\"a\":1.5,\"b\":[1,{\"a\":\"\\u00e9\\/<\"}]}",
        "{\"a\":1.5,\"b\":[1,{\"a\":\"é/\\u003c\"}]}",
        "{\"a\":1.5,\"b\":[1,{\"a\":\"\\u00E9/\\u003C\"}]}",
        "{\n  \"a\" : 1.5,\n  \"b\" : [ 1, {\n    \"a\" : \"é/<\"\n  } ]\n}",
        "{\n  \"a\": 1.5,\n  \"b\": [\n    1,\n    {\n      \"a\": \"é/<\"\n    }\n  ]\n}",
    ] {
        assert!(written.iter().any(|text| text == known), "{known}");
    }
}
