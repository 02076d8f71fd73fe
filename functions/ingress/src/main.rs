//! Wires the ingress to the Lambda runtime.

use ingress::{Ingress, Settings};
use lambda_http::{Error, lambda_runtime, service_fn};
use shared::aws::{CallBudget, Clients};
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::Clock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    shared::logs::to_stdout(std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().as_deref());
    shared::logs::exit(run().await)
}

async fn run() -> Result<(), Error> {
    let settings = Settings::read(&|name| std::env::var(name).ok())?;
    let sources = Sources::builtin()?;
    let clients = Clients::from_env(CallBudget::INGRESS).await;
    let metrics = Metrics::stdout(&settings.common.inbox_table);
    let ingress = Ingress::new(&settings, sources, &clients, metrics, Clock::system());
    ingress.warm_up().await;
    lambda_runtime::run(service_fn(|event| ingress.invoke(event))).await
}
