//! Runs the load: a conductor, workers and record threads.
//!
//! The conductor is a value that lives in the only worker's loop, or on a thread of its own when there are several.
//! Workers send and read and do nothing else; record threads parse, count and compute at the lowest priority there
//! is, so that they never stand between a byte and its stamp.
//!
//! # Layout
//! - [`mod@run`]: a run from start to end
//! - [`requests`]: what is sent, encoded before the clock starts
//! - `conductor`: the schedule driven by a clock
//! - `worker`: requests in flight on one thread
//! - `queue`: finished exchanges waiting, with a budget
//! - [`record`]: one exchange parsed, counted and measured
//! - `recorder`: the threads that do so, and the relief; `curves`: what all of them know of the order of time
//! - [`lines`]: record lines in order of completion
//! - [`quality`]: how exact the run itself was
//! - [`control`]: stopping a run and watching its progress; [`watch`]: watching its metrics
//! - `limits`: descriptors and cores

mod conductor;
pub mod control;
mod curves;
mod limits;
pub mod lines;
pub mod quality;
mod queue;
pub mod record;
mod recorder;
pub mod requests;
pub mod run;
pub mod watch;
mod worker;

pub use control::{Board, Stop};
pub use lines::{LineSink, LineWriter};
pub use quality::Quality;
pub use requests::Requests;
pub use run::{EngineError, Outcome, PhaseOutcome, Setup, run};
pub use watch::Watch;
