//! Whether one run differs from another, and how well each is known.
//!
//! Two runs are compared metric by metric, each by its mean and its percentiles: how far they lie apart, where the true
//! difference lies, how likely chance alone would do as much, and a verdict.
//!
//! # By records
//! [`compare`] takes the records of one run a side. They are not independent (`long_run` explains what follows), so
//! errors come from blocks of neighbours in time, as long as the autocorrelation asks. The errors of both sides are joined
//! by Student's t with as many degrees of freedom as the blocks give; those of percentiles, which are lopsided, side by
//! side (Zou and Donner's method of variance recovery, 2008). There is no chance in it: the same records give the same
//! result.
//!
//! What one run a side cannot show is how runs differ from each other: a server that was warmer, a neighbour that was
//! busier. [`compare_trials`] takes several runs a side and asks only how their figures spread, by Welch's test.
//!
//! # Verdicts
//! A verdict is given where p is below one less the level, and then it names the better side. It is
//! [`Undecided`](Verdict::Undecided) where it is not, and also, whatever p is, where there is too little data to trust it:
//! - fewer than [`FEWEST_EFFECTIVE`] effective values on a side: independent values with as much information;
//! - fewer than [`FEWEST_BLOCKS`] blocks on a side: a run that is short against its own correlation does not even show how
//!   correlated it is;
//! - for a percentile, fewer than [`FEWEST_BEYOND`] effective values on its thinner side: p99 needs 1,000 independent
//!   records, p90 100;
//! - fewer than [`FEWEST_TRIALS`] runs on a side, where runs are compared.
//!
//! Intervals and p are given all the same. With too little data they are too narrow and too small at times, most of all
//! those of high percentiles.
//!
//! # What it was measured to do
//! `tests/it/alarms.rs`, 1,000 pairs of runs of each kind, a fixed seed, a level of 95%. Of pairs that do not differ, at most
//! 6.0% got a verdict where records are independent and at most 6.5% where they are those of a queue near its capacity
//! or persist otherwise. Of pairs whose mean is 5% apart (500 records a side, deviation a fifth of the mean) 97% got one,
//! of pairs whose p99 is (5,000 records) 90 to 96%. A queue with one server at 90% of its capacity needs tens of
//! thousands of records: 5,000 of them are worth fourteen independent ones, and 87% of such pairs are undecided.
//!
//! Two runs of a million records take 0.16 s a metric, with four percentiles (`examples/time_to_compare.rs`).
//!
//! # Layout
//! - [`verdict`]: what is asked and what is answered
//! - `long_run`: how well a mean is known when values are not independent
//! - `values`: the values of one metric of one run; `series`: these with their mean and percentiles
//! - `percentile`: how well a percentile is known
//! - `interval`: where the true value of a statistic of one run lies; `width`: how exactly it is known, steadily
//! - `records`, `trials`, `proportions`: the three kinds of comparison

mod interval;
mod long_run;
mod percentile;
mod proportions;
mod records;
mod series;
mod trials;
mod values;
pub mod verdict;
mod width;

pub use interval::Interval;
pub use long_run::{FEWEST_BLOCKS, FEWEST_EFFECTIVE, LongRun};
pub use percentile::FEWEST_BEYOND;
pub use proportions::compare_proportions;
pub use records::compare;
pub use series::Series;
pub use trials::{FEWEST_TRIALS, compare_samples, compare_trials};
pub use verdict::{Comparison, Direction, Doubt, Statistic, Verdict};
