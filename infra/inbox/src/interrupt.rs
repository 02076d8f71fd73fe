//! Ctrl-C while something is under way: the first ends it between two steps, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;

/// Whether somebody has asked for an end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    pub(crate) fn listen(console: Console) -> Self {
        let happened = Arc::new(AtomicBool::new(false));
        let noted = happened.clone();
        tokio::spawn(async move {
            // Where no signal can be heard, the process ends by it as any other does.
            if tokio::signal::ctrl_c().await.is_err() {
                return;
            }
            noted.store(true, Ordering::Relaxed);
            console.note("\nstopping behind this step; Ctrl-C again stops at once");
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(1);
            }
        });
        Self(happened)
    }

    /// It has.
    pub(crate) fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
