//! Curves over bins of time, for runs with too many events to sweep.
//!
//! Of the steps that fall into a bin two sums are kept: of their heights, and of their heights by how late in the bin they
//! come. The first gives the exact value of the curve at the edge of every bin, the second its exact mean over every bin.
//! Both are integers in units of 2^-64: sums do not depend on their order, merging two sets of bins gives the bins of both,
//! and a curve returns to zero exactly.

use crate::facts::Facts;
use crate::timing::Timing;
use aiperf_types::Nanos;

/// A bin is 2^20 ns wide, a millisecond, before any doubling.
const WIDTH_BITS: u32 = 20;
/// Bins held before their width is doubled.
const MOST: u64 = 1 << 20;
const UNIT_BITS: i64 = 64;

/// A height in units of 2^-64, rounded. The same as a conversion of the scaled float, which for 128 bits is a slow call.
#[inline]
pub(crate) fn fixed(height: f64) -> i128 {
    let bits = height.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let mantissa = i128::from(bits & ((1 << 52) - 1) | 1 << 52);
    let magnitude = match exponent - 1075 + UNIT_BITS {
        shift @ 0..74 => mantissa << shift,
        shift @ -53..0 => (mantissa + (1 << (-shift - 1))) >> -shift,
        ..-53 => 0,
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
    /// How far into the bin, in nanoseconds.
    into: u64,
}

/// What the steps of one curve in one bin come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    /// Sum of heights.
    height: i128,
    /// Sum of heights, each times the share of the bin that lies before it.
    late: i128,
}

impl Cell {
    #[inline]
    fn add(&mut self, other: Self) {
        self.height += other.height;
        self.late += other.late;
    }
}

/// `N` curves over the same bins.
#[derive(Clone, Debug)]
pub(crate) struct Bins<const N: usize> {
    /// How often the width was doubled.
    level: u32,
    /// Number of the first bin, counted from the epoch.
    first: u64,
    cells: Vec<[Cell; N]>,
}

impl<const N: usize> Bins<N> {
    pub(crate) fn new() -> Self {
        Self { level: 0, first: 0, cells: Vec::new() }
    }

    pub(crate) fn width(&self) -> Nanos {
        Nanos(1 << (WIDTH_BITS + self.level))
    }

    pub(crate) fn size(&self) -> usize {
        self.cells.capacity() * size_of::<[Cell; N]>()
    }

    #[inline]
    fn place(&mut self, at: u64) -> Place {
        loop {
            let bits = WIDTH_BITS + self.level;
            let number = at >> bits;
            let bin = number.wrapping_sub(self.first);
            if bin < self.cells.len() as u64 {
                return Place { bin: bin as usize, into: at & ((1 << bits) - 1) };
            }
            self.make_room(number, number + 1);
        }
    }

    /// Makes the bins from `low` to `high` exist; or, where that is too many, doubles the width.
    #[cold]
    fn make_room(&mut self, low: u64, high: u64) {
        if self.cells.is_empty() {
            self.first = low;
        }
        let (first, end) = (self.first.min(low), (self.first + self.cells.len() as u64).max(high));
        if end - first > MOST {
            self.coarsen();
            return;
        }
        let earlier = (self.first - first) as usize;
        self.cells.splice(0..0, std::iter::repeat_n([Cell::default(); N], earlier));
        self.first = first;
        self.cells.resize((end - first) as usize, [Cell::default(); N]);
    }

    /// Doubles the width.
    fn coarsen(&mut self) {
        let lead = (self.first % 2 == 1).then_some([Cell::default(); N]);
        let mut fine = lead.into_iter().chain(self.cells.iter().copied());
        let mut coarse = Vec::with_capacity(self.cells.len() / 2 + 1);
        while let Some(early) = fine.next() {
            let late = fine.next().unwrap_or([Cell::default(); N]);
            coarse.push(std::array::from_fn(|lane| Cell {
                height: early[lane].height + late[lane].height,
                late: (early[lane].late + late[lane].height + late[lane].late) >> 1,
            }));
        }
        self.first /= 2;
        self.level += 1;
        self.cells = coarse;
    }

    /// Adds a step whose height is far below 2^40, so that the product fits; [`Bins::add`] takes any.
    #[inline]
    fn step(&mut self, place: Place, lane: usize, height: i128) {
        let late = (height * i128::from(place.into)) >> (WIDTH_BITS + self.level);
        self.cells[place.bin][lane].add(Cell { height, late });
    }

    /// Adds a step to one curve.
    pub(crate) fn add(&mut self, at: u64, lane: usize, height: f64) {
        let place = self.place(at);
        let share = place.into as f64 / self.width().0 as f64;
        self.cells[place.bin][lane].add(Cell { height: fixed(height), late: fixed(height * share) });
    }

    pub(crate) fn merge(&mut self, mut other: Self) {
        if other.cells.is_empty() {
            return;
        }
        if self.cells.is_empty() {
            *self = other;
            return;
        }
        while !self.covers(&other) {
            if self.level < other.level {
                self.coarsen();
            } else if other.level < self.level {
                other.coarsen();
            } else {
                self.make_room(other.first, other.first + other.cells.len() as u64);
            }
        }
        let offset = (other.first - self.first) as usize;
        for (own, others) in self.cells[offset..].iter_mut().zip(other.cells) {
            own.iter_mut().zip(others).for_each(|(own, others)| own.add(others));
        }
    }

    fn covers(&self, other: &Self) -> bool {
        let end = |bins: &Self| bins.first + bins.cells.len() as u64;
        self.level == other.level && self.first <= other.first && end(self) >= end(other)
    }

    /// Visits one curve bin by bin: the start of the bin, the value there, and the mean over the bin.
    pub(crate) fn each(&self, lane: usize, mut visit: impl FnMut(u64, f64, f64)) {
        let mut value = 0_i128;
        for (number, cells) in (self.first..).zip(&self.cells) {
            let cell = cells[lane];
            visit(number << (WIDTH_BITS + self.level), float(value), float(value + cell.height - cell.late));
            value += cell.height;
        }
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
        let arrival = fixed(arrival);
        let (mut at, mut rate) = (generation, 0);
        let mut place = bins.place(at);
        bins.step(place, Self::TOKENS, fixed(1.0));
        for &gap in gaps {
            if gap > 0 {
                let next = fixed(decode / gap as f64);
                bins.step(place, Self::DECODE, next - rate);
                rate = next;
                at += gap;
                place = bins.place(at.min(timing.end));
            }
            bins.step(place, Self::TOKENS, arrival);
        }
        bins.step(place, Self::DECODE, -rate);
        bins.add(timing.end, Self::TOKENS, -held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(bins: &Bins<1>) -> f64 {
        let mut area = 0.0;
        bins.each(0, |_, _, mean| area += mean * bins.width().0 as f64);
        area
    }

    #[test]
    fn a_height_survives_the_way_to_an_integer_and_back() {
        for height in [1.0, -1.0, 0.0, 1e-9, -3.25e5, 0.1, 7.0 / 3.0] {
            assert!((float(fixed(height)) - height).abs() <= height.abs() * 1e-15 + 1e-19);
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
    fn the_value_at_an_edge_is_what_it_was_at_that_instant() {
        let mut bins = Bins::<1>::new();
        bins.add(500_000, 0, 3.0);
        bins.add((1 << 20) + 1, 0, 4.0);
        bins.add(3 << 20, 0, -7.0);
        let mut edges = Vec::new();
        bins.each(0, |start, value, _| edges.push((start >> 20, value)));
        assert_eq!(edges, [(0, 0.0), (1, 3.0), (2, 7.0), (3, 7.0)]);
    }

    #[test]
    fn bins_never_grow_beyond_their_number() {
        let mut bins = Bins::<1>::new();
        for second in [50_000, 0, 90_000, 10] {
            bins.add(second * 1_000_000_000, 0, 1.0);
            bins.add(second * 1_000_000_000 + 500, 0, -1.0);
        }
        assert!(bins.cells.len() as u64 <= MOST);
        assert!((area(&bins) / 2000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn merged_bins_are_those_of_both_to_the_last_bit() {
        let steps = [(3_000_000_u64, 1.0), (9_000_000_000, -1.0), (2_000_000_000_000, 4.0), (2_000_000_500_000, -4.0)];
        let mut whole = Bins::<1>::new();
        steps.iter().for_each(|&(at, height)| whole.add(at, 0, height));
        let (mut one, mut two) = (Bins::<1>::new(), Bins::<1>::new());
        steps[..2].iter().for_each(|&(at, height)| one.add(at, 0, height));
        steps[2..].iter().for_each(|&(at, height)| two.add(at, 0, height));
        two.merge(one);
        let filled =
            |bins: &Bins<1>| bins.cells.iter().copied().filter(|cell| *cell != [Cell::default()]).collect::<Vec<_>>();
        assert_eq!(filled(&whole), filled(&two));
        assert_eq!((whole.level, whole.first), (two.level, two.first));
    }
}
