//! Wires the ingress to the Lambda runtime.

use ingress::{Ingress, Settings};
use lambda_http::{Error, service_fn};
use shared::aws::{CallBudget, Clients};
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::Clock;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    shared::logs::to_stdout(std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().as_deref());
    let settings = Settings::read(&|name| std::env::var(name).ok())?;
    let sources = Sources::builtin()?;
    let clients = Clients::from_env(CallBudget::INGRESS).await;
    let metrics = Metrics::stdout(&settings.inbox_table);
    let ingress = Ingress::new(&settings, sources, &clients, metrics, Clock::system());
    ingress.warm_up().await;
    lambda_http::run(service_fn(|request| ingress.respond(request))).await
}
