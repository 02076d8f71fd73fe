//! The whole system in one process: embedded DynamoDB, SQS and Secrets Manager, the HTTP front door
//! and the event source mapping. For local use and for tests; nothing here runs in AWS.

pub mod apiera;
pub mod cloud;
pub mod console;
pub mod engines;
pub mod front;
pub mod functions;
pub mod mapping;
pub mod provision;
pub mod run;
pub mod samples;
pub mod stack;
pub mod template;

mod serving;
#[cfg(test)]
mod testing;
