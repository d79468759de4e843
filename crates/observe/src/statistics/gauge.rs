//! Gauges and the unknown: every sample is a value of its own.

use super::{Statistics, slices};
use crate::numbers::{deviation, least_and_most, mean, percentiles};
use crate::results::{GaugeStats, SeriesStats, SliceStats};
use crate::windows::View;
use aiperf_types::Nanos;

pub(super) fn statistics(view: &View<'_>, slice: Option<Nanos>) -> Option<Statistics> {
    let inside = view.inside();
    let times = &view.times[inside.clone()];
    let values: Vec<f64> = view.samples[inside].iter().map(|&sample| view.series.scalars()[sample]).collect();
    let (min, max) = least_and_most(&values);
    let stats = GaugeStats {
        avg: mean(&values),
        min,
        max,
        std: deviation(&values),
        percentiles: percentiles(&mut values.clone())?,
    };
    let cut = slices(view, times, slice, |slice, is_last| {
        let from = times.partition_point(|time| *time < slice.start);
        // Only the last slice has a sample that lies on its end.
        let to = times.partition_point(|time| *time < slice.end || (*time == slice.end && is_last));
        let values = values.get(from..to).filter(|values| !values.is_empty())?;
        let (min, max) = least_and_most(values);
        Some(SliceStats::Gauge { avg: mean(values), min, max })
    });
    Some(Statistics {
        stats: SeriesStats::Gauge(stats),
        resets: 0,
        buckets: None,
        slices_left_out: cut.is_err(),
        timeslices: cut.unwrap_or_default(),
    })
}
