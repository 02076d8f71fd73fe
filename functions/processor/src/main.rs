//! Wires the processor to the Lambda runtime.

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use processor::{Processor, Settings, handlers};
use shared::aws::{CallBudget, Clients};
use shared::limits::PROCESSOR_TIMEOUT;
use shared::metrics::Metrics;
use shared::source::Sources;
use shared::time::Clock;
use tracing::Instrument as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    shared::logs::to_stdout(std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().as_deref());
    shared::logs::exit(Box::pin(run()).await)
}

async fn run() -> Result<(), Error> {
    let settings = Settings::read(&|name| std::env::var(name).ok())?;
    let sources = Sources::builtin()?;
    let handlers = handlers::all().finish(&sources)?;
    let clients = Clients::from_env(CallBudget::BACKGROUND).await;
    let metrics = Metrics::stdout(&settings.common.inbox_table);
    let clock = Clock::system();
    let processor = Processor::new(&settings, sources, handlers, &clients, metrics, clock)?;
    processor.warm_up().await;
    lambda_runtime::run(service_fn(|event| invoke(&processor, event))).await
}

async fn invoke(
    processor: &Processor,
    event: LambdaEvent<SqsEvent>,
) -> Result<SqsBatchResponse, Error> {
    let now = Clock::system().now();
    let deadline = now.deadline(event.context.deadline, PROCESSOR_TIMEOUT);
    let span = tracing::info_span!("invocation", request_id = event.context.request_id);
    let processed = processor.process(event.payload, deadline).instrument(span).await;
    processed.map_err(Error::from)
}
