//! `bench`: what the functions cost, as a table.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    bench::command::main().await
}
