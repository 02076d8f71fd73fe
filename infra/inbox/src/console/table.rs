//! A table in columns that fit.

use std::fmt;

use super::{Console, Tone};

/// Rows of cells under headings.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<Tone>)>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: vec![] }
    }

    /// One more row.
    pub(crate) fn row<C: fmt::Display>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(|cell| (cell.to_string(), None)).collect());
    }

    /// Gives a cell of the last row a meaning.
    pub(crate) fn tone(&mut self, column: usize, tone: Tone) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.get_mut(column)) {
            cell.1 = Some(tone);
        }
    }

    /// The table as text, without a line end at its end.
    pub(crate) fn text(&self, console: &Console) -> String {
        let widths: Vec<usize> = (0..self.headings.len()).map(|i| self.width(i)).collect();
        let line = |cells: Vec<(&str, Option<Tone>)>| {
            let last = cells.len().saturating_sub(1);
            let padded =
                cells.into_iter().zip(&widths).enumerate().map(|(i, ((text, tone), w))| {
                    let blanks = if i == last { 0 } else { w.saturating_sub(text.chars().count()) };
                    let text =
                        tone.map_or_else(|| text.to_owned(), |tone| console.tint(text, tone));
                    format!("{text}{:blanks$}", "")
                });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let headings = self.headings.iter().map(|h| (*h, Some(Tone::Faint))).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|(t, tone)| (t.as_str(), *tone)));
        let mut lines = vec![line(headings)];
        lines.extend(rows.map(|cells| line(cells.collect())));
        lines.join("\n")
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|(text, _)| text.chars().count());
        cells.chain([self.headings[column].chars().count()]).max().unwrap_or(0)
    }
}
