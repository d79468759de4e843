//! The real binary against the simulated server, over real sockets.
//!
//! # Layout
//! - [`bench`]: a run of the binary and its files
//! - [`results`]: the files of a run; [`raw`]: raw requests and responses
//! - [`which_metrics`]: which metrics it shows; [`vocabulary`] and [`shown`] are those of the report's own tests
//! - [`goodput`]: requests that meet objectives
//! - [`limits`]: limits that fail a run, and the JUnit file about them
//! - [`until`]: runs that end when a statistic is known exactly enough
//! - [`slices`]: results in slices of time
//! - [`live`]: statistics during a run
//! - [`server_metrics`]: the servers' own metrics
//! - [`network`]: the network's round trip, and latencies without it
//! - [`gpu_telemetry`]: GPUs by exporters; [`local_gpus`]: those of this machine
//! - [`otlp`]: metrics sent by OTLP, and [`receiver`]: their receiver
//! - [`examples`]: the examples in the documentation of these
//! - [`environment`]: variables that change what is counted and shown
//! - [`faults`]: servers that fail, lie or are down
//! - [`secrets`]: secrets stay hidden, even if a server echoes them
//! - [`stopping`]: signals, time limits
//! - [`disk`]: the content of the artifact directory, and failed writes
//! - [`terminal`]: output on narrow terminals
//! - [`dashboard`]: the same on a full screen
//! - [`messages`]: messages about failures and doubts
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
mod messages;
mod network;
mod otlp;
mod raw;
mod receiver;
mod results;
mod secrets;
mod server_metrics;
mod slices;
mod stall;
mod stopping;
mod terminal;
mod truth;
mod until;
mod which_metrics;
