//! Metrics pages, GPUs and the network: golden pages and series, and properties.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod dcgm_pages;
mod discovery;
mod exposition;
mod golden;
mod golden_gpus;
mod golden_runs;
mod golden_series;
mod network;
mod properties;
mod simple_pages;
mod snapshot;
mod support;
mod windows;
