//! Several runs of one benchmark: how far their results agree.

use super::outcome::{RunOutcome, tally, verdicts};
use aiperf_metrics::Stats;
use aiperf_report::aggregate::{AcrossRuns, RunTally, RunVerdicts};
use aiperf_statistics::student;
use std::collections::BTreeMap;

/// Statistics over several runs of one benchmark.
#[derive(Clone, Debug)]
pub struct Confidence {
    /// The confidence level of the intervals.
    pub level: f64,
    pub tally: RunTally,
    pub verdicts: RunVerdicts,
    /// By `<tag>_<statistic>`, sorted by tag, then in the order of [`Stats::NAMES`].
    pub metrics: Vec<(String, AcrossRuns)>,
}

/// Why runs cannot be aggregated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConfidenceError {
    /// A level that is not between 0 and 1.
    InvalidLevel(f64),
    /// No run succeeded.
    AllRunsFailed(usize),
}

impl std::fmt::Display for ConfidenceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidLevel(level) => write!(f, "the confidence level must lie between 0 and 1, not {level}"),
            Self::AllRunsFailed(runs) => write!(f, "none of {runs} runs succeeded, so there is nothing to compare"),
        }
    }
}

impl std::error::Error for ConfidenceError {}

/// Aggregates several runs.
pub fn confidence(level: f64, runs: &[RunOutcome]) -> Result<Confidence, ConfidenceError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(ConfidenceError::InvalidLevel(level));
    }
    let tally = tally(runs);
    if tally.successful.is_empty() {
        return Err(ConfidenceError::AllRunsFailed(runs.len()));
    }
    let metrics = across_runs(level, runs, tally.successful.len() > 1);
    Ok(Confidence { level, tally, verdicts: verdicts(runs), metrics })
}

fn across_runs(level: f64, runs: &[RunOutcome], several: bool) -> Vec<(String, AcrossRuns)> {
    // The unit is that of the first run that has the metric.
    let mut values: BTreeMap<(&str, usize), (&str, Vec<f64>)> = BTreeMap::new();
    for metric in runs.iter().flat_map(|run| run.result.iter().flatten()) {
        for (place, name) in Stats::NAMES.iter().enumerate() {
            if let Some(value) = metric.stats.get(name).filter(|value| value.is_finite()) {
                let (_, values) = values.entry((&metric.tag, place)).or_insert((&metric.unit, Vec::new()));
                values.push(value);
            }
        }
    }
    let named = |((tag, place), (unit, values)): ((&str, usize), (&str, Vec<f64>))| {
        (format!("{tag}_{}", Stats::NAMES[place]), across(&values, level, several, unit))
    };
    values.into_iter().map(named).collect()
}

/// One statistic over the runs that have it. `several`: more than one run succeeded.
fn across(values: &[f64], level: f64, several: bool, unit: &str) -> AcrossRuns {
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (unit, none) = (unit.to_owned(), None);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values {
        // A value of only one of several runs gives no estimate for the others.
        [_] if several => {
            let (mean, std, cv, se, ci_low, ci_high, t_critical) = (none, none, none, none, none, none, none);
            AcrossRuns { mean, std, min, max, cv, se, ci_low, ci_high, t_critical, unit }
        }
        [_] => {
            let (zero, mean) = (Some(0.0), Some(mean));
            let (std, cv, se, ci_low, ci_high, t_critical) = (zero, zero, zero, mean, mean, none);
            AcrossRuns { mean, std, min, max, cv, se, ci_low, ci_high, t_critical, unit }
        }
        _ => {
            let std = (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0)).sqrt();
            let se = std / count.sqrt();
            let t = student::critical(level, values.len() as f64 - 1.0);
            AcrossRuns {
                mean: Some(mean),
                std: Some(std),
                min,
                max,
                cv: Some(if mean == 0.0 { f64::INFINITY } else { std / mean.abs() }),
                se: Some(se),
                ci_low: Some(mean - t * se),
                ci_high: Some(mean + t * se),
                t_critical: Some(t),
                unit,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_agrees_with_the_tables() {
        for (level, freedom, t) in [
            (0.95, 1, 12.706_204_736_174_694),
            (0.95, 2, 4.302_652_729_749_462),
            (0.99, 9, 3.249_835_541_592_141),
            (0.9, 120, 1.657_650_899_281_45),
        ] {
            let found = student::critical(level, f64::from(freedom));
            assert!((found / t - 1.0).abs() < 1e-10, "{level} {freedom}: {found}");
        }
    }
}
