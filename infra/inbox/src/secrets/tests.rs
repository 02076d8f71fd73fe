//! When a secret may go.

use std::collections::HashMap;
use std::time::Duration;

use shared::secret::{Fingerprint, Secret, SecretRule};
use shared::source::Sources;
use shared::time::Timestamp;

use super::text::SecretText;
use super::uses::{StillUsed, Uses, quiet};
use super::vault::read;

const NOW: Timestamp = Timestamp::from_secs(1_796_054_571);

fn fingerprint(text: &str) -> Fingerprint {
    Secret::decode(text, SecretRule::Text).unwrap().fingerprint().clone()
}

#[test]
fn a_secret_may_go_once_another_has_taken_over_and_nothing_is_on_its_way() {
    let sources = Sources::builtin().unwrap();
    let scheme = &sources.get("kudos").unwrap().scheme;
    let (old, new) = (fingerprint("old"), fingerprint("new"));
    let still = |old_ago: Option<u64>, new_ago: Option<u64>| {
        let at = |ago| NOW.minus(Duration::from_secs(ago));
        let noted = [(&old, old_ago), (&new, new_ago)];
        let noted =
            noted.into_iter().filter_map(|(f, ago)| Some((f.as_str().to_owned(), at(ago?))));
        let uses = Uses::new(noted.collect::<HashMap<_, _>>());
        uses.still_used(&old, Some(&new), scheme, NOW)
    };
    assert_eq!(quiet(scheme), Duration::from_secs(420));
    assert_eq!(still(None, None), None, "nothing was ever signed with it");
    assert_eq!(still(None, Some(10)), None);
    assert!(matches!(still(Some(86_400), None), Some(StillUsed::Newest { other: None, .. })));
    assert!(matches!(still(Some(10), Some(20)), Some(StillUsed::Newest { .. })));
    assert!(matches!(still(Some(419), Some(20)), Some(StillUsed::OnItsWay { .. })));
    assert_eq!(still(Some(420), Some(20)), None);
    assert_eq!(still(Some(86_400), Some(80_000)), None);
}

#[test]
fn without_a_signed_time_an_hour_has_to_pass() {
    let text = format!("[s]\npreset = \"shopify\"\n{}", include_str!("../../../sources.toml"));
    let sources = Sources::parse(&text).unwrap();
    assert_eq!(quiet(&sources.get("s").unwrap().scheme), Duration::from_secs(3720));
}

#[test]
fn the_text_of_a_secret_is_shown_by_nothing_but_its_own_method() {
    let secret = SecretText::new("s3cret");
    assert!(!format!("{secret:?}").contains("s3cret"));
    assert_eq!(secret.name(SecretRule::Text).len(), 12);
    assert!(!SecretText::new(" s3cret").name(SecretRule::Text).contains("s3cret"));
    assert_eq!(read(r#"{"secrets":["a","b"]}"#).unwrap().len(), 2);
    assert!(read("s3cret").is_none());
}
