//! The curves of an accumulator's records.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::sweep_line::SweepLine;
use crate::numbers::stats::Distribution;
use crate::phase::accumulator::Accumulator;
use crate::phase::summary::Context;
use aiperf_types::Nanos;
use std::borrow::Cow;

/// Curves over some windows, and how exact they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    pub(crate) windows: Vec<CurveStats>,
    /// The gaps of the requests that started in each window, if windows are slices.
    pub(crate) gaps: Vec<Option<Distribution>>,
    /// Percentiles come from a histogram.
    pub(crate) binned: bool,
    /// Requests whose first part is missing.
    pub(crate) late: u64,
}

impl Accumulator {
    /// The curves over the window; without one, from the first to the last event.
    pub(crate) fn curves(&self, Context { window, threads, .. }: Context) -> Curves {
        let Some((start, end)) = self.attempted_span() else { return Curves::default() };
        let window = window.unwrap_or(Window { start, end });
        let sweep = self.swept(None);
        // A sweep covers one phase or several, and the window is theirs: it contains all of their requests.
        let length = window.end.0.saturating_sub(window.start.0);
        let whole = sweep.whole(length.saturating_sub(sweep.swept()), threads);
        Curves { windows: vec![whole], gaps: Vec::new(), binned: !sweep.is_exact(), late: self.late(&sweep) }
    }

    /// The curves over slices of time, of the length used in the sweep.
    pub(crate) fn curves_of_slices(&self, windows: &[Window], length: Nanos) -> Curves {
        let sweep = self.swept(Some(length));
        Curves {
            windows: windows.iter().map(|window| sweep.stats(window).unwrap_or_default()).collect(),
            gaps: windows.iter().map(|window| sweep.gaps(window)).collect(),
            binned: !sweep.is_exact(),
            late: self.late(&sweep),
        }
    }

    /// The sweep made while records arrived, or a sweep of all of them now.
    fn swept(&self, slice: Option<Nanos>) -> Cow<'_, SweepLine> {
        self.sweep.as_deref().map_or_else(
            || {
                let mut sweep = SweepLine::new(slice);
                sweep.take(&mut self.pending.clone());
                sweep.end();
                Cow::Owned(sweep)
            },
            Cow::Borrowed,
        )
    }

    /// Requests that arrived too late for a part of the curves, or after the end of the sweep.
    fn late(&self, sweep: &SweepLine) -> u64 {
        sweep.late() + self.sweep.as_ref().map_or(0, |_| self.pending.len() as u64)
    }
}
