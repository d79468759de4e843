//! The requests of several runs as one population.

use super::trials::RunTally;

/// The results of every request of every successful run.
#[derive(Clone, Debug)]
pub struct Collated {
    /// The version of this program.
    pub version: String,
    pub tally: RunTally,
    pub cooldown_seconds: f64,
    /// By tag, in the order of the file.
    pub metrics: Vec<(String, Pooled)>,
}

/// One metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    pub combined: Combined,
    /// The runs that have it.
    pub per_run: Vec<RunMean>,
}

/// Statistics of all values together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    pub mean: f64,
    /// Sample deviation; zero for a single value.
    pub std: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub count: u64,
}

/// One run's part of them.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMean {
    pub label: String,
    pub mean: f64,
    pub count: u64,
}
