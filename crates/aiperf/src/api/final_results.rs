//! The results of the run.

use super::json::{metric, without_nulls};
use aiperf_campaign::{MetricResult, WrittenRun};
use aiperf_report::RunResult;
use aiperf_types::{MetricSnapshot, RequestError};
use serde_json::{Value, json};

/// A run that is over, with its files written. The default is a run that failed without results.
#[derive(Debug, Default)]
pub(super) struct FinalResults {
    /// `None` if the run failed without results.
    pub(super) results: Option<Value>,
    /// The final metrics of the profiling phases, exact and complete.
    pub(super) metrics: Vec<MetricSnapshot>,
    /// The final server metrics of each endpoint, if there are any.
    pub(super) endpoint_summaries: Option<Value>,
    pub(super) was_cancelled: bool,
    pub(super) is_partial: bool,
    pub(super) failed_exporters: Vec<String>,
}

impl FinalResults {
    /// `expected` is the number of requests that the run planned to send.
    pub(super) fn new(finished: &WrittenRun, expected: Option<u64>) -> Self {
        Self {
            results: Some(results(&finished.result, expected)),
            metrics: finished.result.metrics.results.iter().map(last_of).collect(),
            endpoint_summaries: endpoint_summaries(&finished.result),
            was_cancelled: finished.result.was_cancelled,
            is_partial: finished.is_partial(),
            failed_exporters: finished.written.failures.iter().map(|failure| failure.exporter.to_owned()).collect(),
        }
    }
}

fn last_of(result: &MetricResult) -> MetricSnapshot {
    let (tag, header) = (result.tag.clone(), result.header.clone());
    MetricSnapshot { tag, header, unit: result.unit, stats: result.stats }
}

fn endpoint_summaries(run: &RunResult) -> Option<Value> {
    let observed = run.server_metrics.as_deref().filter(|observed| observed.has_metrics())?;
    aiperf_report::endpoint_summaries(observed).ok().map(without_nulls)
}

fn results(run: &RunResult, expected: Option<u64>) -> Value {
    let metrics = |of: &[MetricResult]| -> Vec<Value> {
        of.iter().map(|of| metric(&of.tag, &of.header, of.unit, &of.stats)).collect()
    };
    let error = |(error, count): &(RequestError, u64)| json!({ "error_details": error, "count": count });
    without_nulls(json!({
        "results": {
            "records": metrics(&run.metrics.results),
            "warmup_records": run.warmup.as_ref().map(|warmup| metrics(&warmup.results)),
            "total_expected": expected,
            "completed": run.metrics.records,
            "start_ns": run.start,
            "end_ns": run.end,
            "was_cancelled": run.was_cancelled,
            "is_complete": run.is_complete(),
            "incomplete_reason": run.incomplete_reason,
            "successful_request_count": run.metrics.records - run.metrics.failed,
            "error_summary": run.errors.iter().map(error).collect::<Vec<_>>(),
        },
        "errors": [],
    }))
}
