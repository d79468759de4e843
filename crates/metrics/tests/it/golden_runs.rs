//! Golden data of runs: summaries, slices, plain statistics.

use crate::support;

use aiperf_golden::kinds::metrics::{RUN_METRICS, SLICED_RUN, STATISTICS};
use aiperf_metrics::{
    Accumulator, Context, MetricResult, Metrics, RecordMetrics, Stats, Summary, Window, stats_of, stats_with_errors,
};
use aiperf_types::{Measured, Nanos, WallNs};
use serde_json::{Map, Value};
use support::{close, each_case, measured, number, omitted, traits};

/// The records of one phase, and their accumulator.
struct Run {
    metrics: Metrics,
    records: Vec<Measured>,
    accumulator: Accumulator,
}

impl Run {
    fn of(case: &Value, phase: &str) -> Self {
        let metrics = Metrics::for_run(traits(&case["config"]));
        let records: Vec<Measured> = case["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| record["phase"].as_str().unwrap_or("profiling") == phase)
            .map(measured)
            .collect();
        let mut accumulator = Accumulator::new(&metrics);
        let mut record = RecordMetrics::default();
        for m in &records {
            metrics.record(m, &mut record);
            accumulator.add(m, &record);
        }
        Self { metrics, records, accumulator }
    }

    /// The benchmark's duration as the reference defines it: from the first successful request.
    fn duration_of_valid(&self) -> Option<f64> {
        let valid = self.records.iter().filter(|m| m.error.is_none());
        let first = valid.clone().map(|m| m.start_wall.0).min()?;
        let end = |m: &Measured| Some(m.start_wall.0 + m.content.last()?.at.since(m.start).0);
        Some((valid.filter_map(end).max()? - first) as f64 / 1e9)
    }
}

const RATES: [&str; 5] =
    ["request_throughput", "input_token_throughput", "output_token_throughput", "total_token_throughput", "goodput"];
const NETWORK: &str = "network_adjusted_";

/// How a summary is compared with that of the reference.
struct Comparison<'a> {
    omit: Vec<&'a str>,
    /// The factor for the reference's rates, if it divides by another duration.
    rates: f64,
    duration: Option<f64>,
}

impl Comparison<'_> {
    /// All differences.
    fn faults(&self, summary: &Summary, expected: &Map<String, Value>) -> Vec<String> {
        let mut faults = Vec::new();
        for (tag, theirs) in expected.iter().filter(|(tag, _)| !self.omit.contains(&tag.as_str())) {
            match summary.get(tag) {
                Some(ours) => faults.extend(self.faults_of(tag, ours, theirs, expected)),
                None => faults.push(format!("{tag} is missing")),
            }
        }
        for result in &summary.results {
            let known = expected.contains_key(result.tag.as_ref()) && !self.omit.contains(&result.tag.as_ref());
            let decided = match result.tag.as_ref() {
                "min_request_timestamp" | "max_response_timestamp" => true,
                // None could be judged: none was good.
                "good_request_count" | "goodput" => result.stats.avg == Some(0.0),
                // Any of the differences counts.
                "usage_discrepancy_count" => true,
                _ => false,
            };
            if !known && !decided {
                faults.push(format!("{} is there", result.tag));
            }
            if Stats::NAMES.iter().any(|stat| result.stats.get(stat).is_some_and(|value| !value.is_finite())) {
                faults.push(format!("{} is not finite", result.tag));
            }
        }
        faults
    }

    fn faults_of(&self, tag: &str, ours: &MetricResult, theirs: &Value, all: &Map<String, Value>) -> Vec<String> {
        let mut faults = Vec::new();
        let mut compare = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                faults.push(format!("{tag} {what}: {ours}, not {theirs}"));
            }
        };
        if tag != "good_request_fraction" {
            compare("header", ours.header.to_string(), theirs["header"].as_str().unwrap_or_default().to_owned());
        }
        compare("unit", ours.unit.to_owned(), theirs["unit"].as_str().unwrap_or_default().to_owned());
        compare("count", format!("{:?}", ours.stats.count), format!("{:?}", theirs["count"].as_u64()));
        for stat in Stats::NAMES {
            let theirs = number(&theirs[stat]).filter(|value| value.is_finite());
            let theirs = theirs.map(|value| self.as_decided(tag, stat, value, all));
            let ours = ours.stats.get(stat);
            let agree = match (ours, theirs) {
                (Some(ours), Some(theirs)) => close(ours, theirs),
                (ours, theirs) => ours.is_none() && theirs.is_none(),
            };
            if !agree {
                faults.push(format!("{tag} {stat}: {ours:?}, not {theirs:?}"));
            }
        }
        faults
    }

    /// The reference's number, with the decisions that changed it: sample deviation, and rates over the benchmark's
    /// duration from the first request sent.
    fn as_decided(&self, tag: &str, stat: &str, value: f64, expected: &Map<String, Value>) -> f64 {
        let base = tag.strip_prefix(NETWORK).unwrap_or(tag);
        match (stat, expected.get(base).and_then(|metric| metric["count"].as_f64())) {
            ("std", Some(count)) if count > 1.0 => value * (count / (count - 1.0)).sqrt(),
            ("avg", _) if RATES.contains(&tag) => value * self.rates,
            ("avg", _) if tag == "benchmark_duration" => self.duration.unwrap_or(value),
            _ => value,
        }
    }
}

fn check_summary(case: &Value) {
    let run = Run::of(case, "profiling");
    let window = case["window_ns"]
        .as_array()
        .map(|window| Window { start: WallNs(window[0].as_u64().unwrap()), end: WallNs(window[1].as_u64().unwrap()) });
    let context = Context { window, network_rtt_ns: case["network_rtt_ns"].as_f64(), threads: 1 };
    let summary = run.accumulator.summarise(&run.metrics, context);
    let expected = case["expected"]["metrics"].as_object().unwrap();
    let duration = summary.avg("benchmark_duration");
    let theirs = window.map(|window| (window.end.0 - window.start.0) as f64 / 1e9).or(run.duration_of_valid());
    let rates = theirs.zip(duration).map_or(1.0, |(theirs, ours)| theirs / ours);
    let faults = Comparison { omit: omitted(case), rates, duration }.faults(&summary, expected);
    assert!(faults.is_empty(), "{}", faults.join("; "));
    let pooled = case["expected"]["pooled_spec_decode_acceptance_histogram"].as_object();
    for (accepted, steps) in pooled.into_iter().flatten() {
        assert_eq!(summary.spec_decode_histogram.get(&accepted.parse().unwrap()).copied(), steps.as_u64());
    }
}

#[test]
fn golden_run_summaries() {
    each_case(RUN_METRICS, check_summary);
}

#[test]
fn golden_timeslices() {
    each_case(SLICED_RUN, |case| {
        let run = Run::of(case, "profiling");
        let length = Nanos::from_secs_f64(case["config"]["slice_duration"].as_f64().unwrap());
        let slices = run.accumulator.slices(&run.metrics, length, Context::default());
        let expected = case["expected"]["timeslices"].as_array().unwrap();
        assert_eq!(slices.len(), expected.len(), "number of slices");
        let mut faults = Vec::new();
        for (number, (slice, expected)) in slices.iter().zip(expected).enumerate() {
            assert_eq!(expected["start_ns"].as_u64(), Some(slice.start.0), "start of slice {number}");
            assert_eq!(expected["end_ns"].as_u64(), Some(slice.end.0), "end of slice {number}");
            assert_eq!(expected["is_complete"].as_bool().unwrap_or(true), slice.complete, "slice {number}");
            let duration = slice.summary.avg("benchmark_duration");
            let comparison = Comparison { omit: omitted(case), rates: 1.0, duration };
            let found = comparison.faults(&slice.summary, expected["metrics"].as_object().unwrap());
            faults.extend(found.into_iter().map(|fault| format!("slice {number} {fault}")));
        }
        assert!(faults.is_empty(), "{}", faults.join("; "));
    });
}

fn check_stats(ours: &Stats, theirs: &Value) {
    assert_eq!(theirs["count"].as_u64(), ours.count, "count");
    for stat in Stats::NAMES {
        let given = if stat == "std" { "std_sample_ddof1" } else { stat };
        let theirs = number(&theirs[given]).filter(|value| value.is_finite());
        let agree = match (ours.get(stat), theirs) {
            (Some(ours), Some(theirs)) => close(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        assert!(agree, "{stat}: {:?}, not {theirs:?}", ours.get(stat));
    }
}

#[test]
fn golden_stats() {
    each_case(STATISTICS, |case| {
        let mut values: Vec<f64> = case["values"].as_array().unwrap().iter().filter_map(number).collect();
        check_stats(&stats_of(&mut values).unwrap(), &case["expected"]);
        if let Some(errors) = case["error_count"].as_u64() {
            let adjusted = stats_with_errors(&mut values, errors).unwrap();
            check_stats(&adjusted, &case["expected_adjusted"]);
        }
    });
}
