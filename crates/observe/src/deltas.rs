//! Samples as rows of a table: cumulative values counted from the start of the window.

use crate::scrape::MetricKind;
use crate::store::{Bound, StoredSeries};
use crate::windows::Window;

/// The samples of one series in a window, as columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deltas<'a> {
    /// Nanoseconds since the Unix epoch.
    pub timestamps: Vec<u64>,
    pub columns: DeltaColumns<'a>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeltaColumns<'a> {
    /// Raw for gauges and unknown kinds; since the reference for counters.
    Values(Vec<f64>),
    /// All since the reference.
    Histogram {
        sums: Vec<f64>,
        counts: Vec<f64>,
        /// Sorted.
        bounds: &'a [Bound],
        /// Observations up to each bound: as many as there are bounds for the first timestamp, then for the next.
        buckets: Vec<f64>,
    },
}

impl Default for DeltaColumns<'_> {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

/// Uses the same samples as the statistics of the same window.
pub fn deltas<'a>(series: StoredSeries<'a>, window: &Window) -> Deltas<'a> {
    let Some(view) = window.view(series) else { return Deltas::default() };
    let is_total = matches!(series.kind(), MetricKind::Counter | MetricKind::Histogram);
    let chosen = if is_total { view.totalled() } else { view.inside() };
    let timestamps = view.times[chosen.clone()].to_vec();
    let Some(&reference) = view.samples.get(view.reference().unwrap_or(chosen.start)) else { return Deltas::default() };
    let samples = &view.samples[chosen];
    let since = |value: f64, reference: f64| (value - reference).max(0.0);
    let columns = match series.kind() {
        MetricKind::Gauge | MetricKind::Unknown => {
            DeltaColumns::Values(samples.iter().map(|&sample| series.scalars()[sample]).collect())
        }
        MetricKind::Counter => {
            let values = series.scalars();
            DeltaColumns::Values(samples.iter().map(|&sample| since(values[sample], values[reference])).collect())
        }
        MetricKind::Histogram => {
            let (first_sum, first_count, first) = series.histogram(reference);
            let mut sums = Vec::with_capacity(samples.len());
            let mut counts = Vec::with_capacity(samples.len());
            let mut buckets = Vec::with_capacity(samples.len() * first.len());
            for &sample in samples {
                let (sum, count, row) = series.histogram(sample);
                sums.push(since(sum, first_sum));
                counts.push(since(count, first_count));
                buckets.extend(row.iter().zip(first).map(|(value, first)| since(*value, *first)));
            }
            DeltaColumns::Histogram { sums, counts, bounds: series.bounds(), buckets }
        }
    };
    Deltas { timestamps, columns }
}
