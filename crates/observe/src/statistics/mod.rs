//! What the samples of a series in a window come to: one file a kind of series.

mod counter;
mod gauge;
mod histogram;

pub use histogram::learned;

use crate::results::{Bucket, SeriesStats, SliceStats, Timeslice};
use crate::scrape::MetricKind;
use crate::timeslices::Slice;
use crate::windows::View;
use aiperf_types::{Nanos, WallNs};

/// A series' statistics, before it is known whose they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    pub stats: SeriesStats,
    pub resets: u64,
    pub buckets: Option<Vec<Bucket>>,
    pub timeslices: Option<Vec<Timeslice>>,
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

/// `None` where no slice is left: a list without any is not written.
fn some_slices(slices: impl Iterator<Item = (Slice, SliceStats)>) -> Option<Vec<Timeslice>> {
    let timeslice = |(Slice { start, end, is_complete }, stats)| Timeslice {
        start: WallNs(start),
        end: WallNs(end),
        is_complete,
        stats,
    };
    let slices: Vec<Timeslice> = slices.map(timeslice).collect();
    (!slices.is_empty()).then_some(slices)
}
