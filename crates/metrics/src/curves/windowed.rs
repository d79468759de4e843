//! All curves over one window of time after another, and over all of them.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::gauges::Gauges;
use crate::numbers::durations::Gaps;
use crate::numbers::stats::Distribution;
use aiperf_types::{Nanos, WallNs};

/// The windows of time that statistics are wanted of.
#[derive(Clone, Debug)]
pub(crate) enum Windows {
    /// These, one after another.
    Given(Vec<Window>),
    /// All the time from the first request on; and if there are slices, every slice of it.
    Whole(Option<Slices>),
}

/// Slices of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    pub(crate) length: Nanos,
    /// An instant at which one begins; with the first request if absent.
    pub(crate) origin: Option<WallNs>,
}

/// Slices that are told apart while a run is on: at 5 KB each, more than anybody reads and less than memory holds.
const MOST_SLICES: usize = 1 << 16;

/// What came of a window that is over.
#[derive(Clone, Debug)]
struct Closed {
    start: u64,
    /// For how long it was open.
    covered: u64,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
enum Outcome {
    Final(Box<(CurveStats, Option<Distribution>)>),
    /// The first and the last slice of a phase may be shared with another phase.
    Mergeable(Box<Gauges>, Box<Gaps>),
}

#[derive(Clone, Debug)]
struct Open {
    start: u64,
    since: u64,
    gauges: Gauges,
    gaps: Gaps,
}

/// Gauges of one window after another.
#[derive(Clone, Debug)]
pub(crate) struct WindowedCurves {
    windows: Windows,
    /// How many stretches may be kept one by one.
    limit: u64,
    exact: bool,
    open: Option<Open>,
    closed: Vec<Closed>,
    whole: Option<Gauges>,
    scratch: Vec<u64>,
}

impl WindowedCurves {
    pub(crate) fn new(windows: Windows, limit: u64) -> Self {
        Self { windows, limit, exact: true, open: None, closed: Vec::new(), whole: None, scratch: Vec::new() }
    }

    /// Lets a slice begin at this instant, of a sweep that has not begun.
    pub(crate) fn set_origin(&mut self, origin: WallNs) {
        if let Windows::Whole(Some(slices)) = &mut self.windows {
            slices.origin = Some(origin);
        }
    }

    /// Opens the first window; gives the instant at which a sweep that begins with a request at `first` has to begin.
    pub(crate) fn begin(&mut self, first: u64) -> u64 {
        let begin = match &self.windows {
            Windows::Given(windows) => windows.first().map_or(first, |window| window.start.0.min(first)),
            Windows::Whole(slices) => {
                let since_edge = slices.map_or(0, |slices| {
                    let origin = slices.origin.map_or(first, |origin| origin.0);
                    first.checked_sub(origin).map_or(0, |time| time % slices.length.0)
                });
                self.open(first - since_edge, first);
                first
            }
        };
        self.cross(begin);
        begin
    }

    fn open(&mut self, start: u64, since: u64) {
        self.open = Some(Open { start, since, gauges: Gauges::new(self.exact), gaps: Gaps::default() });
    }

    /// The next instant at which a window opens or closes.
    pub(crate) fn edge(&self) -> u64 {
        match (&self.windows, &self.open) {
            (Windows::Whole(Some(slices)), Some(open)) => open.start + slices.length.0,
            (Windows::Whole(_), _) => u64::MAX,
            (Windows::Given(windows), open) => {
                let window = windows.get(self.closed.len());
                window.map_or(u64::MAX, |window| if open.is_some() { window.end.0 } else { window.start.0 })
            }
        }
    }

    /// After this no window opens or closes.
    pub(crate) fn last_edge(&self) -> u64 {
        match &self.windows {
            Windows::Given(windows) => windows.iter().map(|window| window.start.max(window.end).0).max().unwrap_or(0),
            Windows::Whole(_) => 0,
        }
    }

    /// The gauges of the window that is open.
    #[inline]
    pub(crate) fn gauges(&mut self) -> Option<&mut Gauges> {
        self.open.as_mut().map(|open| &mut open.gauges)
    }

    /// Counts the gaps of a request that begins, where windows are told apart.
    pub(crate) fn add_gaps(&mut self, gaps: impl Iterator<Item = u64>) {
        if let (Windows::Whole(Some(_)) | Windows::Given(_), Some(open)) = (&self.windows, &mut self.open) {
            self.scratch.clear();
            self.scratch.extend(gaps);
            open.gaps.add_all(&self.scratch);
        }
    }

    /// Closes and opens windows whose edge is reached.
    pub(crate) fn cross(&mut self, at: u64) {
        while self.edge() <= at {
            let was_open = self.open.is_some();
            self.close(at, self.closed.is_empty());
            if self.closed.len() >= MOST_SLICES && matches!(self.windows, Windows::Whole(_)) {
                self.windows = Windows::Whole(None);
            }
            if !was_open || matches!(self.windows, Windows::Whole(_)) {
                self.open(at, at);
            }
        }
    }

    fn close(&mut self, at: u64, is_mergeable: bool) {
        let Some(Open { start, since, gauges, gaps }) = self.open.take() else { return };
        let outcome = match &self.windows {
            Windows::Whole(Some(_)) if is_mergeable => Outcome::Mergeable(Box::new(gauges.clone()), Box::new(gaps)),
            _ => Outcome::Final(Box::new((gauges.stats(0), gaps.distribution()))),
        };
        if !matches!(self.windows, Windows::Whole(None)) || !self.closed.is_empty() {
            self.closed.push(Closed { start, covered: at.saturating_sub(since), outcome });
        }
        if let Windows::Whole(_) = self.windows {
            match &mut self.whole {
                None => self.whole = Some(gauges),
                Some(whole) => whole.merge(gauges),
            }
        }
    }

    /// Settles sums, and lets go of stretches that have become too many to be kept one by one.
    pub(crate) fn settle(&mut self) {
        self.gauges().into_iter().for_each(Gauges::settle);
        let gauges = || self.open.iter().map(|open| &open.gauges).chain(&self.whole);
        if self.exact && gauges().map(Gauges::stretches).sum::<usize>() as u64 > self.limit {
            self.exact = false;
            self.whole.iter_mut().for_each(Gauges::let_go);
            self.open.iter_mut().for_each(|open| open.gauges.let_go());
        }
    }

    /// Closes the last window: nothing more comes.
    pub(crate) fn end(&mut self, at: u64) {
        self.close(at, true);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }

    fn closed_at(&self, window: &Window) -> Option<&Closed> {
        let at = self.closed.partition_point(|closed| closed.start < window.start.0);
        self.closed.get(at).filter(|closed| closed.start == window.start.0)
    }

    /// The statistics over a window that is over; `None` of one that was not told apart.
    pub(crate) fn stats(&self, window: &Window) -> Option<CurveStats> {
        let closed = self.closed_at(window)?;
        Some(match &closed.outcome {
            Outcome::Final(found) => found.0.clone(),
            Outcome::Mergeable(gauges, _) => {
                let length = window.end.0.saturating_sub(window.start.0);
                gauges.stats(length.saturating_sub(closed.covered))
            }
        })
    }

    /// The gaps of the requests that began in a window.
    pub(crate) fn gaps(&self, window: &Window) -> Option<Distribution> {
        match &self.closed_at(window)?.outcome {
            Outcome::Final(found) => found.1.clone(),
            Outcome::Mergeable(_, gaps) => gaps.distribution(),
        }
    }

    /// The statistics of all windows together, with so much more time in which nothing was going on.
    pub(crate) fn whole(&self, idle: u64) -> CurveStats {
        self.whole.as_ref().map(|whole| whole.stats(idle)).unwrap_or_default()
    }

    /// Takes everything that was said of tokens produced to be zero.
    pub(crate) fn set_decode_to_zero(&mut self) {
        let open = self.open.iter_mut().map(|open| &mut open.gauges);
        open.chain(&mut self.whole).for_each(Gauges::set_decode_to_zero);
        for closed in &mut self.closed {
            match &mut closed.outcome {
                Outcome::Final(found) => found.0.set_decode_to_zero(),
                Outcome::Mergeable(gauges, _) => gauges.set_decode_to_zero(),
            }
        }
    }

    /// Goes on with the windows of a later time. A slice that both have a part of becomes one.
    pub(crate) fn append(&mut self, other: Self) {
        self.exact &= other.exact;
        let mut later = other.closed.into_iter().peekable();
        if let (Some(own), Some(first)) = (self.closed.last_mut(), later.peek())
            && own.start == first.start
            && let (Outcome::Mergeable(gauges, gaps), Outcome::Mergeable(others, other_gaps)) =
                (&mut own.outcome, &first.outcome)
        {
            gauges.merge(Gauges::clone(others));
            gaps.merge(other_gaps);
            own.covered += first.covered;
            later.next();
        }
        self.closed.extend(later);
        match (&mut self.whole, other.whole) {
            (Some(own), Some(others)) => own.merge(others),
            (own, others) => *own = own.take().or(others),
        }
    }

    /// Bytes held, roughly.
    pub(crate) fn size(&self) -> usize {
        let gauges = self.open.iter().map(|open| &open.gauges).chain(&self.whole);
        gauges.map(Gauges::size).sum::<usize>() + self.closed.len() * (size_of::<Closed>() + size_of::<CurveStats>())
    }
}
