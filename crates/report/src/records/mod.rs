//! Records: what was sent, received and measured, for each request.
//!
//! # Layout
//! - `metadata`: the request of a record; `trace_data`: its HTTP trace; `measurement`: what is not exact about it
//! - [`jsonl`]: one line per request, written while the run is on
//! - [`reading`]: the same lines read back, as columns
//! - `parquet`: the same records as columns
//! - [`raw_jsonl`]: the same with everything sent and received
//! - [`outputs_json`]: generated text, collected while the run is on; `sorted_entries`: in the order of requests
//! - [`inputs_json`]: the requests to send, written before the run

mod measurement;
pub(crate) mod metadata;
mod trace_data;

pub mod jsonl;
pub(crate) mod parquet;
pub mod raw_jsonl;
pub mod reading;

pub mod inputs_json;
pub mod outputs_json;
mod sorted_entries;
