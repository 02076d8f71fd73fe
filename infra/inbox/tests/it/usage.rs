//! What every command has in common.

use crate::support::tool::{bare, ended};

const COMMANDS: [&str; 13] = [
    "show",
    "list",
    "stats",
    "redrive",
    "drop",
    "pause",
    "resume",
    "reconcile",
    "send",
    "verify",
    "secrets",
    "doctor",
    "completions",
];

#[tokio::test]
async fn every_command_has_a_worked_example() {
    for command in COMMANDS {
        let said = ended(bare(&[command, "--help"]).output().await.unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        let (_, examples) =
            said.stdout.split_once("Examples:\n").unwrap_or_else(|| panic!("{command}"));
        assert!(examples.contains(&format!(" {command}")), "{command}: {examples}");
        assert!(examples.contains("inbox "), "{command}: {examples}");
    }
}

#[tokio::test]
async fn a_mistake_on_the_command_line_is_exit_code_2() {
    for args in [&["shew"][..], &[], &["list", "--nonsense"], &["--local", "--stack", "x", "list"]]
    {
        let said = ended(bare(args).output().await.unwrap());
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
    }
}

#[tokio::test]
async fn completions_are_for_five_shells_and_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let said = ended(bare(&["completions", shell]).output().await.unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        for command in COMMANDS {
            assert!(said.stdout.contains(command), "{shell}: {command}");
        }
    }
    let bash = ended(bare(&["completions", "bash"]).output().await.unwrap()).stdout;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bash).unwrap();
    let mut syntax = tokio::process::Command::new("bash");
    assert!(syntax.arg("-n").arg(file.path()).status().await.unwrap().success());
}

#[tokio::test]
async fn nothing_is_coloured_and_nothing_is_asked_where_nobody_looks() {
    for args in [&["--help"][..], &["list"], &["redrive"], &["completions", "bash"]] {
        let said = ended(bare(args).output().await.unwrap());
        assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{said:?}");
    }
}
