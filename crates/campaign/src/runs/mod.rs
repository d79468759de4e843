//! Many runs, one after the other.
//!
//! A [`Strategy`] decides the next run from the results so far. It chooses a [`Point`](aiperf_plan::Point): a number of
//! a cell, the values of what is varied, and a trial. The plan makes a cell of the point
//! ([`CampaignPlan::cell`](aiperf_plan::CampaignPlan::cell)), the driver waits and has it run. Nothing here needs all cells in
//! advance: what is written, shown and resumed follows from the point, and what was run keeps its cell ([`Ran`]).
//! Cells that are listed before the first run, as those of a grid are, are checked before it, and resumed together.
//!
//! # A search strategy
//! One file in [`strategies`] that implements [`Strategy`], and one row in the table of its `mod.rs`. It
//! - gives the first trial of each cell: [`strategies::Trials`] and [`strategies::Cooldown`] do the rest;
//! - numbers its cells from 0, in the order in which it chooses them, and chooses no values twice: they name the folder;
//! - decides by `done` and its own state alone, so that a resumed search chooses the same points from the same results.
//!   A run that an earlier command completed is in `done` when it would have been run;
//! - knows a run by the number of its cell. A run may have failed, and a cell has as many runs as trials were needed;
//! - gives an upper bound of its cells, if it has one.
//!
//! What users set for it is a field of `plan::SweepPlan`, which `config` fills; `config/src/plan/campaign.rs` lists no cells for
//! a search, and refuses all of them today.
//!
//! # Layout
//! - [`ran`]: a run that is over, as one of many
//! - [`mod@strategy`]: what a strategy is
//! - [`convergence`]: whether trials have shown enough
//! - [`strategies`]: every strategy, one file each: grids, trials, cooldowns
//! - [`mod@check`]: whether runs will measure what they are watched by
//! - [`mod@resume`]: what an earlier command left of them
//! - [`driver`]: has runs run as a strategy decides, and keeps their results

pub mod check;
pub mod convergence;
pub mod driver;
pub mod ran;
pub mod resume;
pub mod strategies;
pub mod strategy;
#[cfg(test)]
mod tests;

pub use check::{WatchedError, check};
pub use driver::{DriveError, Driven, RunIn, drive};
pub use ran::{Ran, worth_keeping};
pub use resume::{ChangedError, Resumed, resume};
pub use strategies::strategy;
pub use strategy::{Next, Strategy};
