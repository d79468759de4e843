//! Statistics of the samples of a series in a window: one file a kind of series.

mod counter;
mod gauge;
mod histogram;

pub use histogram::learned;

use crate::results::{Bucket, SeriesStats, SliceStats, Timeslice};
use crate::scrape::MetricKind;
use crate::timeslices::{Slice, TooManySlices, of_series};
use crate::windows::View;
use aiperf_types::{Nanos, WallNs};

/// A series' statistics, before it is known whose they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    pub stats: SeriesStats,
    pub resets: u64,
    pub buckets: Option<Vec<Bucket>>,
    pub timeslices: Option<Vec<Timeslice>>,
    /// There would have been too many slices, so there are none.
    pub slices_left_out: bool,
}

/// `None` where the window has no sample of it. Without a length there are no slices.
pub fn of_view(view: &View<'_>, slice: Option<Nanos>) -> Option<Statistics> {
    let of_kind = match view.series.kind() {
        MetricKind::Gauge | MetricKind::Unknown => gauge::statistics,
        MetricKind::Counter => counter::statistics,
        MetricKind::Histogram => histogram::statistics,
    };
    of_kind(view, slice)
}

/// Slices of some samples of a view, each given with whether it is the last.
///
/// A single sample has none, and a list without any is not written.
fn slices(
    view: &View<'_>,
    times: &[u64],
    length: Option<Nanos>,
    stats: impl Fn(Slice, bool) -> Option<SliceStats>,
) -> Result<Option<Vec<Timeslice>>, TooManySlices> {
    let Some(length) = length.filter(|_| times.len() >= 2) else { return Ok(None) };
    let slices = of_series(view.range.clone(), times, length)?;
    let last = slices.len().saturating_sub(1);
    let timeslice = |(at, slice): (usize, Slice)| {
        let Slice { start, end, is_complete } = slice;
        Some(Timeslice { start: WallNs(start), end: WallNs(end), is_complete, stats: stats(slice, at == last)? })
    };
    let slices: Vec<Timeslice> = slices.into_iter().enumerate().filter_map(timeslice).collect();
    Ok((!slices.is_empty()).then_some(slices))
}
