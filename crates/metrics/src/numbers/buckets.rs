//! A histogram with fixed bounds, as metric receivers expect: coarse, but with an exact count and sum.

use crate::numbers::sum::Sum;

/// Values by bucket. Integers are added as integers, so two merged halves are exactly the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets {
    /// One more than there are bounds; empty before the first value.
    counts: Vec<u64>,
    count: u64,
    ints: i128,
    floats: Sum,
    min: f64,
    max: f64,
}

impl Buckets {
    #[inline]
    pub(crate) fn add_int(&mut self, value: i64, bounds: &[f64]) {
        self.ints += i128::from(value);
        self.count(value as f64, bounds);
    }

    #[inline]
    pub(crate) fn add_float(&mut self, value: f64, bounds: &[f64]) {
        self.floats.add(value);
        self.count(value, bounds);
    }

    /// A bound belongs to the bucket below it. Counting all bounds is cheaper than a search: there is no branch to
    /// predict.
    #[inline]
    fn count(&mut self, value: f64, bounds: &[f64]) {
        if self.counts.is_empty() {
            (self.counts, self.min, self.max) = (vec![0; bounds.len() + 1], value, value);
        }
        let bucket = bounds.iter().map(|bound| usize::from(*bound < value)).sum::<usize>();
        self.counts[bucket] += 1;
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, others)| *own += others);
        self.count += other.count;
        self.ints += other.ints;
        self.floats.merge(other.floats);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub(crate) fn total(&self) -> u64 {
        self.count
    }

    pub(crate) fn sum(&self) -> f64 {
        self.ints as f64 + self.floats.value()
    }

    /// The minimum and the maximum; meaningless if there is no value.
    pub(crate) fn range(&self) -> (f64, f64) {
        (self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: [f64; 3] = [0.0, 5.0, 10.0];

    fn of(values: &[i64]) -> Buckets {
        let mut buckets = Buckets::default();
        values.iter().for_each(|value| buckets.add_int(*value, &BOUNDS));
        buckets
    }

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let buckets = of(&[-1, 0, 1, 5, 6, 10, 11]);
        assert_eq!(buckets.counts(), [2, 2, 2, 1]);
        assert_eq!((buckets.total(), buckets.sum(), buckets.range()), (7, 32.0, (-1.0, 11.0)));
    }

    #[test]
    fn no_small_value_is_lost_beside_a_large_one() {
        let mut buckets = Buckets::default();
        for value in [1e16, 0.25, -1e16, 0.25] {
            buckets.add_float(value, &BOUNDS);
        }
        assert_eq!(buckets.sum(), 0.5);
    }

    proptest! {
        #[test]
        fn parts_merged_in_any_order_are_the_whole(
            values in prop::collection::vec(-20_i64..1 << 40, 0..60),
            cuts in prop::collection::vec(0_usize..60, 0..4),
        ) {
            let whole = of(&values);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(values.len())).collect();
            cuts.extend([0, values.len()]);
            cuts.sort_unstable();
            let parts: Vec<Buckets> = cuts.windows(2).map(|cut| of(&values[cut[0]..cut[1]])).collect();
            for parts in [parts.clone(), parts.into_iter().rev().collect()] {
                let merged = parts.iter().fold(Buckets::default(), |mut all, part| {
                    all.merge(part);
                    all
                });
                prop_assert_eq!(&merged, &whole);
                prop_assert_eq!(merged.counts().iter().sum::<u64>(), merged.total());
            }
        }

        #[test]
        fn parts_of_floats_sum_up_to_the_whole(values in prop::collection::vec(-1e9_f64..1e9, 1..60), at in 0_usize..60) {
            let of = |values: &[f64]| {
                let mut buckets = Buckets::default();
                values.iter().for_each(|value| buckets.add_float(*value, &BOUNDS));
                buckets
            };
            let (one, two) = values.split_at(at.min(values.len()));
            let (mut merged, whole) = (of(one), of(&values));
            merged.merge(&of(two));
            prop_assert!((merged.sum() - whole.sum()).abs() <= 1e-12 * whole.sum().abs().max(1.0));
            prop_assert_eq!(merged.counts(), whole.counts());
            prop_assert_eq!(merged.range(), whole.range());
        }
    }
}
