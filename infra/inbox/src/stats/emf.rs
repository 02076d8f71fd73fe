//! The local run's metrics: lines in the embedded metric format.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;
use shared::metrics::Metric;
use shared::time::Timestamp;

use super::readings::Readings;
use crate::exit::Failure;

/// The file in the local run's folder.
const FILE: &str = "metrics.jsonl";

/// What `folder` says of this inbox from `since` on.
pub(super) fn read(folder: &Path, inbox: &str, since: Timestamp) -> Result<Readings, Failure> {
    let path = folder.join(FILE);
    let data = "cargo run -p local -- --data .local";
    let failed = |error: std::io::Error| {
        let what = format!("the local run keeps no metrics here: {}: {error}", path.display());
        Failure::unreachable(what, data)
    };
    let file = File::open(&path).map_err(failed)?;
    let mut gathered = Gathered::default();
    for line in BufReader::new(file).split(b'\n') {
        // The last line may be half written.
        if let Ok(line) = serde_json::from_slice::<Value>(&line.map_err(failed)?) {
            gathered.line(&line, inbox, since);
        }
    }
    Ok(gathered.finish())
}

/// Readings, and the values whose percentiles are wanted.
#[derive(Default)]
struct Gathered {
    readings: Readings,
    answers: HashMap<String, Vec<f64>>,
    runs: HashMap<(String, String), Vec<f64>>,
}

impl Gathered {
    fn line(&mut self, line: &Value, inbox: &str, since: Timestamp) {
        let at = line["_aws"]["Timestamp"].as_i64().map(Timestamp::from_millis);
        let (Some(at), Some(source)) = (at, line["source"].as_str()) else { return };
        if at < since || line["inbox"].as_str() != Some(inbox) {
            return;
        }
        let value = |metric: Metric| line[metric.name()].as_f64();
        for metric in Readings::OF_SOURCE {
            if let Some(value) = value(metric) {
                self.readings.add(source, metric, value);
            }
        }
        if value(Metric::AnsweredFault).is_some_and(|count| count > 0.0) {
            self.readings.saw_5xx(source, at);
        }
        if let Some(millis) = value(Metric::AnswerTime) {
            self.answers.entry(source.to_owned()).or_default().push(millis);
        }
        let Some(event_type) = line["event_type"].as_str() else { return };
        for metric in Readings::OF_TYPE {
            if let Some(value) = value(metric) {
                self.readings.add_of_type((source, event_type), metric, value);
            }
        }
        if let Some(millis) = value(Metric::HandlerTime) {
            self.readings.add_runs((source, event_type), 1.0);
            let key = (source.to_owned(), event_type.to_owned());
            self.runs.entry(key).or_default().push(millis);
        }
    }

    fn finish(mut self) -> Readings {
        for (source, values) in self.answers {
            if let Some(p95) = p95(values) {
                self.readings.answer_p95(&source, p95);
            }
        }
        for ((source, event_type), values) in self.runs {
            if let Some(p95) = p95(values) {
                self.readings.handler_p95((&source, &event_type), p95);
            }
        }
        self.readings
    }
}

/// The smallest value that 95 of a hundred do not exceed.
fn p95(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        assert_eq!(p95((1..=100).map(f64::from).collect()), Some(95.0));
        assert_eq!(p95(vec![3.0]), Some(3.0));
        assert_eq!(p95(vec![]), None);
    }
}
