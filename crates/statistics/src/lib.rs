//! Statistics of one run and of several: intervals, tests, designs of experiments, and whether one run differs from
//! another.
//!
//! The crate is pure: no clock, no file, no socket, no thread. Where chance is needed a seed is given, and the same seed
//! gives the same result on every machine.
//!
//! # Layout
//! - [`student`]: Student's t
//! - [`welch`]: whether two means differ
//! - [`fisher`](mod@fisher): whether two shares differ
//! - [`kolmogorov`]: whether two samples come from one distribution
//! - [`holm`](mod@holm): several tests at once
//! - [`comparison`]: whether one run differs from another
//! - [`sequential`]: when a sample is large enough
//! - [`design`]: where to look first in a space of settings: Sobol points, Latin hypercubes
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async. It depends on no other crate of the workspace.
//! - The same seed gives the same result on every machine.

pub mod comparison;
pub mod design;
pub mod fisher;
pub mod holm;
pub mod kolmogorov;
pub mod sequential;
pub mod student;
pub mod welch;

pub use comparison::{
    Comparison, Direction, Interval, Series, Statistic, Verdict, compare, compare_proportions, compare_samples,
    compare_trials,
};
pub use design::{Evenness, Sobol, latin_hypercube};
pub use fisher::{Proportion, fisher};
pub use holm::holm;
pub use kolmogorov::KolmogorovSmirnov;
pub use sequential::{FIRST_LOOK, StoppingRule, Target, fewest_values};
pub use welch::{Estimate, Sample, Welch};
