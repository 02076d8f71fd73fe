//! A stack's metrics, from CloudWatch.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::{
    Dimension, DimensionFilter, Metric as Named, MetricDataQuery, MetricDataResult, MetricStat,
    ScanBy,
};
use aws_smithy_types::DateTime;
use shared::fault::Fault;
use shared::metrics::{Metric, NAMESPACE};
use shared::source::Sources;
use shared::time::Timestamp;

use super::readings::Readings;
use crate::exit::Failure;
use crate::place::Place;

/// Queries in one `GetMetricData` (CloudWatch API).
const QUERIES_PER_CALL: usize = 500;
/// The longest period that CloudWatch takes.
const LONGEST_S: u64 = 30 * 86_400;
const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);

/// What one query asks.
#[derive(Clone, Debug, PartialEq)]
enum Ask {
    Sum(String, Metric),
    AnswerP95(String),
    Last5xx(String),
    TypeSum(String, String, Metric),
    Runs(String, String),
    HandlerP95(String, String),
}

/// What CloudWatch knows of this inbox from `since` to `until`.
pub(super) async fn read(
    place: &Place,
    sources: &Sources,
    since: Timestamp,
    until: Timestamp,
) -> Result<Readings, Failure> {
    let client = Client::new(&place.sdk);
    let inbox = place.common.inbox_table.as_str();
    let mut names: BTreeSet<String> = sources.iter().map(|p| p.name.to_string()).collect();
    for dimensions in known(&client, Metric::Received, inbox).await? {
        names.extend(of(&dimensions, "source"));
    }
    let mut types = BTreeSet::new();
    for metric in [Metric::HandlerTime, Metric::Failed] {
        for dimensions in known(&client, metric, inbox).await? {
            types.extend(of(&dimensions, "source").zip(of(&dimensions, "event_type")));
        }
    }
    let asks = asks(&names, &types);
    let mut readings = Readings::default();
    for chunk in asks.chunks(QUERIES_PER_CALL) {
        let queries: Vec<_> =
            (0..).zip(chunk).map(|(number, ask)| query(number, ask, inbox, since, until)).collect();
        for result in data(&client, queries, since, until).await? {
            let number = result.id().and_then(|id| id.strip_prefix('q')?.parse::<usize>().ok());
            if let Some(ask) = number.and_then(|number| chunk.get(number)) {
                note(&mut readings, ask, &result);
            }
        }
    }
    Ok(readings)
}

fn asks(sources: &BTreeSet<String>, types: &BTreeSet<(String, String)>) -> Vec<Ask> {
    let of_source = sources.iter().flat_map(|source| {
        let sums = Readings::OF_SOURCE.map(|metric| Ask::Sum(source.clone(), metric));
        let rest = [Ask::AnswerP95(source.clone()), Ask::Last5xx(source.clone())];
        sums.into_iter().chain(rest)
    });
    let of_type = types.iter().flat_map(|(source, event_type)| {
        let (source, event_type) = (source.clone(), event_type.clone());
        let sums = Readings::OF_TYPE
            .map(|metric| Ask::TypeSum(source.clone(), event_type.clone(), metric));
        let runs = Ask::Runs(source.clone(), event_type.clone());
        sums.into_iter().chain([runs, Ask::HandlerP95(source, event_type)])
    });
    of_source.chain(of_type).collect()
}

impl Ask {
    fn metric(&self) -> Metric {
        match self {
            Self::Sum(_, metric) | Self::TypeSum(_, _, metric) => *metric,
            Self::AnswerP95(_) => Metric::AnswerTime,
            Self::Last5xx(_) => Metric::AnsweredFault,
            Self::Runs(..) | Self::HandlerP95(..) => Metric::HandlerTime,
        }
    }

    fn stat(&self) -> &'static str {
        match self {
            Self::Sum(..) | Self::TypeSum(..) | Self::Last5xx(_) => "Sum",
            Self::Runs(..) => "SampleCount",
            Self::AnswerP95(_) | Self::HandlerP95(..) => "p95",
        }
    }

    fn dimensions(&self, inbox: &str) -> Vec<Dimension> {
        let of_source = |source: &str| vec![dimension("inbox", inbox), dimension("source", source)];
        match self {
            Self::Sum(source, _) | Self::AnswerP95(source) | Self::Last5xx(source) => {
                of_source(source)
            }
            Self::TypeSum(source, event_type, _)
            | Self::Runs(source, event_type)
            | Self::HandlerP95(source, event_type) => {
                let mut dimensions = of_source(source);
                dimensions.push(dimension("event_type", event_type));
                dimensions
            }
        }
    }
}

fn query(
    number: usize,
    ask: &Ask,
    inbox: &str,
    since: Timestamp,
    until: Timestamp,
) -> MetricDataQuery {
    // One point for the whole time; the last 5xx is wanted to the minute, as far as that is kept.
    let finest = finest(until.since(since));
    let period = match ask {
        Ask::Last5xx(_) => finest,
        _ => (until.since(since).as_secs().div_ceil(finest) * finest).min(LONGEST_S),
    };
    let metric = Named::builder()
        .namespace(NAMESPACE)
        .metric_name(ask.metric().name())
        .set_dimensions(Some(ask.dimensions(inbox)))
        .build();
    let stat = MetricStat::builder()
        .metric(metric)
        .period(i32::try_from(period).unwrap_or(i32::MAX))
        .stat(ask.stat())
        .build();
    MetricDataQuery::builder().id(format!("q{number}")).metric_stat(stat).return_data(true).build()
}

/// The shortest period that CloudWatch still has of the oldest point: 15 days by the minute, 63 by
/// five minutes, then by the hour.
fn finest(age: Duration) -> u64 {
    // The start is older when CloudWatch reads it than it is now.
    let age = age + HOUR;
    if age <= DAY * 15 {
        60
    } else if age <= DAY * 63 {
        300
    } else {
        3600
    }
}

fn note(readings: &mut Readings, ask: &Ask, result: &MetricDataResult) {
    let points = || result.timestamps().iter().zip(result.values().iter().copied());
    let values = || result.values().iter().copied();
    match ask {
        Ask::Sum(source, metric) => readings.add(source, *metric, values().sum()),
        Ask::TypeSum(source, event_type, metric) => {
            readings.add_of_type((source, event_type), *metric, values().sum());
        }
        Ask::Runs(source, event_type) => readings.add_runs((source, event_type), values().sum()),
        Ask::AnswerP95(source) => values().for_each(|p95| readings.answer_p95(source, p95)),
        Ask::HandlerP95(source, event_type) => {
            values().for_each(|p95| readings.handler_p95((source, event_type), p95));
        }
        Ask::Last5xx(source) => {
            for (at, _) in points().filter(|(_, count)| *count > 0.0) {
                readings.saw_5xx(source, Timestamp::from_secs(at.secs()));
            }
        }
    }
}

/// The dimensions under which CloudWatch has seen this metric of ours, within two weeks.
async fn known(client: &Client, metric: Metric, inbox: &str) -> Result<Vec<Vec<Dimension>>, Fault> {
    let mut found = vec![];
    let mut next = None;
    loop {
        let call = client.list_metrics().namespace(NAMESPACE).metric_name(metric.name());
        let of_ours = DimensionFilter::builder().name("inbox").value(inbox).build();
        let answer = call.dimensions(of_ours).set_next_token(next).send().await;
        let answer = answer.map_err(|error| Fault::of("ListMetrics", &error))?;
        let metrics = answer.metrics.unwrap_or_default().into_iter();
        found.extend(metrics.filter_map(|metric| metric.dimensions));
        next = answer.next_token;
        if next.is_none() {
            return Ok(found);
        }
    }
}

async fn data(
    client: &Client,
    queries: Vec<MetricDataQuery>,
    since: Timestamp,
    until: Timestamp,
) -> Result<Vec<MetricDataResult>, Fault> {
    let mut found = vec![];
    let mut next = None;
    loop {
        let call = client
            .get_metric_data()
            .set_metric_data_queries(Some(queries.clone()))
            .start_time(DateTime::from_secs(since.secs()))
            .end_time(DateTime::from_secs(until.secs() + 1))
            .scan_by(ScanBy::TimestampDescending);
        let answer = call.set_next_token(next).send().await;
        let answer = answer.map_err(|error| Fault::of("GetMetricData", &error))?;
        found.extend(answer.metric_data_results.unwrap_or_default());
        next = answer.next_token;
        if next.is_none() {
            return Ok(found);
        }
    }
}

fn dimension(name: &str, value: &str) -> Dimension {
    Dimension::builder().name(name).value(value).build()
}

fn of(dimensions: &[Dimension], name: &str) -> Option<String> {
    let found = dimensions.iter().find(|dimension| dimension.name() == Some(name));
    found.and_then(Dimension::value).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_asks_for_one_point_of_the_whole_time() {
        let until = Timestamp::from_secs(1_800_000_030);
        let period = |ask: &Ask, since| {
            let query = query(3, ask, "table", since, until);
            assert_eq!(query.id(), Some("q3"));
            query.metric_stat().and_then(MetricStat::period)
        };
        let sum = Ask::Sum("kudos".into(), Metric::Applied);
        let last = Ask::Last5xx("kudos".into());
        let day = until.minus(DAY);
        assert_eq!((period(&sum, day), period(&last, day)), (Some(86_400), Some(60)));
        let month = until.minus(DAY * 30);
        assert_eq!((period(&sum, month), period(&last, month)), (Some(30 * 86_400), Some(300)));
        let some = until.minus(Duration::from_secs(90));
        assert_eq!(period(&sum, some), Some(120));
    }

    #[test]
    fn the_last_5xx_is_the_latest_minute_with_one() {
        let at = |secs| DateTime::from_secs(secs);
        let result = MetricDataResult::builder()
            .set_timestamps(Some(vec![at(180), at(120), at(60)]))
            .set_values(Some(vec![0.0, 2.0, 1.0]))
            .build();
        let mut readings = Readings::default();
        note(&mut readings, &Ask::Sum("kudos".into(), Metric::AnsweredFault), &result);
        note(&mut readings, &Ask::Last5xx("kudos".into()), &result);
        assert_eq!(readings.rows()[0].last_5xx, Some(Timestamp::from_secs(120)));
    }

    #[test]
    fn a_type_is_asked_for_under_three_dimensions() {
        let ask = Ask::HandlerP95("kudos".into(), "a.b".into());
        let dimensions = ask.dimensions("table");
        assert_eq!(of(&dimensions, "inbox").as_deref(), Some("table"));
        assert_eq!(of(&dimensions, "event_type").as_deref(), Some("a.b"));
        assert_eq!((ask.metric(), ask.stat()), (Metric::HandlerTime, "p95"));
    }

    #[test]
    fn points_are_asked_for_as_fine_as_cloudwatch_still_has_them_when_it_reads_the_question() {
        assert_eq!(finest(DAY), 60);
        assert_eq!(finest(DAY * 15), 300);
        assert_eq!(finest(DAY * 63), 3_600);
    }
}
