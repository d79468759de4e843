//! Many runs, one after the other.
//!
//! A [`Strategy`] decides the next run from the results so far; the driver waits and runs.
//!
//! # Layout
//! - [`ran`]: a run that is over, as one of many
//! - [`mod@strategy`]: what a strategy is
//! - [`convergence`]: whether trials have shown enough
//! - [`strategies`]: every strategy, one file each: grids, trials, cooldowns
//! - [`mod@check`]: whether runs will measure what they are watched by
//! - [`mod@resume`]: what an earlier command left of them
//! - [`driver`]: has runs run as a strategy decides, and keeps what they came to

pub mod check;
pub mod convergence;
pub mod driver;
pub mod ran;
pub mod resume;
pub mod strategies;
pub mod strategy;

pub use check::{WatchedError, check};
pub use driver::{Driven, RunIn, drive};
pub use ran::{Ran, worth_keeping};
pub use resume::{ChangedError, Resumed, resume};
pub use strategies::strategy;
pub use strategy::{Next, Strategy};
