//! The curves of an accumulator's records.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::sweep::Sweep;
use crate::curves::windowed::Windows;
use crate::numbers::stats::Distribution;
use crate::phase::accumulator::Accumulator;
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
        let Some(sweep) = self.swept() else { return self.sweep_over(&[window]) };
        // What was swept while it was on is a phase, or several, and the window is theirs: all of their requests lie within.
        let length = window.end.0.saturating_sub(window.start.0);
        let whole = sweep.whole(length.saturating_sub(sweep.swept()));
        Curves { windows: vec![whole], gaps: Vec::new(), binned: !sweep.is_exact(), late: sweep.late() }
    }

    /// The curves over slices of time.
    pub(crate) fn curves_of_slices(&self, windows: &[Window]) -> Curves {
        self.swept().map_or_else(|| self.sweep_over(windows), |sweep| curves_of(&sweep, windows))
    }

    /// What was swept while records came, and the rest; `None` if nobody swept meanwhile.
    fn swept(&self) -> Option<Cow<'_, Sweep>> {
        let mut sweep = Cow::Borrowed(self.sweep.as_deref()?);
        if self.pending.len() > 0 {
            let mut rest = Sweep::new(None);
            rest.take(&mut self.pending.clone());
            sweep.to_mut().append(rest);
        }
        Some(sweep)
    }

    /// Sweeps all requests.
    fn sweep_over(&self, windows: &[Window]) -> Curves {
        let mut sweep = Sweep::over(Windows::Given(windows.to_vec()), self.limits.curve_stretches);
        sweep.take(&mut self.pending.clone());
        sweep.end();
        curves_of(&sweep, windows)
    }
}

fn curves_of(sweep: &Sweep, windows: &[Window]) -> Curves {
    Curves {
        windows: windows.iter().map(|window| sweep.stats(window).unwrap_or_default()).collect(),
        gaps: windows.iter().map(|window| sweep.gaps(window)).collect(),
        binned: !sweep.is_exact(),
        late: sweep.late(),
    }
}
