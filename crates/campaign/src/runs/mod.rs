//! Many runs, one after the other.
//!
//! # Layout
//! - [`agenda`]: which run comes next, as a function of what has happened so far
//! - [`mod@check`]: whether runs will measure what they are watched by
//! - [`convergence`]: whether trials have shown enough
//! - [`mod@resume`]: what an earlier command left of them
//! - [`driver`]: has runs run in the order of the agenda, and keeps what they came to

pub mod agenda;
pub mod check;
pub mod convergence;
pub mod driver;
pub mod resume;

pub use agenda::{Agenda, Step};
pub use check::{WatchedError, check};
pub use driver::{Ran, RunIn, drive, runs_left, worth_keeping};
pub use resume::{ChangedError, Resumed, resume};
