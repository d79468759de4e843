//! The curves of an accumulator's records.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::flight::Pace;
use crate::curves::gauges::{Frame, Frames};
use crate::curves::sweep::Sweep;
use crate::curves::timing::Timing;
use crate::numbers::stats::Distribution;
use crate::phase::accumulator::Accumulator;
use std::borrow::Cow;

/// Curves over some windows, and how exact they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    pub(crate) windows: Vec<CurveStats>,
    /// Percentiles come from a histogram.
    pub(crate) binned: bool,
    /// Requests whose first part is missing.
    pub(crate) late: u64,
}

/// Requests and gaps fed to a sweep at a time: all of them at once would take more memory than the columns.
const ROWS_AT_ONCE: u64 = 1 << 19;
const GAPS_AT_ONCE: u64 = 1 << 22;

impl Accumulator {
    /// The curves over a window; over the time from the first to the last event if none is given.
    pub(crate) fn curves(&self, window: Option<Window>) -> Curves {
        let Some((start, end)) = self.attempted_span() else { return Curves::default() };
        if self.columns.keeps_gaps() {
            return self.sweep_columns(vec![window.unwrap_or(Window { start, end })]);
        }
        let sweep = self.swept();
        // The window is that of the phases, so all of their requests lie within.
        let Window { start, end } = window.unwrap_or(Window { start, end });
        let idle = end.0.saturating_sub(start.0).saturating_sub(sweep.swept());
        Curves { windows: vec![sweep.whole(idle)], binned: !sweep.is_exact(), late: sweep.late() }
    }

    /// The curves over slices of time.
    pub(crate) fn curves_of_slices(&self, windows: &[Window]) -> Curves {
        if self.columns.keeps_gaps() {
            return self.sweep_columns(windows.to_vec());
        }
        let sweep = self.swept();
        let curves = |window: &Window| frame_of(&sweep, window).map(|frame| frame.curves.clone()).unwrap_or_default();
        Curves { windows: windows.iter().map(curves).collect(), binned: !sweep.is_exact(), late: sweep.late() }
    }

    /// The gaps of the requests that began in slices of time, once they are no longer kept one by one.
    pub(crate) fn gaps_of_slices(&self, windows: &[Window]) -> Vec<Option<Distribution>> {
        let sweep = self.swept();
        windows.iter().map(|window| frame_of(&sweep, window)?.gaps.clone()).collect()
    }

    fn swept(&self) -> Cow<'_, Sweep> {
        let mut sweep = Cow::Borrowed(&self.sweep);
        if !sweep.is_ended() {
            sweep.to_mut().end();
        }
        sweep
    }

    /// Sweeps what the columns hold, part by part of the requests in the order of their starts.
    fn sweep_columns(&self, windows: Vec<Window>) -> Curves {
        let Some((first, last)) = self.attempted_span() else { return Curves::default() };
        let (rows, gaps) = (self.records(), self.gaps.count());
        let pace = if gaps > 0 { Pace::Gaps } else { Pace::Even };
        let mut sweep = Sweep::over(Frames::Given(windows), pace, self.limits.curve_events, true);
        let parts = rows.div_ceil(ROWS_AT_ONCE).max(gaps.div_ceil(GAPS_AT_ONCE)).max(1);
        let length = (last.0 - first.0) / parts + 1;
        for part in 0..parts {
            let (from, to) = (first.0 + part * length, first.0 + (part + 1) * length);
            self.columns.each_with_gaps(Timing::FACTS, |_, facts, gaps| {
                if let Some(timing) = Timing::of(facts).filter(|timing| (from..to).contains(&timing.start)) {
                    sweep.add_unordered(timing, gaps);
                }
            });
            sweep.to(to);
        }
        sweep.end();
        let windows = sweep.frames().iter().map(|frame| frame.curves.clone()).collect();
        Curves { windows, binned: !sweep.is_exact(), late: sweep.late() }
    }
}

fn frame_of<'a>(sweep: &'a Sweep, window: &Window) -> Option<&'a Frame> {
    let frames = sweep.frames();
    let at = frames.partition_point(|frame| frame.start < window.start);
    frames.get(at).filter(|frame| frame.start == window.start)
}
