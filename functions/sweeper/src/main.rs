//! Wires the sweeper to the Lambda runtime.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;
use shared::aws::{CallBudget, Clients};
use shared::limits::SWEEPER_TIMEOUT;
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::Clock;
use sweeper::Sweeper;
use tracing::Instrument as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    shared::logs::to_stdout(std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().as_deref());
    shared::logs::exit(run().await)
}

async fn run() -> Result<(), Error> {
    let settings = sweeper::settings(&|name| std::env::var(name).ok())?;
    let sources = Sources::builtin()?;
    let clients = Clients::from_env(CallBudget::BACKGROUND).await;
    let metrics = Metrics::stdout(&settings.inbox_table);
    let sweeper = Sweeper::new(&settings, sources, &clients, metrics, Clock::system());
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        let now = Clock::system().now();
        let deadline = now.deadline(event.context.deadline, SWEEPER_TIMEOUT);
        let span = tracing::info_span!("invocation", request_id = event.context.request_id);
        sweeper.sweep(deadline).instrument(span).await.map(drop).map_err(Error::from)
    }))
    .await
}
