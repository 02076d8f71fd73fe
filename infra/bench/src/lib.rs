//! What the functions cost: CPU, memory, size, requests and capacity units, measured on their real
//! release binaries.

pub mod bed;
pub mod binaries;
pub mod command;
pub mod counts;
pub mod delivery;
pub mod front;
pub mod gate;
pub mod limits;
pub mod measure;
pub mod meter;
pub mod report;
pub mod run;
pub mod runtime_api;
pub mod samples;
pub mod scale;
pub mod share;
pub mod tls;
pub mod units;
pub mod usage;
