//! Several runs, one after the other.
//!
//! A [`Strategy`] decides the next run from the results so far. It chooses a [`Point`](aiperf_plan::Point): the number
//! of a cell, the values of the swept settings, and a trial. The plan makes a cell of the point
//! ([`CampaignPlan::cell`](aiperf_plan::CampaignPlan::cell)). The driver waits and starts the run. Nothing here needs
//! all cells in advance: files, output and `--resume` depend on the point only, and a finished run keeps its cell
//! ([`CompletedRun`]). Cells that are listed before the first run, such as those of a grid, are checked before it and
//! resumed together.
//!
//! # A search strategy
//! A search strategy is one file in [`strategies`] that implements [`Strategy`], and one row in the table of its
//! `mod.rs`. It
//! - returns the first trial of each cell: [`strategies::Trials`] and [`strategies::Cooldown`] do the rest;
//! - numbers its cells from 0, in the order of its choices, and chooses no values twice: they name the folder;
//! - decides by `done` and its own state only, so that a resumed search chooses the same points from the same results.
//!   A run that an earlier command completed is in `done` when it would have been executed;
//! - identifies a run by the number of its cell. A run may have failed, and a cell has as many runs as trials were
//!   needed;
//! - returns an upper bound of its cells, if it has one.
//!
//! Its settings are a field of `plan::SweepPlan`, which `config` fills. `config/src/plan/campaign.rs` lists no cells
//! for a search, and rejects all searches today.
//!
//! # Layout
//! - [`completed_run`]: a finished run, as one of several
//! - [`mod@strategy`]: what a strategy is
//! - [`convergence`]: whether trials have converged
//! - [`strategies`]: every strategy, one file each: grids, trials, cooldowns
//! - [`mod@check`]: whether runs will measure the metrics that limits and convergence need
//! - [`mod@resume`]: what an earlier command left
//! - [`driver`]: executes the runs that a strategy asks for, and keeps their results

pub mod check;
pub mod completed_run;
pub mod convergence;
pub mod driver;
pub mod resume;
pub mod strategies;
pub mod strategy;
#[cfg(test)]
mod tests;

pub use check::{WatchedError, check};
pub use completed_run::{CompletedRun, worth_keeping};
pub use driver::{DriveError, Driven, RunIn, drive};
pub use resume::{ChangedError, Resumed, resume};
pub use strategies::strategy;
pub use strategy::{Next, Strategy};
