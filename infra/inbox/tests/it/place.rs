//! Which inbox is meant, and what is said when none can be found.

use crate::support::tool::{bare, ended};

#[tokio::test]
async fn a_command_without_an_inbox_says_how_to_name_one() {
    for args in [&["list"][..], &["show", "kudos", "evt_1"]] {
        let said = ended(bare(args).output().await.unwrap());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains("inbox --local"), "{said:?}");
    }
}

#[tokio::test]
async fn an_inbox_that_is_not_there_is_exit_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let local = format!("--local={}", folder.path().display());
    let said = ended(bare(&[&local, "list"]).output().await.unwrap());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("cargo run -p local"), "{said:?}");
}
