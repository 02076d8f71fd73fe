//! `cargo run -p local`: the whole inbox on this machine.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    local::run::main().await
}
