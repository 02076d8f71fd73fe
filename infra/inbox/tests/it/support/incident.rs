//! A world whose payments are handled wrongly until somebody mends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use local::apiera::Options;
use local::stack::Parts;

use super::dial::Dial;
use super::world::{Item, number, string};
use super::{Delivery, Tool, World, broken, eventually};

/// A world with the broken handler, and the tool beside it.
pub(crate) struct Incident {
    pub(crate) world: World,
    pub(crate) tool: Tool,
    dial: Dial,
    broken: Arc<AtomicBool>,
}

impl Incident {
    /// Nothing has come yet. Deliveries are taken and messages are polled; nothing sweeps.
    pub(crate) async fn new() -> Self {
        let broken = Arc::new(AtomicBool::new(true));
        let (handlers, dial) = (broken::handlers(&broken), Dial::default());
        let change = |_: &_, parts| Parts { handlers, clock: dial.clock(), ..parts };
        let world = World::with(None, Options::default(), change).await.serve().poll();
        Self { tool: Tool::of(&world), world, dial, broken }
    }

    /// The corrected handler is deployed.
    pub(crate) fn mend(&self) {
        self.broken.store(false, Ordering::SeqCst);
    }

    /// Lets the functions' clocks run ahead of the tool's, and the sweeper sweep once.
    pub(crate) async fn sweep_after(&self, time: Duration) {
        self.dial.forward(time);
        self.world.functions.sweeper().await.unwrap();
    }

    /// Delivers payments with these amounts, `evt_<cents>` each.
    pub(crate) async fn pay(&self, cents: impl Iterator<Item = i64>) {
        let posts = cents.map(|cents| async move {
            self.world.deliver(&Delivery::payment(&format!("evt_{cents}"), cents)).await;
        });
        futures_util::stream::iter(posts).buffer_unordered(16).collect::<Vec<()>>().await;
    }

    /// Waits until so many rows have this status. A machine that is busy enough loses a send or a run
    /// as any may, and its message comes back after six minutes: the sweeper mends it in two.
    pub(crate) async fn until(&self, status: &str, count: usize) {
        let what = format!("{count} rows are {status}");
        let mut swept = Instant::now() + Duration::from_secs(30);
        eventually(&what, Duration::from_secs(300), async || {
            if Instant::now() > swept {
                self.world.functions.sweeper().await.unwrap();
                swept = Instant::now() + Duration::from_secs(10);
            }
            (self.count(status).await == count).then_some(())
        })
        .await;
    }

    /// How many rows have this status.
    pub(crate) async fn count(&self, status: &str) -> usize {
        let rows = self.world.rows().await;
        rows.iter().filter(|row| string(row, "status") == status).count()
    }

    /// How many payments have been booked, and the cents of all of them.
    pub(crate) async fn booked(&self) -> (i64, i64) {
        let totals: Option<Item> = self.world.effect("kudos#acme", "totals").await;
        totals.map_or((0, 0), |totals| (number(&totals, "payments"), number(&totals, "paid_cents")))
    }

    /// Runs of the payments' handler so far, whatever came of them.
    pub(crate) fn runs(&self) -> usize {
        let lines = self.world.metric_lines();
        lines.iter().filter(|line| line["HandlerTime"].is_number()).count()
    }
}
