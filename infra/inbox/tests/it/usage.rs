//! What every command has in common.

use crate::support::tool::{bare, ended};
use crate::support::usage::HELPS;

/// A command is one word; what is below it is its own affair.
fn commands() -> impl Iterator<Item = &'static str> {
    HELPS.iter().filter(|help| help.len() == 1).map(|help| help[0])
}

/// The list that the tests go through is the list that the tool shows.
#[tokio::test]
async fn every_command_is_known_to_the_tests() {
    for (above, known) in [
        (&[][..], commands().collect::<Vec<_>>()),
        (&["secrets"], HELPS.iter().filter_map(|help| help.get(1).copied()).collect()),
    ] {
        let said = ended(bare(&[above, &["--help"]].concat()).output().await.unwrap()).stdout;
        let (_, list) = said.split_once("Commands:\n").unwrap();
        let names = list.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names: Vec<&str> = names.filter(|name| *name != "help").collect();
        assert_eq!(names, known);
    }
}

/// clap makes a new line of `{n}`, wherever it stands.
#[tokio::test]
async fn no_help_is_broken_in_the_middle_of_a_sentence() {
    for help in HELPS {
        let said = ended(bare(&[help, &["--help"]].concat()).output().await.unwrap());
        let broken = |line: &&str| line.ends_with(' ') && !line.trim().is_empty();
        assert_eq!(said.stdout.lines().find(broken), None, "{help:?}");
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
        for command in commands() {
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
