//! Logs: JSON lines on stdout, and which crates may speak how loudly.

use std::error::Error;
use std::process::ExitCode;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The crates whose lines are ours. All others may only warn: at TRACE the SDK and the Lambda
/// runtime would print bodies.
const OURS: [&str; 5] = ["shared", "ingress", "processor", "sweeper", "local"];

/// JSON lines at the level of `AWS_LAMBDA_LOG_LEVEL`, or INFO.
pub fn to_stdout(level: Option<&str>) {
    let json = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false);
    tracing_subscriber::registry().with(filter(level)).with(json).init();
    quiet_panics();
}

/// A function's exit code; why it could not start goes to the log in full.
pub fn exit(ended: Result<(), Box<dyn Error + Send + Sync>>) -> ExitCode {
    let Err(error) = ended else { return ExitCode::SUCCESS };
    tracing::error!(%error, "the function cannot run");
    ExitCode::FAILURE
}

/// A panic's message may quote what was being handled; only its place reaches the log.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}

/// Our crates at `level`, all others at WARN.
pub fn filter(level: Option<&str>) -> Targets {
    let level = level.and_then(|level| level.parse().ok()).unwrap_or(Level::INFO);
    let others = LevelFilter::WARN.min(LevelFilter::from_level(level));
    Targets::new().with_default(others).with_targets(OURS.map(|name| (name, level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_crates_may_speak_loudly() {
        let filter = filter(Some("TRACE"));
        assert!(filter.would_enable("ingress::receive", &Level::TRACE));
        for loud in ["aws_smithy_runtime", "lambda_runtime", "hyper", "reqwest"] {
            assert!(!filter.would_enable(loud, &Level::INFO), "{loud}");
            assert!(filter.would_enable(loud, &Level::WARN), "{loud}");
        }
        assert!(!super::filter(None).would_enable("ingress", &Level::DEBUG));
        assert!(!super::filter(Some("ERROR")).would_enable("hyper", &Level::WARN));
    }
}
