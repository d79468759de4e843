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
    let is_within = |measure: f64| match rule.mode {
        ConvergenceMode::CiWidth | ConvergenceMode::Cv => measure < rule.threshold,
        ConvergenceMode::Distribution => measure > rule.threshold,
    };
    measure(rule, level, trials).is_some_and(is_within)
}

/// What the rule compares with its threshold; `None` if there are too few trials.
fn measure(rule: &Convergence, level: f64, trials: &Trials) -> Option<f64> {
    let least = rule.min_runs as usize;
    match rule.mode {
        ConvergenceMode::CiWidth => spread(&trials.values, least.max(2)).map(|sample| {
            let width = 2.0
                * student::critical(level, sample.count as f64 - 1.0)
                * (sample.variance / sample.count as f64).sqrt();
            width / sample.mean.abs()
        }),
        ConvergenceMode::Cv => spread(&trials.values, least).map(|sample| sample.variance.sqrt() / sample.mean.abs()),
        ConvergenceMode::Distribution => {
            (trials.requests.len() >= least).then(|| same_distribution(&trials.requests)).flatten()
        }
    }
}

/// The sample of at least `least` values, if their spread can be compared with their mean.
fn spread(values: &[f64], least: usize) -> Option<Sample> {
    let sample = Sample::of(values)?;
    (values.len() >= least && sample.mean != 0.0).then_some(sample)
}

/// The p-value that the requests of the last trial have the same distribution as those of all trials before it.
fn same_distribution(trials: &[Vec<f64>]) -> Option<f64> {
    let (last, before) = trials.split_last()?;
    let before: Vec<f64> = before.iter().flatten().copied().collect();
    let enough = before.len() >= 2 && last.len() >= 2;
    KolmogorovSmirnov::of(&before, last).filter(|_| enough).map(|test| test.p)
}

/// Whether another trial of a cell would add nothing.
pub fn has_shown_enough(trials: &plan::Trials, done: &[CompletedRun], cell: usize) -> bool {
    let Some(rule) = &trials.convergence else { return false };
    is_converged(rule, trials.confidence_level, &watched(rule, done, cell))
}

/// What the trials of a cell have not reached, in words.
pub fn unsettled(trials: &plan::Trials, done: &[CompletedRun], cell: usize) -> String {
    let Some(rule) = &trials.convergence else { return String::new() };
    let found = measure(rule, trials.confidence_level, &watched(rule, done, cell));
    let Some(found) = found else { return format!("too few of them have its {}", rule.stat) };
    let (stat, threshold) = (&rule.stat, rule.threshold);
    match rule.mode {
        ConvergenceMode::CiWidth => {
            format!("the confidence interval of its {stat} is {found:.3} of the mean wide, not less than {threshold}")
        }
        ConvergenceMode::Cv => format!("the cv of its {stat} is {found:.3}, not less than {threshold}"),
        ConvergenceMode::Distribution => {
            format!("the p-value of the last run against those before it is {found:.3}, not more than {threshold}")
        }
    }
}

/// The results of a cell that the rule watches.
fn watched(rule: &Convergence, done: &[CompletedRun], cell: usize) -> Trials {
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
    Trials { values, requests }
}
