//! Several runs of one benchmark: how far their results agree.

use aiperf_metrics::Stats;
use std::collections::HashMap;

/// One run of several.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The run's label.
    pub label: String,
    /// Its metrics, or why it failed.
    pub result: Result<Vec<RunMetric>, String>,
}

/// One metric of one run, in display units.
#[derive(Clone, Debug)]
pub struct RunMetric {
    /// The metric's tag.
    pub tag: String,
    /// The metric's unit.
    pub unit: String,
    /// The metric's statistics.
    pub stats: Stats,
}

/// One statistic of one metric over several runs. What cannot be known from so few runs is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct AcrossRuns {
    /// Mean over the runs that have it.
    pub mean: f64,
    /// Sample deviation.
    pub std: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Deviation relative to the size of the mean; absent when the mean is zero.
    pub cv: Option<f64>,
    /// Standard error of the mean.
    pub se: f64,
    /// Lower end of the confidence interval.
    pub ci_low: Option<f64>,
    /// Upper end of the confidence interval.
    pub ci_high: Option<f64>,
    /// Student's t at the confidence level.
    pub t_critical: Option<f64>,
    /// The metric's unit.
    pub unit: String,
}

/// Several runs of one benchmark, summed up.
#[derive(Clone, Debug)]
pub struct Confidence {
    /// The level of the intervals.
    pub level: f64,
    /// Runs in all.
    pub runs: usize,
    /// Labels of runs that succeeded.
    pub successful: Vec<String>,
    /// Labels of runs that failed, and why.
    pub failed: Vec<(String, String)>,
    /// By `<tag>_<statistic>`, in the order in which runs bring them.
    pub metrics: Vec<(String, AcrossRuns)>,
}

impl Confidence {
    /// Only one run succeeded, so nothing is known about how runs differ.
    pub fn single_run(&self) -> bool {
        self.successful.len() == 1
    }
}

/// Why runs cannot be summed up.
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

/// Sums up several runs.
pub fn confidence(level: f64, runs: &[RunOutcome]) -> Result<Confidence, ConfidenceError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(ConfidenceError::InvalidLevel(level));
    }
    let failed = runs
        .iter()
        .filter_map(|run| run.result.as_ref().err().map(|error| (run.label.clone(), error.clone())))
        .collect();
    let successful: Vec<String> = runs.iter().filter(|run| run.result.is_ok()).map(|run| run.label.clone()).collect();
    if successful.is_empty() {
        return Err(ConfidenceError::AllRunsFailed(runs.len()));
    }
    let mut keys: Vec<(String, &str)> = Vec::new();
    let mut values: HashMap<String, Vec<f64>> = HashMap::new();
    for metric in runs.iter().flat_map(|run| run.result.iter().flatten()) {
        for name in Stats::NAMES {
            let Some(value) = metric.stats.get(name).filter(|value| value.is_finite()) else { continue };
            let key = format!("{}_{name}", metric.tag);
            if !values.contains_key(&key) {
                keys.push((key.clone(), &metric.unit));
            }
            values.entry(key).or_default().push(value);
        }
    }
    let several = successful.len() > 1;
    let metrics = keys
        .into_iter()
        .map(|(key, unit)| {
            let across = across(&values[&key], level, several, unit);
            (key, across)
        })
        .collect();
    Ok(Confidence { level, runs: runs.len(), successful, failed, metrics })
}

fn across(values: &[f64], level: f64, several_runs: bool, unit: &str) -> AcrossRuns {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let std = match values {
        [_] => 0.0,
        _ => (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0)).sqrt(),
    };
    let se = std / count.sqrt();
    let t_critical = (values.len() > 1).then(|| t_critical(level, values.len() as u32 - 1));
    // A single run is its own interval; a value that only one of several runs has says nothing about the others.
    let margin = t_critical.map(|t| t * se).or((!several_runs).then_some(0.0));
    AcrossRuns {
        mean,
        std,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        cv: if values.len() == 1 { Some(0.0) } else { (mean != 0.0).then(|| std / mean.abs()) },
        se,
        ci_low: margin.map(|margin| mean - margin),
        ci_high: margin.map(|margin| mean + margin),
        t_critical,
        unit: unit.to_owned(),
    }
}

/// The t within which a share of `level` of Student's distribution lies, on both sides of zero.
///
/// For whole degrees of freedom that share is a finite sum in the angle whose tangent is t / sqrt(freedom), so the
/// angle is found by halving and no special function is needed.
pub fn t_critical(level: f64, freedom: u32) -> f64 {
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if share_within(middle, freedom) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).tan() * f64::from(freedom).sqrt()
}

fn share_within(angle: f64, freedom: u32) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    if freedom == 1 {
        return angle * std::f64::consts::FRAC_2_PI;
    }
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = term;
    let mut factor = if odd { 2.0 } else { 1.0 };
    for _ in 0..(freedom.saturating_sub(2)) / 2 {
        term *= cosine * cosine * factor / (factor + 1.0);
        factor += 2.0;
        sum += term;
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
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
            let found = t_critical(level, freedom);
            assert!((found / t - 1.0).abs() < 1e-10, "{level} {freedom}: {found}");
        }
    }
}
