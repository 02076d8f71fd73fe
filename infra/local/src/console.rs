//! What a person at the terminal sees: one line for each step of an event.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write as _;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// A layer that prints our own log events for people.
#[derive(Debug, Default)]
pub struct Console;

/// The fields of a log event, as text.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for Console {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(line) = line(*event.metadata().level(), fields.0) {
            // Nobody may be reading; that must not stop anything.
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        }
    }
}

fn line(level: Level, mut fields: BTreeMap<&'static str, String>) -> Option<String> {
    let message = fields.remove("message").unwrap_or_default();
    let mut take = |name: &str| fields.remove(name).unwrap_or_default();
    let (mark, what) = match message.as_str() {
        "delivery" => {
            let (outcome, attempt) = (take("outcome"), take("attempt"));
            let attempt =
                if attempt.is_empty() { attempt } else { format!(" (delivery {attempt})") };
            ("->", format!("{outcome}{attempt}"))
        }
        "event finished" => {
            let (status, outcome, attempt) = (take("status"), take("outcome"), take("attempt"));
            ("ok", format!("{status}, {outcome} (attempt {attempt})"))
        }
        "released" => {
            let (why, wait) = (take("why"), take("wait_ms"));
            let secs = wait.parse::<f64>().unwrap_or_default() / 1000.0;
            ("..", format!("again in {secs:.1} s: {why}"))
        }
        "event failed" => {
            let (kind, why) = (take("kind"), take("why"));
            ("!!", format!("failed, {kind}: {why}"))
        }
        "handler error" => return None,
        "sweep" => {
            let (sent, given_up, renewed) = (take("sent"), take("given_up"), take("renewed"));
            if [&sent, &given_up, &renewed].iter().all(|count| *count == "0") {
                return None;
            }
            let did = format!("sent {sent} that were due, gave up {given_up}, renewed {renewed}");
            return Some(format!("~~ the sweeper {did}"));
        }
        "source is paused; the row stays due" => ("||", message),
        _ if level <= Level::WARN => ("! ", message),
        _ => return None,
    };
    let key = [take("key"), take("source")].into_iter().find(|text| !text.is_empty());
    let mut line =
        format!("{mark} {:<34} {:<28} {what}", key.unwrap_or_default(), take("event_type"));
    if mark == "! " {
        for (name, value) in &fields {
            let _ = write!(line, "  {name}={value}");
        }
    }
    Some(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(level: Level, fields: &[(&'static str, &str)]) -> Option<String> {
        line(level, fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }

    #[test]
    fn a_step_is_one_line_and_the_rest_is_silent() {
        let finished = said(
            Level::INFO,
            &[
                ("message", "event finished"),
                ("key", "kudos#evt_1"),
                ("event_type", "payment.succeeded"),
                ("status", "done"),
                ("outcome", "applied"),
                ("attempt", "1"),
            ],
        );
        let finished = finished.unwrap();
        assert!(finished.starts_with("ok kudos#evt_1"), "{finished}");
        assert!(finished.ends_with("payment.succeeded            done, applied (attempt 1)"));
        assert_eq!(said(Level::INFO, &[("message", "source is paused")]), None);
        let refused = [("message", "signature refused"), ("source", "kudos"), ("status", "401")];
        let refused = said(Level::WARN, &refused).unwrap();
        assert!(refused.contains("signature refused  status=401"), "{refused}");
        let idle = [("message", "sweep"), ("sent", "0"), ("given_up", "0"), ("renewed", "0")];
        assert_eq!(said(Level::INFO, &idle), None);
    }
}
