//! The summary CSV: a table of distributions, a table of single values, and a table of GPUs if they were observed.

use crate::export::Exporter;
use crate::format::csv::{push_line, quoted};
use crate::format::number::csv_cell;
use crate::gpu::csv::gpu_rows;
use crate::run::RunResult;
use aiperf_metrics::{MetricResult, Stats, Summary};
use std::io::Write;

const VALUES: &str = "Metric,Value";

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "csv",
    label: "CSV Export",
    file: |names| &names.summary_csv,
    applies: Some(|run| run.artifacts.summary.csv),
    needs_observers: false,
    write: |run, folder| {
        folder.write(&run.artifacts.names.summary_csv, |out| out.write_all(run_csv(run).as_bytes()));
    },
};

/// The summary of a run, with its GPUs.
pub fn run_csv(run: &RunResult) -> String {
    summary_csv(&run.metrics) + &run.gpu_telemetry.as_deref().map(gpu_rows).unwrap_or_default()
}

/// The summary of the metrics of a run or of one phase.
pub fn summary_csv(metrics: &Summary) -> String {
    let mut sorted: Vec<&MetricResult> = metrics.results.iter().collect();
    sorted.sort_by(|a, b| a.tag.cmp(&b.tag));
    let (distributions, values): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|metric| metric.stats.has_percentiles());
    let mut out = String::new();
    if !distributions.is_empty() {
        push_line(&mut out, &format!("Metric,{}", Stats::NAMES.join(",")));
        for metric in &distributions {
            let cells = metric.stats.named().map(|(_, value)| csv_cell(value));
            let cells: Vec<String> = std::iter::once(label(metric)).chain(cells).collect();
            push_line(&mut out, &cells.join(","));
        }
    }
    if !distributions.is_empty() && !values.is_empty() {
        push_line(&mut out, "");
    }
    if !values.is_empty() {
        push_line(&mut out, VALUES);
        for metric in &values {
            push_line(&mut out, &format!("{},{}", label(metric), csv_cell(metric.stats.avg)));
        }
    }
    out
}

/// The header with its unit, unless the unit only marks a count.
fn label(metric: &MetricResult) -> String {
    match metric.unit.to_ascii_lowercase().as_str() {
        "count" | "requests" => quoted(&metric.header),
        _ => quoted(&format!("{} ({})", metric.header, metric.unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_metrics_the_file_is_empty() {
        assert_eq!(summary_csv(&Summary::default()), "");
    }
}
