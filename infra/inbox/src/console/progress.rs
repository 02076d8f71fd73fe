//! How far a long command is.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

const BAR: usize = 24;
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// A bar on the terminal, drawn over itself.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    total: Option<u64>,
    done: u64,
    began: Instant,
    drawn: Option<Instant>,
    visible: bool,
}

impl Progress {
    pub(super) fn new(what: &str, total: Option<u64>, visible: bool) -> Self {
        let what = what.to_owned();
        Self { what, total, done: 0, began: Instant::now(), drawn: None, visible }
    }

    /// One that nobody sees.
    pub(crate) fn hidden() -> Self {
        Self::new("", None, false)
    }

    /// This many more are done.
    pub(crate) fn step(&mut self, more: u64) {
        self.done += more;
        if self.visible && self.drawn.is_none_or(|at| at.elapsed() >= REDRAW_EVERY) {
            self.drawn = Some(Instant::now());
            self.draw(&self.text());
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if self.visible && self.drawn.is_some() {
            self.draw("");
        }
    }

    fn draw(&self, text: &str) {
        // A closed terminal must not stop anything.
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r\u{1b}[K{text}").and_then(|()| stderr.flush());
    }

    fn text(&self) -> String {
        let Self { what, done, .. } = self;
        let secs = self.began.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let rate = *done as f64 / secs.max(0.001);
        match self.total.filter(|total| *total > 0) {
            None => format!("{what} {done}, {rate:.0}/s"),
            Some(total) => {
                let filled = usize::try_from(done * BAR as u64 / total).unwrap_or(BAR).min(BAR);
                let bar = "=".repeat(filled);
                format!("{what} [{bar:<BAR$}] {done}/{total}, {rate:.0}/s")
            }
        }
    }
}

/// However a command ends, its bar does not stay.
impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_and_never_overflows() {
        let mut progress = Progress::new("sending", Some(4), false);
        progress.step(1);
        assert!(progress.text().starts_with("sending [======                  ] 1/4, "));
        progress.step(9);
        assert!(progress.text().contains(&"=".repeat(BAR)));
        assert!(Progress::new("reading", Some(0), false).text().starts_with("reading 0, "));
    }
}
