//! The recording side of a run. It takes finished exchanges from the queue, computes their records, adds them up and
//! writes them. It does not depend on workers.
//!
//! - [`record`]: one exchange parsed, counted and measured; `http_trace`: its HTTP steps; `raw`: its bytes, for raw
//!   files
//! - `looks`: values that end a phase once they are exact enough
//! - `batch`: exchanges whose records are computed together; `courtesy`: which threads yield to workers
//! - `recorder`: batches of records, added up; `curves`: records of all threads, in the order of time
//! - `quality`: the costs of reading and sending, added up; `live_judge`: the verdict while the run is on
//! - [`sinks`]: records written in order of completion; `shelf`: their buffers; `stalls`: why a sink falls behind
//! - `batch_ring`: batches that wait for a record thread; `record_thread`: computes them at the lowest priority
//! - `coordinator`: gives exchanges to record threads, and records to sinks; `sampler`: its requests for statistics

mod batch;
pub(crate) mod batch_ring;
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
