//! Time slices as CSV: a row for each statistic of each metric of each slice.

use crate::export::Exporter;
use crate::format::csv::{LINE_END, quoted};
use crate::format::number::csv_cell;
use aiperf_metrics::{MetricResult, Slice};
use std::io::{self, Write};

const HEADER: &str = "Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value";

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "timeslices_csv",
    label: "Timeslice CSV Export",
    file: |names| &names.timeslices_csv,
    applies: Some(|run| !run.slices.is_empty()),
    needs_observers: false,
    write: |run, folder| {
        folder.write(&run.artifacts.names.timeslices_csv, |out| write_timeslices_csv(out, &run.slices));
    },
};

/// Writes the slices of a run in which a request started, metrics by tag. Slice numbers count from the start of the
/// run.
pub fn write_timeslices_csv(out: &mut impl Write, slices: &[Slice]) -> io::Result<()> {
    write!(out, "{HEADER}{LINE_END}")?;
    for slice in slices {
        let mut metrics: Vec<&MetricResult> = slice.summary.results.iter().collect();
        metrics.sort_by(|one, other| one.tag.cmp(&other.tag));
        for metric in metrics {
            let (header, unit) = (quoted(&metric.header), quoted(metric.unit));
            let (number, start, end) = (slice.index, slice.start.0, slice.end.0);
            for (stat, value) in metric.stats.named().filter(|(_, value)| value.is_some()) {
                let value = csv_cell(value);
                write!(out, "{number},{start},{end},{header},{unit},{stat},{value}{LINE_END}")?;
            }
        }
    }
    Ok(())
}
