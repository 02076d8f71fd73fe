//! What every command is given.

use shared::fault::Fault;
use shared::key::SourceName;
use shared::source::{Profile, Sources};
use shared::time::{Clock, Timestamp};
use tokio::sync::OnceCell;

use crate::console::Console;
use crate::exit::Failure;
use crate::place::{Kind, Place, Where};

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where output goes.
    pub(crate) console: Console,
    /// The producers of the tree that this tool was built from.
    pub(crate) sources: Sources,
    clock: Clock,
    wanted: Where,
    place: OnceCell<Place>,
}

impl Context {
    /// Calls nothing: the inbox is looked for when a command asks for it.
    pub(crate) fn new(wanted: Where, json: bool) -> Result<Self, Failure> {
        let sources = Sources::builtin().map_err(|mistakes| {
            Failure::usage(format!("infra/sources.toml: {mistakes}"), "cargo test -p shared source")
        })?;
        let console = Console::of_process(json);
        Ok(Self { console, sources, clock: Clock::system(), wanted, place: OnceCell::new() })
    }

    /// The inbox that the command line means.
    pub(crate) async fn place(&self) -> Result<&Place, Failure> {
        self.place.get_or_try_init(|| Place::find(&self.wanted)).await
    }

    /// What kind of place it is, if it has been found.
    pub(crate) fn kind(&self) -> Option<&Kind> {
        self.place.get().map(|place| &place.kind)
    }

    /// What went wrong, more plainly than the call itself can say.
    pub(crate) async fn explain(&self, failure: Failure) -> Failure {
        match (&failure, self.place.get()) {
            (Failure::Fault(Fault::Unanswered { .. }), Some(place)) => {
                place.explain().await.unwrap_or(failure)
            }
            _ => failure,
        }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What `sources.toml` says of a source.
    pub(crate) fn profile(&self, source: &SourceName) -> Result<&Profile, Failure> {
        self.sources.get(source.as_str()).ok_or_else(|| {
            let known: Vec<&str> = self.sources.iter().map(|p| p.name.as_str()).collect();
            let what = format!("{source} is none of the sources in infra/sources.toml");
            Failure::usage(what, format!("one of: {}", known.join(", ")))
        })
    }

    /// Says of a source that nothing here knows it.
    pub(crate) fn remark_unknown(&self, source: &SourceName) {
        if self.sources.get(source.as_str()).is_none() {
            self.console.note(format!(
                "note: {source} is none of the sources in infra/sources.toml: \
                 unless the deployed functions know it, nothing processes or sweeps its events"
            ));
        }
    }

    /// A command for this inbox, as the user would type it: `inbox --local show kudos evt_1`.
    pub(crate) fn command(&self, rest: &str) -> String {
        format!("inbox {}{rest}", self.wanted.flags())
    }
}
