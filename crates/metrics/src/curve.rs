//! Time-weighted curves: what was going on at each instant, as statistics over a window of time.
//!
//! A curve is a list of steps. Up to a limit of events it is swept exactly; past it its means over bins of time stand in
//! (`bins`). Steps of rates are summed as integers, so a curve does not drift however many steps it has.

use crate::accumulator::Accumulator;
use crate::bins::{Bins, StreamBins, fixed, float};
use crate::stats::Stats;
use crate::timing::Timing;
use crate::weighted::Weighted;
use aiperf_types::{Nanos, WallNs};

/// A time-weighted curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Requests in flight.
    Concurrency,
    /// Requests that have begun to answer.
    DecodeConcurrency,
    /// Requests that have not begun to answer.
    PrefillConcurrency,
    /// Tokens being produced.
    DecodeThroughput,
    /// Tokens being read.
    PrefillThroughput,
    /// Tokens being read or produced.
    TotalThroughput,
    /// Tokens being produced, by request that has begun to answer.
    DecodePerUser,
    /// Tokens being read, by request that has not begun to answer.
    PrefillPerUser,
    /// Tokens of requests in flight.
    TokensInFlight,
}

const CURVES: usize = 9;

/// A stretch of wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub start: WallNs,
    /// Its end, not included.
    pub end: WallNs,
}

/// The statistics of all curves over one window, in base units.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurveStats {
    effective: [Option<Stats>; CURVES],
    active: [Option<Stats>; CURVES],
}

impl CurveStats {
    pub(crate) fn effective(&self, curve: Curve) -> Option<Stats> {
        self.effective[curve as usize]
    }

    pub(crate) fn active(&self, curve: Curve) -> Option<Stats> {
        self.active[curve as usize]
    }
}

/// Curves that were too long to sweep, and the width of the bins used for them.
pub(crate) type Binned = Vec<(Curve, Nanos)>;

/// A step function: each value holds from its instant to the next one's. Before the first it is zero.
#[derive(Clone, Debug, Default)]
struct Steps {
    points: Vec<(u64, f64)>,
    /// The width of the bins these are means over, if they are.
    bin: Option<Nanos>,
}

/// Heights below this share of the largest are what rounding left of nothing.
const NOTHING: f64 = 1e-9;

impl Steps {
    /// Sums up events at any order of time.
    fn sweep(mut events: Vec<(u64, f64)>) -> Self {
        events.sort_unstable_by_key(|event| event.0);
        let (mut value, mut written) = (0_i128, 0);
        for at in 0..events.len() {
            let (time, height) = events[at];
            value += fixed(height);
            if written > 0 && events[written - 1].0 == time {
                written -= 1;
            }
            events[written] = (time, float(value));
            written += 1;
        }
        events.truncate(written);
        Self { points: events, bin: None }.without_residue()
    }

    fn of_bins<const N: usize>(bins: &Bins<N>, lane: usize) -> Self {
        Self { points: bins.means(lane).collect(), bin: Some(bins.width()) }.without_residue()
    }

    fn without_residue(mut self) -> Self {
        let largest = self.points.iter().fold(0.0_f64, |largest, point| largest.max(point.1.abs()));
        for point in &mut self.points {
            if point.1.abs() < largest * NOTHING {
                point.1 = 0.0;
            }
        }
        self
    }

    /// The step function from an instant on: its value there, and the steps that follow.
    fn from(&self, start: u64) -> (f64, &[(u64, f64)]) {
        let next = self.points.partition_point(|point| point.0 <= start);
        let value = next.checked_sub(1).map_or(0.0, |at| self.points[at].1);
        (value, &self.points[next..])
    }

    fn span(&self) -> Option<Window> {
        Some(Window { start: WallNs(self.points.first()?.0), end: WallNs(self.points.last()?.0) })
    }
}

/// Visits the stretches of a window in which two curves both hold still.
fn visit(one: &Steps, other: &Steps, window: Window, mut stretch: impl FnMut(f64, f64, f64)) {
    let (mut now, end) = (window.start.0, window.end.0);
    let ((mut value, mut rest), (mut other_value, mut other_rest)) = (one.from(now), other.from(now));
    while now < end {
        let next =
            rest.first().map_or(end, |point| point.0).min(other_rest.first().map_or(end, |point| point.0)).min(end);
        if next > now {
            stretch((next - now) as f64, value, other_value);
        }
        now = next;
        if let Some((&point, more)) = rest.split_first().filter(|(point, _)| point.0 == now) {
            (value, rest) = (point.1, more);
        }
        if let Some((&point, more)) = other_rest.split_first().filter(|(point, _)| point.0 == now) {
            (other_value, other_rest) = (point.1, more);
        }
    }
}

/// Means over bins, spread over the time of each bin in which someone was there: per active time, and per user's time.
fn spread(means: &Steps, width: Nanos, users: &Steps) -> (Steps, Steps) {
    let (mut active, mut each) = (means.clone(), means.clone());
    let mut value = 0.0;
    let mut rest = users.points.as_slice();
    for at in 0..means.points.len() {
        let (start, mean) = means.points[at];
        let end = start + width.0;
        let (mut now, mut busy, mut attended) = (start, 0.0, 0.0);
        while now < end {
            let next = rest.first().map_or(end, |point| point.0).clamp(now, end);
            if value > 0.0 {
                busy += (next - now) as f64;
                attended += (next - now) as f64 * value;
            }
            now = next;
            while let Some((&point, more)) = rest.split_first().filter(|(point, _)| point.0 <= now && now < end) {
                (value, rest) = (point.1, more);
            }
        }
        let tokens = mean * width.0 as f64;
        active.points[at].1 = if busy > 0.0 { tokens / busy } else { 0.0 };
        each.points[at].1 = if attended > 0.0 { tokens / attended } else { 0.0 };
    }
    (active, each)
}

/// Sums up the curves of an accumulator over some windows; over the time from the first to the last event if none is given.
pub(crate) fn curve_stats(records: &Accumulator, windows: Option<&[Window]>) -> (Vec<CurveStats>, Binned) {
    let sweep = Sweep { records, binned: Vec::new(), scratch: Weighted::default(), stats: Vec::new(), windows: &[] };
    let concurrency = sweep.requests(|timing| Some((timing.start, timing.end)));
    let span = [concurrency.span().unwrap_or(Window { start: WallNs(0), end: WallNs(0) })];
    let windows = windows.unwrap_or(&span);
    let mut sweep = Sweep { windows, stats: vec![CurveStats::default(); windows.len()], ..sweep };

    sweep.alone(Curve::Concurrency, &concurrency, 1.0);
    let total = sweep.rates(Curve::TotalThroughput, 4, |timing, _, pulse| {
        [timing.prefill(), timing.decode()].into_iter().flatten().for_each(|(from, to, rate)| pulse(from, to, rate));
    });
    sweep.pair(Curve::TotalThroughput, None, total, &concurrency);
    drop(concurrency);

    let waiting = sweep.requests(|timing| Some((timing.start, timing.generation?)));
    sweep.alone(Curve::PrefillConcurrency, &waiting, 1.0);
    let prefill = sweep.rates(Curve::PrefillThroughput, 2, |timing, _, pulse| {
        timing.prefill().into_iter().for_each(|(from, to, rate)| pulse(from, to, rate));
    });
    sweep.pair(Curve::PrefillThroughput, Some(Curve::PrefillPerUser), prefill, &waiting);
    drop(waiting);

    let answering = sweep.requests(|timing| Some((timing.generation?, timing.end)));
    sweep.alone(Curve::DecodeConcurrency, &answering, 1.0);
    let decode = sweep.decode();
    sweep.pair(Curve::DecodeThroughput, Some(Curve::DecodePerUser), decode, &answering);
    drop(answering);

    let tokens = sweep.tokens_in_flight();
    sweep.alone(Curve::TokensInFlight, &tokens, 1.0);
    (sweep.stats, sweep.binned)
}

/// Rates are per nanosecond inside and per second outside.
const PER_SECOND: f64 = 1e9;

struct Sweep<'a> {
    records: &'a Accumulator,
    windows: &'a [Window],
    stats: Vec<CurveStats>,
    binned: Binned,
    scratch: Weighted,
}

type Pulse<'p> = &'p mut dyn FnMut(u64, u64, f64);

impl Sweep<'_> {
    fn too_many(&self, events: u64) -> bool {
        events > self.records.limits.curve_events
    }

    fn rows(&self) -> u64 {
        self.records.columns.rows() as u64
    }

    /// Requests that are in some state, from when to when.
    fn requests(&self, between: impl Fn(&Timing) -> Option<(u64, u64)>) -> Steps {
        self.pulses(2, |timing, _, pulse| {
            if let Some((from, to)) = between(timing) {
                pulse(from, to, 1.0);
            }
        })
    }

    fn rates(&mut self, curve: Curve, events: u64, emit: impl Fn(&Timing, &[u64], Pulse<'_>)) -> Steps {
        let steps = self.pulses(events, emit);
        self.note(curve, &steps);
        steps
    }

    fn note(&mut self, curve: Curve, steps: &Steps) {
        self.binned.extend(steps.bin.map(|width| (curve, width)));
    }

    fn pulses(&self, events: u64, emit: impl Fn(&Timing, &[u64], Pulse<'_>)) -> Steps {
        if self.too_many(self.rows() * events) {
            let mut bins = Bins::<1>::new();
            self.each_timing(&mut |timing, gaps| {
                emit(timing, gaps, &mut |from, to, height| {
                    bins.add(from, 0, height);
                    bins.add(to, 0, -height);
                });
            });
            return Steps::of_bins(&bins, 0);
        }
        let mut found = Vec::new();
        self.each_timing(&mut |timing, gaps| {
            emit(timing, gaps, &mut |from, to, height| found.extend([(from, height), (to, -height)]));
        });
        Steps::sweep(found)
    }

    fn each_timing(&self, visit: &mut dyn FnMut(&Timing, &[u64])) {
        self.records.columns.each(Timing::FACTS, |_, facts| {
            if let Some(timing) = Timing::of(facts) {
                visit(&timing, &[]);
            }
        });
    }

    fn each_timing_with_gaps(&self, visit: &mut dyn FnMut(&Timing, &[u64])) {
        self.records.columns.each_with_gaps(Timing::FACTS, |_, facts, gaps| {
            if let Some(timing) = Timing::of(facts) {
                visit(&timing, gaps);
            }
        });
    }

    /// Gap by gap where the run has gaps, evenly from first content to end where it has none.
    fn decode(&mut self) -> Steps {
        let gaps = self.records.gaps.count();
        if gaps == 0 {
            return self.rates(Curve::DecodeThroughput, 2, |timing, _, pulse| {
                timing.decode().into_iter().for_each(|(from, to, rate)| pulse(from, to, rate));
            });
        }
        let steps = if self.must_bin(2 * gaps) {
            Steps::of_bins(&self.records.bins.0, StreamBins::DECODE)
        } else {
            let mut found = Vec::with_capacity(2 * gaps as usize);
            self.each_timing_with_gaps(&mut |timing, gaps| {
                timing.decode_pulses(gaps, |from, to, rate| found.extend([(from, rate), (to, -rate)]));
            });
            Steps::sweep(found)
        };
        self.note(Curve::DecodeThroughput, &steps);
        steps
    }

    fn tokens_in_flight(&mut self) -> Steps {
        let steps = if self.must_bin(self.records.gaps.count() + 3 * self.rows()) {
            Steps::of_bins(&self.records.bins.0, StreamBins::TOKENS)
        } else {
            let mut found = Vec::new();
            self.each_timing_with_gaps(&mut |timing, gaps| {
                timing.tokens_in_flight(gaps, |at, height| found.push((at, height)));
            });
            Steps::sweep(found)
        };
        self.note(Curve::TokensInFlight, &steps);
        steps
    }

    fn must_bin(&self, events: u64) -> bool {
        !self.records.columns.keeps_gaps() || self.too_many(events)
    }

    fn alone(&mut self, curve: Curve, steps: &Steps, scale: f64) {
        let nothing = Steps::default();
        for (window, stats) in self.windows.iter().zip(&mut self.stats) {
            self.scratch.clear();
            visit(steps, &nothing, *window, |length, value, _| self.scratch.add(length, value * scale));
            stats.effective[curve as usize] = Some(self.scratch.stats().0);
        }
    }

    /// A rate and the requests it belongs to: over all time, over the time there were any, and for each of them.
    fn pair(&mut self, curve: Curve, each: Option<Curve>, rate: Steps, users: &Steps) {
        let (rate, per_user) = match rate.bin {
            Some(width) => {
                let (active, each) = spread(&rate, width, users);
                (active, Some(each))
            }
            None => (rate, None),
        };
        self.active(curve, &rate, users, |rate, _| rate);
        match (each, per_user) {
            (Some(each), Some(per_user)) => self.active(each, &per_user, users, |rate, _| rate),
            (Some(each), None) => self.active(each, &rate, users, |rate, users| rate / users),
            (None, _) => {}
        }
    }

    fn active(&mut self, curve: Curve, rate: &Steps, users: &Steps, value: impl Fn(f64, f64) -> f64) {
        for (window, stats) in self.windows.iter().zip(&mut self.stats) {
            let scratch = &mut self.scratch;
            scratch.clear();
            visit(rate, users, *window, |length, rate, users| {
                if users > 0.0 {
                    scratch.add(length, value(rate, users) * PER_SECOND);
                } else {
                    scratch.add_idle(length);
                }
            });
            let (effective, active) = scratch.stats();
            stats.effective[curve as usize] = Some(effective);
            stats.active[curve as usize] = Some(active);
        }
    }
}
