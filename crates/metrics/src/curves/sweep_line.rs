//! Sweeps requests in the order of time.
//!
//! A curve is known only where every request that it depends on is known. Records arrive when requests end, in the
//! order of their ends. But requests are sent in the order of their numbers: once all up to some number are known, no
//! other request can have started before the last of these was sent. Time is swept up to there, and swept requests are
//! dropped. So memory holds the requests in flight and those that ended since the oldest of them started, however long
//! the run is.
//!
//! Requests that are in no curve (those that the run cut off) are still reported as known. Phases that overlap are
//! swept together, in addition to the sweep of each: sweeping them one after another would put load that was
//! simultaneous into sequence.

use crate::curves::change::Levels;
use crate::curves::changes::Changes;
use crate::curves::curve::{CurveStats, Window};
use crate::curves::gauges::Gauges;
use crate::curves::order::Order;
use crate::curves::pending::Pending;
use crate::curves::swept_request::{Pace, SweptRequest};
use crate::curves::windowed::{Slices, WindowedCurves};
use crate::numbers::stats::Distribution;
use aiperf_types::{Nanos, WallNs};
use std::cmp::Reverse;

/// Stretches that are stored one by one, over all curves; beyond this, percentiles come from a histogram.
const EXACT_STRETCHES: u64 = 8_000_000;

/// Changes to sort at a time: few enough for a core's second-level cache.
const AT_ONCE: u64 = 1 << 13;
/// Changes of a request besides those of its gaps: start, first content, end.
const CHANGES_EACH: u64 = 3;
/// The shortest and the longest interval to sweep at a time; offsets within it have 32 bits.
const SHORTEST: f64 = 1e3;
const LONGEST: f64 = u32::MAX as f64;
/// Requests to keep for their memory: about as many as arrive before the next ones are needed.
const MOST_SPARE: usize = 1 << 12;
/// Bytes of requests that may wait for an older one; beyond this, the sweep continues without it. The older request may
/// take that long, never arrive (a number that was never sent is known only when its phase ends), or be in the hands of
/// a thread that got no core for seconds.
const MOST_WAITING: usize = 192 << 20;

/// The curves of a phase, as far as they are known.
#[expect(clippy::vec_box, reason = "requests move from one list to the next, and they are 20 words long")]
#[derive(Clone, Debug)]
pub struct SweepLine {
    /// Requests that have not started yet, with their starts; once sorted, the earliest is last.
    waiting: Vec<(u64, Box<SweptRequest>)>,
    is_sorted: bool,
    begun: Vec<Box<SweptRequest>>,
    /// Even until a request with gaps arrives.
    pace: Pace,
    levels: Levels,
    curves: WindowedCurves,
    order: Order,
    /// The earliest start of all requests taken.
    first_start: u64,
    /// The start of the sweep.
    began: Option<u64>,
    /// Everything before it is swept.
    front: u64,
    streaming_since: u64,
    others_since: u64,
    last_end: u64,
    swept: u64,
    held_gaps: u64,
    /// The number of gaps of all requests taken so far.
    taken_gaps: u64,
    /// Changes of requests taken since the last call of `look_ahead`.
    fresh_changes: u64,
    /// How far requests are known.
    goal: u64,
    late: u64,
    changes: Changes,
    /// Requests that are done, kept for their memory.
    spare: Vec<Box<SweptRequest>>,
    most_waiting: usize,
}

impl SweepLine {
    /// An empty sweep that starts with the first request. With a length, it separates slices.
    pub fn new(slice: Option<Nanos>) -> Self {
        Self::with_limit(slice, EXACT_STRETCHES)
    }

    /// Like [`Self::new`], with another limit of stretches that are stored one by one.
    pub fn with_limit(slice: Option<Nanos>, stretches: u64) -> Self {
        let slices = slice.filter(|length| length.0 > 0).map(|length| Slices { length, origin: None });
        Self {
            waiting: Vec::new(),
            is_sorted: true,
            begun: Vec::new(),
            pace: Pace::Even,
            levels: Levels::default(),
            curves: WindowedCurves::new(slices, stretches),
            order: Order::default(),
            first_start: u64::MAX,
            began: None,
            front: 0,
            streaming_since: 0,
            others_since: 0,
            last_end: 0,
            swept: 0,
            held_gaps: 0,
            taken_gaps: 0,
            fresh_changes: 0,
            goal: 0,
            late: 0,
            changes: Changes::default(),
            spare: Vec::new(),
            most_waiting: MOST_WAITING,
        }
    }

    /// Makes a slice begin at this instant, unless the sweep has started: the slices of a later phase are those of the
    /// run.
    pub fn align_slices(&mut self, origin: WallNs) {
        if self.began.is_none() {
            self.curves.set_origin(origin);
        }
    }

    /// An instant at which a slice begins, once the sweep has started: from then on its slices are fixed.
    pub fn slice_origin(&self) -> Option<WallNs> {
        self.curves.origin().filter(|_| self.began.is_some())
    }

    /// The start of the slice that contains an instant; `None` if slices have another length, or there are none.
    pub(crate) fn slice_start(&self, at: WallNs, length: Nanos) -> Option<WallNs> {
        self.curves.slice_start(at, length)
    }

    pub(crate) fn take(&mut self, pending: &mut Pending) {
        if pending.gaps > 0 && self.pace == Pace::Even {
            self.stop_even_pace();
        }
        let taken = pending.len();
        self.first_start = self.first_start.min(pending.first_start().unwrap_or(u64::MAX));
        self.late += pending.requests.iter().filter(|(start, _)| *start < self.front).count() as u64;
        self.fresh_changes += pending.gaps + CHANGES_EACH * taken as u64;
        self.is_sorted &= pending.requests.is_empty();
        self.waiting.append(&mut pending.requests);
        self.order.add(&mut pending.sent);
        self.last_end = self.last_end.max(pending.last_end);
        self.held_gaps += pending.gaps;
        self.taken_gaps += std::mem::take(&mut pending.gaps);
        // Returns no more than it received: a thread that hands over rarely must not hoard requests that others need
        // often.
        let left = self.spare.len().saturating_sub(taken);
        pending.spare.extend(self.spare.drain(left..));
    }

    /// A phase has ended: `requests` of it will be taken in all, including those in no curve.
    pub fn close_phase(&mut self, phase: u16, requests: u64) {
        self.order.set_total(phase, requests);
    }

    /// The number of gaps of all requests taken so far.
    pub(crate) fn taken_gaps(&self) -> u64 {
        self.taken_gaps
    }

    /// If some request of a run has gaps, tokens are assumed to be produced in gaps only. None of the requests swept so
    /// far had gaps.
    fn stop_even_pace(&mut self) {
        self.pace = Pace::Gaps;
        self.levels.decode = Default::default();
        self.begun.iter_mut().for_each(|request| request.stop_even_pace());
        self.curves.set_decode_to_zero();
    }

    /// Continues the sweep a little, as far as all requests are known; `false` if there is too little to do. It takes a
    /// fraction of a millisecond, so that other work can run in between.
    pub fn go_on(&mut self) -> bool {
        if self.fresh_changes >= AT_ONCE {
            self.look_ahead();
        }
        self.sweep_toward(self.goal)
    }

    /// Requests that were taken and are not completely swept.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.begun.len()
    }

    /// Requests that were taken only after their time was swept: the first part of them is missing from the curves.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.curves.is_exact()
    }

    /// Appends the sweep of a later phase. Both are ended first.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.end();
        other.end();
        if other.began.is_none() {
            return;
        }
        if self.began.is_none_or(|began| other.began.is_some_and(|others| others < began)) {
            std::mem::swap(self, &mut other);
        }
        if self.pace != other.pace {
            [&mut *self, &mut other]
                .into_iter()
                .filter(|sweep| sweep.pace == Pace::Even)
                .for_each(Self::stop_even_pace);
        }
        let overlap = other.began.is_some_and(|began| began < self.last_end);
        self.late += other.late + u64::from(overlap);
        self.curves.append(other.curves);
        self.swept += other.swept;
        self.taken_gaps += other.taken_gaps;
        self.last_end = self.last_end.max(other.last_end);
    }

    /// Finds how far all requests are known, or how far to continue without those that others have waited for too long.
    fn look_ahead(&mut self) {
        self.fresh_changes = 0;
        self.goal = self.order.catch_up();
        if self.waiting_size() > self.most_waiting {
            self.sort();
            let first = self.waiting.last().map_or(self.front, |(start, _)| self.front.max(*start));
            let halfway = first + self.last_end.saturating_sub(first) / 2;
            self.order.skip_to(halfway);
            self.goal = self.order.catch_up().max(halfway);
        }
    }

    fn waiting_size(&self) -> usize {
        self.held() * SweptRequest::SIZE + self.held_gaps as usize * 4
    }

    /// Sweeps everything.
    pub(crate) fn end(&mut self) {
        if self.is_ended() {
            return;
        }
        self.sweep_to(self.last_end);
        self.sort();
        if self.began.is_none() && self.held() > 0 {
            self.begin();
        }
        if self.began.is_some() {
            self.sweep_part(self.last_end, self.last_end + 1);
            self.front = self.front.max(self.last_end);
            self.hold_until(self.last_end);
        }
        self.curves.end(self.last_end);
        self.swept = self.last_end - self.began.unwrap_or(self.last_end);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.waiting.is_empty() && self.begun.is_empty() && !self.curves.is_open()
    }

    /// Sweeps everything before `limit`. No request that starts before it may arrive later.
    pub(crate) fn sweep_to(&mut self, limit: u64) {
        while self.sweep_toward(limit) {}
    }

    /// Sweeps a part of what is before `limit`; `false` if nothing is left.
    fn sweep_toward(&mut self, limit: u64) -> bool {
        // Checked before sorting: otherwise all requests that wait for one slow request would be sorted with every few
        // records.
        if self.began.map_or(self.first_start, |_| self.front) >= limit {
            return false;
        }
        self.sort();
        if self.began.is_none() {
            self.begin();
        }
        let until = limit.min(self.curves.edge()).min(self.front + self.stride());
        self.sweep_part(self.front, until);
        self.front = until;
        if self.curves.edge() <= until {
            self.hold_until(until);
            self.curves.cross(until);
        }
        self.curves.settle();
        self.front < limit
    }

    /// Starts with the first request.
    fn begin(&mut self) {
        self.curves.begin(self.first_start);
        self.front = self.first_start;
        self.streaming_since = self.front;
        self.others_since = self.front;
        self.began = Some(self.front);
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.waiting.sort_by_key(|(start, _)| Reverse(*start));
            self.is_sorted = true;
        }
    }

    /// The interval with about as many changes as are sorted at a time.
    fn stride(&self) -> u64 {
        let changes = self.held_gaps + CHANGES_EACH * self.held() as u64;
        let time = self.last_end.saturating_sub(self.front);
        (time as f64 * AT_ONCE as f64 / changes.max(1) as f64).clamp(SHORTEST, LONGEST) as u64
    }

    /// Sweeps from `front` to `until`.
    fn sweep_part(&mut self, front: u64, until: u64) {
        while let Some((_, request)) = self.waiting.pop_if(|(start, _)| *start < until) {
            self.curves.add_gaps(request.gaps());
            self.begun.push(request);
        }
        // Late changes are moved to the front.
        self.changes.restart(front, until);
        self.begun.iter_mut().for_each(|request| request.go_on(until, self.pace, &mut self.changes));
        self.changes.sort();
        let Self { levels, curves, streaming_since, others_since, .. } = self;
        for (contents, transition) in self.changes.runs() {
            match curves.gauges() {
                Some(gauges) if !contents.is_empty() => gauges.add_contents(contents, levels, streaming_since),
                _ => contents.iter().for_each(|(_, content)| levels.add_content(content)),
            }
            let Some((at, transition)) = transition else { continue };
            if let Some(gauges) = curves.gauges() {
                hold(gauges, at, levels, streaming_since, others_since);
            }
            levels.add_transition(transition);
        }
        self.let_go();
    }

    /// Drops requests that are done.
    fn let_go(&mut self) {
        let mut at = 0;
        while let Some(request) = self.begun.get(at) {
            if request.is_over() {
                self.held_gaps -= request.gap_count() as u64;
                let over = self.begun.swap_remove(at);
                if self.spare.len() < MOST_SPARE {
                    self.spare.push(over);
                }
            } else {
                at += 1;
            }
        }
    }

    /// All levels are constant until `at`.
    fn hold_until(&mut self, at: u64) {
        if let Some(gauges) = self.curves.gauges() {
            hold(gauges, at, &self.levels, &mut self.streaming_since, &mut self.others_since);
        }
        self.streaming_since = self.streaming_since.max(at);
        self.others_since = self.others_since.max(at);
    }

    /// The statistics of a window that has ended; `None` if it was not kept separate.
    pub(crate) fn stats(&self, window: &Window) -> Option<CurveStats> {
        self.curves.stats(window)
    }

    /// The gaps of the requests that started in a window.
    pub(crate) fn gaps(&self, window: &Window) -> Option<Distribution> {
        self.curves.gaps(window)
    }

    /// The statistics of all swept time, with `idle` more time without load, on at most `threads` threads.
    pub(crate) fn whole(&self, idle: u64, threads: usize) -> CurveStats {
        self.curves.whole(idle, threads)
    }

    /// The length of swept time; for several phases, their sum.
    pub(crate) fn swept(&self) -> u64 {
        self.swept
    }

    /// Bytes held, roughly.
    pub fn size(&self) -> usize {
        self.waiting_size() + self.spare.len() * SweptRequest::SIZE + self.order.size() + self.curves.size()
    }
}

/// All curves were constant until `at`.
fn hold(gauges: &mut Gauges, at: u64, levels: &Levels, streaming_since: &mut u64, others_since: &mut u64) {
    if at > *streaming_since {
        gauges.add_streaming(at - *streaming_since, levels);
        *streaming_since = at;
    }
    if at > *others_since {
        gauges.add_others(at - *others_since, levels);
        *others_since = at;
    }
}

#[cfg(test)]
mod tests;
