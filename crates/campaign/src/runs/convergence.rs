//! Whether trials have shown enough.

use aiperf_plan::{Convergence, ConvergenceMode};
use aiperf_statistics::{KolmogorovSmirnov, Sample, student};

/// What the trials of a cell came to so far, those that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Trials {
    /// The watched statistic of each that has it.
    pub values: Vec<f64>,
    /// The watched metric of each request, by trial; only where distributions are compared.
    pub requests: Vec<Vec<f64>>,
}

/// Whether another trial would add nothing.
pub fn is_converged(rule: &Convergence, level: f64, trials: &Trials) -> bool {
    let least = rule.min_runs as usize;
    match rule.mode {
        ConvergenceMode::CiWidth => spread(&trials.values, least.max(2)).is_some_and(|sample| {
            let width = 2.0
                * student::critical(level, sample.count as f64 - 1.0)
                * (sample.variance / sample.count as f64).sqrt();
            width / sample.mean.abs() < rule.threshold
        }),
        ConvergenceMode::Cv => spread(&trials.values, least)
            .is_some_and(|sample| sample.variance.sqrt() / sample.mean.abs() < rule.threshold),
        ConvergenceMode::Distribution => trials.requests.len() >= least && settled(&trials.requests, rule.threshold),
    }
}

/// So many values, whose spread can be held against their mean.
fn spread(values: &[f64], least: usize) -> Option<Sample> {
    let sample = Sample::of(values)?;
    (values.len() >= least && sample.mean != 0.0).then_some(sample)
}

/// Whether the last trial's requests are distributed as those of all before it.
fn settled(trials: &[Vec<f64>], threshold: f64) -> bool {
    let Some((last, before)) = trials.split_last() else { return false };
    let before: Vec<f64> = before.iter().flatten().copied().collect();
    let enough = before.len() >= 2 && last.len() >= 2;
    enough && KolmogorovSmirnov::of(&before, last).is_some_and(|test| test.p > threshold)
}
