//! The `due` index, a page at a time, through every shard that is wanted.

use std::collections::VecDeque;

use shared::fault::Fault;
use shared::inbox::{DueRow, Inbox, Next};
use shared::key::SourceName;

/// What a shard of the index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holds {
    /// Failed events.
    Failed,
    /// Events that are neither finished nor failed.
    Unfinished,
}

/// A shard of the index.
#[derive(Clone, Debug)]
pub(crate) struct Shard {
    /// Its name in the index.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) holds: Holds,
}

/// A walk through shards.
#[derive(Debug)]
pub(crate) struct Walk {
    shards: VecDeque<Shard>,
    from: Option<Next>,
}

impl Holds {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Walk {
    /// Through these sources' shards: the failed events first, then the unfinished ones.
    pub(crate) fn through(sources: &[SourceName], wanted: impl Fn(Holds) -> bool) -> Self {
        let failed = sources
            .iter()
            .map(|source| Shard { name: Inbox::failed_shard(source), holds: Holds::Failed });
        let unfinished = sources.iter().flat_map(|source| {
            Inbox::due_shards(source).map(|name| Shard { name, holds: Holds::Unfinished })
        });
        let shards = failed.chain(unfinished).filter(|shard| wanted(shard.holds)).collect();
        Self { shards, from: None }
    }

    /// Goes on behind a row of this shard; `false` if it is none of ours.
    pub(crate) fn skip_to(&mut self, shard: &str, next: Next) -> bool {
        while self.shards.front().is_some_and(|front| front.name != shard) {
            self.shards.pop_front();
        }
        self.from = Some(next);
        !self.shards.is_empty()
    }

    /// The next page, and the shard it is of; nothing at the end.
    pub(crate) async fn page(
        &mut self,
        inbox: &Inbox,
    ) -> Result<Option<(Shard, Vec<DueRow>)>, Fault> {
        let Some(shard) = self.shards.front().cloned() else { return Ok(None) };
        let page = inbox.page(&shard.name, self.from.take()).await?;
        self.from = page.next;
        if self.from.is_none() {
            self.shards.pop_front();
        }
        Ok(Some((shard, page.rows)))
    }
}
