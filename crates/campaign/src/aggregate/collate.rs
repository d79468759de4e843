//! The requests of several runs as one population: percentiles over all of them, and the contribution of each run.

use super::outcome::{RunOutcome, tally};
use aiperf_metrics::stats_of;
use aiperf_report::aggregate::{Collated, Combined, Pooled, RunMean};
use std::collections::BTreeMap;

/// The values of single requests of one run.
#[derive(Clone, Debug, Default)]
pub struct RunRecords {
    pub label: String,
    /// By tag, in display units: one number for each successful profiling request that has the metric. Metrics whose
    /// values are lists are not included.
    pub values: BTreeMap<String, Vec<f64>>,
}

/// Pools the records of the successful runs.
pub fn collate(version: &str, cooldown_seconds: f64, runs: &[RunOutcome], records: &[&RunRecords]) -> Collated {
    let tally = tally(runs);
    let mut pools: BTreeMap<&str, (Vec<f64>, Vec<RunMean>)> = BTreeMap::new();
    for run in records.iter().filter(|run| tally.successful.contains(&run.label)) {
        for (tag, values) in &run.values {
            let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
            if values.is_empty() {
                continue;
            }
            let (mean, count) = (values.iter().sum::<f64>() / values.len() as f64, values.len() as u64);
            let (pool, per_run) = pools.entry(tag).or_default();
            pool.extend(values);
            per_run.push(RunMean { label: run.label.clone(), mean, count });
        }
    }
    let metrics = pools.into_iter().filter_map(|(tag, (mut pool, per_run))| {
        let combined = combined(&mut pool)?;
        Some((tag.to_owned(), Pooled { combined, per_run }))
    });
    let metrics = metrics.collect();
    Collated { version: version.to_owned(), tally, cooldown_seconds, metrics }
}

fn combined(pool: &mut [f64]) -> Option<Combined> {
    let stats = stats_of(pool)?;
    Some(Combined {
        mean: stats.avg?,
        std: stats.std.unwrap_or(0.0),
        p50: stats.p50?,
        p90: stats.p90?,
        p95: stats.p95?,
        p99: stats.p99?,
        count: pool.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(label: &str, values: &[(&str, &[f64])]) -> RunRecords {
        let values = values.iter().map(|(tag, values)| ((*tag).to_owned(), values.to_vec())).collect();
        RunRecords { label: label.to_owned(), values }
    }

    fn outcome(label: &str) -> RunOutcome {
        RunOutcome::new(label, Ok(Vec::new()))
    }

    #[test]
    fn all_requests_are_one_population_and_each_run_is_listed() {
        let runs = [outcome("run_0001"), RunOutcome::failed("run_0002", "x"), outcome("run_0003")];
        let records = [
            records("run_0001", &[("latency", &[1.0, 2.0]), ("only_here", &[7.0])]),
            records("run_0002", &[("latency", &[900.0])]),
            records("run_0003", &[("latency", &[3.0, f64::NAN])]),
        ];
        let collated = collate("1", 0.0, &runs, &records.each_ref());
        let [(tag, latency), (only, one)] = &collated.metrics[..] else { panic!("{collated:?}") };
        assert_eq!((tag.as_str(), only.as_str()), ("latency", "only_here"));
        assert_eq!((latency.combined.mean, latency.combined.std, latency.combined.count), (2.0, 1.0, 3));
        assert_eq!((one.combined.mean, one.combined.std, one.combined.p99), (7.0, 0.0, 7.0));
        let per_run: Vec<(&str, u64)> = latency.per_run.iter().map(|run| (run.label.as_str(), run.count)).collect();
        assert_eq!(per_run, [("run_0001", 2), ("run_0003", 1)]);
    }
}
