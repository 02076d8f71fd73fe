//! What was measured, line by line, and whether it is as good as it must be.

use std::fmt::Write as _;

use serde::Serialize;

use crate::samples::Samples;

/// A table of figures.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// What was measured, in the order of the table.
    pub figures: Vec<Figure>,
}

/// One figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// The median of its samples, or the count.
    pub value: f64,
    /// The quartiles, where it was measured more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<(f64, f64)>,
    /// What it is counted in.
    pub unit: &'static str,
    /// What it must not be above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

impl Figure {
    fn is_met(&self) -> bool {
        self.limit.is_none_or(|limit| self.value <= limit)
    }
}

impl Report {
    /// A measurement.
    pub fn measured(&mut self, name: impl Into<String>, samples: &Samples, unit: &'static str) {
        self.push(name, samples.median(), Some(samples.quartiles()), unit, None);
    }

    /// A measurement that must not be above a limit.
    pub fn limited(
        &mut self,
        name: impl Into<String>,
        samples: &Samples,
        unit: &'static str,
        limit: f64,
    ) {
        self.push(name, samples.median(), Some(samples.quartiles()), unit, Some(limit));
    }

    /// A count that must not be above a limit.
    pub fn counted(&mut self, name: impl Into<String>, value: f64, unit: &'static str, limit: f64) {
        self.push(name, value, None, unit, Some(limit));
    }

    fn push(
        &mut self,
        name: impl Into<String>,
        value: f64,
        quartiles: Option<(f64, f64)>,
        unit: &'static str,
        limit: Option<f64>,
    ) {
        self.figures.push(Figure { name: name.into(), value, quartiles, unit, limit });
    }

    /// The names of the figures that are above their limits.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        self.figures.iter().filter(|figure| !figure.is_met()).map(|figure| figure.name.as_str())
    }

    /// As a table in Markdown.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "| figure | median | quartiles | unit | limit | |\n|---|---:|---:|---|---:|---|\n",
        );
        for figure in &self.figures {
            let Figure { name, value, quartiles, unit, limit } = figure;
            let spread = quartiles
                .map_or(String::new(), |(low, high)| format!("{} – {}", number(low), number(high)));
            let bound = limit.map_or(String::new(), number);
            let verdict = match limit {
                None => "",
                Some(_) if figure.is_met() => "met",
                Some(_) => "MISSED",
            };
            let value = number(*value);
            let _ =
                writeln!(table, "| {name} | {value} | {spread} | {unit} | {bound} | {verdict} |");
        }
        table
    }
}

/// Three digits are as many as mean something.
fn number(value: f64) -> String {
    match value {
        _ if value.fract() == 0.0 || value >= 1000.0 => format!("{value:.0}"),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_its_limit_is_named() {
        let mut report = Report::default();
        report.counted("requests", 2.0, "", 2.0);
        report.counted("units", 6.1, "", 6.0);
        assert_eq!(report.missed().collect::<Vec<_>>(), ["units"]);
        let table = report.table();
        assert!(table.contains("| requests | 2 |  |  | 2 | met |"), "{table}");
        assert!(table.contains("| units | 6.10 |  |  | 6 | MISSED |"), "{table}");
    }
}
