//! `docs/inputs.md` and the tests say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// What a file of tests holds.
#[derive(Default)]
struct Module {
    /// The tests, and whether a table of kinds stands inside.
    tests: BTreeMap<String, bool>,
    /// The kinds of all its tables, and their answers as the document writes them.
    kinds: BTreeMap<String, String>,
}

impl Module {
    fn read(text: &str) -> Self {
        let mut module = Self::default();
        let tests = text.split("\n#[").filter_map(|part| {
            let part = part.strip_prefix("tokio::test").or(part.strip_prefix("test]"))?;
            let (name, rest) = part.split_once("fn ")?.1.split_once('(')?;
            let body = rest.split("\n}\n").next()?;
            Some((name.to_owned(), !cases(body).is_empty()))
        });
        module.tests.extend(tests);
        for (kind, answer) in cases(text) {
            let before = module.kinds.insert(kind.clone(), answer.clone());
            assert!(before.is_none_or(|before| before == answer), "{kind}: two answers");
        }
        module
    }
}

/// The kind and the answer of each call of `case` in a text.
fn cases(text: &str) -> Vec<(String, String)> {
    // Written so that this file, which is read as well, holds no such call itself.
    let call = "case\u{28}";
    let mut found = vec![];
    for (at, _) in text.match_indices(call) {
        let is_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let Some(rest) = text[at + call.len()..].trim_start().strip_prefix('"') else { continue };
        if is_word {
            continue;
        }
        let (kind, rest) = rest.split_once('"').expect("a kind is a literal without escapes");
        let rest = rest.trim_start_matches([',', ' ', '\n']);
        let end = rest.find(|c: char| !c.is_alphanumeric()).expect("more follows");
        let answer = match &rest[..end] {
            "Status" => rest[end + 1..].split(')').next().unwrap().to_owned(),
            word => word.to_lowercase(),
        };
        found.push((kind.to_owned(), answer));
    }
    found
}

/// The folder of this package: where cargo runs the tests, or where it built them.
fn package() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into()).into()
}

fn modules() -> BTreeMap<String, Module> {
    let files = fs::read_dir(package().join("it/cases")).unwrap().map(|file| file.unwrap().path());
    let files = files.chain([package().join("it/cases.rs")]);
    let read = files.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, Module::read(&fs::read_to_string(path).unwrap()))
    });
    read.collect()
}

#[test]
fn every_row_has_its_test_and_every_test_and_kind_its_row() {
    let modules = modules();
    let document = fs::read_to_string(package().join("../docs/inputs.md")).unwrap();
    let (mut tests, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for row in document.lines().filter(|line| line.starts_with("| ") && line.contains("::")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [inputs, fault, answer, test] = cells[..] else { panic!("not four cells: {row}") };
        assert!(!fault.is_empty(), "{row}");
        let test = test.trim_matches('`');
        let (name, function) = test.split_once("::").unwrap();
        let module = modules.get(name).unwrap_or_else(|| panic!("no file {name}.rs: {row}"));
        let has_table = module.tests.get(function);
        let has_table = has_table.unwrap_or_else(|| panic!("no test {test}: {row}"));
        tests.insert(test.to_owned());
        for kind in inputs.split("; ") {
            let answer = answer.split([' ', ',']).next().unwrap();
            match module.kinds.get(kind) {
                Some(tested) => assert_eq!(tested, answer, "{kind}: {row}"),
                None => assert!(!has_table, "no case {kind:?} in {name}.rs"),
            }
            kinds.insert((name.to_owned(), kind.to_owned()));
        }
    }
    for (name, module) in &modules {
        for function in module.tests.keys() {
            assert!(tests.contains(&format!("{name}::{function}")), "no row: {name}::{function}");
        }
        for kind in module.kinds.keys() {
            assert!(kinds.contains(&(name.clone(), kind.clone())), "no row: {name}: {kind}");
        }
    }
    assert!(tests.len() > 90 && kinds.len() > 600, "{} tests, {} kinds", tests.len(), kinds.len());
}
