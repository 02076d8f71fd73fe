//! Reading one shard of the `due` index: what is due, how much there is, and how old.

use std::collections::VecDeque;

use shared::fault::Fault;
use shared::inbox::{DueRow, Inbox};
use shared::limits::{QUEUE_DEPTH_MAX, SWEEP_PAGES_MAX};
use shared::source::Profile;
use shared::time::Timestamp;

/// A shard, as far as it was read.
#[derive(Debug)]
pub struct Shard<'s> {
    /// Whose.
    pub profile: &'s Profile,
    /// The rows that are due, the least often sent and then the longest due first, so that nothing
    /// is sent again before all has been; no more than one sweep can send.
    pub due: VecDeque<DueRow>,
    /// How many rows it holds.
    pub count: usize,
    /// When the oldest of them was received.
    pub oldest: Option<Timestamp>,
    /// There is more: the count and the oldest are lower bounds.
    pub capped: bool,
}

/// Reads a shard to its end, or to the cap.
///
/// # Errors
/// The index could not be read.
pub async fn read<'s>(
    inbox: &Inbox,
    profile: &'s Profile,
    name: &str,
    now: Timestamp,
) -> Result<Shard<'s>, Fault> {
    let mut shard = Shard { profile, due: VecDeque::new(), count: 0, oldest: None, capped: false };
    let mut from = None;
    for _ in 0..SWEEP_PAGES_MAX {
        let page = inbox.page(name, from).await?;
        for row in page.rows {
            shard.count += 1;
            shard.oldest = shard.oldest.into_iter().chain([row.received_at]).min();
            if row.due_at <= now && shard.due.len() < QUEUE_DEPTH_MAX {
                shard.due.push_back(row);
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    shard.capped = from.is_some();
    shard.due.make_contiguous().sort_by_key(|row| row.sends);
    Ok(shard)
}
