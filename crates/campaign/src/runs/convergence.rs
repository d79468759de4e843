//! Whether trials have converged.

use super::completed_run::CompletedRun;
use aiperf_plan::{self as plan, Convergence, ConvergenceMode};
use aiperf_statistics::{KolmogorovSmirnov, Sample, student};

/// The results of the successful trials of a cell so far.
#[derive(Clone, Debug, Default)]
pub struct Trials {
    /// The watched statistic of each trial that has it.
    pub values: Vec<f64>,
    /// The watched metric of each request, by trial; only if distributions are compared.
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

/// The sample of at least `least` values, if their spread can be compared with their mean.
fn spread(values: &[f64], least: usize) -> Option<Sample> {
    let sample = Sample::of(values)?;
    (values.len() >= least && sample.mean != 0.0).then_some(sample)
}

/// Whether the requests of the last trial have the same distribution as those of all trials before it.
fn settled(trials: &[Vec<f64>], threshold: f64) -> bool {
    let Some((last, before)) = trials.split_last() else { return false };
    let before: Vec<f64> = before.iter().flatten().copied().collect();
    let enough = before.len() >= 2 && last.len() >= 2;
    enough && KolmogorovSmirnov::of(&before, last).is_some_and(|test| test.p > threshold)
}

/// Whether another trial of a cell would add nothing.
pub fn has_shown_enough(trials: &plan::Trials, done: &[CompletedRun], cell: usize) -> bool {
    let Some(rule) = &trials.convergence else { return false };
    let of_cell = done.iter().filter(|ran| ran.run.cell == cell);
    let value = |ran: &CompletedRun| {
        let metrics = ran.outcome.result.as_ref().ok()?;
        metrics.iter().find(|metric| metric.tag == rule.metric)?.stats.get(&rule.stat)
    };
    let values = of_cell.clone().filter_map(value).filter(|value| value.is_finite()).collect();
    let requests = |ran: &CompletedRun| {
        let records = ran.records.as_ref().filter(|_| ran.outcome.result.is_ok())?;
        records.values.get(&rule.metric).cloned()
    };
    let requests = match rule.mode {
        ConvergenceMode::Distribution => of_cell.filter_map(requests).collect(),
        ConvergenceMode::CiWidth | ConvergenceMode::Cv => Vec::new(),
    };
    is_converged(rule, trials.confidence_level, &Trials { values, requests })
}
