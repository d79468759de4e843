//! Requests swept in the order of time.
//!
//! A curve is known only where every request that it depends on is. Records come when requests end, in the order of their ends;
//! but requests are sent in the order of their numbers, so once all up to some number are in, no other can have begun before
//! the last of these was sent. Up to there time is swept and what was swept is let go: what is held is what is in flight and
//! what has ended since the oldest of it began, however long the run.

use crate::curves::changes::Changes;
use crate::curves::curve::CurveStats;
use crate::curves::flight::{Flight, Lanes, Pace};
use crate::curves::gauges::{Film, Frame, Frames, Gauges};
use crate::curves::timing::Timing;
use aiperf_types::Nanos;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Changes sorted at a time: few enough to stay in a core's second cache.
const AT_ONCE: u64 = 1 << 13;
/// Shortest and longest time swept at a time; offsets within it have 32 bits.
const SHORTEST: f64 = 1e3;
const LONGEST: f64 = u32::MAX as f64;
/// How far ahead of the first number that is missing another may be: further than any run has requests in flight.
const FURTHEST: u64 = 1 << 24;
/// Requests that are over and kept for their memory: about as many as come before the next are needed.
const MOST_SPARE: usize = 1 << 12;
/// Gaps that may wait for an older request: past this time goes on without it.
const MOST_WAITING: u64 = 48_000_000;

/// Up to which number every record is in, and when that one was sent.
#[derive(Clone, Debug, Default)]
struct Order {
    next: u64,
    sent: u64,
    /// Numbers that came in since the last look, with when they were sent.
    fresh: Vec<(u64, u64)>,
    /// When `next` and those after it were sent, of those that are in.
    ahead: VecDeque<Option<u64>>,
}

impl Order {
    /// Sees how far records are complete by now.
    fn catch_up(&mut self) {
        for (number, sent) in self.fresh.drain(..) {
            let Some(place) = number.checked_sub(self.next).filter(|&place| place < FURTHEST) else { continue };
            let place = place as usize;
            if self.ahead.len() <= place {
                self.ahead.resize(place + 1, None);
            }
            self.ahead[place] = Some(sent);
        }
        while let Some(&Some(sent)) = self.ahead.front() {
            self.ahead.pop_front();
            self.next += 1;
            self.sent = self.sent.max(sent);
        }
    }
}

/// The curves of a phase, as far as they are known.
#[expect(clippy::vec_box, reason = "requests move from one list to the next, and they are 20 words long")]
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Requests that have not begun yet, with when they will; the earliest last, once they are sorted.
    waiting: Vec<(u64, Box<Flight>)>,
    is_sorted: bool,
    flights: Vec<Box<Flight>>,
    pace: Pace,
    lanes: Lanes,
    film: Film,
    order: Order,
    /// When the sweep began, once it has.
    began: Option<u64>,
    /// Everything before is swept.
    front: u64,
    streaming_since: u64,
    others_since: u64,
    last_end: u64,
    swept: u64,
    held_gaps: u64,
    /// Gaps taken over since it was last seen how far requests are known.
    fresh_gaps: u64,
    /// So far they are.
    goal: u64,
    late: u64,
    changes: Changes,
    /// Requests that are over, for their memory.
    spare: Vec<Box<Flight>>,
}

impl Sweep {
    /// A sweep of nothing, from the first request on; if a length is given, by slices of it.
    pub fn new(slice: Option<Nanos>) -> Self {
        Self::over(Frames::Whole(slice), Pace::Gaps, 0, false)
    }

    pub(crate) fn over(frames: Frames, pace: Pace, limit: u64, exact: bool) -> Self {
        Self {
            waiting: Vec::new(),
            is_sorted: true,
            flights: Vec::new(),
            pace,
            lanes: Lanes::default(),
            film: Film::new(frames, limit, exact),
            order: Order::default(),
            began: None,
            front: 0,
            streaming_since: 0,
            others_since: 0,
            last_end: 0,
            swept: 0,
            held_gaps: 0,
            fresh_gaps: 0,
            goal: 0,
            late: 0,
            changes: Changes::default(),
            spare: Vec::new(),
        }
    }

    /// Takes over the requests of another sweep, which has swept none of them.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        let before = self.held_gaps;
        self.absorb(other);
        self.fresh_gaps += self.held_gaps - before;
    }

    /// Sweeps on a little, as far as every request is known; `false` when there is too little to do. It takes a fraction of a
    /// millisecond, so that other work can come between.
    pub fn go_on(&mut self) -> bool {
        if self.fresh_gaps >= AT_ONCE {
            self.look_ahead();
        }
        self.toward(self.goal)
    }

    /// Adds a request, with its number and the time it was sent.
    pub(crate) fn add(&mut self, number: u64, sent: u64, timing: Timing, gaps: &[u64]) {
        self.order.fresh.push((number, sent));
        self.add_unordered(timing, gaps);
    }

    pub(crate) fn add_unordered(&mut self, timing: Timing, gaps: &[u64]) {
        self.last_end = self.last_end.max(timing.end);
        self.late += u64::from(timing.start < self.front);
        let flight = match self.spare.pop() {
            Some(mut flight) => {
                flight.restart(timing, gaps);
                flight
            }
            None => Box::new(Flight::new(timing, gaps)),
        };
        self.held_gaps += gaps.len() as u64;
        self.waiting.push((timing.start, flight));
        self.is_sorted = false;
    }

    /// Requests that were added and are not swept to their end yet.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.flights.len()
    }

    /// Requests that were added only after their time was swept: their part of it is missing from the curves.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.film.is_exact()
    }

    fn absorb(&mut self, other: &mut Self) {
        self.late += other.waiting.iter().filter(|(start, _)| *start < self.front).count() as u64;
        self.waiting.append(&mut other.waiting);
        self.is_sorted = false;
        self.last_end = self.last_end.max(other.last_end);
        self.held_gaps += std::mem::take(&mut other.held_gaps);
        self.order.fresh.append(&mut other.order.fresh);
        other.spare.append(&mut self.spare);
    }

    /// Both together: of what was swept before, in the order of time.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.began.is_none() {
            std::mem::swap(self, &mut other);
        }
        if other.began.is_none() {
            self.absorb(&mut other);
            return;
        }
        self.end();
        other.end();
        if self.began > other.began {
            std::mem::swap(self, &mut other);
        }
        let overlap = other.began.is_some_and(|began| began < self.last_end);
        self.late += other.late + u64::from(overlap);
        self.film.append(other.film);
        self.swept += other.swept;
        self.last_end = self.last_end.max(other.last_end);
    }

    /// Sees how far every request is known by now, or how far to go without some that others have waited for too long.
    fn look_ahead(&mut self) {
        self.fresh_gaps = 0;
        self.order.catch_up();
        self.goal = self.order.sent;
        if self.held_gaps > MOST_WAITING {
            self.sort();
            let first = self.waiting.last().map_or(self.front, |(start, _)| self.front.max(*start));
            self.goal = self.goal.max(first + self.last_end.saturating_sub(first) / 2);
        }
    }

    /// Sweeps everything.
    pub(crate) fn end(&mut self) {
        if self.is_ended() {
            return;
        }
        self.to(self.last_end);
        self.sort();
        if self.began.is_some() || self.begin(u64::MAX) {
            self.part(self.last_end, self.last_end + 1);
            self.front = self.front.max(self.last_end);
            self.to(self.film.last_edge());
            self.hold_until(self.last_end);
        }
        self.film.end();
        self.swept = self.last_end - self.began.unwrap_or(self.last_end);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.waiting.is_empty() && self.flights.is_empty() && !self.film.is_open()
    }

    /// Sweeps everything before `limit`.
    pub(crate) fn to(&mut self, limit: u64) {
        while self.toward(limit) {}
    }

    /// Sweeps some of what lies before `limit`; `false` when there is nothing left.
    fn toward(&mut self, limit: u64) -> bool {
        self.sort();
        if self.front >= limit || self.began.is_none() && !self.begin(limit) {
            return false;
        }
        let until = limit.min(self.film.edge()).min(self.front + self.stride());
        self.part(self.front, until);
        self.front = until;
        if self.film.edge() <= until {
            self.hold_until(until);
            self.film.cross(until);
        }
        self.film.settle();
        self.front < limit
    }

    /// Begins with the first request, if it begins before `limit`.
    fn begin(&mut self, limit: u64) -> bool {
        let Some(first) = self.waiting.last().map(|(start, _)| *start).filter(|&first| first < limit) else {
            return false;
        };
        self.front = self.film.begin(first);
        self.streaming_since = self.front;
        self.others_since = self.front;
        self.began = Some(self.front);
        true
    }

    fn sort(&mut self) {
        if !self.is_sorted {
            self.waiting.sort_by_key(|(start, _)| Reverse(*start));
            self.is_sorted = true;
        }
    }

    /// How much time has about as many changes as are to be sorted at once.
    fn stride(&self) -> u64 {
        let changes = self.held_gaps + 3 * self.held() as u64;
        let time = self.last_end.saturating_sub(self.front);
        (time as f64 * AT_ONCE as f64 / changes.max(1) as f64).clamp(SHORTEST, LONGEST) as u64
    }

    /// Sweeps from `front` to `until`.
    fn part(&mut self, front: u64, until: u64) {
        while let Some((_, flight)) = self.waiting.pop_if(|(start, _)| *start < until) {
            self.film.take_off(flight.gaps());
            self.flights.push(flight);
        }
        // What is late happens at the front.
        self.changes.restart(front, until);
        self.flights.iter_mut().for_each(|flight| flight.go_on(until, self.pace, &mut self.changes));
        self.changes.sort();
        let Self { lanes, film, streaming_since, others_since, .. } = self;
        for (contents, turn) in self.changes.runs() {
            match film.gauges() {
                Some(gauges) if !contents.is_empty() => gauges.pass(contents, lanes, streaming_since),
                _ => contents.iter().for_each(|(_, content)| lanes.pass(content)),
            }
            let Some((at, turn)) = turn else { continue };
            if let Some(gauges) = film.gauges() {
                hold(gauges, at, lanes, streaming_since, others_since);
            }
            lanes.turn(turn);
        }
        self.let_go();
    }

    /// Lets go of requests that are over.
    fn let_go(&mut self) {
        let mut at = 0;
        while let Some(flight) = self.flights.get(at) {
            if flight.is_over() {
                self.held_gaps -= flight.gap_count() as u64;
                let over = self.flights.swap_remove(at);
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
        if let Some(gauges) = self.film.gauges() {
            hold(gauges, at, &self.lanes, &mut self.streaming_since, &mut self.others_since);
        }
        self.streaming_since = self.streaming_since.max(at);
        self.others_since = self.others_since.max(at);
    }

    /// What came of each stretch of time.
    pub(crate) fn frames(&self) -> &[Frame] {
        self.film.closed()
    }

    /// What all frames came to, with so much more time in which nothing was going on.
    pub(crate) fn whole(&self, idle: u64) -> CurveStats {
        self.film.whole(idle)
    }

    /// The time that was swept; of several phases, that of each.
    pub(crate) fn swept(&self) -> u64 {
        self.swept
    }

    /// Bytes held, roughly.
    pub fn size(&self) -> usize {
        (self.held() + self.spare.len()) * size_of::<Flight>() + self.held_gaps as usize * 4 + self.film.size()
    }
}

/// All curves held still until `at`.
fn hold(gauges: &mut Gauges, at: u64, lanes: &Lanes, streaming_since: &mut u64, others_since: &mut u64) {
    if at > *streaming_since {
        gauges.hold(at - *streaming_since, lanes);
        *streaming_since = at;
    }
    if at > *others_since {
        gauges.add_others(at - *others_since, lanes);
        *others_since = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::curve::Curve;

    const GAP: u64 = 1_000;

    fn sweep() -> Sweep {
        Sweep::new(None)
    }

    /// A request that waits for a gap, answers with one content a gap, and ends a gap after the last.
    fn timing(start: u64, gaps: u64) -> Timing {
        let generation = start + GAP;
        Timing {
            start,
            end: generation + (gaps + 1) * GAP,
            generation: Some(generation),
            input: Some(9),
            output: Some(5),
        }
    }

    fn add(sweep: &mut Sweep, number: u64, start: u64, gaps: u64) {
        sweep.add(number, start, timing(start, gaps), &vec![GAP; gaps as usize]);
    }

    fn go_on(sweep: &mut Sweep) {
        sweep.look_ahead();
        while sweep.go_on() {}
    }

    fn in_flight(sweep: &Sweep) -> [Option<f64>; 3] {
        let stats = sweep.whole(0).effective(Curve::Concurrency).unwrap_or_default();
        [stats.avg, stats.min, stats.max]
    }

    #[test]
    fn time_is_swept_up_to_the_last_number_that_every_earlier_one_is_known_of() {
        let mut sweep = sweep();
        add(&mut sweep, 2, 20 * GAP, 3);
        add(&mut sweep, 1, 10 * GAP, 3);
        go_on(&mut sweep);
        assert_eq!(sweep.held(), 2, "the first one may still have begun at any time");
        add(&mut sweep, 0, 5 * GAP, 3);
        go_on(&mut sweep);
        assert_eq!((sweep.held(), sweep.front), (1, 20 * GAP));
    }

    #[test]
    fn a_request_that_comes_after_its_time_was_swept_is_counted_and_goes_on_from_there() {
        let mut sweep = sweep();
        for number in 0..10 {
            add(&mut sweep, number, number * 5 * GAP, 3);
        }
        sweep.to(30 * GAP);
        assert_eq!(sweep.late(), 0);
        add(&mut sweep, 10, 7 * GAP, 60);
        sweep.end();
        assert_eq!((sweep.late(), sweep.held(), sweep.held_gaps), (1, 0, 0));
        let [mean, min, max] = in_flight(&sweep);
        // One after another, and from the thirtieth gap to the sixty-ninth the late one beside them.
        assert_eq!((min, max), (Some(1.0), Some(2.0)));
        assert!((mean.unwrap_or(0.0) - (50.0 + 39.0) / 69.0).abs() < 1e-12);
    }

    #[test]
    fn a_later_phase_goes_on_where_an_earlier_one_ended() {
        let [mut early, mut late] = [sweep(), sweep()];
        for number in 0..10 {
            add(&mut early, number, number * 5 * GAP, 3);
            add(&mut late, number, 1000 * GAP + number * 5 * GAP, 8);
        }
        early.end();
        late.end();
        for (mut one, other) in [(early.clone(), late.clone()), (late, early)] {
            one.merge(other);
            assert_eq!((one.late(), one.swept()), (0, (50 + 55) * GAP));
            let stats = one.whole(1055 * GAP - one.swept()).effective(Curve::Concurrency).unwrap_or_default();
            assert!((stats.avg.unwrap_or(0.0) - 150.0 / 1055.0).abs() < 1e-12, "{:?}", stats.avg);
        }
    }
}
