//! Reads summaries of runs, and of several runs, back from files.

use super::CompareError;
use super::metrics::{DERIVED, Derived, ERROR_RATE, ERRORS, REQUESTS};
use crate::aggregate::RunMetric;
use crate::certainty;
use crate::result_files::{self, NoDocument};
use aiperf_metrics::{Certainty, StatisticCertainty, Verdict};
use aiperf_plan::FileNames;
use aiperf_report::aggregate::AggregateNames;
use aiperf_statistics::Sample;
use aiperf_types::Stats;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Suffixes of the other files of a run, so that a summary with another name is found among them.
const OTHER_FILES: &[&str] = &[
    FileNames::TIMESLICES_JSON,
    FileNames::SERVER_METRICS_JSON,
    FileNames::SERVER_METRICS_EXPORT,
    AggregateNames::CONFIDENCE_JSON,
    AggregateNames::COLLATED_JSON,
    FileNames::RUN_CONFIG,
    // Only AIPerf writes it.
    "search_history.json",
];
/// Suffixes of packed records.
const PACKED: [&str; 3] = ["", ".zst", ".gz"];

/// The summary of one run.
#[derive(Clone, Debug)]
pub(super) struct RunSummary {
    /// The directory's name.
    pub(super) label: String,
    pub(super) version: Option<String>,
    pub(super) program: Program,
    /// By tag.
    pub(super) metrics: BTreeMap<String, RunMetric>,
    pub(super) config: Value,
    /// The id that all runs of its command share.
    pub(super) sweep_id: Option<String>,
    /// Why the run is incomplete, if it is.
    pub(super) incomplete: Option<String>,
    /// How sure its numbers are.
    pub(super) certainty: Certainty,
    /// The run's own doubts about its numbers.
    pub(super) doubts: Vec<String>,
    /// The path of its records.
    pub(super) records: Option<PathBuf>,
}

/// The program that measured a run. Both are called aiperf; only this program states its own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    This,
    Nvidia,
}

impl Program {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::This => "aiperf",
            Self::Nvidia => "NVIDIA AIPerf",
        }
    }
}

impl RunSummary {
    /// The run in a directory, if there is one.
    pub(super) fn find(dir: &Path) -> Result<Option<Self>, CompareError> {
        let names = FileNames::new(None);
        let path = dir.join(&names.summary_json);
        if path.is_file() {
            let document = read_json(&path)?;
            let no_run = || CompareError::NotASummary { path: path.clone() };
            return Self::of(dir, &names.records_jsonl, &document).ok_or_else(no_run).map(Some);
        }
        let mut found = Vec::new();
        for path in json_files(dir)? {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if OTHER_FILES.iter().any(|end| name.ends_with(end)) || FileNames::FIXED.contains(&name.as_str()) {
                continue;
            }
            // Other documents may be here too; an unreadable one is not a summary.
            let Ok(document) = read_json(&path) else { continue };
            let records = format!("{}.jsonl", name.trim_end_matches(".json"));
            found.extend(Self::of(dir, &records, &document).map(|run| (name, run)));
        }
        match found.len() {
            0 | 1 => Ok(found.pop().map(|(_, run)| run)),
            _ => {
                let names = found.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
                Err(CompareError::SeveralRuns { path: dir.to_owned(), names })
            }
        }
    }

    /// `None` if the document is no summary.
    fn of(dir: &Path, records: &str, document: &Value) -> Option<Self> {
        let members = document.as_object()?;
        members.get("schema_version")?;
        let config = members.get("input_config")?.clone();
        let metrics = result_files::metrics(document).map(|metric| (metric.tag.clone(), metric));
        let metrics = with_failures(metrics.collect());
        let text = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
        let is_complete = members.get("is_complete").and_then(Value::as_bool).unwrap_or(true);
        let was_cancelled = members.get("was_cancelled").and_then(Value::as_bool).unwrap_or(false);
        let why = || text("incomplete_reason").unwrap_or_else(|| "it was cancelled".to_owned());
        let records = PACKED.iter().map(|end| dir.join(format!("{records}{end}"))).find(|path| path.is_file());
        Some(Self {
            label: dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            version: text("aiperf_version"),
            program: if members.contains_key("measurement") { Program::This } else { Program::Nvidia },
            metrics,
            config,
            sweep_id: document["run_info"]["sweep_id"].as_str().map(str::to_owned),
            incomplete: (!is_complete || was_cancelled).then(why),
            certainty: certainty::read(&document["measurement"]),
            doubts: doubts(document),
            records,
        })
    }

    /// Whether the run ended normally and has results.
    pub(super) fn counts(&self) -> bool {
        self.incomplete.is_none() && self.stat("request_count", "avg").is_some_and(|requests| requests > 0.0)
    }

    pub(super) fn stat(&self, tag: &str, stat: &str) -> Option<f64> {
        self.metrics.get(tag)?.stats.get(stat)
    }

    /// How far a statistic can be from the truth because of the measurement, in the unit of the metric.
    pub(super) fn bound(&self, tag: &str, stat: &str) -> Option<f64> {
        match DERIVED.iter().find(|(derived, _)| *derived == tag) {
            None => self.is_in_ms(tag).then(|| self.certainty.of(tag, stat).bound_ms)?,
            Some((_, Derived::Reciprocal(base))) => Some(self.stat(tag, stat)? * self.largest_of_reciprocal(base)?),
            Some((_, Derived::Sum(bases))) if self.is_in_ms(tag) => {
                bases.iter().map(|base| self.largest_bound(base)).sum()
            }
            Some((_, Derived::Sum(_))) => None,
        }
    }

    fn is_in_ms(&self, tag: &str) -> bool {
        self.metrics.get(tag).is_some_and(|metric| metric.unit == "ms")
    }

    /// The largest bound of all statistics of a metric. Statistics of a derived metric are of other requests: its p99 may
    /// be that of the fastest.
    fn largest_bound(&self, tag: &str) -> Option<f64> {
        let bounds = self.certainty.of_metric(tag).filter_map(|(_, known)| known.bound_ms);
        bounds.filter(|_| self.is_in_ms(tag)).reduce(f64::max)
    }

    /// The largest bound of a number divided by the metric, as a share of it.
    fn largest_of_reciprocal(&self, tag: &str) -> Option<f64> {
        let share = |(statistic, known): (&str, StatisticCertainty)| {
            let (bound, value) = (known.bound_ms?, self.stat(tag, statistic)?);
            Some(if bound < value { bound / (value - bound) } else { f64::INFINITY })
        };
        let shares = self.certainty.of_metric(tag).filter_map(share);
        shares.filter(|_| self.is_in_ms(tag)).reduce(f64::max)
    }
}

fn doubts(document: &Value) -> Vec<String> {
    let listed = document["measurement"]["doubts"].as_array();
    listed.into_iter().flatten().filter_map(|doubt| doubt.as_str().map(str::to_owned)).collect()
}

/// Adds zero failures if a run lists none because nothing failed.
fn with_failures(mut metrics: BTreeMap<String, RunMetric>) -> BTreeMap<String, RunMetric> {
    let count = |tag: &str| metrics.get(tag).and_then(|metric| metric.stats.avg);
    let (good, failed) = (count(REQUESTS), count(ERRORS));
    let of = good.unwrap_or(0.0) + failed.unwrap_or(0.0);
    if of > 0.0 {
        let failed = failed.unwrap_or(0.0);
        for (tag, unit, value) in [(ERRORS, "requests", failed), (ERROR_RATE, "%", 100.0 * failed / of)] {
            let single = || RunMetric { tag: tag.to_owned(), unit: unit.to_owned(), stats: Stats::of(value) };
            metrics.entry(tag.to_owned()).or_insert_with(single);
        }
    }
    metrics
}

/// The results of several runs, known only by their aggregate.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) version: Option<String>,
    pub(super) runs: usize,
    /// The worst verdict of its runs on their own numbers.
    pub(super) verdict: Option<Verdict>,
    /// By tag and statistic, with the unit.
    pub(super) samples: BTreeMap<String, BTreeMap<String, (Sample, String)>>,
}

impl Aggregate {
    /// The aggregate file of a directory, if there is one.
    pub(super) fn file(dir: &Path) -> Result<Option<PathBuf>, CompareError> {
        Ok(json_files(dir)?.into_iter().find(|path| path.to_string_lossy().ends_with(AggregateNames::CONFIDENCE_JSON)))
    }

    pub(super) fn read(path: &Path) -> Result<Self, CompareError> {
        let document = read_json(path)?;
        if document["metadata"]["num_successful_runs"] == 0 {
            let runs = document["metadata"]["num_profile_runs"].as_u64().map_or(0, |runs| runs as usize);
            return Err(CompareError::NoneSucceeded { path: path.to_owned(), runs });
        }
        Self::of(&document).ok_or_else(|| CompareError::NotASummary { path: path.to_owned() })
    }

    fn of(document: &Value) -> Option<Self> {
        let runs = document.get("metadata")?.get("num_successful_runs")?.as_u64()? as usize;
        let mut samples: BTreeMap<String, BTreeMap<String, (Sample, String)>> = BTreeMap::new();
        for (key, block) in document.get("metrics")?.as_object()? {
            let number = |name: &str| block.get(name).and_then(Value::as_f64);
            let (Some((tag, stat)), Some(mean)) = (key.rsplit_once('_'), number("mean")) else { continue };
            let unit = block.get("unit").and_then(Value::as_str).unwrap_or_default().to_owned();
            let variance = if runs < 2 { f64::NAN } else { number("std").unwrap_or(f64::NAN).powi(2) };
            let sample = Sample { count: runs, mean, variance };
            samples.entry(tag.to_owned()).or_default().insert(stat.to_owned(), (sample, unit));
        }
        // Runs without a failure do not list failures.
        if samples.contains_key(REQUESTS) {
            let none = Sample { count: runs, mean: 0.0, variance: if runs < 2 { f64::NAN } else { 0.0 } };
            for (tag, unit) in [(ERRORS, "requests"), (ERROR_RATE, "%")] {
                let single = || BTreeMap::from([("avg".to_owned(), (none, unit.to_owned()))]);
                samples.entry(tag.to_owned()).or_insert_with(single);
            }
        }
        let version = document.get("aiperf_version").and_then(Value::as_str).map(str::to_owned);
        let verdict = certainty::verdict(&document["measurement"]["verdict"]);
        (runs > 0).then_some(Self { version, runs, verdict, samples })
    }
}

fn json_files(dir: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let mut files = entries(dir)?;
    files.retain(|path| path.extension().is_some_and(|end| end == "json") && path.is_file());
    Ok(files)
}

/// The entries of a directory, sorted by name.
pub(super) fn entries(dir: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let unread = |source| CompareError::Unreadable { path: dir.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unread)? {
        paths.push(entry.map_err(unread)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read_json(path: &Path) -> Result<Value, CompareError> {
    let path = path.to_owned();
    result_files::read_json(&path).map_err(|error| match error {
        NoDocument::Unreadable(source) => CompareError::Unreadable { path, source },
        NoDocument::Malformed(source) => CompareError::Malformed { path, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metrics_computed_from_uncertain_ones_are_uncertain_too() {
        let bound = |bound: f64| json!({"bound": bound, "early": bound, "late": 0});
        let document = json!({
            "schema_version": "1.0",
            "input_config": {},
            "time_to_first_token": {"unit": "ms", "avg": 50.0, "p99": 80.0},
            "inter_token_latency": {"unit": "ms", "avg": 10.0, "p99": 25.0},
            "request_latency": {"unit": "ms", "avg": 500.0},
            "decode_duration": {"unit": "ms", "p90": 450.0},
            "output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 100.0, "p99": 120.0},
            "e2e_output_token_throughput": {"unit": "tokens/sec/user", "avg": 90.0},
            "prefill_throughput_per_user": {"unit": "tokens/sec/user", "avg": 90.0},
            "measurement": {"error_bound": {
                "unit": "ms",
                "time_to_first_token": {"avg": bound(1.0), "p99": bound(90.0)},
                "inter_token_latency": {"avg": bound(0.1), "p99": bound(5.0)},
                "request_latency": {"avg": bound(2.0)},
            }},
        });
        let run = RunSummary::of(Path::new("run"), "records.jsonl", &document).unwrap();
        assert_eq!(run.bound("time_to_first_token", "avg"), Some(1.0));
        assert_eq!(run.bound("time_to_first_token", "p90"), None);
        // A quarter: 5 of the 20 ms that may be left.
        assert_eq!(run.bound("output_token_throughput_per_user", "p99"), Some(30.0));
        assert_eq!(run.bound("output_token_throughput_per_user", "avg"), Some(25.0));
        assert_eq!(run.bound("output_token_throughput_per_user", "p50"), None, "not measured");
        assert_eq!(run.bound("decode_duration", "p90"), Some(92.0));
        // Nothing is known of a number divided by a time that may be zero.
        assert_eq!(run.bound("prefill_throughput_per_user", "avg"), Some(f64::INFINITY));
        assert_eq!(run.bound("request_throughput", "avg"), None);
    }
}
