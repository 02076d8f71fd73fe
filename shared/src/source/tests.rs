//! A file with every mistake at once, and the file in the tree.

use super::super::Sources;

fn mistakes(text: &str) -> Vec<(usize, String)> {
    let error = Sources::parse(text).expect_err("mistakes");
    error.0.into_iter().map(|m| (m.line, m.what)).collect()
}

#[test]
fn the_file_in_the_tree_has_no_mistake() {
    let sources = Sources::builtin().map_err(|e| e.to_string()).unwrap();
    for ours in ["apiera", "kallglot", "kudos"] {
        assert!(sources.get(ours).is_some_and(super::Profile::signs_id), "{ours}");
    }
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let text = r#"[Bad]
title = 5
ordering = "sometimes"
colour = "red"
[Bad.signature]
header = "two words"
form = "tags"
version = "v1"
timestamp = "t"
signed = "{time}.{body}"
encoding = "hex"
secret = "text"
[Bad.event]
id = "event_id"
type = "body:type"
time = "header:date"
attempt = { header = "x-attempt" }
[Bad.contract]
timeout_s = 1
retries = ["408", "5x"]
unusable = 410
"#;
    let found = mistakes(text);
    for (line, part) in [
        (1, "source name \"Bad\""),
        (2, "Bad.title: must be a text"),
        (3, "\"sometimes\" is none of \"none\", \"per_type\""),
        (4, "Bad.colour: not known here"),
        (6, "no header name"),
        (9, "neither \"tag:t\" nor"),
        (10, "{time} is none of"),
        (14, "neither \"body:field\" nor"),
        (16, "so that it is signed"),
        (17, "Bad.event.attempt.first is missing"),
        (19, "must be a whole number from 2 to 3600"),
        (20, "\"5x\" is no status"),
    ] {
        assert!(
            found.iter().any(|(l, what)| *l == line && what.contains(part)),
            "{line} {part}: {found:#?}"
        );
    }
}

#[test]
fn rules_between_keys_are_checked() {
    let good = include_str!("../../../infra/sources.toml");
    for (from, to, part) in [
        ("signed = \"{timestamp}.{body}\"", "signed = \"{body}\"", "go together"),
        ("signed = \"{timestamp}.{body}\"", "signed = \"{timestamp}\"", "must be signed, once"),
        ("retries = [\"429\", \"5xx\"]", "retries = [\"429\"]", "could not store"),
        ("[kudos]", "[kudos]\npreset = \"strip\"", "no preset \"strip\"; there are github"),
        ("unusable = 400", "unusable = 410", "other than 410"),
        ("unusable = 400", "unusable = 302", "other than 410"),
        (
            "signed = \"{header:webhook-id}.{timestamp}.{body}\"",
            "signed = \"{timestamp}.{body}\"",
            "replay it under new ids",
        ),
        ("[kudos.event]", "[kudos.events]", "[kudos.event] is missing"),
        ("timestamp = \"header:webhook-timestamp\"", "timestamp = \"tag:t\"", "has tags"),
    ] {
        assert!(good.contains(from), "{from}");
        let found = mistakes(&good.replacen(from, to, 1));
        assert!(found.iter().any(|(_, what)| what.contains(part)), "{part}: {found:?}");
    }
}

#[test]
fn broken_toml_and_no_producer_are_mistakes() {
    assert_eq!(mistakes("").len(), 1);
    assert_eq!(mistakes("[kudos\ntitle = \"x\"\n")[0].0, 1);
    assert!(mistakes("a = 1\n")[0].1.contains("must be a table"));
    let twice = mistakes("[a]\ntitle = \"x\"\n[a]\n");
    assert!(twice.iter().any(|(line, _)| *line == 3), "{twice:?}");
}
