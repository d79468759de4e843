//! Consumers of a run: what follows it and reports on it beside its own records.
//!
//! # Layout
//! - [`otlp`]: what a run measures, sent by OTLP while it is on
//! - `server_metrics`: the servers' own metrics of a run
//! - [`gpu_telemetry`]: its GPUs, and what they took beside what was made of it
//! - `network_latency`: the round trip to the servers
//! - `shared`: what these do alike

pub mod gpu_telemetry;
pub(crate) mod network_latency;
pub mod otlp;
pub(crate) mod server_metrics;
pub(crate) mod shared;
