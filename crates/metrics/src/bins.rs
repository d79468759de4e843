//! Curves over bins of time, for runs with too many events to sweep.
//!
//! A step of height `d` at instant `t` adds `d` to the difference between two bins, shared between the bin of `t` and
//! the next so that the running sum is each bin's exact mean. Heights are integers in units of 2^-80: sums do not depend
//! on their order, merging two sets of bins gives the bins of both, and a curve returns to zero exactly.

use crate::facts::Facts;
use crate::timing::Timing;
use aiperf_types::Nanos;

/// A bin is 2^20 ns wide, a millisecond, before any doubling.
const WIDTH_BITS: u32 = 20;
/// Bins held before their width is doubled.
const MOST: u64 = 1 << 20;
const UNIT_BITS: i64 = 80;

/// A height in units of 2^-80. The same as a conversion of the scaled float, which is a slow call for 128 bits.
#[inline]
pub(crate) fn fixed(height: f64) -> i128 {
    let bits = height.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let mantissa = i128::from(bits & ((1 << 52) - 1) | 1 << 52);
    let shift = exponent - 1075 + UNIT_BITS;
    let magnitude = match shift {
        _ if exponent == 0 => 0,
        0..74 => mantissa << shift,
        -52..0 => mantissa >> -shift,
        ..0 => 0,
        _ => i128::MAX >> 1,
    };
    if bits >> 63 == 0 { magnitude } else { -magnitude }
}

/// A height as a float.
#[inline]
pub(crate) fn float(height: i128) -> f64 {
    height as f64 * (1.0 / (1_u128 << UNIT_BITS) as f64)
}

/// Where in the bins an instant lies.
#[derive(Clone, Copy)]
struct Place {
    bin: usize,
    /// How far into the bin, from 0 to 1.
    share: f64,
}

/// `N` curves over the same bins.
#[derive(Clone, Debug)]
pub(crate) struct Bins<const N: usize> {
    /// How often the width was doubled.
    level: u32,
    /// Number of the first bin, counted from the epoch.
    first: u64,
    /// Differences between each bin and the one before.
    steps: Vec<[i128; N]>,
}

impl<const N: usize> Bins<N> {
    pub(crate) fn new() -> Self {
        Self { level: 0, first: 0, steps: Vec::new() }
    }

    pub(crate) fn width(&self) -> Nanos {
        Nanos(1 << (WIDTH_BITS + self.level))
    }

    pub(crate) fn size(&self) -> usize {
        self.steps.capacity() * size_of::<[i128; N]>()
    }

    #[inline]
    fn place(&mut self, at: u64) -> Place {
        loop {
            let bits = WIDTH_BITS + self.level;
            let number = at >> bits;
            let bin = number.wrapping_sub(self.first);
            if bin < (self.steps.len() as u64).saturating_sub(1) {
                let into = at & ((1 << bits) - 1);
                return Place { bin: bin as usize, share: into as f64 / (1_u64 << bits) as f64 };
            }
            self.make_room(number, number);
        }
    }

    /// Makes the bins from `low` to `high` and the one after exist; or, where that is too many, doubles the width.
    #[cold]
    fn make_room(&mut self, low: u64, high: u64) {
        if self.steps.is_empty() {
            self.first = low;
        }
        let (first, end) = (self.first.min(low), (self.first + self.steps.len() as u64).max(high + 2));
        if end - first > MOST {
            self.coarsen();
            return;
        }
        let earlier = (self.first - first) as usize;
        self.steps.splice(0..0, std::iter::repeat_n([0; N], earlier));
        self.first = first;
        self.steps.resize((end - first) as usize, [0; N]);
    }

    /// Doubles the width.
    fn coarsen(&mut self) {
        let odd = self.first % 2 == 1;
        let lead = odd.then_some([0; N]);
        let mut fine = lead.into_iter().chain(self.steps.iter().copied());
        let (mut value, mut before) = ([0_i128; N], [0_i128; N]);
        let mut steps = Vec::with_capacity(self.steps.len() / 2 + 2);
        while let Some(step) = fine.next() {
            add(&mut value, &step);
            let mut sum = value;
            add(&mut value, &fine.next().unwrap_or([0; N]));
            add(&mut sum, &value);
            let mean = sum.map(|sum| sum >> 1);
            steps.push(std::array::from_fn(|lane| mean[lane] - before[lane]));
            before = mean;
        }
        steps.push(std::array::from_fn(|lane| value[lane] - before[lane]));
        self.first /= 2;
        self.level += 1;
        self.steps = steps;
    }

    #[inline]
    fn step(&mut self, place: Place, lane: usize, exact: i128, height: f64) {
        let next = fixed(height * place.share);
        self.steps[place.bin][lane] += exact - next;
        self.steps[place.bin + 1][lane] += next;
    }

    /// Adds a step to one curve.
    pub(crate) fn add(&mut self, at: u64, lane: usize, height: f64) {
        let place = self.place(at);
        self.step(place, lane, fixed(height), height);
    }

    pub(crate) fn merge(&mut self, mut other: Self) {
        if other.steps.is_empty() {
            return;
        }
        if self.steps.is_empty() {
            *self = other;
            return;
        }
        while !self.covers(&other) {
            if self.level < other.level {
                self.coarsen();
            } else if other.level < self.level {
                other.coarsen();
            } else {
                self.make_room(other.first, other.first + other.steps.len() as u64);
            }
        }
        let offset = (other.first - self.first) as usize;
        for (own, others) in self.steps[offset..].iter_mut().zip(&other.steps) {
            add(own, others);
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let end = |bins: &Self| bins.first + bins.steps.len() as u64;
        self.level == other.level && self.first <= other.first && end(self) >= end(other)
    }

    /// The means of one curve over the bins, each with the start of its bin.
    pub(crate) fn means(&self, lane: usize) -> impl Iterator<Item = (u64, f64)> {
        let starts = (self.first..).map(|number| number << (WIDTH_BITS + self.level));
        let means = self.steps.iter().scan(0_i128, move |value, step| {
            *value += step[lane];
            Some(float(*value))
        });
        starts.zip(means)
    }
}

#[inline]
fn add<const N: usize>(sum: &mut [i128; N], other: &[i128; N]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

/// The two curves that depend on every single gap: tokens being produced, and tokens in flight. They are kept from the
/// first record on, so that gaps can be let go at any time.
#[derive(Clone, Debug)]
pub(crate) struct StreamBins(pub(crate) Bins<2>);

impl StreamBins {
    pub(crate) const DECODE: usize = 0;
    pub(crate) const TOKENS: usize = 1;

    pub(crate) fn new() -> Self {
        Self(Bins::new())
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Adds a record to both curves: the steps of [`Timing::decode_pulses`] and [`Timing::tokens_in_flight`], with the
    /// place of an instant looked up once for both.
    pub(crate) fn add(&mut self, facts: &Facts, gaps: &[u64]) {
        let Some(timing) = Timing::of(facts) else { return };
        let Some(generation) = timing.generation else { return };
        let Some(arrival) = timing.arrival_share(gaps).filter(|_| timing.end > generation) else {
            timing.tokens_in_flight(gaps, |at, height| self.0.add(at, Self::TOKENS, height));
            return;
        };
        let bins = &mut self.0;
        let (prompt, held) = timing.held();
        if let Some(prompt) = prompt {
            bins.add(timing.start, Self::TOKENS, prompt as f64);
        }
        let decode = timing.decode_share(gaps).unwrap_or(0.0);
        let arrival_exact = fixed(arrival);
        let (mut at, mut rate, mut rate_exact) = (generation, 0.0, 0);
        let mut place = bins.place(at);
        bins.step(place, Self::TOKENS, fixed(1.0), 1.0);
        for &gap in gaps {
            if gap > 0 {
                let next = decode / gap as f64;
                let next_exact = fixed(next);
                bins.step(place, Self::DECODE, next_exact - rate_exact, next - rate);
                (rate, rate_exact) = (next, next_exact);
                at += gap;
                place = bins.place(at.min(timing.end));
            }
            bins.step(place, Self::TOKENS, arrival_exact, arrival);
        }
        bins.step(place, Self::DECODE, -rate_exact, -rate);
        bins.add(timing.end, Self::TOKENS, -held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(bins: &Bins<1>) -> f64 {
        bins.means(0).map(|(_, mean)| mean * bins.width().0 as f64).sum()
    }

    #[test]
    fn a_height_survives_the_way_to_an_integer_and_back() {
        for height in [1.0, -1.0, 0.0, 1e-9, -3.25e5, 0.1, 7.0 / 3.0] {
            assert!((float(fixed(height)) - height).abs() <= height.abs() * 1e-15);
        }
    }

    #[test]
    fn a_pulse_keeps_its_area_wherever_it_falls_and_however_wide_the_bins_are() {
        let mut bins = Bins::<1>::new();
        for (from, to) in [(5_000_000, 5_300_000), (1_234_567, 999_999_999), (70_000_000_000, 70_000_000_001)] {
            bins.add(from, 0, 2.0);
            bins.add(to, 0, -2.0);
        }
        let expected = 2.0 * (300_000 + 998_765_432 + 1) as f64;
        for _ in 0..8 {
            assert!((area(&bins) / expected - 1.0).abs() < 1e-12);
            bins.coarsen();
        }
    }

    #[test]
    fn bins_never_grow_beyond_their_number() {
        let mut bins = Bins::<1>::new();
        for second in [50_000, 0, 90_000, 10] {
            bins.add(second * 1_000_000_000, 0, 1.0);
            bins.add(second * 1_000_000_000 + 500, 0, -1.0);
        }
        assert!(bins.steps.len() as u64 <= MOST + 1);
        assert!((area(&bins) / 2000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn merged_bins_are_those_of_both() {
        let steps = [(3_000_000_u64, 1.0), (9_000_000_000, -1.0), (2_000_000_000_000, 4.0), (2_000_000_500_000, -4.0)];
        let mut whole = Bins::<1>::new();
        steps.iter().for_each(|&(at, height)| whole.add(at, 0, height));
        let (mut one, mut two) = (Bins::<1>::new(), Bins::<1>::new());
        steps[..2].iter().for_each(|&(at, height)| one.add(at, 0, height));
        steps[2..].iter().for_each(|&(at, height)| two.add(at, 0, height));
        two.merge(one);
        let nonzero = |bins: &Bins<1>| bins.means(0).filter(|(_, mean)| *mean != 0.0).collect::<Vec<_>>();
        assert_eq!(nonzero(&whole).len(), nonzero(&two).len());
        assert!((area(&whole) - area(&two)).abs() < 1e-3);
    }
}
