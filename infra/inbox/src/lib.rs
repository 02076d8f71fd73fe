//! The operator's tool: what happened to an event, what failed and why, and running it again.
//!
//! `cli` is the command line; `place` finds the inbox it is about; each command is a module
//! with its arguments and a `run`. What a command writes into the inbox is in `shared`, beside the
//! other writes; here is what it asks for and what it says.

mod choice;
mod cli;
mod completions;
mod console;
mod context;
mod doctor;
mod drop;
mod exit;
mod filter;
mod interrupt;
mod list;
mod pause;
mod place;
mod reconcile;
mod redrive;
mod resume;
mod scan_cost;
mod secrets;
mod send;
mod shell;
mod show;
mod stats;
mod verify;
mod walk;
mod when;

pub use cli::main;
