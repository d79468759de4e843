//! The curves of an accumulator's records.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::sweep_line::SweepLine;
use crate::numbers::stats::Distribution;
use crate::phase::accumulator::Accumulator;
use aiperf_types::Nanos;
use std::borrow::Cow;

/// Curves over some windows, and how exact they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    pub(crate) windows: Vec<CurveStats>,
    /// The gaps of the requests that began in each window, where windows are slices.
    pub(crate) gaps: Vec<Option<Distribution>>,
    /// Percentiles come from a histogram.
    pub(crate) binned: bool,
    /// Requests whose first part is missing.
    pub(crate) late: u64,
}

impl Accumulator {
    /// The curves over a window; over the time from the first to the last event if none is given.
    pub(crate) fn curves(&self, window: Option<Window>) -> Curves {
        let Some((start, end)) = self.attempted_span() else { return Curves::default() };
        let window = window.unwrap_or(Window { start, end });
        let sweep = self.swept(None);
        // What was swept is a phase, or several, and the window is theirs: all of their requests lie within.
        let length = window.end.0.saturating_sub(window.start.0);
        let whole = sweep.whole(length.saturating_sub(sweep.swept()));
        Curves { windows: vec![whole], gaps: Vec::new(), binned: !sweep.is_exact(), late: self.late(&sweep) }
    }

    /// The curves over slices of time, of the length that they were swept by.
    pub(crate) fn curves_of_slices(&self, windows: &[Window], length: Nanos) -> Curves {
        let sweep = self.swept(Some(length));
        Curves {
            windows: windows.iter().map(|window| sweep.stats(window).unwrap_or_default()).collect(),
            gaps: windows.iter().map(|window| sweep.gaps(window)).collect(),
            binned: !sweep.is_exact(),
            late: self.late(&sweep),
        }
    }

    /// What was swept while records came, or all of them swept now.
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

    /// Requests that came too late for a part of the curves, or after the sweep was over.
    fn late(&self, sweep: &SweepLine) -> u64 {
        sweep.late() + self.sweep.as_ref().map_or(0, |_| self.pending.len() as u64)
    }
}
