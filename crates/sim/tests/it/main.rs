//! The simulated server over real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

mod burst;
mod client;
mod dialects;
mod encodings;
mod engine;
mod faults;
mod golden;
mod hooks;
mod http2;
mod lengths;
mod metrics_faults;
mod metrics_pages;
mod redirects;
mod tls;
mod truth;
mod unix;
