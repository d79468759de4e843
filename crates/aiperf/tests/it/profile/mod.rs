//! The real binary against the simulated server, over real sockets.
//!
//! # Layout
//! - [`bench`]: a run of the binary and what it left
//! - [`results`]: what a run writes; [`raw`]: requests and answers as they were
//! - [`which_metrics`]: which metrics it shows; [`vocabulary`] and [`shown`] are those of the report's own tests
//! - [`goodput`]: requests that meet objectives
//! - [`limits`]: limits that fail a run, and what CI is told of them
//! - [`slices`]: results cut into slices of time
//! - [`live`]: statistics while it is on
//! - [`server_metrics`]: what is collected of the servers' own metrics
//! - [`network`]: the network's round trip, and latencies without it
//! - [`gpu_telemetry`]: what is collected of GPUs; [`local_gpus`]: of those of this machine
//! - [`otlp`]: what is sent by OTLP, and [`receiver`]: who takes it
//! - [`examples`]: what the documentation of these shows
//! - [`environment`]: variables that change what is counted and shown
//! - [`faults`]: servers that fail, lie or are not there
//! - [`secrets`]: what nobody may read, even when a server says it back
//! - [`stopping`]: signals, time limits
//! - [`disk`]: what stands in the artifact directory, and what happens when it cannot be written
//! - [`terminal`]: what people see on narrow ones
//! - [`dashboard`]: the same on a full screen
//! - [`told`]: what people are told of failures and doubts
//! - [`input`]: bad input is refused before anything is sent

mod dashboard;
mod disk;
mod environment;
mod examples;
mod faults;
mod goodput;
mod gpu_telemetry;
mod input;
mod limits;
mod live;
mod local_gpus;
mod network;
mod otlp;
mod raw;
mod receiver;
mod results;
mod secrets;
mod server_metrics;
mod slices;
mod stopping;
mod terminal;
mod told;
mod which_metrics;
