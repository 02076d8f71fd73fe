//! CloudWatch metrics in the embedded metric format (EMF): one JSON line on stdout each, no call.
//!
//! Every dimension is bounded: sources are those of `sources.toml`, and an event type appears only
//! if a handler or the profile names it.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::key::SourceName;
use crate::source::{Profile, TypePattern};
use crate::time::Timestamp;

/// The CloudWatch namespace of all metrics.
pub const NAMESPACE: &str = "WebhookInbox";
/// The type of an event that nobody names.
pub const OTHER: &str = "other";

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident: $unit:literal),* $(,)?) => {
        /// Everything that is measured. Names are stable: alarms and dashboards lean on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric { $($(#[$doc])* $name),* }

        impl Metric {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in CloudWatch.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// The unit in CloudWatch.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit),* }
            }
        }
    };
}

metrics! {
    /// Deliveries to a known source, by source.
    Received: "Count",
    /// Deliveries whose signature held, by source.
    Authentic: "Count",
    /// New events stored, by source.
    Stored: "Count",
    /// Deliveries whose row was there already, by source.
    Duplicate: "Count",
    /// Duplicates that brought an event back into the queue, by source.
    Resent: "Count",
    /// Deliveries answered 401, by source.
    SignatureRefused: "Count",
    /// Deliveries answered 503: our fault. Zero for one that is durable: the average of both is how
    /// much of what should be stored is not, by source.
    AnsweredFault: "Count",
    /// Deliveries that met no usable secret, by source.
    SecretUnavailable: "Count",
    /// Deliveries that only the older secret could verify, by source.
    SignedByOlderSecret: "Count",
    /// Authentic deliveries that no handler can use, by source.
    Unusable: "Count",
    /// Events older than the inbox remembers, by source.
    BeyondMemory: "Count",
    /// One id with two bodies, by source.
    BodyMismatch: "Count",
    /// A header that repeats the id and says something else, by source.
    IdMismatch: "Count",
    /// Stored events whose pointer was not sent at once, by source.
    SendFailed: "Count",
    /// Stored events whose pointer the queue calls invalid, by source.
    Unsendable: "Count",
    /// From the request to the answer, by source.
    AnswerTime: "Milliseconds",

    /// Events whose effects were committed, by source and type.
    Applied: "Count",
    /// Events that came after a newer one, by source and type.
    Stale: "Count",
    /// Events whose effects had already happened, by source and type.
    AlreadyApplied: "Count",
    /// Events that no handler wanted, or whose type the profile ignores, by source.
    Ignored: "Count",
    /// Handler runs that ended in an error, by source and type.
    HandlerError: "Count",
    /// How long handlers ran, by source and type.
    HandlerTime: "Milliseconds",
    /// Events that became `failed`, wherever; those that a run ended by source and type.
    Failed: "Count",
    /// Runs whose lease was no longer theirs at the commit, by source.
    LeaseLost: "Count",
    /// A producer says that it has switched one of our endpoints off, by source.
    EndpointDisabled: "Count",
    /// Messages that point to no row.
    StrayMessage: "Count",

    /// Events not yet finished, by source.
    Unfinished: "Count",
    /// Age of the oldest of them, by source.
    OldestUnfinishedAge: "Seconds",
    /// Events kept as `failed`, by source.
    FailedRows: "Count",
    /// Gauges of a source that are a lower bound: its shards were not read to the end, by source.
    GaugesCapped: "Count",
    /// Items in the inbox table, as DynamoDB counts them every six hours.
    InboxSize: "Count",
    /// Events that the sweeper sent again, by source.
    Swept: "Count",
    /// Sweeps that looked at every shard.
    SweepSucceeded: "Count",
}

/// What a value is counted under. The inbox table's name is always one dimension, so that two
/// stacks in one account stay apart.
#[derive(Clone, Copy, Debug)]
pub enum Under<'a> {
    /// The whole inbox.
    Inbox,
    /// One source.
    Source(&'a SourceName),
    /// One source and one type, and the source as a whole. The type must come from a
    /// [`TypeLabels`].
    Type(&'a SourceName, &'a str),
}

/// Where metrics go.
#[derive(Clone)]
pub struct Metrics {
    inbox: String,
    sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Metrics {
    /// To stdout, where Lambda's log agent finds them.
    pub fn stdout(inbox_table: &str) -> Self {
        Self::to(inbox_table, |line| {
            // A closed stdout must not end an invocation.
            let _ = std::io::stdout().lock().write_all(format!("{line}\n").as_bytes());
        })
    }

    /// To somewhere else, a line at a time.
    pub fn to(inbox_table: &str, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { inbox: inbox_table.to_owned(), sink: Arc::new(sink) }
    }

    /// One occurrence.
    pub fn count(&self, metric: Metric, under: Under<'_>, now: Timestamp) {
        self.emit(under, &[(metric, 1.0)], now);
    }

    /// Some values that belong together.
    pub fn emit(&self, under: Under<'_>, values: &[(Metric, f64)], now: Timestamp) {
        let mut line = Map::new();
        line.insert("inbox".into(), self.inbox.as_str().into());
        if let Under::Source(source) | Under::Type(source, _) = under {
            line.insert("source".into(), source.as_str().into());
        }
        if let Under::Type(_, event_type) = under {
            line.insert("event_type".into(), event_type.into());
        }
        // What is counted by type is counted by source as well: alarms want the sum.
        let dimensions = match under {
            Under::Inbox => json!([["inbox"]]),
            Under::Source(_) => json!([["inbox", "source"]]),
            Under::Type(..) => json!([["inbox", "source"], ["inbox", "source", "event_type"]]),
        };
        let described: Vec<Value> =
            values.iter().map(|(m, _)| json!({"Name": m.name(), "Unit": m.unit()})).collect();
        line.extend(values.iter().map(|(m, value)| (m.name().to_owned(), json!(value))));
        let directive =
            json!({"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": described});
        let metadata = json!({"Timestamp": now.millis(), "CloudWatchMetrics": [directive]});
        line.insert("_aws".into(), metadata);
        (self.sink)(&Value::Object(line).to_string());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metrics({})", self.inbox)
    }
}

/// The types of one source that may appear in metrics.
#[derive(Clone, Debug, Default)]
pub struct TypeLabels(Vec<(TypePattern, String)>);

impl TypeLabels {
    /// Those that the profile names, and those that handlers name. A handler for `session.*` gives
    /// one label, not one for each type that a producer may invent.
    pub fn of<'h>(profile: &'h Profile, handlers: impl Iterator<Item = &'h str>) -> Self {
        let names = profile.event.types.iter().map(String::as_str).chain(handlers);
        Self(names.map(|name| (TypePattern::parse(name), name.to_owned())).collect())
    }

    /// The label of a type: itself, the pattern it falls under, or [`OTHER`].
    pub fn label(&self, event_type: &str) -> &str {
        let matching = || self.0.iter().filter(|(pattern, _)| pattern.matches(event_type));
        let exact = matching().find(|(pattern, _)| matches!(pattern, TypePattern::Exact(_)));
        let longest = || matching().max_by_key(|(_, label)| label.len());
        exact.or_else(longest).map_or(OTHER, |(_, label)| label)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::source::Sources;

    #[test]
    fn a_line_is_emf_with_bounded_dimensions() {
        let lines = Arc::new(Mutex::new(vec![]));
        let kept = lines.clone();
        let metrics =
            Metrics::to("inbox-1", move |line| kept.lock().unwrap().push(line.to_owned()));
        let source = SourceName::parse("kudos").unwrap();
        let values = [(Metric::Applied, 1.0), (Metric::HandlerTime, 2.5)];
        metrics.emit(Under::Type(&source, "a.b"), &values, Timestamp::from_millis(7));
        let line: Value = serde_json::from_str(&lines.lock().unwrap()[0]).unwrap();
        assert_eq!(line["Applied"], 1.0);
        assert_eq!(line["_aws"]["Timestamp"], 7);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        let dimensions = json!([["inbox", "source"], ["inbox", "source", "event_type"]]);
        assert_eq!(directive["Dimensions"], dimensions);
        assert_eq!(directive["Metrics"][1], json!({"Name": "HandlerTime", "Unit": "Milliseconds"}));
    }

    #[test]
    fn a_type_from_outside_is_other_unless_somebody_names_it() {
        let sources = Sources::builtin().unwrap();
        let kallglot = sources.get("kallglot").unwrap();
        let labels = TypeLabels::of(kallglot, ["session.*", "session.ended"].into_iter());
        for (event_type, label) in [
            ("session.ended", "session.ended"),
            ("session.started", "session.*"),
            ("session.made.up", "session.*"),
            ("transcript.ready", "transcript.ready"),
            ("transcript.invented", OTHER),
            ("session", OTHER),
        ] {
            assert_eq!(labels.label(event_type), label);
        }
    }
}
