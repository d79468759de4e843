//! The recording side of a run: it turns finished exchanges into records, adds these up and writes them. It takes
//! exchanges from the queue and knows nothing of workers.
//!
//! - [`record`]: one exchange parsed, counted and measured; `http_trace`: its HTTP steps; `raw`: the exchange as it was
//! - `looks`: values that end a phase when they suffice
//! - `batch`: exchanges that are computed together, and what their records are; `courtesy`: who gives way to workers
//! - `recorder`: batches of records, added up; `curves`: records of all threads, in the order of time
//! - `quality`: the costs of reading and sending, added up; `live_judge`: the verdict while the run is on
//! - [`sinks`]: records written in order of completion; `shelf`: their buffers; `stalls`: what the thread of a late one did
//! - `record_thread`: computes batches at the lowest priority
//! - `coordinator`: hands out exchanges and writes their records; `sampler`: when it asks for running statistics

mod batch;
pub(crate) mod coordinator;
pub(crate) mod courtesy;
pub(crate) mod curves;
mod http_trace;
pub(crate) mod live_judge;
pub(crate) mod looks;
mod quality;
mod raw;
pub mod record;
pub(crate) mod record_thread;
pub(crate) mod recorder;
mod sampler;
pub(crate) mod shelf;
pub mod sinks;
pub(crate) mod stalls;
