//! Requests swept in the order of time.
//!
//! A curve is known only where every request that it depends on is. Records come when requests end, in the order of
//! their ends; but requests are sent in the order of their numbers, so once all up to some number are known, no other
//! can have begun before the last of these was sent. Up to there time is swept and what was swept is let go: what is
//! held is what is in flight and what has ended since the oldest of it began, however long the run.
//!
//! Requests that are in no curve (those that the run cut off) are made known all the same. Phases that overlap are swept
//! together beside the sweep of each: one after the other would put side by side in time what was going on at once.

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

/// Stretches of time that are kept one by one, over all curves; past it percentiles come from a histogram.
const EXACT_STRETCHES: u64 = 8_000_000;

/// Changes sorted at a time: few enough to stay in a core's second cache.
const AT_ONCE: u64 = 1 << 13;
/// Changes of a request besides those of its gaps: its start, its first content, its end.
const CHANGES_EACH: u64 = 3;
/// Shortest and longest time swept at a time; offsets within it have 32 bits.
const SHORTEST: f64 = 1e3;
const LONGEST: f64 = u32::MAX as f64;
/// Requests that are over and kept for their memory: about as many as come before the next are needed.
const MOST_SPARE: usize = 1 << 12;
/// Bytes of requests that may wait for an older one: past this time goes on without it. It may take that long, never
/// come (what was never sent is known only when its phase is over), or be in the hands of a thread that got no core for
/// seconds.
const MOST_WAITING: usize = 192 << 20;

/// The curves of a phase, as far as they are known.
#[expect(clippy::vec_box, reason = "requests move from one list to the next, and they are 20 words long")]
#[derive(Clone, Debug)]
pub struct SweepLine {
    /// Requests that have not begun yet, with when they will; the earliest last, once they are sorted.
    waiting: Vec<(u64, Box<SweptRequest>)>,
    is_sorted: bool,
    begun: Vec<Box<SweptRequest>>,
    /// Even until a request with gaps comes.
    pace: Pace,
    levels: Levels,
    curves: WindowedCurves,
    order: Order,
    /// When the first request begins of all that were taken.
    first_start: u64,
    /// When the sweep began, once it has.
    began: Option<u64>,
    /// Everything before is swept.
    front: u64,
    streaming_since: u64,
    others_since: u64,
    last_end: u64,
    swept: u64,
    held_gaps: u64,
    /// Gaps of all requests that were ever taken.
    taken_gaps: u64,
    /// Changes of requests taken since it was last seen how far requests are known.
    fresh_changes: u64,
    /// So far they are.
    goal: u64,
    late: u64,
    changes: Changes,
    /// Requests that are over, for their memory.
    spare: Vec<Box<SweptRequest>>,
    most_waiting: usize,
}

impl SweepLine {
    /// A sweep of nothing, from the first request on; if a length is given, by slices of it.
    pub fn new(slice: Option<Nanos>) -> Self {
        Self::with_limit(slice, EXACT_STRETCHES)
    }

    /// The same with another limit of stretches that are kept one by one.
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

    /// Lets a slice begin at this instant, unless the sweep has begun: the slices of a later phase are those of the
    /// run.
    pub fn align_slices(&mut self, origin: WallNs) {
        if self.began.is_none() {
            self.curves.set_origin(origin);
        }
    }

    /// An instant at which a slice begins, once the sweep has begun: from then on its slices stay where they are.
    pub fn slice_origin(&self) -> Option<WallNs> {
        self.curves.origin().filter(|_| self.began.is_some())
    }

    /// When the slice begins that an instant lies in; `None` if slices have another length, or none.
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
        // No more than it gave: who comes rarely would keep them from those who come often.
        let left = self.spare.len().saturating_sub(taken);
        pending.spare.extend(self.spare.drain(left..));
    }

    /// A phase is over: so many of its requests will be taken in all, those without a part in the curves included.
    pub fn close_phase(&mut self, phase: u16, requests: u64) {
        self.order.set_total(phase, requests);
    }

    /// How many gaps all requests had that were ever taken.
    pub(crate) fn taken_gaps(&self) -> u64 {
        self.taken_gaps
    }

    /// A run in which some request has gaps takes tokens to be produced in gaps alone. None of those swept so far had
    /// any.
    fn stop_even_pace(&mut self) {
        self.pace = Pace::Gaps;
        self.levels.decode = Default::default();
        self.begun.iter_mut().for_each(|request| request.stop_even_pace());
        self.curves.set_decode_to_zero();
    }

    /// Sweeps on a little, as far as every request is known; `false` when there is too little to do. It takes a
    /// fraction of a millisecond, so that other work can come between.
    pub fn go_on(&mut self) -> bool {
        if self.fresh_changes >= AT_ONCE {
            self.look_ahead();
        }
        self.sweep_toward(self.goal)
    }

    /// Requests that were taken and are not swept to their end yet.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.begun.len()
    }

    /// Requests that were taken only after their time was swept: their part of it is missing from the curves.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.curves.is_exact()
    }

    /// Goes on with the sweep of another phase, in the order of time. Both are ended first.
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

    /// Sees how far every request is known by now, or how far to go without some that others have waited for too long.
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

    /// Sweeps all that lies before `limit`. No request that begins before it may come later.
    pub(crate) fn sweep_to(&mut self, limit: u64) {
        while self.sweep_toward(limit) {}
    }

    /// Sweeps some of what lies before `limit`; `false` when there is nothing left.
    fn sweep_toward(&mut self, limit: u64) -> bool {
        // Before anything is sorted: all that waits for one slow request is looked at again with every few records.
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

    /// Begins with the first request.
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

    /// How much time has about as many changes as are to be sorted at once.
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
        // What is late happens at the front.
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

    /// Lets go of requests that are over.
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

    /// Nothing changes until `at`.
    fn hold_until(&mut self, at: u64) {
        if let Some(gauges) = self.curves.gauges() {
            hold(gauges, at, &self.levels, &mut self.streaming_since, &mut self.others_since);
        }
        self.streaming_since = self.streaming_since.max(at);
        self.others_since = self.others_since.max(at);
    }

    /// The statistics over a window that is over; `None` of one that was not told apart.
    pub(crate) fn stats(&self, window: &Window) -> Option<CurveStats> {
        self.curves.stats(window)
    }

    /// The gaps of the requests that began in a window.
    pub(crate) fn gaps(&self, window: &Window) -> Option<Distribution> {
        self.curves.gaps(window)
    }

    /// The statistics of all the time that was swept, with so much more in which nothing was going on.
    pub(crate) fn whole(&self, idle: u64) -> CurveStats {
        self.curves.whole(idle)
    }

    /// The time that was swept; of several phases, that of each.
    pub(crate) fn swept(&self) -> u64 {
        self.swept
    }

    /// Bytes held, roughly.
    pub fn size(&self) -> usize {
        self.waiting_size() + self.spare.len() * SweptRequest::SIZE + self.order.size() + self.curves.size()
    }
}

/// All curves held still until `at`.
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
