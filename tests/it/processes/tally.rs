//! How processes ended, and where they were then.

use std::collections::BTreeMap;

use super::fleet::Function;

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    Init,
    Idle,
    Delivery,
    /// A batch of the standard queue.
    Batch,
    /// A batch of the FIFO queue.
    Ordered,
    Sweep,
}

/// How far a process's last call to AWS has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The request has left.
    Asked,
    /// It has happened, and the answer is not there yet.
    Happened,
    /// The answer has been given.
    Answered,
}

/// Where a process was when it was killed.
pub(crate) type Place = (Function, Doing, Option<(&'static str, Stage)>);

/// How processes ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) kills: BTreeMap<Place, u32>,
    /// Killed because Lambda's timeout had passed.
    pub(crate) timeouts: u32,
    /// Ended without being killed.
    pub(crate) by_themselves: Vec<String>,
}

impl Tally {
    pub(crate) fn all(&self) -> u32 {
        self.kills.values().sum()
    }

    pub(crate) fn of(&self, function: Function) -> u32 {
        self.kills.iter().filter(|(place, _)| place.0 == function).map(|(_, count)| count).sum()
    }
}

/// Where a process was killed, in words.
pub(crate) fn shown((_, doing, call): Place) -> String {
    let doing = match doing {
        Doing::Init => "init",
        Doing::Idle => "idle",
        Doing::Delivery => "delivery",
        Doing::Batch => "batch",
        Doing::Ordered => "ordered batch",
        Doing::Sweep => "sweep",
    };
    match call {
        None => format!("{doing}: before any call"),
        Some((step, Stage::Asked)) => format!("{doing}: {step} has left"),
        Some((step, Stage::Happened)) => format!("{doing}: {step} has happened"),
        Some((step, Stage::Answered)) => format!("{doing}: {step} is answered"),
    }
}
