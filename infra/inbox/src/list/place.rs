//! Where a list has stopped, as a word for the command line.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use shared::key::EventKey;
use shared::time::Timestamp;

/// Behind which row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Of a shard of the index.
    Index { shard: String, key: EventKey, due_at: Timestamp },
    /// Of the table.
    Table { key: EventKey },
}

#[derive(Deserialize, Serialize)]
struct Wire {
    key: String,
    index: Option<(String, i64)>,
}

impl After {
    /// Reads what `Display` writes.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        const BAD: &str = "expected what an earlier list has said behind --after";
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BAD)?;
        let Wire { key, index } = serde_json::from_slice(&bytes).map_err(|_| BAD)?;
        let key = EventKey::parse(&key).ok_or(BAD)?;
        Ok(match index {
            Some((shard, due_at)) => {
                Self::Index { shard, key, due_at: Timestamp::from_millis(due_at) }
            }
            None => Self::Table { key },
        })
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire = match self {
            Self::Index { shard, key, due_at } => {
                Wire { key: key.to_string(), index: Some((shard.clone(), due_at.millis())) }
            }
            Self::Table { key } => Wire { key: key.to_string(), index: None },
        };
        let json = serde_json::to_vec(&wire).map_err(|_| fmt::Error)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_whatever_the_id_holds() {
        let key = EventKey::parse("kudos#a b#é😀").unwrap();
        let due_at = Timestamp::from_millis(7);
        for after in [
            After::Index { shard: "failed#kudos".into(), key: key.clone(), due_at },
            After::Table { key },
        ] {
            assert_eq!(After::parse(&after.to_string()), Ok(after));
        }
        assert!(After::parse("evt_1").is_err());
    }
}
