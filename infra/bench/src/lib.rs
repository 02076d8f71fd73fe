//! What the functions cost: CPU, memory, size, requests and capacity units, measured on their real
//! release binaries.

pub mod bed;
pub mod counts;
pub mod delivery;
pub mod front;
pub mod measure;
pub mod meter;
pub mod runtime_api;
pub mod samples;
pub mod tls;
pub mod usage;
