//! Which handler runs for which event.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::de::DeserializeOwned;
use shared::effects::Effects;
use shared::inbox::Row;
use shared::key::EventType;
use shared::source::{Profile, Sources, TypePattern};

use super::{Context, Event, HandlerError, payload};

type Ran = Pin<Box<dyn Future<Output = Result<Effects, HandlerError>> + Send>>;

/// A handler without its types: it reads its payload itself.
pub(crate) type Run = Box<dyn Fn(Input<'_>, Context) -> Ran + Send + Sync>;

/// What a handler is run on.
pub(crate) struct Input<'r> {
    pub(crate) profile: &'r Profile,
    pub(crate) row: &'r Row,
    pub(crate) event_type: EventType,
    pub(crate) body: &'r [u8],
}

/// Collects the handlers; `finish` refuses mistakes.
#[derive(Default)]
pub struct Registry {
    entries: Vec<(String, String, Run)>,
}

/// Every mistake in the registrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryError(Vec<String>);

impl std::error::Error for RegistryError {}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "handlers: {}", self.0.join("; "))
    }
}

impl Registry {
    /// Runs `handler` for events of this source and type. `payment.*` takes every type below
    /// `payment.`; an exact registration goes before it, and of two such the longer one.
    #[must_use]
    pub fn on<T, F, Fut>(mut self, source: &str, event_type: &str, handler: F) -> Self
    where
        T: DeserializeOwned,
        F: Fn(Event<T>, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Effects, HandlerError>> + Send + 'static,
    {
        let run: Run = Box::new(move |input, context| {
            let data = match payload::read(input.body, input.profile) {
                Ok(data) => data,
                Err(error) => return Box::pin(std::future::ready(Err(error))),
            };
            Box::pin(handler(
                Event {
                    key: input.row.key.clone(),
                    event_type: input.event_type,
                    data,
                    occurred_at: input.row.occurred_at,
                    received_at: input.row.received_at,
                },
                context,
            ))
        });
        self.entries.push((source.to_owned(), event_type.to_owned(), run));
        self
    }

    /// The handlers, ready to be looked up.
    ///
    /// # Errors
    /// A source that `sources.toml` does not have, a type that is no type, or one registered twice.
    pub fn finish(self, sources: &Sources) -> Result<Handlers, RegistryError> {
        let mut by_source: HashMap<String, Vec<(TypePattern, String, Run)>> = HashMap::new();
        let mut mistakes = vec![];
        for (source, name, run) in self.entries {
            let pattern = TypePattern::parse(&name);
            if sources.get(&source).is_none() {
                mistakes.push(format!("{source} {name}: sources.toml has no source {source}"));
            }
            if EventType::parse(&name).is_err() {
                mistakes.push(format!("{source} {name:?}: no event type"));
            }
            let known = by_source.entry(source.clone()).or_default();
            if known.iter().any(|(other, ..)| *other == pattern) {
                mistakes.push(format!("{source} {name}: registered twice"));
            }
            known.push((pattern, name, run));
        }
        if mistakes.is_empty() { Ok(Handlers(by_source)) } else { Err(RegistryError(mistakes)) }
    }
}

/// The handlers of all sources.
pub struct Handlers(HashMap<String, Vec<(TypePattern, String, Run)>>);

impl Handlers {
    /// The handler for events of this source and type.
    pub(crate) fn get(&self, source: &str, event_type: &str) -> Option<&Run> {
        let matching = self.0.get(source)?.iter().filter(|(p, ..)| p.matches(event_type));
        let best = matching.max_by_key(|(pattern, name, _)| {
            (matches!(pattern, TypePattern::Exact(_)), name.len())
        });
        best.map(|(.., run)| run)
    }

    /// The types and patterns registered for a source.
    pub fn types(&self, source: &str) -> impl Iterator<Item = &str> {
        self.0.get(source).into_iter().flatten().map(|(_, name, _)| name.as_str())
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.keys().map(|source| (source, self.types(source).collect::<Vec<_>>()));
        f.debug_map().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn nothing(_: Event<serde_json::Value>, ctx: Context) -> Result<Effects, HandlerError> {
        Ok(ctx.effects())
    }

    #[test]
    fn a_mistake_does_not_start() {
        let sources = Sources::builtin().unwrap();
        let registry = Registry::default()
            .on("kudos", "a.b", nothing)
            .on("kudos", "a.b", nothing)
            .on("nobody", "a", nothing)
            .on("kudos", "", nothing);
        let said = registry.finish(&sources).unwrap_err().to_string();
        for part in ["kudos a.b: registered twice", "no source nobody", "\"\": no event type"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn the_most_particular_handler_runs() {
        let sources = Sources::builtin().unwrap();
        let registry = Registry::default()
            .on("kudos", "a.*", nothing)
            .on("kudos", "a.b.*", nothing)
            .on("kudos", "a.b.c", nothing);
        let handlers = registry.finish(&sources).unwrap();
        let of = |event_type| {
            let run = handlers.get("kudos", event_type)? as *const Run;
            let known = handlers.0["kudos"].iter().find(|(.., r)| std::ptr::eq(r, run));
            known.map(|(_, name, _)| name.as_str())
        };
        for (event_type, name) in
            [("a.x", "a.*"), ("a.b.x", "a.b.*"), ("a.b.c", "a.b.c"), ("a.b.c.d", "a.b.*")]
        {
            assert_eq!(of(event_type), Some(name), "{event_type}");
        }
        assert!(
            of("a").is_none() && of("b.a").is_none() && handlers.get("apiera", "a.x").is_none()
        );
    }
}
