//! What a redrive did, for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use shared::inbox::LeftAlone;
use shared::key::EventKey;

use crate::choice::Groups;
use crate::console::Tone;
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::when::{events, length};

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Pending again, and sent.
    Sent,
    /// Pending again; the sweeper sends it.
    Waits,
    /// Failed again at once: the queue refuses its pointer.
    Unsendable(String),
    /// Not run again.
    LeftAlone(LeftAlone),
    /// It ran again while we looked, and ended as it had before.
    Changed,
    /// There is no such row.
    Missing,
}

/// What a redrive did.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// How many it was to run.
    pub(super) selected: usize,
    /// How many were passed over because they may have run before.
    pub(super) forgotten: usize,
    /// Somebody stopped it.
    pub(super) interrupted: bool,
    /// Nothing was changed.
    pub(super) dry_run: bool,
    named: bool,
    sent: usize,
    waits: usize,
    unsendable: usize,
    changed: usize,
    missing: usize,
    left_alone: BTreeMap<LeftAlone, usize>,
    /// Each event that was named.
    fates: Vec<(EventKey, Fate)>,
}

impl Report {
    /// Nothing yet. Of events that were named, each is told.
    pub(super) fn new(named: bool) -> Self {
        Self { named, ..Self::default() }
    }

    /// Adds one event.
    pub(super) fn note(&mut self, key: &EventKey, fate: Fate) {
        match &fate {
            Fate::Sent => self.sent += 1,
            Fate::Waits => self.waits += 1,
            Fate::Unsendable(_) => self.unsendable += 1,
            Fate::LeftAlone(why) => self.leave(*why, 1),
            Fate::Changed => self.changed += 1,
            Fate::Missing => self.missing += 1,
        }
        if self.named {
            self.fates.push((key.clone(), fate));
        }
    }

    /// Adds some that are left alone.
    pub(super) fn leave(&mut self, why: LeftAlone, count: usize) {
        if count > 0 {
            *self.left_alone.entry(why).or_default() += count;
        }
    }

    /// A problem is: an event that was named and is not there or cannot run, an interruption, or a
    /// pointer that the queue refuses.
    pub(super) fn ending(&self) -> Ending {
        let cannot =
            [LeftAlone::Unusable, LeftAlone::Expired, LeftAlone::Failed, LeftAlone::Ignored];
        let named_in_vain = self.named
            && (self.missing > 0 || cannot.iter().any(|why| self.left_alone.contains_key(why)));
        if named_in_vain || self.interrupted || self.unsendable > 0 {
            Ending::Problem
        } else {
            Ending::Done
        }
    }

    /// Tells what was done. `again` is the same command.
    pub(super) fn tell(&self, context: &Context, again: &str) -> Result<(), Failure> {
        let console = &context.console;
        if console.is_json() {
            return Ok(console.document(&self.document(&Groups::default()))?);
        }
        self.tell_fates(context)?;
        if self.selected == 0 {
            console.line("nothing to run again")?;
            return self.tell_rest(context, again);
        }
        let redriven = self.sent + self.waits;
        let tone = if redriven == self.selected { Tone::Good } else { Tone::Warn };
        let line = format!("{redriven} of {} run again", events(self.selected));
        console.line(console.tint(&line, tone))?;
        if self.waits > 0 {
            console
                .line(format!("{} of them are sent by the sweeper, within minutes", self.waits))?;
        }
        if self.unsendable > 0 {
            console.line(format!("{} failed again: the queue refuses them", self.unsendable))?;
        }
        self.tell_rest(context, again)?;
        if self.interrupted {
            console.line("interrupted: what was written was sent; the rest is as it was")?;
            console.line(format!("next: {}", context.command(again)))?;
        } else if redriven > 0 {
            console.line(format!("next: {}", context.command("list --count")))?;
        }
        Ok(())
    }

    /// Tells what would be done.
    pub(super) fn tell_dry(
        &self,
        context: &Context,
        again: &str,
        time: Duration,
    ) -> Result<(), Failure> {
        let console = &context.console;
        self.tell_fates(context)?;
        let (count, time) = (events(self.selected), length(time));
        console
            .line(format!("{count} would be run again, in about {time}; nothing was changed"))?;
        self.tell_rest(context, again)?;
        if self.selected > 0 {
            console.line(format!("next: {}", context.command(again)))?;
        }
        Ok(())
    }

    fn tell_rest(&self, context: &Context, again: &str) -> Result<(), Failure> {
        let console = &context.console;
        for (why, count) in &self.left_alone {
            console.line(format!("{count} left alone: {why}"))?;
        }
        if self.missing > 0 {
            console.line(format!("{} not there: no such row", self.missing))?;
        }
        if self.changed > 0 {
            console.line(format!(
                "{} ran again meanwhile and ended as before; the same command takes them",
                self.changed
            ))?;
        }
        if self.forgotten > 0 {
            let with = format!("{again} --kind beyond_memory --dry-run");
            console.line(format!(
                "{} passed over: beyond_memory, they may have run before. Find out; then {}",
                self.forgotten,
                context.command(&with)
            ))?;
        }
        Ok(())
    }

    fn tell_fates(&self, context: &Context) -> Result<(), Failure> {
        for (key, fate) in &self.fates {
            let said = match fate {
                Fate::Sent => "runs again".to_owned(),
                Fate::Waits => "runs again; the sweeper sends it".to_owned(),
                Fate::Unsendable(code) => format!("failed again: the queue refuses it ({code})"),
                Fate::LeftAlone(why) => format!("left alone: {why}"),
                Fate::Changed => "ran again meanwhile and ended as before".to_owned(),
                Fate::Missing => "not there: no such row".to_owned(),
            };
            context.console.line(format!("{key}  {said}"))?;
        }
        Ok(())
    }

    /// For programs; `groups` are those of a dry run.
    pub(super) fn document(&self, groups: &Groups) -> serde_json::Value {
        let left = self.left_alone.iter().map(|(why, count)| (word(*why), *count));
        let left: BTreeMap<&str, usize> = left.collect();
        json!({
            "dry_run": self.dry_run,
            "selected": self.selected,
            "redriven": self.sent + self.waits,
            "sent": self.sent,
            "left_to_sweeper": self.waits,
            "unsendable": self.unsendable,
            "left_alone": left,
            "missing": self.missing,
            "changed": self.changed,
            "beyond_memory_passed_over": self.forgotten,
            "interrupted": self.interrupted,
            "groups": groups.documents(),
        })
    }
}

fn word(why: LeftAlone) -> &'static str {
    match why {
        LeftAlone::Unfinished => "unfinished",
        LeftAlone::Done => "done",
        LeftAlone::Ignored => "ignored",
        LeftAlone::Failed => "failed",
        LeftAlone::Dropped => "dropped",
        LeftAlone::Unusable => "unusable",
        LeftAlone::Expired => "expired",
    }
}
