//! The metrics of a run while it is on, as rows for a table that is drawn elsewhere.

use super::metrics::place;
use crate::format::number::grouped;
use aiperf_metrics::{Flags, Metric, registry};
use aiperf_types::{MetricSnapshot, MetricsSnapshot};

/// The columns of numbers, in order.
pub const LIVE_COLUMNS: [&str; 7] = super::metrics::NUMBERS;

/// One metric: its short name with its unit, and its statistics in the order of [`LIVE_COLUMNS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRow {
    pub label: String,
    pub numbers: [Option<String>; 7],
}

/// The rows of a snapshot, in display order. Groups without a table and metrics of failed requests are left out.
pub fn live_rows(snapshot: &MetricsSnapshot) -> Vec<LiveRow> {
    let known = |measured| Some((registry::find(tag(measured))?, measured));
    let mut rows: Vec<(&Metric, &MetricSnapshot)> =
        snapshot.metrics.iter().filter_map(known).filter(|(metric, _)| is_shown(metric)).collect();
    rows.sort_by_key(|(metric, _)| place(metric.tag, metric.order));
    rows.into_iter().map(|(metric, measured)| row(metric, measured)).collect()
}

fn tag(measured: &MetricSnapshot) -> &str {
    &measured.tag
}

/// A snapshot has internal and experimental metrics only if developers ask for them, and there is one table for all.
fn is_shown(metric: &Metric) -> bool {
    metric.group.has_table() && !metric.flags.has(Flags::ERROR_ONLY)
}

fn row(metric: &Metric, measured: &MetricSnapshot) -> LiveRow {
    let name = metric.short.unwrap_or(metric.header);
    let label = if metric.hide_unit { name.to_owned() } else { format!("{name} ({})", measured.unit) };
    LiveRow { label, numbers: LIVE_COLUMNS.map(|column| grouped(measured.stats.get(column))) }
}
