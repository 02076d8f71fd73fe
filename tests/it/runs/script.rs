//! Handlers that do what the test says, and remember what they saw.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use processor::handler::{Context, Event, HandlerError, Registry};
use serde_json::Value;
use shared::effects::{Change, Effects};
use tokio::sync::Notify;

/// What a handler does with the next event.
pub(crate) enum Step {
    /// Returns its effect, which is also what happens when the script is at its end.
    Effect,
    /// Returns no effects.
    Nothing,
    /// Returns an error.
    Error(HandlerError),
    /// Panics.
    Panic,
    /// Never ends.
    Hang,
    /// Waits until the test says so, then returns its effect.
    Wait,
    /// The same, but returns an error.
    WaitThenError(HandlerError),
}

/// Handlers for `job.*` of every source, and what they have seen.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Inner>);

#[derive(Default)]
struct Inner {
    steps: Mutex<VecDeque<Step>>,
    ran: Mutex<Vec<String>>,
    entered: Notify,
    gate: Notify,
}

impl Script {
    /// The next runs do this.
    pub(crate) fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Self::default();
        steps.into_iter().for_each(|step| script.next(step));
        script
    }

    /// After what is planned already, a run does this.
    pub(crate) fn next(&self, step: Step) {
        self.0.steps.lock().unwrap().push_back(step);
    }

    /// The keys of all runs so far.
    pub(crate) fn ran(&self) -> Vec<String> {
        self.0.ran.lock().unwrap().clone()
    }

    /// A run hangs or waits.
    pub(crate) async fn entered(&self) {
        self.0.entered.notified().await;
    }

    /// Lets the run that waits go on.
    pub(crate) fn go_on(&self) {
        self.0.gate.notify_one();
    }

    pub(crate) fn registry(&self) -> Registry {
        ["kudos", "kallglot", "apiera"].into_iter().fold(Registry::default(), |all, source| {
            let script = self.clone();
            all.on(source, "job.*", move |event, ctx| script.clone().step(event, ctx))
        })
    }

    async fn step(self, event: Event<Value>, ctx: Context) -> Result<Effects, HandlerError> {
        let key = event.key.to_string();
        self.0.ran.lock().unwrap().push(key.clone());
        let step = self.0.steps.lock().unwrap().pop_front();
        match step.unwrap_or(Step::Effect) {
            Step::Effect => {}
            Step::Nothing => return Ok(ctx.effects()),
            Step::Error(error) => return Err(error),
            Step::Panic => panic!("as the test wants it"),
            Step::Hang => {
                self.0.entered.notify_one();
                std::future::pending::<()>().await;
            }
            Step::Wait => {
                self.0.entered.notify_one();
                self.0.gate.notified().await;
            }
            Step::WaitThenError(error) => {
                self.0.entered.notify_one();
                self.0.gate.notified().await;
                return Err(error);
            }
        }
        Ok(ctx.effects().update(Change::of(&key, "count").add("applied", 1)))
    }
}
