//! Inputs that have broken other receivers, each as Lambda would hand it to the functions, and what
//! becomes of it here.

mod desk;
mod judge;
mod producers;
mod shapes;

mod batches;
mod bodies;
mod deadlines;
mod digests;
mod document;
mod duplicates;
mod events;
mod headers;
mod ids;
mod json;
mod messages;
mod repeated;
mod routes;
mod secrets;
mod sizes;
mod store;
mod times;
mod types;
