//! What was measured, and what it means.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use shared::metrics::Metric;
use shared::time::Timestamp;

use crate::when::date;

/// Sums and percentiles over one stretch of time, by source and by type.
#[derive(Debug, Default)]
pub(super) struct Readings {
    sums: HashMap<(String, Metric), f64>,
    type_sums: HashMap<(String, String, Metric), f64>,
    runs: HashMap<(String, String), f64>,
    answer_p95: HashMap<String, f64>,
    handler_p95: HashMap<(String, String), f64>,
    last_5xx: HashMap<String, Timestamp>,
}

/// A source's line of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) source: String,
    pub(super) total: u64,
    pub(super) delivered: u64,
    pub(super) discarded: u64,
    pub(super) failed: u64,
    pub(super) success_rate: Option<f64>,
    pub(super) last_5xx: Option<Timestamp>,
    pub(super) answer_p95: Option<f64>,
}

/// An event type's line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByType {
    pub(super) source: String,
    pub(super) event_type: String,
    pub(super) runs: u64,
    pub(super) errors: u64,
    pub(super) failed: u64,
    pub(super) p95: Option<f64>,
}

impl Readings {
    /// What of a source is summed.
    pub(super) const OF_SOURCE: [Metric; 10] = [
        Metric::Received,
        Metric::Duplicate,
        Metric::Resent,
        Metric::AnsweredFault,
        Metric::Applied,
        Metric::Stale,
        Metric::AlreadyApplied,
        Metric::Ignored,
        Metric::SignatureRefused,
        Metric::Failed,
    ];
    /// What of a type is summed.
    pub(super) const OF_TYPE: [Metric; 2] = [Metric::HandlerError, Metric::Failed];

    /// Adds to a source's sum.
    pub(super) fn add(&mut self, source: &str, metric: Metric, value: f64) {
        *self.sums.entry((source.to_owned(), metric)).or_default() += value;
    }

    /// Adds to a type's sum.
    pub(super) fn add_of_type(&mut self, of: (&str, &str), metric: Metric, value: f64) {
        let key = (of.0.to_owned(), of.1.to_owned(), metric);
        *self.type_sums.entry(key).or_default() += value;
    }

    /// Adds handler runs.
    pub(super) fn add_runs(&mut self, of: (&str, &str), runs: f64) {
        *self.runs.entry((of.0.to_owned(), of.1.to_owned())).or_default() += runs;
    }

    /// Notes a percentile of a source's answers; of two stretches, the worse.
    pub(super) fn answer_p95(&mut self, source: &str, millis: f64) {
        let known = self.answer_p95.entry(source.to_owned()).or_insert(millis);
        *known = known.max(millis);
    }

    /// Notes a percentile of a type's handler runs; of two stretches, the worse.
    pub(super) fn handler_p95(&mut self, of: (&str, &str), millis: f64) {
        let known = self.handler_p95.entry((of.0.to_owned(), of.1.to_owned())).or_insert(millis);
        *known = known.max(millis);
    }

    /// Notes that a delivery was answered with a fault of ours.
    pub(super) fn saw_5xx(&mut self, source: &str, at: Timestamp) {
        let known = self.last_5xx.entry(source.to_owned()).or_insert(at);
        *known = at.max(*known);
    }

    /// Every source that was measured.
    pub(super) fn sources(&self) -> BTreeSet<&str> {
        self.sums.keys().map(|(source, _)| source.as_str()).collect()
    }

    /// The table by source, without those of which nothing came.
    pub(super) fn rows(&self) -> Vec<Row> {
        let rows = self.sources().into_iter().map(|source| self.row(source));
        rows.filter(|row| row.total + row.delivered + row.failed > 0 || row.last_5xx.is_some())
            .collect()
    }

    fn row(&self, source: &str) -> Row {
        use Metric as M;
        let sum = |metrics: &[Metric]| -> f64 {
            let of = |metric: &Metric| self.sums.get(&(source.to_owned(), *metric)).copied();
            metrics.iter().filter_map(of).sum()
        };
        let received = sum(&[M::Received]);
        let total = received - sum(&[M::Duplicate, M::Resent, M::AnsweredFault]);
        let delivered = sum(&[M::Applied, M::Stale, M::AlreadyApplied, M::Ignored]);
        // What came before this time and ended within it is delivered, and not in the total.
        let success_rate = (total > 0.0).then(|| (delivered / total).min(1.0));
        Row {
            source: source.to_owned(),
            total: count(total),
            delivered: count(delivered),
            discarded: count(sum(&[M::SignatureRefused])),
            failed: count(sum(&[M::Failed])),
            success_rate,
            last_5xx: self.last_5xx.get(source).copied(),
            answer_p95: self.answer_p95.get(source).copied(),
        }
    }

    /// The table by type.
    pub(super) fn by_type(&self) -> Vec<ByType> {
        let failed = self.type_sums.keys().map(|(source, event_type, _)| (source, event_type));
        let ran = self.runs.keys().map(|(source, event_type)| (source, event_type));
        let all: BTreeMap<_, ()> = failed.chain(ran).map(|key| (key, ())).collect();
        let rows = all.into_keys().map(|(source, event_type)| {
            let key = (source.clone(), event_type.clone());
            let sum = |metric| {
                let key = (source.clone(), event_type.clone(), metric);
                count(self.type_sums.get(&key).copied().unwrap_or(0.0))
            };
            ByType {
                source: source.clone(),
                event_type: event_type.clone(),
                runs: count(self.runs.get(&key).copied().unwrap_or(0.0)),
                errors: sum(Metric::HandlerError),
                failed: sum(Metric::Failed),
                p95: self.handler_p95.get(&key).copied(),
            }
        });
        rows.filter(|row| row.runs + row.failed > 0).collect()
    }
}

impl Row {
    /// For programs.
    pub(super) fn document(&self) -> Value {
        json!({
            "source": self.source,
            "total": self.total,
            "delivered": self.delivered,
            "discarded": self.discarded,
            "failed": self.failed,
            "success_rate": self.success_rate,
            "last_5xx": self.last_5xx.map(date),
            "answer_p95_ms": self.answer_p95,
        })
    }
}

impl ByType {
    /// Errors of runs.
    pub(super) fn error_rate(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        (self.runs > 0).then(|| self.errors as f64 / self.runs as f64)
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        json!({
            "source": self.source,
            "event_type": self.event_type,
            "runs": self.runs,
            "errors": self.errors,
            "error_rate": self.error_rate(),
            "failed": self.failed,
            "p95_ms": self.p95,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts: whole, not negative, far below 2^52"
)]
fn count(sum: f64) -> u64 {
    sum.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_events_and_not_repetitions() {
        let mut readings = Readings::default();
        for (metric, value) in [
            (Metric::Received, 115.0),
            (Metric::Duplicate, 8.0),
            (Metric::Resent, 1.0),
            (Metric::AnsweredFault, 6.0),
            (Metric::Applied, 80.0),
            (Metric::Stale, 5.0),
            (Metric::Ignored, 5.0),
            (Metric::SignatureRefused, 3.0),
            (Metric::Failed, 7.0),
        ] {
            readings.add("kudos", metric, value);
        }
        readings.saw_5xx("kudos", Timestamp::from_secs(9));
        readings.saw_5xx("kudos", Timestamp::from_secs(7));
        let row = readings.rows().remove(0);
        assert_eq!((row.total, row.delivered, row.discarded, row.failed), (100, 90, 3, 7));
        assert_eq!((row.success_rate, row.last_5xx), (Some(0.9), Some(Timestamp::from_secs(9))));
    }

    #[test]
    fn what_ends_from_before_does_not_make_more_than_all() {
        let mut readings = Readings::default();
        readings.add("kudos", Metric::Received, 1.0);
        readings.add("kudos", Metric::Applied, 5.0);
        assert_eq!(readings.rows()[0].success_rate, Some(1.0));
        readings.add("silent", Metric::Received, 0.0);
        assert_eq!(readings.rows().len(), 1);
    }
}
