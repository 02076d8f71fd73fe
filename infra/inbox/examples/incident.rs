//! The local run with a mistake in a handler: payments over 90 euros fail. For RUNBOOK.md's walk.
//!
//! ```sh
//! cargo run -p inbox --example incident -- .local
//! ```

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use local::apiera::Options;
use local::cloud::Cloud;
use local::front::Front;
use local::functions::Functions;
use local::stack::{Parts, Running};
use shared::metrics::Metrics;
use shared::source::Sources;

#[path = "../tests/it/support/broken.rs"]
mod broken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: incident DIR")?;
    let folder = Path::new(&folder);
    let sources = Sources::builtin()?;
    let cloud = Arc::new(Cloud::start(Some(folder), &sources, Options::default()).await?);
    let front = Front::bind("127.0.0.1:9000".parse()?)?;
    cloud.write_environment(folder, Some(front.local_addr()))?;

    let file = OpenOptions::new().create(true).append(true).open(folder.join("metrics.jsonl"))?;
    let metrics = Metrics::to(&cloud.resources.inbox_table, move |line| {
        drop((&file).write_all(format!("{line}\n").as_bytes()));
    });
    let broken = Arc::new(AtomicBool::new(true));
    let parts =
        Parts { handlers: broken::handlers(&broken), ..Parts::of(&cloud, sources, metrics) };
    let functions = Functions::Here(Arc::new(parts.wire(&cloud.resources)?));

    let mut running = Running::nothing();
    running.poll(&cloud, &functions);
    running.sweep(Duration::from_secs(60), &functions);
    running.serve(front, &functions);
    writeln!(std::io::stderr(), "running with a mistake in it; Ctrl-C stops")?;
    Ok(tokio::signal::ctrl_c().await?)
}
