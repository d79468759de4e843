//! Time-weighted curves: what was going on at each instant, as statistics over a window of time.
//!
//! A curve is a list of steps. Up to a limit of events it is swept exactly. Past it (`bins`) its value is known at a million
//! instants evenly spread over the run, which is what percentiles and deviation are then taken of, and its mean is exact still.
//! Steps are summed as integers, so a curve does not drift however many it has.

use crate::accumulator::Accumulator;
use crate::bins::{Bins, StreamBins, fixed, float};
use crate::stats::Stats;
use crate::timing::Timing;
use crate::weighted::{Means, Weighted};
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
struct Steps(Vec<(u64, f64)>);

/// Heights below this share of the largest are what rounding left of nothing.
const NOTHING: f64 = 1e-9;

impl Steps {
    /// Sums up events in any order of time.
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
        Self(events).without_residue()
    }

    fn without_residue(mut self) -> Self {
        let largest = self.0.iter().fold(0.0_f64, |largest, point| largest.max(point.1.abs()));
        for point in &mut self.0 {
            if point.1.abs() < largest * NOTHING {
                point.1 = 0.0;
            }
        }
        self
    }

    /// The step function from an instant on: its value there, and the steps that follow.
    fn from(&self, start: u64) -> (f64, &[(u64, f64)]) {
        let next = self.0.partition_point(|point| point.0 <= start);
        let value = next.checked_sub(1).map_or(0.0, |at| self.0[at].1);
        (value, &self.0[next..])
    }
}

/// A curve: exact, or known at the edges of bins and by its means over them.
#[derive(Clone, Debug)]
enum Signal {
    Exact(Steps),
    Binned { width: Nanos, edges: Steps, means: Steps },
}

impl Signal {
    /// Nothing happens outside the span of the run, so the bins that it cuts are as wide as what lies within it: their means
    /// are over that part, and the first value is that at the end of its bin.
    fn of_bins<const N: usize>(bins: &Bins<N>, lane: usize, span: Window) -> Self {
        let width = bins.width();
        let [mut edges, mut means] = [Vec::<(u64, f64)>::new(), Vec::new()];
        let mut end = span.start.0;
        bins.each(lane, |start, value, mean| {
            if let [(at, first)] = edges.as_mut_slice()
                && *at == span.start.0
            {
                *first = value;
            }
            let (from, to) = (start.max(span.start.0), (start + width.0).min(span.end.0));
            if from < to {
                edges.push((from, value));
                means.push((from, mean * width.0 as f64 / (to - from) as f64));
                end = to;
            }
        });
        edges.push((end, 0.0));
        means.push((end, 0.0));
        let [edges, means] = [edges, means].map(|points| Steps(points).without_residue());
        Self::Binned { width, edges, means }
    }

    /// What percentiles are taken of.
    fn values(&self) -> &Steps {
        match self {
            Self::Exact(steps) | Self::Binned { edges: steps, .. } => steps,
        }
    }
}

/// Visits the stretches of a window in which two curves both hold still.
fn visit(one: &Steps, other: &Steps, window: Window, mut stretch: impl FnMut(f64, f64, f64)) {
    let (mut now, end) = (window.start.0, window.end.0);
    let ((mut value, mut rest), (mut other_value, mut other_rest)) = (one.from(now), other.from(now));
    while now < end {
        let next_of = |rest: &[(u64, f64)]| rest.first().map_or(end, |point| point.0);
        let next = next_of(rest).min(next_of(other_rest)).min(end);
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

/// Visits the instants at which a binned curve is known: how long each stands for, the value there and that of another curve.
fn visit_edges(edges: &Steps, other: &Steps, window: Window, mut sample: impl FnMut(f64, f64, f64)) {
    let (value, rest) = edges.from(window.start.0);
    let rest = &rest[..rest.partition_point(|edge| edge.0 < window.end.0)];
    let (mut other_value, mut other_rest) = other.from(window.start.0);
    let edges = [(window.start.0, value)].into_iter().chain(rest.iter().copied());
    let ends = rest.iter().map(|edge| edge.0).chain([window.end.0]);
    for ((start, value), end) in edges.zip(ends) {
        while let Some((&point, more)) = other_rest.split_first().filter(|(point, _)| point.0 <= start) {
            (other_value, other_rest) = (point.1, more);
        }
        if start < end {
            sample((end - start) as f64, value, other_value);
        }
    }
}

/// Integrals of a binned rate over a window.
#[derive(Clone, Copy, Debug, Default)]
struct Areas {
    /// Of the rate.
    tokens: f64,
    /// Time in which there were users.
    active: f64,
    /// Of the rate for each user.
    each: f64,
}

/// What is summed up over one bin, and belongs to the time in which someone was there.
#[derive(Clone, Copy, Debug, Default)]
struct InBin {
    tokens: f64,
    busy: f64,
    attended: f64,
}

impl Areas {
    fn of(means: &Steps, users: &Steps, window: Window) -> Self {
        let (mut areas, mut bin, mut mean_of_bin) = (Self::default(), InBin::default(), f64::NAN);
        visit(means, users, window, |length, mean, users| {
            if mean != mean_of_bin {
                areas.add(std::mem::take(&mut bin));
                mean_of_bin = mean;
            }
            bin.tokens += mean * length;
            if users > 0.0 {
                bin.busy += length;
                bin.attended += length * users;
            }
        });
        areas.add(bin);
        areas
    }

    fn add(&mut self, bin: InBin) {
        self.tokens += bin.tokens;
        self.active += bin.busy;
        if bin.attended > 0.0 {
            self.each += bin.tokens / bin.attended * bin.busy;
        }
    }
}

/// Sums up the curves of an accumulator over some windows; over the time from the first to the last event if none is given.
pub(crate) fn curve_stats(records: &Accumulator, windows: Option<&[Window]>) -> (Vec<CurveStats>, Binned) {
    let Some((start, end)) = records.attempted_span() else { return (Vec::new(), Vec::new()) };
    let span = Window { start, end };
    let whole = [span];
    let windows = windows.unwrap_or(&whole);
    let stats = vec![CurveStats::default(); windows.len()];
    let mut sweep = Sweep { records, span, windows, stats, binned: Vec::new(), scratch: Weighted::default() };

    let concurrency = sweep.requests(Curve::Concurrency, |timing| Some((timing.start, timing.end)));
    sweep.alone(Curve::Concurrency, &concurrency);
    let total = sweep.pulses(Curve::TotalThroughput, 4, |timing, pulse| {
        [timing.prefill(), timing.decode()].into_iter().flatten().for_each(|(from, to, rate)| pulse(from, to, rate));
    });
    sweep.pair(Curve::TotalThroughput, None, &total, &concurrency);
    drop((concurrency, total));

    let waiting = sweep.requests(Curve::PrefillConcurrency, |timing| Some((timing.start, timing.generation?)));
    sweep.alone(Curve::PrefillConcurrency, &waiting);
    let prefill = sweep.pulses(Curve::PrefillThroughput, 2, |timing, pulse| {
        timing.prefill().into_iter().for_each(|(from, to, rate)| pulse(from, to, rate));
    });
    sweep.pair(Curve::PrefillThroughput, Some(Curve::PrefillPerUser), &prefill, &waiting);
    drop((waiting, prefill));

    let answering = sweep.requests(Curve::DecodeConcurrency, |timing| Some((timing.generation?, timing.end)));
    sweep.alone(Curve::DecodeConcurrency, &answering);
    let decode = sweep.decode();
    sweep.pair(Curve::DecodeThroughput, Some(Curve::DecodePerUser), &decode, &answering);
    drop((answering, decode));

    let tokens = sweep.tokens_in_flight();
    sweep.alone(Curve::TokensInFlight, &tokens);
    (sweep.stats, sweep.binned)
}

/// Rates are per nanosecond inside and per second outside.
const PER_SECOND: f64 = 1e9;

struct Sweep<'a> {
    records: &'a Accumulator,
    span: Window,
    windows: &'a [Window],
    stats: Vec<CurveStats>,
    binned: Binned,
    scratch: Weighted,
}

/// Takes a height that holds between two instants.
type Pulse<'p> = &'p mut dyn FnMut(u64, u64, f64);

impl Sweep<'_> {
    fn too_many(&self, events: u64) -> bool {
        events > self.records.limits.curve_events
    }

    fn rows(&self) -> u64 {
        self.records.columns.rows() as u64
    }

    /// Requests that are in some state, from when to when.
    fn requests(&mut self, curve: Curve, between: impl Fn(&Timing) -> Option<(u64, u64)>) -> Signal {
        self.pulses(curve, 2, |timing, pulse| {
            if let Some((from, to)) = between(timing) {
                pulse(from, to, 1.0);
            }
        })
    }

    /// A curve that every record adds some pulses to, known from what is kept of each record.
    fn pulses(&mut self, curve: Curve, events: u64, emit: impl Fn(&Timing, Pulse<'_>)) -> Signal {
        let signal = if self.too_many(self.rows() * events) {
            let mut bins = Bins::<1>::new();
            self.each_timing(|timing, _| {
                emit(timing, &mut |from, to, height| {
                    bins.add(from, 0, height);
                    bins.add(to, 0, -height);
                });
            });
            Signal::of_bins(&bins, 0, self.span)
        } else {
            let mut found = Vec::new();
            self.each_timing(|timing, _| {
                emit(timing, &mut |from, to, height| found.extend([(from, height), (to, -height)]));
            });
            Signal::Exact(Steps::sweep(found))
        };
        self.note(curve, signal)
    }

    fn note(&mut self, curve: Curve, signal: Signal) -> Signal {
        if let Signal::Binned { width, .. } = &signal {
            self.binned.push((curve, *width));
        }
        signal
    }

    fn each_timing(&self, mut visit: impl FnMut(&Timing, &[u64])) {
        self.records.columns.each(Timing::FACTS, |_, facts| {
            if let Some(timing) = Timing::of(facts) {
                visit(&timing, &[]);
            }
        });
    }

    fn each_timing_with_gaps(&self, mut visit: impl FnMut(&Timing, &[u64])) {
        self.records.columns.each_with_gaps(Timing::FACTS, |_, facts, gaps| {
            if let Some(timing) = Timing::of(facts) {
                visit(&timing, gaps);
            }
        });
    }

    /// Gap by gap where the run has gaps, evenly from first content to end where it has none.
    fn decode(&mut self) -> Signal {
        let gaps = self.records.gaps.count();
        if gaps == 0 {
            return self.pulses(Curve::DecodeThroughput, 2, |timing, pulse| {
                timing.decode().into_iter().for_each(|(from, to, rate)| pulse(from, to, rate));
            });
        }
        let signal = if self.must_bin(2 * gaps) {
            Signal::of_bins(&self.records.bins.0, StreamBins::DECODE, self.span)
        } else {
            let mut found = Vec::with_capacity(2 * gaps as usize);
            self.each_timing_with_gaps(|timing, gaps| {
                timing.decode_pulses(gaps, |from, to, rate| found.extend([(from, rate), (to, -rate)]));
            });
            Signal::Exact(Steps::sweep(found))
        };
        self.note(Curve::DecodeThroughput, signal)
    }

    fn tokens_in_flight(&mut self) -> Signal {
        let signal = if self.must_bin(self.records.gaps.count() + 3 * self.rows()) {
            Signal::of_bins(&self.records.bins.0, StreamBins::TOKENS, self.span)
        } else {
            let mut found = Vec::new();
            self.each_timing_with_gaps(|timing, gaps| {
                timing.tokens_in_flight(gaps, |at, height| found.push((at, height)));
            });
            Signal::Exact(Steps::sweep(found))
        };
        self.note(Curve::TokensInFlight, signal)
    }

    fn must_bin(&self, events: u64) -> bool {
        !self.records.columns.keeps_gaps() || self.too_many(events)
    }

    /// A curve over all time.
    fn alone(&mut self, curve: Curve, signal: &Signal) {
        let nothing = Steps::default();
        let scratch = &mut self.scratch;
        for (&window, stats) in self.windows.iter().zip(&mut self.stats) {
            scratch.clear();
            let means = match signal {
                Signal::Exact(steps) => {
                    visit(steps, &nothing, window, |length, value, _| scratch.add(length, value));
                    None
                }
                Signal::Binned { edges, means, .. } => {
                    visit_edges(edges, &nothing, window, |length, value, _| scratch.add(length, value));
                    let mean = Areas::of(means, &nothing, window).tokens / length_of(window);
                    Some(Means { all: mean, active: mean })
                }
            };
            stats.effective[curve as usize] = Some(scratch.stats(means).0);
        }
    }

    /// A rate and the requests it belongs to: over all time, over the time there were any, and for each of them.
    fn pair(&mut self, curve: Curve, each: Option<Curve>, rate: &Signal, users: &Signal) {
        self.ratio(curve, rate, users, |rate, _| rate, |areas, _| Some(areas.tokens));
        if let Some(each) = each {
            // How many were there when is known only as well as the rate itself, if it is binned too.
            self.ratio(each, rate, users, |rate, users| rate / users, |areas, exact| exact.then_some(areas.each));
        }
    }

    fn ratio(
        &mut self,
        curve: Curve,
        rate: &Signal,
        users: &Signal,
        value: impl Fn(f64, f64) -> f64,
        area: impl Fn(&Areas, bool) -> Option<f64>,
    ) {
        let scratch = &mut self.scratch;
        for (&window, stats) in self.windows.iter().zip(&mut self.stats) {
            scratch.clear();
            let mut busy = 0.0;
            let mut add = |length: f64, rate: f64, users: f64| {
                if users > 0.0 {
                    busy += length;
                    scratch.add(length, value(rate, users) * PER_SECOND);
                } else {
                    scratch.add_idle(length);
                }
            };
            let means = match rate {
                Signal::Exact(rate) => {
                    visit(rate, users.values(), window, &mut add);
                    None
                }
                Signal::Binned { edges, means, .. } => {
                    visit_edges(edges, users.values(), window, &mut add);
                    let exact = matches!(users, Signal::Exact(_));
                    let areas = Areas::of(means, users.values(), window);
                    let active = if exact { areas.active } else { busy };
                    area(&areas, exact).map(|area| area * PER_SECOND).map(|area| Means {
                        all: area / length_of(window),
                        active: if active > 0.0 { area / active } else { 0.0 },
                    })
                }
            };
            let (effective, active) = scratch.stats(means);
            stats.effective[curve as usize] = Some(effective);
            stats.active[curve as usize] = Some(active);
        }
    }
}

fn length_of(window: Window) -> f64 {
    window.end.0.saturating_sub(window.start.0) as f64
}
