//! Counters: what was counted since the last sample before the window.

use super::{Statistics, slices};
use crate::numbers::{deviation, least_and_most, mean};
use crate::results::{CounterStats, SeriesStats, SliceStats};
use crate::windows::View;
use aiperf_types::Nanos;

pub(super) fn statistics(view: &View<'_>, slice: Option<Nanos>) -> Option<Statistics> {
    let totalled = view.totalled();
    let last = totalled.clone().next_back()?;
    let first = view.reference().unwrap_or(totalled.start);
    let values: Vec<f64> = view.samples.iter().map(|&sample| view.series.scalars()[sample]).collect();
    // A server that was restarted counts from zero; whether its earlier count is included is not known.
    let total = (values[last] - values[first]).max(0.0);
    let seconds = view.seconds(first, last);
    let resets = values[first..=last].windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;

    let times = &view.times[first..view.until(view.range.end).max(first)];
    let value_at = |instant: u64| {
        let at = times.partition_point(|time| *time <= instant);
        values[first + at.saturating_sub(1)]
    };
    let cut = slices(view, times, slice, |slice, _| {
        let total = (value_at(slice.end) - value_at(slice.start)).max(0.0);
        let rate = total / ((slice.end - slice.start) as f64 / 1e9);
        Some(SliceStats::Counter { total, rate })
    });
    let slices_left_out = cut.is_err();
    let timeslices = cut.unwrap_or_default();
    let complete = timeslices.iter().flatten().filter(|slice| slice.is_complete);
    let rates: Vec<f64> = complete
        .filter_map(|slice| match slice.stats {
            SliceStats::Counter { rate, .. } => Some(rate),
            _ => None,
        })
        .collect();
    let (least, most) = least_and_most(&rates);
    let stats = CounterStats {
        total,
        rate: if seconds > 0.0 { total / seconds } else { 0.0 },
        rates: (!rates.is_empty()).then(|| [mean(&rates), least, most, deviation(&rates)]),
    };
    Some(Statistics { stats: SeriesStats::Counter(stats), resets, buckets: None, timeslices, slices_left_out })
}
