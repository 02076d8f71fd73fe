//! Which events are meant, by what the index shows of them.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use shared::inbox::ErrorKind;
use shared::key::{EventType, SourceName};
use shared::source::TypePattern;
use shared::time::Timestamp;

use crate::context::Context;
use crate::exit::Failure;
use crate::shell;
use crate::when::{Moment, second};

/// Which events are meant
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Filter {
    /// Only of this source
    #[arg(long, value_name = "NAME", value_parser = SourceName::parse)]
    pub(crate) source: Option<SourceName>,
    /// Only of this type; `payment.*` is every type below it
    #[arg(long = "type", value_name = "TYPE", value_parser = pattern)]
    pub(crate) event_type: Option<TypePattern>,
    /// Only failed ones of this kind
    #[arg(long, value_parser = kinds())]
    pub(crate) kind: Option<ErrorKind>,
    /// Only received at or after this: 30m, 24h or 7d ago, or a date
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) since: Option<Moment>,
    /// Only received before this
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) until: Option<Moment>,
}

const KINDS: [ErrorKind; 5] = [
    ErrorKind::Permanent,
    ErrorKind::Exhausted,
    ErrorKind::Unusable,
    ErrorKind::Unsendable,
    ErrorKind::BeyondMemory,
];

fn kinds() -> impl clap::builder::TypedValueParser<Value = ErrorKind> {
    let words = PossibleValuesParser::new(KINDS.map(ErrorKind::word));
    words.try_map(|word| ErrorKind::parse(&word).ok_or("no such kind"))
}

fn pattern(text: &str) -> Result<TypePattern, &'static str> {
    match TypePattern::parse(text) {
        _ if text.trim().is_empty() => Err("is blank"),
        TypePattern::Exact(exact) if exact.contains('*') => {
            Err("a * stands only at the end, behind a dot, as in payment.*")
        }
        pattern => Ok(pattern),
    }
}

impl Filter {
    /// Nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { source, event_type, kind, since, until } = self;
        source.is_none()
            && event_type.is_none()
            && kind.is_none()
            && since.is_none()
            && until.is_none()
    }

    /// Refuses times between which nothing can have come.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), Failure> {
        let Some(since) = self.since.map(|since| since.at(now)) else { return Ok(()) };
        let until = self.until.map(|until| until.at(now));
        let what = match until {
            _ if since > now => format!("--since is in the future: {}", second(since)),
            Some(until) if until <= since => format!(
                "nothing lies between --since {} and --until {}",
                second(since),
                second(until)
            ),
            _ => return Ok(()),
        };
        Err(Failure::usage(what, "--since with the earlier time, and --until with the later one"))
    }

    /// The sources to look at: the one that is named, or all that are known.
    pub(crate) fn sources(&self, context: &Context) -> Vec<SourceName> {
        match &self.source {
            Some(source) => {
                context.remark_unknown(source);
                vec![source.clone()]
            }
            None => context.sources.iter().map(|profile| profile.name.clone()).collect(),
        }
    }

    /// Whether an event is meant, whatever its source.
    pub(crate) fn matches(
        &self,
        event_type: Option<&EventType>,
        kind: Option<ErrorKind>,
        received_at: Timestamp,
        now: Timestamp,
    ) -> bool {
        let is_type = |pattern: &TypePattern| {
            event_type.is_some_and(|event_type| pattern.matches(event_type.as_str()))
        };
        self.event_type.as_ref().is_none_or(is_type)
            && self.kind.is_none_or(|wanted| kind == Some(wanted))
            && self.since.is_none_or(|since| received_at >= since.at(now))
            && self.until.is_none_or(|until| received_at < until.at(now))
    }

    /// The flags that say the same again, each with a blank before it; even later, when `1h` would
    /// be another time.
    pub(crate) fn flags(&self, now: Timestamp) -> String {
        let event_type = self.event_type.as_ref().map(pattern_text);
        let flags = [
            ("source", self.source.as_ref().map(ToString::to_string)),
            ("type", event_type),
            ("kind", self.kind.map(|kind| kind.to_string())),
            ("since", self.since.map(|since| second(since.at(now)))),
            ("until", self.until.map(|until| second(until.at(now)))),
        ];
        let said = flags.into_iter().filter_map(|(name, value)| Some((name, value?)));
        said.map(|(name, value)| format!(" --{name} {}", shell::word(&value))).collect()
    }
}

/// The pattern as it was typed.
pub(crate) fn pattern_text(pattern: &TypePattern) -> String {
    match pattern {
        TypePattern::Exact(exact) => exact.clone(),
        TypePattern::Below(prefix) => format!("{prefix}*"),
    }
}
