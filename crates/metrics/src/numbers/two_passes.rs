//! Statistics of values that are visited twice instead of stored.
//!
//! The first pass adds up the values and counts them by ranges. Then it is known in which ranges the percentiles lie,
//! and the second pass stores the values of these ranges only. The results equal those of stored values (`stats`), bit
//! for bit.

use crate::numbers::ranges::Ranges;
use crate::numbers::scalar::Scalar;
use crate::numbers::stats::{Encoding, Moments, Ranked, Ranks, deviation, float_key, has_exact_moments};
use crate::numbers::sum::Sum;
use std::iter::repeat_n;

/// What the first pass finds.
#[derive(Debug)]
pub(crate) struct FirstPass {
    encoding: Encoding,
    count: u64,
    min: i64,
    max: i64,
    /// Integers count from the first value.
    origin: i64,
    distances: i128,
    squares: i128,
    floats: Sum,
    ranges: Ranges,
}

impl FirstPass {
    pub(crate) fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            origin: 0,
            distances: 0,
            squares: 0,
            floats: Sum::default(),
            ranges: Ranges::new(),
        }
    }

    /// Adds a value that occurs several times in a row.
    #[inline]
    pub(crate) fn add(&mut self, value: i64, times: usize) {
        if self.count == 0 {
            self.origin = value;
        }
        self.count += times as u64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.ranges.add(key(self.encoding, value), times as u64);
        match self.encoding {
            Encoding::Int => {
                // Only used if it cannot overflow.
                let distance = value.wrapping_sub(self.origin);
                let square = i128::from(distance) * i128::from(distance);
                self.distances += (i128::from(value) - i128::from(self.origin)) * times as i128;
                self.squares = self.squares.wrapping_add(square.wrapping_mul(times as i128));
            }
            // One by one, to round as stored values do.
            Encoding::Float => (0..times).for_each(|_| self.floats.add(self.encoding.decode(value))),
        }
    }

    /// What the second pass must find; `None` if there are no values. `errors`: failures, as in
    /// [`Encoding::distribution`].
    pub(crate) fn second(self, errors: u64) -> Option<SecondPass> {
        let Self { encoding, count, min, max, origin, distances, squares, floats, mut ranges } = self;
        if count == 0 {
            return None;
        }
        let (sum, std) = match encoding {
            Encoding::Int => {
                let sum = distances + i128::from(origin) * i128::from(count);
                let moments = || {
                    let shift = i128::from(origin) - i128::from(min);
                    let squares = squares + 2 * shift * distances + shift * shift * i128::from(count);
                    Moments::of(count, (distances + shift * i128::from(count)) as u128, squares as u128)
                };
                (Scalar::Int(sum), has_exact_moments((min, max)).then(|| moments().std()))
            }
            Encoding::Float => (Scalar::Float(floats.value()), None),
        };
        let ranks = Ranks::of(count, errors);
        let wanted = number_wanted(&mut ranges, &ranks, encoding, min == max);
        let mean = sum.as_f64() / count as f64;
        let squares = Sum::default();
        Some(SecondPass { encoding, min, max, sum, std, mean, squares, ranks, numbers: ranges, wanted })
    }
}

#[inline]
fn key(encoding: Encoding, value: i64) -> i64 {
    match encoding {
        Encoding::Int => float_key(value as f64),
        Encoding::Float => value,
    }
}

/// The ranges that contain ranks, ascending; none if all values are equal. From then on, the weight of such a range is
/// its number from one, and that of all others is zero.
fn number_wanted(ranges: &mut Ranges, ranks: &Ranks, encoding: Encoding, are_equal: bool) -> Vec<Wanted> {
    let (mut wanted, mut before) = (Vec::new(), 0);
    for (first, weight) in ranges.used() {
        let count = std::mem::take(weight);
        if !are_equal && ranks.needed().iter().any(|rank| (before..before + count).contains(&(*rank as u64))) {
            let only = only_integer(encoding, first);
            let (value, times) = only.map_or((0, 0), |only| (only, count));
            wanted.push(Wanted { before, value, times, others: Vec::new(), is_known: only.is_some() });
            *weight = if only.is_some() { 0 } else { wanted.len() as u64 };
        }
        before += count;
    }
    wanted
}

/// Up to here, every whole number has a range of its own.
const SINGLE: f64 = 4096.0;

fn only_integer(encoding: Encoding, first: i64) -> Option<i64> {
    let value = Encoding::Float.decode(first);
    (encoding == Encoding::Int && (0.0..SINGLE).contains(&value)).then_some(value as i64)
}

/// A range that contains a rank.
#[derive(Debug)]
struct Wanted {
    /// Values in lower ranges.
    before: u64,
    /// The first of its values, and how often it occurs: often all values are equal.
    value: i64,
    times: u64,
    others: Vec<i64>,
    /// Nothing is left to find.
    is_known: bool,
}

impl Wanted {
    #[inline]
    fn add(&mut self, value: i64, times: usize) {
        if self.times == 0 {
            self.value = value;
        }
        if self.value == value {
            self.times += times as u64;
        } else {
            self.others.extend(repeat_n(value, times));
        }
    }

    /// The value at a rank; the others are sorted.
    fn at(&self, rank: u64) -> i64 {
        let place = rank - self.before;
        let below = self.others.partition_point(|other| *other < self.value) as u64;
        if place < below {
            self.others[place as usize]
        } else if place < below + self.times {
            self.value
        } else {
            self.others[(place - self.times) as usize]
        }
    }
}

/// What the second pass must find, and has found.
#[derive(Debug)]
pub(crate) struct SecondPass {
    encoding: Encoding,
    min: i64,
    max: i64,
    sum: Scalar,
    /// The deviation, if it is known.
    std: Option<f64>,
    mean: f64,
    squares: Sum,
    ranks: Ranks,
    /// For each range the number of its entry in `wanted`, from one; zero for others.
    numbers: Ranges,
    wanted: Vec<Wanted>,
}

impl SecondPass {
    /// Whether the values must be visited again.
    pub(crate) fn is_needed(&self) -> bool {
        self.std.is_none() || self.wanted.iter().any(|wanted| !wanted.is_known)
    }

    #[inline]
    pub(crate) fn add(&mut self, value: i64, times: usize) {
        if self.std.is_none() {
            let distance = self.encoding.decode(value) - self.mean;
            (0..times).for_each(|_| self.squares.add(distance * distance));
        }
        let number = self.numbers.get(key(self.encoding, value));
        if number > 0 {
            self.wanted[number as usize - 1].add(value, times);
        }
    }

    pub(crate) fn end(self) -> Ranked {
        let Self { encoding, min, max, sum, std, squares, ranks, mut wanted, .. } = self;
        wanted.iter_mut().for_each(|wanted| wanted.others.sort_unstable());
        let at = |rank: usize| {
            let after = wanted.partition_point(|wanted| wanted.before <= rank as u64);
            after.checked_sub(1).map_or(min, |at| wanted[at].at(rank as u64))
        };
        let std = std.unwrap_or_else(|| deviation(squares, ranks.count()));
        ranks.ranked(encoding, at, sum, std, (min, max))
    }
}

/// One of the two passes.
#[expect(clippy::large_enum_variant, reason = "each thread has one")]
pub(crate) enum Pass<'a> {
    /// With the values, if they are kept for the second pass.
    First(FirstPass, Option<&'a mut Vec<i64>>),
    Second(SecondPass),
}

impl Pass<'_> {
    #[inline]
    pub(crate) fn add(&mut self, value: i64) {
        self.add_repeated(value, 1);
    }

    /// Adds a value that occurs several times in a row.
    #[inline]
    pub(crate) fn add_repeated(&mut self, value: i64, times: usize) {
        match self {
            Self::First(first, kept) => {
                first.add(value, times);
                kept.iter_mut().for_each(|kept| kept.extend(repeat_n(value, times)));
            }
            Self::Second(second) => second.add(value, times),
        }
    }
}

/// The statistics of the values that `each` adds to a pass, in the same order each time; `None` if there are none.
/// `errors`: failures, as in [`Encoding::distribution`]. `kept`: where values are kept meanwhile, to call `each` only
/// once.
pub(crate) fn visited_twice(
    encoding: Encoding,
    errors: u64,
    mut kept: Option<&mut Vec<i64>>,
    each: impl Fn(&mut Pass<'_>),
) -> Option<Ranked> {
    kept.iter_mut().for_each(|kept| kept.clear());
    let mut pass = Pass::First(FirstPass::new(encoding), kept.as_deref_mut());
    each(&mut pass);
    let Pass::First(first, _) = pass else { return None };
    let mut second = first.second(errors)?;
    if !second.is_needed() {
        return Some(second.end());
    }
    if let Some(kept) = kept {
        kept.chunk_by(|one, two| one == two).for_each(|run| second.add(run[0], run.len()));
        return Some(second.end());
    }
    let mut pass = Pass::Second(second);
    each(&mut pass);
    match pass {
        Pass::Second(second) => Some(second.end()),
        Pass::First(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::stats::Distribution;
    use proptest::prelude::*;

    fn visited(encoding: Encoding, values: &[i64], errors: u64) -> Option<Distribution> {
        let visited =
            |kept| visited_twice(encoding, errors, kept, |pass| values.iter().for_each(|value| pass.add(*value)));
        let found = visited(None).map(|ranked| ranked.distribution);
        assert_eq!(visited(Some(&mut vec![5])).map(|ranked| ranked.distribution), found);
        let in_runs = visited_twice(encoding, errors, None, |pass| {
            values.chunk_by(|one, two| one == two).for_each(|run| pass.add_repeated(run[0], run.len()));
        });
        assert_eq!(in_runs.map(|ranked| ranked.distribution), found);
        found
    }

    fn agree(encoding: Encoding, values: &[i64], errors: u64) {
        let (visited, stored) =
            (visited(encoding, values, errors), encoding.distribution(&mut values.to_vec(), errors));
        assert_eq!(visited, stored, "{encoding:?} {errors} {values:?}");
    }

    /// Few and many, equal and far apart, negative and large.
    fn ints() -> impl Strategy<Value = Vec<i64>> {
        let one = prop_oneof![
            Just(0_i64),
            -5..5_i64,
            0..5000_i64,
            1_000_000..1_000_300_i64,
            -1_000_000_000..1_000_000_000_i64,
            1_760_000_000_000_000_000..1_760_000_000_000_001_000_i64,
        ];
        let wide = prop::collection::vec(any::<i64>(), 0..9);
        let same = (one.clone(), 1..200_usize).prop_map(|(value, times)| vec![value; times]);
        prop_oneof![4 => prop::collection::vec(one, 0..400), 1 => wide, 1 => same]
    }

    fn floats() -> impl Strategy<Value = Vec<i64>> {
        let one = prop_oneof![Just(0.0), Just(-0.0), -1e-12..1e-12_f64, 0.1..0.1001_f64, -1e9..1e9_f64, Just(0.7)];
        prop::collection::vec(one.prop_map(float_key), 0..400)
    }

    proptest! {
        #[test]
        fn values_visited_twice_give_the_statistics_of_stored_ones(values in ints(), errors in 0..50_u64) {
            agree(Encoding::Int, &values, errors);
        }

        #[test]
        fn so_do_floats(values in floats(), errors in 0..3_u64) {
            agree(Encoding::Float, &values, errors);
        }
    }

    #[test]
    fn equal_values_take_no_memory() {
        let mut first = FirstPass::new(Encoding::Int);
        let values = || (0..10_000_i64).map(|number| if number % 50 == 9 { 1_000_003 } else { 1_000_001 });
        values().for_each(|value| first.add(value, 1));
        let mut second = first.second(0).unwrap();
        values().for_each(|value| second.add(value, 1));
        assert_eq!(second.wanted.iter().map(|wanted| wanted.others.len()).collect::<Vec<_>>(), [200]);
        let stats = second.end().distribution.stats;
        assert_eq!((stats.p50, stats.p95, stats.p99), (Some(1_000_001.0), Some(1_000_001.0), Some(1_000_003.0)));
    }
}
