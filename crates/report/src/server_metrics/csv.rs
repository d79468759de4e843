//! Server metrics as CSV: a table for each kind, with a column for each label, and one with the servers' descriptions
//! of themselves.

use super::statistics::{COUNTER, ESTIMATES, GAUGE, Number, statistics};
use crate::export::Exporter;
use crate::format::csv::{LINE_END, quoted};
use crate::run::{RunResult, ServerMetricsResult};
use aiperf_observe::{Metric, MetricKind, Series};
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "server_metrics_csv",
    label: "Server Metrics CSV Export",
    file: |names| &names.server_metrics_csv,
    applies: Some(|run: &RunResult| {
        run.observed().is_some_and(|observed| observed.formats.csv && !observed.metrics.metrics.is_empty())
    }),
    needs_observers: true,
    write: |run, folder| {
        if let Some(observed) = run.observed() {
            folder.write(&run.artifacts.names.server_metrics_csv, |out| write_server_metrics_csv(out, observed));
        }
    },
};

/// A table of the file.
struct Section {
    kind: MetricKind,
    statistics: &'static [&'static [&'static str]],
    has_buckets: bool,
}

const SECTIONS: [Section; 4] = [
    Section { kind: MetricKind::Gauge, statistics: &[&GAUGE], has_buckets: false },
    Section { kind: MetricKind::Counter, statistics: &[&COUNTER], has_buckets: false },
    Section {
        kind: MetricKind::Histogram,
        statistics: &[&["count", "count_rate", "sum", "sum_rate", "avg"], &ESTIMATES],
        has_buckets: true,
    },
    Section { kind: MetricKind::Unknown, statistics: &[&GAUGE], has_buckets: false },
];

/// Writes the profiling phases, without slices of time. Tables are separated by an empty line, and the file has no
/// other empty lines.
pub fn write_server_metrics_csv(out: &mut impl Write, observed: &ServerMetricsResult) -> io::Result<()> {
    let mut is_first = true;
    for section in &SECTIONS {
        write_section(out, section, observed, &mut is_first)?;
    }
    write_infos(out, observed, &mut is_first)
}

fn write_section(
    out: &mut impl Write,
    section: &Section,
    observed: &ServerMetricsResult,
    is_first: &mut bool,
) -> io::Result<()> {
    let metrics = observed.metrics.metrics.iter().filter(|metric| metric.kind == section.kind && !is_info(metric));
    let rows: Vec<(&Metric, &Series)> =
        metrics.flat_map(|metric| metric.series.iter().map(move |series| (metric, series))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let labels = label_columns(rows.iter().filter(|(metric, _)| has_labels(metric)).map(|(_, series)| *series));
    let columns: BTreeMap<&str, usize> = labels.iter().enumerate().map(|(column, name)| (*name, column)).collect();
    let mut rows: Vec<Row<'_>> =
        rows.into_iter().map(|(metric, series)| Row::new(metric, series, &columns, observed)).collect();
    // The series of a metric are sorted by endpoint and labels, and stay so.
    rows.sort_by(Row::place);
    let names = section.statistics.concat();
    let head = ["Endpoint", "Type", "Metric", "Unit"].into_iter().chain(names.iter().copied());
    let head = head.chain(labels.iter().copied()).chain(["Description"]);
    let head = head.chain(section.has_buckets.then_some("buckets"));
    begin(out, head, is_first)?;
    rows.iter().try_for_each(|row| row.write(out, &names, labels.len(), section.has_buckets))
}

struct Row<'a> {
    metric: &'a Metric,
    series: &'a Series,
    endpoint: &'a str,
    /// The columns of its labels, and their values, in order.
    labels: Vec<(usize, &'a str)>,
}

impl<'a> Row<'a> {
    fn new(
        metric: &'a Metric,
        series: &'a Series,
        columns: &BTreeMap<&str, usize>,
        observed: &'a ServerMetricsResult,
    ) -> Self {
        let own = series.labels.iter().filter(|_| has_labels(metric));
        let mut labels: Vec<(usize, &str)> =
            own.filter_map(|(name, value)| Some((*columns.get(&**name)?, &**value))).collect();
        labels.sort_unstable();
        Self { metric, series, endpoint: observed.display_name(&series.endpoint_url), labels }
    }

    /// Rows with the same labels are together.
    fn place(&self, other: &Self) -> Ordering {
        // Compares like texts of 0 and 1 per column: the first column that only one of them has decides.
        fn columns<'b>(row: &'b Row<'_>) -> impl Iterator<Item = Reverse<usize>> + 'b {
            row.labels.iter().map(|(column, _)| Reverse(*column))
        }
        let by_name = || self.metric.name.cmp(&other.metric.name).then_with(|| self.endpoint.cmp(other.endpoint));
        columns(self).cmp(columns(other)).then_with(by_name)
    }

    fn write(&self, out: &mut impl Write, names: &[&str], columns: usize, has_buckets: bool) -> io::Result<()> {
        let Self { metric, series, endpoint, labels } = self;
        let present = statistics(&series.stats);
        let number = |name: &&str| present.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let mut cells: Vec<String> =
            [endpoint, metric.kind.name(), &metric.name, metric.unit.unwrap_or_default()].map(cell).into();
        cells.extend(names.iter().map(|name| number(name).map(number_cell).unwrap_or_default()));
        let before = cells.len();
        cells.resize(before + columns, String::new());
        labels.iter().for_each(|(column, value)| cells[before + column] = cell(value));
        cells.push(cell(&metric.description));
        if has_buckets {
            let buckets = series.buckets.iter().flatten().map(|bucket| format!("{}={}", bucket.le, bucket.count));
            cells.push(cell(&buckets.collect::<Vec<_>>().join(";")));
        }
        write_row(out, &cells)
    }
}

/// The servers' descriptions of themselves: a row for each label.
fn write_infos(out: &mut impl Write, observed: &ServerMetricsResult, is_first: &mut bool) -> io::Result<()> {
    let infos = observed.metrics.metrics.iter().filter(|metric| is_info(metric));
    let mut rows: Vec<(&Metric, &str, &Series)> = infos
        .flat_map(|metric| metric.series.iter().map(move |series| (metric, series)))
        .filter(|(_, series)| !series.labels.is_empty())
        .map(|(metric, series)| (metric, observed.display_name(&series.endpoint_url), series))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|(metric, endpoint, _)| (&metric.name, *endpoint));
    begin(out, ["Endpoint", "Metric", "Key", "Value", "Description"].into_iter(), is_first)?;
    for (metric, endpoint, series) in rows {
        for (name, value) in &series.labels {
            write_row(out, &[endpoint, &metric.name, name, value, &metric.description].map(cell))?;
        }
    }
    Ok(())
}

/// A gauge that is always 1 and has information in its labels.
fn is_info(metric: &Metric) -> bool {
    metric.kind == MetricKind::Gauge && !has_labels(metric)
}

/// Whether the labels of a metric have columns: those of a description would fill the table.
fn has_labels(metric: &Metric) -> bool {
    !metric.name.ends_with("_info")
}

/// Labels in an order in which those that occur together are together.
fn label_columns<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<&'a str> {
    let mut sets: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for series in series.filter(|series| !series.labels.is_empty()) {
        let names: BTreeSet<&str> = series.labels.iter().map(|(name, _)| &**name).collect();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        sets.insert(names);
    }
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    for mut set in sets {
        let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| !group.is_disjoint(&set));
        groups = apart;
        joined.into_iter().for_each(|group| set.extend(group));
        groups.push(set);
    }
    groups.sort_by(|one, other| one.first().cmp(&other.first()));
    let of_one_series = |name: &&str| counts.get(name) == Some(&1);
    groups
        .into_iter()
        .flat_map(|group| {
            let (of_one, of_several): (Vec<&str>, Vec<&str>) = group.into_iter().partition(of_one_series);
            of_one.into_iter().chain(of_several)
        })
        .collect()
}

fn number_cell(value: Number) -> String {
    match value {
        Number::Int(value) => value.to_string(),
        Number::Float(value) if value.is_finite() => format!("{value:.4}"),
        Number::Float(_) => String::new(),
    }
}

/// A field. Readers split tables at empty lines, so a field has none.
fn cell(text: &str) -> String {
    quoted(&without_empty_lines(text))
}

fn without_empty_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return text.into();
    }
    let mut lines = text.replace("\r\n", "\n").replace('\r', "\n");
    if !lines.contains("\n\n") {
        return text.into();
    }
    while lines.contains("\n\n") {
        lines = lines.replace("\n\n", "\n");
    }
    lines.into()
}

fn begin<'a>(out: &mut impl Write, head: impl Iterator<Item = &'a str>, is_first: &mut bool) -> io::Result<()> {
    if !std::mem::replace(is_first, false) {
        write!(out, "{LINE_END}")?;
    }
    write_row(out, &head.map(cell).collect::<Vec<_>>())
}

fn write_row(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    write!(out, "{}{LINE_END}", cells.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_observe::{GaugeStats, SeriesStats};

    fn series(labels: &[&str]) -> Series {
        Series {
            endpoint_url: "http://h/metrics".into(),
            labels: labels.iter().map(|name| ((*name).into(), "v".into())).collect(),
            stats: SeriesStats::Gauge(GaugeStats::default()),
            resets: 0,
            buckets: None,
            bounds: Vec::new(),
            timeslices: None,
        }
    }

    #[test]
    fn labels_that_occur_together_are_together_and_rare_ones_first() {
        let all = [series(&["b", "x"]), series(&["a", "x"]), series(&["a", "x"]), series(&["c"]), series(&[])];
        assert_eq!(label_columns(all.iter()), ["b", "a", "x", "c"]);
    }

    #[test]
    fn a_field_has_no_empty_line() {
        assert_eq!(cell("a\r\n\r\n\nb"), "\"a\nb\"");
        assert_eq!(cell("a\r\nb"), "\"a\r\nb\"");
    }
}
