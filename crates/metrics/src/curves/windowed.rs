//! All curves over one slice of time after another, and over all slices together.

use crate::curves::curve::{CurveStats, Window};
use crate::curves::gauges::Gauges;
use crate::numbers::durations::Gaps;
use crate::numbers::stats::Distribution;
use aiperf_types::{Nanos, WallNs};

/// Slices of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    pub(crate) length: Nanos,
    /// An instant at which a slice begins; if absent, the first request.
    pub(crate) origin: Option<WallNs>,
}

impl Slices {
    /// The start of the slice that contains an instant, which may be before the origin.
    fn start_of(&self, at: u64) -> u64 {
        let (origin, length) = (self.origin.map_or(at, |origin| origin.0), self.length.0);
        let since = match at.checked_sub(origin) {
            Some(time) => time % length,
            None => (length - (origin - at) % length) % length,
        };
        at.saturating_sub(since)
    }
}

/// Slices that are kept separate: at 5 KB each, more than users read and less than memory holds. Later ones have no
/// curves.
const MOST_SLICES: usize = 1 << 16;

/// The result of a window that has ended.
#[derive(Clone, Debug)]
struct Closed {
    start: u64,
    /// For how long it was open.
    covered: u64,
    curves: ClosedCurves,
}

#[derive(Clone, Debug)]
enum ClosedCurves {
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

/// The gauges of one window after another: of every slice, or of all time from the first request on.
#[derive(Clone, Debug)]
pub(crate) struct WindowedCurves {
    slices: Option<Slices>,
    /// How many stretches may be stored one by one.
    limit: u64,
    exact: bool,
    most_slices: usize,
    open: Option<Open>,
    closed: Vec<Closed>,
    whole: Option<Gauges>,
    scratch: Vec<u64>,
}

impl WindowedCurves {
    pub(crate) fn new(slices: Option<Slices>, limit: u64) -> Self {
        Self {
            slices,
            limit,
            exact: true,
            most_slices: MOST_SLICES,
            open: None,
            closed: Vec::new(),
            whole: None,
            scratch: Vec::new(),
        }
    }

    /// Makes a slice begin at this instant, in a sweep that has not started.
    pub(crate) fn set_origin(&mut self, origin: WallNs) {
        if let Some(slices) = &mut self.slices {
            slices.origin = Some(origin);
        }
    }

    /// Opens the first window, with a request that starts at `first`.
    pub(crate) fn begin(&mut self, first: u64) {
        let start = self.slices.map_or(first, |slices| slices.start_of(first));
        self.set_origin(WallNs(start));
        self.open(start, first);
    }

    /// The start of the slice that contains an instant; `None` if slices have another length, or there are none.
    pub(crate) fn slice_start(&self, at: WallNs, length: Nanos) -> Option<WallNs> {
        let slices = self.slices.filter(|slices| slices.length == length)?;
        Some(WallNs(slices.start_of(at.0)))
    }

    /// An instant at which a slice begins, once it is known.
    pub(crate) fn origin(&self) -> Option<WallNs> {
        self.slices?.origin
    }

    /// The slices, while they are kept separate.
    fn slices(&self) -> Option<Slices> {
        self.slices.filter(|_| self.closed.len() < self.most_slices)
    }

    fn open(&mut self, start: u64, since: u64) {
        self.open = Some(Open { start, since, gauges: Gauges::new(self.exact), gaps: Gaps::default() });
    }

    /// The next instant at which a slice closes and another opens.
    pub(crate) fn edge(&self) -> u64 {
        self.slices().zip(self.open.as_ref()).map_or(u64::MAX, |(slices, open)| open.start + slices.length.0)
    }

    /// The gauges of the open window.
    #[inline]
    pub(crate) fn gauges(&mut self) -> Option<&mut Gauges> {
        self.open.as_mut().map(|open| &mut open.gauges)
    }

    /// Counts the gaps of a request that starts, if there are slices.
    pub(crate) fn add_gaps(&mut self, gaps: impl Iterator<Item = u64>) {
        if let (Some(_), Some(open)) = (self.slices(), &mut self.open) {
            self.scratch.clear();
            self.scratch.extend(gaps);
            open.gaps.add_all(&self.scratch);
        }
    }

    /// Closes the slice whose end is reached, and opens the next.
    pub(crate) fn cross(&mut self, at: u64) {
        while self.edge() <= at {
            self.close(at, self.closed.is_empty());
            self.open(at, at);
        }
    }

    fn close(&mut self, at: u64, is_mergeable: bool) {
        let Some(Open { start, since, gauges, gaps }) = self.open.take() else { return };
        if self.slices().is_some() {
            let curves = if is_mergeable {
                ClosedCurves::Mergeable(Box::new(gauges.clone()), Box::new(gaps))
            } else {
                ClosedCurves::Final(Box::new((gauges.stats(0, 1), gaps.distribution())))
            };
            self.closed.push(Closed { start, covered: at.saturating_sub(since), curves });
        }
        match &mut self.whole {
            None => self.whole = Some(gauges),
            Some(whole) => whole.merge(gauges),
        }
    }

    /// Settles sums, and drops stretches if there are too many to store one by one.
    pub(crate) fn settle(&mut self) {
        self.gauges().into_iter().for_each(Gauges::settle);
        let gauges = || self.open.iter().map(|open| &open.gauges).chain(&self.whole);
        if self.exact && gauges().map(Gauges::stretches).sum::<usize>() as u64 > self.limit {
            self.exact = false;
            self.whole.iter_mut().for_each(Gauges::let_go);
            self.open.iter_mut().for_each(|open| open.gauges.let_go());
        }
    }

    /// Closes the last window.
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

    /// The statistics of a window that has ended; `None` if it was not kept separate.
    pub(crate) fn stats(&self, window: &Window) -> Option<CurveStats> {
        let closed = self.closed_at(window)?;
        Some(match &closed.curves {
            ClosedCurves::Final(found) => found.0.clone(),
            ClosedCurves::Mergeable(gauges, _) => {
                let length = window.end.0.saturating_sub(window.start.0);
                gauges.stats(length.saturating_sub(closed.covered), 1)
            }
        })
    }

    /// The gaps of the requests that started in a window.
    pub(crate) fn gaps(&self, window: &Window) -> Option<Distribution> {
        match &self.closed_at(window)?.curves {
            ClosedCurves::Final(found) => found.1.clone(),
            ClosedCurves::Mergeable(_, gaps) => gaps.distribution(),
        }
    }

    /// The statistics of all windows together, with `idle` more time without load, on at most `threads` threads.
    pub(crate) fn whole(&self, idle: u64, threads: usize) -> CurveStats {
        self.whole.as_ref().map(|whole| whole.stats(idle, threads)).unwrap_or_default()
    }

    /// Sets the rate of produced tokens to zero in all windows.
    pub(crate) fn set_decode_to_zero(&mut self) {
        let open = self.open.iter_mut().map(|open| &mut open.gauges);
        open.chain(&mut self.whole).for_each(Gauges::set_decode_to_zero);
        for closed in &mut self.closed {
            match &mut closed.curves {
                ClosedCurves::Final(found) => found.0.set_decode_to_zero(),
                ClosedCurves::Mergeable(gauges, _) => gauges.set_decode_to_zero(),
            }
        }
    }

    /// Appends the windows of a later time. A slice of which both have a part becomes one.
    pub(crate) fn append(&mut self, other: Self) {
        self.exact &= other.exact;
        let mut later = other.closed.into_iter().peekable();
        if let (Some(own), Some(first)) = (self.closed.last_mut(), later.peek())
            && own.start == first.start
            && let (ClosedCurves::Mergeable(gauges, gaps), ClosedCurves::Mergeable(others, other_gaps)) =
                (&mut own.curves, &first.curves)
        {
            gauges.merge(Gauges::clone(others));
            gaps.merge(other_gaps);
            own.covered += first.covered;
            later.next();
        }
        self.closed.extend(later);
        // A slice after those that were not kept separate may be a part of one of them.
        self.closed.truncate(self.most_slices);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::change::Levels;
    use crate::curves::curve::Curve;

    const LENGTH: u64 = 10;
    const MOST: usize = 3;

    /// `in_flight` requests from one instant to another.
    fn sliced(from: u64, to: u64, in_flight: i64) -> WindowedCurves {
        let slices = Slices { length: Nanos(LENGTH), origin: Some(WallNs(0)) };
        let mut curves = WindowedCurves { most_slices: MOST, ..WindowedCurves::new(Some(slices), 1000) };
        curves.begin(from);
        let mut at = from;
        while at < to {
            let until = curves.edge().min(to);
            let levels = Levels { in_flight, ..Levels::default() };
            curves.gauges().unwrap().add_others(until - at, &levels);
            curves.cross(until);
            at = until;
        }
        curves.end(to);
        curves
    }

    fn in_flight(curves: &WindowedCurves, slice: u64) -> Option<f64> {
        let window = Window { start: WallNs(slice * LENGTH), end: WallNs((slice + 1) * LENGTH) };
        curves.stats(&window)?.effective(Curve::Concurrency)?.avg
    }

    #[test]
    fn slices_beyond_the_limit_have_no_curves() {
        let mut curves = sliced(0, 75, 4);
        assert_eq!(
            [0, 1, 2, 3, 4, 7].map(|slice| in_flight(&curves, slice)),
            [Some(4.0), Some(4.0), Some(4.0), None, None, None]
        );
        // The slice in which a later phase begins is partly among those that were not kept separate.
        curves.append(sliced(76, 95, 6));
        assert_eq!([2, 7, 8, 9].map(|slice| in_flight(&curves, slice)), [Some(4.0), None, None, None]);
        let whole = curves.whole(0, 1).effective(Curve::Concurrency).unwrap();
        assert!((whole.avg.unwrap() - (75.0 * 4.0 + 19.0 * 6.0) / 94.0).abs() < 1e-12);
    }
}
