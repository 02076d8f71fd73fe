//! One guess among others.

use std::collections::HashSet;
use std::hash::Hash;

use super::mistake::Mistake;

/// A value that may be the right one, and the mistakes it would mean.
#[derive(Clone, Debug)]
pub(super) struct Candidate<T> {
    pub(super) value: T,
    pub(super) mistakes: Vec<Mistake>,
    /// How unlikely: 0 as it should be, 1 a usual mistake, 2 a rare one or two usual ones.
    pub(super) cost: u8,
}

impl<T> Candidate<T> {
    /// What it should be.
    pub(super) fn right(value: T) -> Self {
        Self { value, mistakes: vec![], cost: 0 }
    }

    /// What it is after one mistake.
    pub(super) fn wrong(value: T, mistake: Mistake, cost: u8) -> Self {
        Self { value, mistakes: vec![mistake], cost }
    }
}

/// Candidates without those that agree with a likelier one, the likeliest first.
#[derive(Debug)]
pub(super) struct Candidates<T> {
    list: Vec<Candidate<T>>,
    seen: HashSet<T>,
}

impl<T: Clone + Eq + Hash> Candidates<T> {
    pub(super) fn new() -> Self {
        Self { list: vec![], seen: HashSet::new() }
    }

    /// One more. Say the likelier ones first.
    pub(super) fn add(&mut self, candidate: Candidate<T>) {
        if self.seen.insert(candidate.value.clone()) {
            self.list.push(candidate);
        }
    }

    pub(super) fn as_slice(&self) -> &[Candidate<T>] {
        &self.list
    }

    pub(super) fn finish(mut self) -> Vec<Candidate<T>> {
        self.list.sort_by_key(|candidate| candidate.cost);
        self.list
    }
}
