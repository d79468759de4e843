//! Histograms: what was observed since the last sample before the window, and where it lies.

use super::{Statistics, slices};
use crate::estimator::{LearnedBucket, Snapshot, estimate, learn};
use crate::results::{Bucket, HistogramStats, SeriesStats, SliceStats, Timeslice};
use crate::store::Bound;
use crate::timeslices::TooManySlices;
use crate::windows::View;
use aiperf_types::Nanos;
use std::sync::Arc;

pub(super) fn statistics(view: &View<'_>, slice: Option<Nanos>) -> Option<Statistics> {
    let last = view.until(view.totals_until).checked_sub(1)?;
    let first = view.reference().unwrap_or(0);
    let change = Change::between(snapshot(view, first), snapshot(view, last));
    let buckets = change.buckets();
    let count = change.count.max(0);
    let resets = (first..last).filter(|&at| has_fallen(snapshot(view, at), snapshot(view, at + 1))).count() as u64;

    let mut stats = HistogramStats { count, ..HistogramStats::default() };
    let mut cut = Ok(None);
    if count > 0 {
        let sum = change.sum.max(0.0);
        let seconds = Some(view.seconds(first, last)).filter(|seconds| *seconds > 0.0);
        stats.sum = Some(sum);
        stats.avg = Some(sum / count as f64);
        stats.count_rate = seconds.map(|seconds| count as f64 / seconds);
        stats.sum_rate = seconds.map(|seconds| sum / seconds);
        stats.percentile_estimates = buckets.as_deref().and_then(|up_to| {
            let bounds: Vec<f64> = view.series.bounds().iter().map(|bound| bound.value).collect();
            estimate(&bounds, up_to, sum, count, &learned(view))
        });
        cut = changes(view, first, slice);
    }
    Some(Statistics {
        stats: SeriesStats::Histogram(stats),
        resets,
        buckets: named(view.series.bounds(), buckets),
        slices_left_out: cut.is_err(),
        timeslices: cut.unwrap_or_default(),
    })
}

/// What the intervals from the reference on show of single buckets.
pub fn learned(view: &View<'_>) -> Vec<LearnedBucket> {
    let samples = view.learned_from(view.reference().unwrap_or(0));
    learn(view.series.bounds().len(), samples.map(|at| snapshot(view, at)))
}

fn changes(view: &View<'_>, first: usize, slice: Option<Nanos>) -> Result<Option<Vec<Timeslice>>, TooManySlices> {
    let at = |instant: u64| snapshot(view, view.until(instant).saturating_sub(1));
    let times = &view.times[first..view.until(view.range.end).max(first)];
    slices(view, times, slice, |slice, _| {
        let change = Change::between(at(slice.start), at(slice.end));
        let Change { sum, count, .. } = change;
        if sum < 0.0 || count < 0 {
            return None;
        }
        let avg = if count > 0 { sum / count as f64 } else { 0.0 };
        let buckets = change.buckets().filter(|buckets| !buckets.is_empty());
        Some(SliceStats::Histogram { count, sum, avg, buckets })
    })
}

fn snapshot<'a>(view: &View<'a>, at: usize) -> Snapshot<'a> {
    view.series.histogram(view.samples[at])
}

/// From one sample to a later one.
struct Change {
    sum: f64,
    count: i64,
    up_to: Vec<i64>,
}

impl Change {
    fn between(from: Snapshot<'_>, to: Snapshot<'_>) -> Self {
        let up_to = to.2.iter().zip(from.2).map(|(to, from)| (to - from) as i64).collect();
        Self { sum: to.0 - from.0, count: (to.1 - from.1) as i64, up_to }
    }

    /// Observations up to each bound; `None` where one has fewer than before.
    fn buckets(&self) -> Option<Vec<i64>> {
        self.up_to.iter().all(|count| *count >= 0).then(|| self.up_to.clone())
    }
}

/// Whether a server was restarted between two samples.
fn has_fallen(before: Snapshot<'_>, now: Snapshot<'_>) -> bool {
    now.1 < before.1 || now.0 < before.0 || now.2.last() < before.2.last()
}

/// With bounds as pages spell them; none where the histogram has none.
fn named(bounds: &[Bound], buckets: Option<Vec<i64>>) -> Option<Vec<Bucket>> {
    let buckets = buckets.filter(|buckets| !buckets.is_empty())?;
    Some(bounds.iter().zip(buckets).map(|(bound, count)| Bucket { le: Arc::clone(&bound.le), count }).collect())
}
