//! A run as one of several: its label, and its metrics or why it failed.

use aiperf_metrics::{Certainty, Stats, Summary};
use aiperf_report::aggregate::{FailedRun, RunTally, RunVerdicts};

/// One run of several.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    pub label: String,
    /// Its metrics, or why it failed.
    pub result: Result<Vec<RunMetric>, String>,
    /// How sure its numbers are.
    pub certainty: Certainty,
}

/// One metric of one run, in display units.
#[derive(Clone, Debug)]
pub struct RunMetric {
    pub tag: String,
    pub unit: String,
    pub stats: Stats,
}

impl RunOutcome {
    /// A run that was executed. It still counts as failed if no request succeeded.
    pub fn of(label: impl Into<String>, summary: &Summary) -> Self {
        let metrics = summary.results.iter().map(|metric| RunMetric {
            tag: metric.tag.to_string(),
            unit: metric.unit.to_owned(),
            stats: metric.stats,
        });
        Self::of_metrics(label, metrics.collect())
    }

    /// The same from metrics that were read from a file.
    pub fn of_metrics(label: impl Into<String>, metrics: Vec<RunMetric>) -> Self {
        let result = match why_failed(&metrics) {
            Some(error) => Err(error),
            None => Ok(metrics),
        };
        Self::new(label, result)
    }

    /// A run that could not be executed.
    pub fn failed(label: impl Into<String>, error: impl Into<String>) -> Self {
        Self::new(label, Err(error.into()))
    }

    /// A run of which only the result is known. Its verdict is no number with a mean, so it is left out of the metrics.
    pub fn new(label: impl Into<String>, result: Result<Vec<RunMetric>, String>) -> Self {
        let has_mean = |metric: &RunMetric| metric.tag != "verdict";
        let result = result.map(|metrics| metrics.into_iter().filter(has_mean).collect());
        Self { label: label.into(), result, certainty: Certainty::default() }
    }

    /// The same run, with how sure its numbers are. A run that failed has no numbers.
    pub fn with_certainty(self, certainty: Certainty) -> Self {
        let certainty = if self.result.is_ok() { certainty } else { Certainty::default() };
        Self { certainty, ..self }
    }
}

/// AIPerf's own sentences: users search their files for them.
fn why_failed(metrics: &[RunMetric]) -> Option<String> {
    let count = |tag: &str| metrics.iter().find(|metric| metric.tag == tag).and_then(|metric| metric.stats.avg);
    if metrics.is_empty() {
        return Some("No metrics found in artifacts - run may have failed to complete".to_owned());
    }
    if count("request_count").is_some_and(|requests| requests > 0.0) {
        return None;
    }
    Some(match count("error_request_count") {
        Some(errors) if errors > 0.0 => format!("All {errors:.0} requests failed"),
        _ => "No requests completed".to_owned(),
    })
}

/// The verdicts of these runs on their own numbers.
pub fn verdicts<'a>(runs: impl IntoIterator<Item = &'a RunOutcome>) -> RunVerdicts {
    let verdict = |run: &RunOutcome| Some((run.label.clone(), run.certainty.verdict.clone()?));
    RunVerdicts { runs: runs.into_iter().filter_map(verdict).collect() }
}

/// Which of these runs succeeded.
pub fn tally<'a>(runs: impl IntoIterator<Item = &'a RunOutcome>) -> RunTally {
    let mut tally = RunTally::default();
    for run in runs {
        tally.runs += 1;
        match &run.result {
            Ok(_) => tally.successful.push(run.label.clone()),
            Err(error) => tally.failed.push(FailedRun { label: run.label.clone(), error: error.clone() }),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, f64)]) -> Vec<RunMetric> {
        let metric = |(tag, count): &(&str, f64)| RunMetric {
            tag: (*tag).to_owned(),
            unit: "requests".to_owned(),
            stats: Stats::of(*count),
        };
        counts.iter().map(metric).collect()
    }

    #[test]
    fn a_verdict_has_no_mean_over_runs() {
        let run = RunOutcome::of_metrics("run_0001", counts(&[("request_count", 3.0), ("verdict", 2.0)]));
        let tags: Vec<String> = run.result.unwrap().into_iter().map(|metric| metric.tag).collect();
        assert_eq!(tags, ["request_count"]);
    }

    #[test]
    fn a_run_without_a_successful_request_failed() {
        let why = |given: &[(&str, f64)]| why_failed(&counts(given));
        assert_eq!(why(&[("request_count", 3.0), ("error_request_count", 1.0)]), None);
        assert_eq!(
            why(&[("request_count", 0.0), ("error_request_count", 7.0)]).as_deref(),
            Some("All 7 requests failed")
        );
        assert_eq!(why(&[("benchmark_duration", 1.0)]).as_deref(), Some("No requests completed"));
        assert!(why(&[]).is_some_and(|why| why.starts_with("No metrics found")));
    }
}
