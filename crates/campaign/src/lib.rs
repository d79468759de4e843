//! Runs one plan from its preparation to its files, and several runs in a row: wires dataset, engine and report.
//!
//! Some checks need more than the plan: a tokenizer's name, the metrics of objectives, a writable directory, enough
//! descriptors. They happen here, before anything is sent.
//!
//! # Layout
//! - [`error`]: why a run failed
//! - [`campaign`]: what runs share, and each run from its preparation to its files
//! - [`control`]: calls to the servers around a run; `caller`: makes them; `hooks`: around phases
//! - [`hub`]: files of the Hugging Face hub, and its cache
//! - [`tokenizers`]: the tokenizers of a run, fetched if necessary
//! - `preparation`: the slow steps before a run, interruptible; `run_cache`: what a run leaves for the next one
//! - `public_files`: files of public datasets, from caches, the hub or URLs; `media_fetcher`: media that rows name by
//!   URL
//! - [`rehearsal`]: the schedule of a run, without the run
//! - [`objectives`]: checks before a run that requests can meet them; [`limits`]: the run measures them, and the verdicts
//!   at the end; [`until`]: the same for statistics that end a phase; [`memory`]: prompts fit; [`certificates`]: the user's are readable; [`overwrites`]: the run does not
//!   replace its input
//! - [`consumers`]: follow a run and report on it: OTLP, server metrics, GPUs, the network round trip
//! - `result`: the results of a run; `slices`: the same by slice of time; `written_run`: a run with its results and
//!   files; `result_files`: the same, read back from files
//! - `run_traits`: what metrics need to know of a run; `sending`: what phases were asked to send and what they sent
//! - [`runs`]: several runs in a row; [`gather`]: their results, logged and written
//! - [`measurement`]: what the run measured of itself, and its doubts in sentences;
//!   [`mod@certainty`]: the same, read back from a summary
//! - [`aggregate`]: results of several runs: trials and sweeps; [`compare`]: runs side by side
//!
//! # Invariants
//! Before a run
//! - A stop request ends the preparation at once; its thread is abandoned (`preparation`).
//! - Nothing in an artifact directory is removed before everything that can be checked is checked
//!   (`Campaign::prepare`). The directory is locked during a run.
//! - Probes and hooks are state machines of `dialect`. This crate only calls and waits, through `transport::fetch`,
//!   never through the pool of a worker.
//!
//! One run
//! - A consumer of a run is one file and one row of `consumers`. All consumers pass the same stages, from the
//!   preparation to the last file. A run that fails or panics closes them too.
//! - Every part that failed before it could report is in `RunResult.degraded`.
//! - Nothing waits for the OTLP thread except the end of the program, for at most 5 s.
//!
//! Several runs
//! - Runs follow one another in one process. A strategy without a clock decides the next one from the results so far
//!   (`runs/strategies`). The driver knows runs only as the trait `RunIn` (`runs/driver.rs`);
//!   `aiperf/src/commands/many_runs.rs` implements it.
//! - Nothing needs all cells in advance: a run keeps its cell.
//! - Listeners, signals and the common log belong to the campaign. Artifacts, collectors, OTLP (its sums count from the
//!   start of a run) and a log belong to each run. Tokenizers, and a dataset that must be the same, pass from run to
//!   run (`run_cache`).
//! - Results of several runs are computed from values (`aggregate`) and written from values (`report/src/aggregate`).
//!   Of a run, its statistics are kept. Single requests are kept only if no file has them (`runs/ran.rs`,
//!   `worth_keeping`); otherwise `gather` reads the records file again. `runs/resume.rs` reads the results of an
//!   earlier command.
//! - A step over the results of a sweep is one file and one row (`aggregate/post_process`).

pub mod aggregate;
mod caller;
pub mod campaign;
pub mod certainty;
pub mod certificates;
pub mod compare;
pub mod consumers;
pub mod control;
pub mod error;
pub mod gather;
mod hooks;
pub mod hub;
pub mod limits;
pub mod measurement;
mod media_fetcher;
pub mod memory;
pub mod objectives;
pub mod overwrites;
mod preparation;
mod public_files;
pub mod rehearsal;
mod result;
mod result_files;
mod run_cache;
mod run_traits;
pub mod runs;
mod sending;
mod slices;
pub mod tokenizers;
pub mod until;
mod written_run;

pub use aiperf_dataset::trace_tools;
pub use aiperf_engine::{Interest, Stop, Subscription};
pub use aiperf_metrics::docs::{markdown as metrics_markdown, registry_json as metrics_json};
pub use aiperf_metrics::{JudgedLimit, MetricResult, Verdict};
pub use aiperf_transport::sys::{leave_realtime_priority, set_lowest_niceness};
pub use campaign::{Campaign, Prepared};
pub use certainty::certainty;
pub use error::CampaignError;
pub use objectives::ObjectivesError;
pub use written_run::WrittenRun;
