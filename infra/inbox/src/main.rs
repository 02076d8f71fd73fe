//! `inbox`: what an operator asks the inbox, and tells it.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    inbox::main().await
}
