//! Runs the load: a conductor, workers, a record coordinator and record threads.
//!
//! The conductor lives in the loop of a single worker, or on its own thread if there are several workers. Workers are
//! added while the run is on, if one of them is saturated. Workers only send and read. Record threads parse, count and
//! compute at the lowest priority, so they never delay the stamp of a byte.
//!
//! # Layout
//! From the bottom up; each module uses only those before it. Sending and recording do not know each other: only the
//! queue connects them.
//! - [`stop`]: a request to end early; `failure_names`: the names of failures in records; `kernel_counters`: the
//!   kernel's counters of CPU time; `inbox`: the queue of one listener
//! - [`requests`]: the requests of a run, encoded before the clock starts or ahead of their use
//! - [`reading`]: parses responses, after they are complete or while they arrive
//! - `core_watch`: the priority of threads that measure, and their waits for a core
//! - `lanes`: values from several threads to one, without waiting
//! - `queue`: finished exchanges that wait for their records, with a budget
//! - [`events`]: what a run reports while it is on
//! - `sizing`: how many threads and connections a run gets; [`error`]: why a run could not be started or carried on
//! - `sending`: conductor and workers
//! - `recording`: record threads, their coordinator and the sinks
//! - [`mod@run`]: a run from start to end
//! - [`part`]: the results of a run as a value that can be sent and merged
//!
//! # Invariants
//! Threads
//! - No thread that measures waits for one that computes. The queues between them are lock-free; where a lock is
//!   shared, the worker only tries it.
//! - No thread waits for a thread of the lowest priority. Whatever record threads share is only tried (`try_lock`). The
//!   coordinator takes the oldest batch over after 0.25 s, or after 10 ms if a record thread has it and the others run
//!   out of work behind it. It helps record threads if exchanges have waited for 0.25 s, if half of the budget is used,
//!   and when sending is over. The first to claim a batch adds it up.
//! - Back-pressure stops dispatch, never reading. The conductor holds new requests when finished exchanges take more
//!   than 150 MB or one of them has waited for 0.7 s, or when more than 10,000 requests per worker wait to be sent
//!   (`unsent`). The run then reports that it was client-bound.
//! - A record is on disk within a second of the end of its request. Each sink has its own thread, so a blocked sink
//!   holds up neither the coordinator nor another sink. Whatever it has not written counts in the budget.
//!
//! Requests
//! - A session stays with the worker of its first turn, which keeps its `dialect::Session`. Workers that are added get
//!   new sessions only. The reply is in the session before the schedule learns that the turn returned. Text that arrived
//!   before a failure is a reply too.
//! - Bodies are encoded before the clock starts, up to `AIPERF_DATASET_PREPARED_BYTES` and a quarter of the free
//!   memory. The rest is encoded ahead of the draws, which are known (`ahead`). No worker makes or encodes a
//!   conversation, and no worker waits for a body: a late one is made by a thread of its own, sent when it is ready,
//!   and counted (`late_bodies`).
//! - A conversation that the dialect cannot encode ends the preparation, with its file and line. Only a request that
//!   depends on responses can fail later, with its own record. No body replaces another.
//! - A worker parses a response only if the next leg or turn needs it (`reading`). Record threads parse all others.
//! - A profiling phase starts only after its hook has returned. The schedule asks, and a thread of its own calls
//!   (`hooks`). With several phases and server metrics on, every phase has a hook: the next phase starts when the last
//!   page of the previous one has arrived. So no page contains requests of the next phase.
//! - The polls of a video's job share the time of one request. The download has that time again; its bytes are counted
//!   and not kept (`legs`).
//! - If no server ever accepts a connection, the run ends (`reach`).
//! - A redirect to another server carries no secret: secret headers are left out, and a body with secrets is not sent
//!   (`secrets`).
//!
//! Records
//! - Of the later turns of a chat session only the additions are counted (`prompt_counts`), if no token of the
//!   tokenizer has a blank after another character.
//! - Failures are named here, when records are written (`failure_names`). The steps of a video have names of their own.
//! - Errors of requests are redacted in `recorder`, before any file or table.
//! - A panic of a worker or of the conductor ends the run. Records of finished requests are written first.
//! - A record that panics costs its batch. Every part of the program that failed before it could report is listed in
//!   `RunResult.degraded` of `report`, and the footer names it.
//! - A phase that ends when its statistics are known exactly enough (`--until`) is looked at by a thread of its own.
//!   The schedule ends it as if its number of requests was reached (`looks`).
//! - After a stop, tokens are counted for one more second. Later records have no counts of ours, and the summary
//!   reports how many.
//! - A part of a run is a value (`part`). It is sent as CBOR and merged. Records, lists, histograms, counts and quality
//!   of merged parts equal those of the whole, to the bit; property tests split runs and compare. Errors are in the
//!   order of their first instants. A local run serialises nothing.
//!
//! Events
//! - A listener subscribes before the run starts, with the snapshots it wants. Without listeners there is no timer, no
//!   sample and no thread.
//! - Emitting never waits. Phases and messages are queued and reach every listener. Of progress and metrics only the
//!   latest is kept.
//! - One sampler, in the coordinator, asks the record threads for running statistics, at the shortest interval that any
//!   listener wants. Histograms are kept only if a listener wants them; the last ones come with `RecordsComplete`.
//! - The conductor reports the progress of a phase until its requests are done; then the coordinator does, until its
//!   records are.

mod core_watch;
pub mod error;
pub mod events;
mod failure_names;
mod inbox;
mod kernel_counters;
mod lanes;
pub mod part;
mod queue;
pub mod reading;
mod recording;
pub mod requests;
pub mod run;
mod sending;
mod sizing;
pub mod stop;
#[cfg(test)]
mod testing;

pub use error::EngineError;
pub use events::{Events, Heard, Interest, Subscription};
pub use part::{PartError, PhasePart, RunPart};
pub use recording::{record, sinks};
pub use requests::Requests;
pub use run::{EngineOutcome, Lost, PhaseOutcome, Setup, check, run};
pub use sending::hooks;
pub use sinks::{RecordSink, SinkFailure};
pub use stop::Stop;
