//! Reads the results of runs back from their files: for a campaign that is resumed, and for comparisons.

use crate::aggregate::{RunMetric, RunRecords};
use aiperf_report::{RecordColumn, RecordColumns};
use aiperf_types::Stats;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// A longer file is no summary.
const LARGEST: u64 = 1 << 30;

/// Why a file has no document.
#[derive(Debug)]
pub(crate) enum NoDocument {
    Unreadable(io::Error),
    Malformed(serde_json::Error),
}

/// The JSON document of a file. Only regular files are read: a pipe would never end.
pub(crate) fn read_json(path: &Path) -> Result<Value, NoDocument> {
    let unread = NoDocument::Unreadable;
    let about = path.metadata().map_err(unread)?;
    if !about.is_file() {
        return Err(unread(ErrorKind::InvalidInput.into()));
    }
    if about.len() > LARGEST {
        return Err(unread(ErrorKind::FileTooLarge.into()));
    }
    let file = File::open(path).map_err(unread)?;
    serde_json::from_reader(BufReader::new(file.take(LARGEST))).map_err(NoDocument::Malformed)
}

/// Every metric of a summary: each member with a unit and a statistic.
pub(crate) fn metrics(summary: &Value) -> impl Iterator<Item = RunMetric> {
    let metric = |(tag, block): (&String, &Value)| {
        let unit = block.get("unit")?.as_str()?.to_owned();
        let stats = Stats::of_named(|name| block.get(name).and_then(Value::as_f64));
        (stats != Stats::default()).then(|| RunMetric { tag: tag.clone(), unit, stats })
    };
    summary.as_object().into_iter().flatten().filter_map(metric)
}

/// The values of single requests for these metrics; `None` if they were not written.
pub(crate) fn records(label: &str, path: &Path, metrics: &[RunMetric]) -> Option<RunRecords> {
    let tags: Vec<String> = metrics.iter().map(|metric| metric.tag.clone()).collect();
    let known = |column: RecordColumn| {
        let values: Vec<f64> = column.values.into_iter().filter(|value| !value.is_nan()).collect();
        (!values.is_empty()).then_some((column.tag, values))
    };
    let read = RecordColumns::read(path, &tags).ok().filter(|read| read.cut_off.is_none() && read.malformed == 0)?;
    let succeeded = metrics.iter().find(|metric| metric.tag == "request_count")?.stats.avg?;
    if read.len() as f64 != succeeded {
        return None;
    }
    Some(RunRecords { label: label.to_owned(), values: read.columns.into_iter().filter_map(known).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metrics_are_members_with_a_unit_and_a_statistic() {
        let summary = json!({
            "schema_version": "1.0",
            "request_latency": {"unit": "ms", "avg": 5, "p99": 7.5, "count": 10.0, "sum": null, "odd": "text"},
            "empty": {"unit": "ms"},
            "run_info": {"trial": 1},
        });
        let found: Vec<RunMetric> = metrics(&summary).collect();
        let stats = Stats { avg: Some(5.0), p99: Some(7.5), count: Some(10), ..Stats::default() };
        let shown: Vec<_> =
            found.iter().map(|metric| (metric.tag.as_str(), metric.unit.as_str(), metric.stats)).collect();
        assert_eq!(shown, [("request_latency", "ms", stats)]);
    }
}
