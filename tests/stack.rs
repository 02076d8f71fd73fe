//! The local run as a process that tests can kill: the very `main` of `cargo run -p local`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    local::run::main().await
}
