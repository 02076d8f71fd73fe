//! Lists as producers export them, and as people make them.

use shared::source::Sources;

use super::*;

fn of(text: &str, column: Option<&str>) -> Result<List, ListError> {
    read(text, &Wanted::of(column, None))
}

fn ids(text: &str) -> Vec<String> {
    of(text, None).unwrap().ids
}

fn why(text: &str, column: Option<&str>) -> String {
    of(text, column).unwrap_err().to_string()
}

#[test]
fn lines_are_ids_without_what_stands_around_them() {
    for text in [
        "a\nb b\nc\n",
        "\u{feff}a\r\n\r\nb b\r\nc",
        "\"a\"\n'b b'\n\"c\"",
        "\"a\",\n\"b b\",\n\"c\"\n",
        "  a\t\n b b \nc",
        "event_id\na\nb b\nc\n",
        "\"Event ID\"\na\nb b\nc\n",
    ] {
        assert_eq!(ids(text), ["a", "b b", "c"], "{text}");
    }
    assert_eq!(ids("{3F2504E0}\n[x\n"), ["{3F2504E0}", "[x"]);
    assert_eq!(ids("a,b\nc\n"), ["a,b", "c"], "an id may hold a comma");
    assert_eq!(ids("it's\n\"\n"), ["it's", "\""]);
}

#[test]
fn each_is_counted_once() {
    let list = of("a\nb\na\n\"a\"\n", None).unwrap();
    assert_eq!((list.ids.len(), list.repeated, list.without), (2, 2, 0));
}

#[test]
fn a_table_has_a_column_of_ids() {
    for text in [
        "type,event_id,status\nx,a,200\ny,\"b,\"\"b\",500\nz,,200\n",
        "\u{feff}\"Type\";\"Event ID\"\r\n\"x\";\"a\"\r\n\"y\";\"b,\"\"b\"\r\n\"z\";\"\"\r\n",
        "id\teventId\n1\ta\n2\t\"b,\"\"b\"\n3\t\n",
        "webhook_id,id\n1,a\n2,\"b,\"\"b\"\n3,\n",
    ] {
        let list = of(text, None).unwrap();
        assert_eq!((list.ids, list.without), (vec!["a".into(), "b,\"b".into()], 1), "{text}");
    }
    let named = of("when,Ereignis\n1,a\n", Some("ereignis")).unwrap();
    assert_eq!((named.ids, named.form), (vec!["a".to_owned()], Form::Table("Ereignis".into())));
    assert_eq!(of("event_id,id\na,b\n", Some("id")).unwrap().ids, ["b"]);
}

#[test]
fn json_is_texts_or_objects_in_a_document_or_on_lines() {
    for text in [
        r#"["a", "b"]"#,
        "[\"a\"]\n[\"b\"]\n",
        r#"[{"event_id": "a"}, {"event_id": "b", "id": 7}]"#,
        "{\"id\": \"a\"}\n{\"id\": \"b\"}\n",
        r#"{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}"#,
        "{\"deliveries\": [{\"id\": \"a\"}]}\n{\"deliveries\": [{\"id\": \"b\"}]}",
        r#"[{"id": 1, "event": {"id": "a"}}, {"id": 2, "event": {"id": "b"}}]"#,
    ] {
        assert_eq!(ids(text), ["a", "b"], "{text}");
    }
    assert_eq!(ids("[1, 18446744073709551615]"), ["1", "18446744073709551615"]);
    let deep = of(r#"[{"a": {"b": {"c": "x"}}, "id": "y"}]"#, Some("a.b.c")).unwrap();
    assert_eq!((deep.ids, deep.form), (vec!["x".to_owned()], Form::Objects("a.b.c".into())));
    let list = of(r#"[{"id": "a"}, {"id": null}, {}, 1.5]"#, None).unwrap();
    assert_eq!((list.ids.len(), list.without), (1, 3));
}

#[test]
fn a_sources_own_name_goes_first() {
    let sources = Sources::builtin().unwrap();
    let apiera = Wanted::of(None, sources.get("apiera"));
    let text = "event_id,Webhook-Id\n1,a\n";
    assert_eq!(read(text, &apiera).unwrap().ids, ["a"]);
    let kallglot = Wanted::of(None, sources.get("kallglot"));
    assert_eq!(read("id,event_id\n1,a\n", &kallglot).unwrap().ids, ["a"], "its own is a bare id");
}

#[test]
fn what_holds_no_id_is_said_with_what_it_was_taken_for() {
    let long = "x".repeat(300);
    for (text, column, said) in [
        ("", None, "holds no id; it was read as an id on each line"),
        ("\n \"\"\n", None, "holds no id; it was read as an id on each line"),
        (&long, None, "holds no id; it was read as an id on each line"),
        ("event_id,type\n,x\n", None, "holds no id; it was read as a table, with the ids in its"),
        ("[]", None, "holds no id; it was read as JSON, each text an id"),
        ("[1.5, null]", None, "holds no id; it was read as JSON, each text an id"),
        ("type,when\nx,1\n", None, "it was read as a table with a header, with the columns type,"),
        ("[{\"a\":{\"b\":1}}]", None, "it was read as JSON objects, with the fields a, a.b"),
        ("event_id,type\na,x\n", Some("no"), "has no column no; it was read as a table"),
        ("a\nb\n", Some("no"), "it was read as lines, with an id on each line and no header"),
        ("[\"a\"]", Some("no"), "it was read as JSON, with texts and no fields"),
        ("[{\"id\": \"a\"}", None, "begins like JSON and is none: EOF"),
    ] {
        let why = why(text, column);
        assert!(why.contains(said), "{text}: {why}");
    }
}
