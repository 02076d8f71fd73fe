//! What a list has found, shown as it comes or counted.

use std::collections::BTreeMap;

use shared::time::Timestamp;

use super::line::{self, Group, Line};
use super::place::After;
use super::{Args, Wanted};
use crate::console::{Progress, Table};
use crate::context::Context;
use crate::exit::Failure;
use crate::walk::Holds;
use crate::when::from_now;

/// What has been found, shown as it comes or counted.
pub(super) struct Found<'a> {
    args: &'a Args,
    context: &'a Context,
    now: Timestamp,
    lines: Vec<Line>,
    groups: BTreeMap<Group, (usize, Timestamp)>,
    count: usize,
    last: Option<After>,
    more: bool,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    pub(super) fn new(args: &'a Args, context: &'a Context) -> Self {
        let now = context.now();
        let groups = BTreeMap::new();
        Self { args, context, now, lines: vec![], groups, count: 0, last: None, more: false }
    }

    /// How far the reading is; a bar would get between the lines of a list on the same terminal.
    pub(super) fn progress(&self, total: u64) -> Progress {
        let console = &self.context.console;
        let alone = self.args.count || !console.is_terminal();
        if alone { console.progress("reading", Some(total)) } else { Progress::hidden() }
    }

    /// One more; `false`: that is enough.
    pub(super) fn take(
        &mut self,
        line: Line,
        place: impl FnOnce() -> After,
    ) -> Result<bool, Failure> {
        if self.args.count {
            let (count, oldest) = self.groups.entry(line.group()).or_insert((0, line.received_at));
            *count += 1;
            *oldest = line.received_at.min(*oldest);
            return Ok(true);
        }
        if self.args.limit > 0 && self.count == self.args.limit {
            self.more = true;
            return Ok(false);
        }
        self.count += 1;
        self.last = Some(place());
        if self.context.console.is_json() {
            self.context.console.document(&line)?;
        } else {
            self.lines.push(line);
            self.print_full()?;
        }
        Ok(true)
    }

    /// A long list is not kept until its end.
    fn print_full(&mut self) -> Result<(), Failure> {
        const TOGETHER: usize = 1_000;
        if self.lines.len() == TOGETHER { self.print() } else { Ok(()) }
    }

    fn print(&mut self) -> Result<(), Failure> {
        let console = &self.context.console;
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            let text = line::table(&lines, self.now).text(console);
            console.line(text)?;
        }
        Ok(())
    }

    /// Shows the rest, and how to go on.
    pub(super) fn tell(mut self) -> Result<(), Failure> {
        if self.args.count {
            return self.tell_counts();
        }
        self.print()?;
        let console = &self.context.console;
        if self.count == 0 && !console.is_json() {
            console.line("nothing")?;
        }
        if self.more
            && let Some(last) = &self.last
        {
            let Args { filter, status, all, limit, .. } = self.args;
            let all = if *all { " --all" } else { "" };
            let status = status.map_or_else(String::new, |wanted| {
                let word = match wanted {
                    Wanted::Unfinished => Holds::Unfinished.word(),
                    Wanted::Exactly(status) => status.word(),
                };
                format!(" --status {word}")
            });
            let rest = format!(
                "list{}{status}{all} --limit {limit} --after {last}",
                filter.flags(self.now)
            );
            console.note(format!("more: {}", self.context.command(&rest)));
        }
        Ok(())
    }

    fn tell_counts(&self) -> Result<(), Failure> {
        let console = &self.context.console;
        let mut table = Table::new(&["source", "status", "kind", "type", "count", "oldest"]);
        for (group, (count, oldest)) in &self.groups {
            if console.is_json() {
                console.document(&group.counted(*count, *oldest))?;
            } else {
                let count = count.to_string();
                let oldest = from_now(*oldest, self.now);
                table.row(group.cells().into_iter().chain([count, oldest]));
            }
        }
        match (console.is_json(), self.groups.is_empty()) {
            (true, _) => {}
            (false, true) => console.line("nothing")?,
            (false, false) => console.line(table.text(console))?,
        }
        Ok(())
    }
}
