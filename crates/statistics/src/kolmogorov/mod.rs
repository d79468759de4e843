//! The two-sample test of Kolmogorov and Smirnov: whether two samples come from one distribution.
//!
//! Its statistic is the largest distance between the two shares of values at or below a point. As in scipy's `ks_2samp`,
//! p is exact where neither sample is larger than [`LARGEST_EXACT`], and else that of a single sample of the size that
//! two such samples are worth. Exact, 10,000 against 9,999 values take half a second at worst, and 15 ms where p is
//! not tiny.
//!
//! # Layout
//! - `lattice`: exact p, by counting paths
//! - `one_sample`: the distribution of the distance between a sample and what it was drawn from

mod lattice;
mod one_sample;

/// Samples up to this size get an exact p.
pub const LARGEST_EXACT: usize = 10_000;

/// The test of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// Largest distance between the shares of both samples at or below a point: 0 to 1.
    pub statistic: f64,
    /// Two-sided.
    pub p: f64,
    pub method: Method,
}

/// How p was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Exact,
    Asymptotic,
}

impl KolmogorovSmirnov {
    /// None where a sample is empty or holds what is not a number.
    pub fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.iter().chain(second).any(|value| value.is_nan()) {
            return None;
        }
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        Self::of_sorted(&sorted(first), &sorted(second))
    }

    /// Of samples in ascending order. None where one is empty.
    pub fn of_sorted(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let (statistic, steps) = distance(first, second);
        if first.len().max(second.len()) <= LARGEST_EXACT {
            let (p, statistic) = lattice::probability(first.len(), second.len(), steps);
            // Rounding may leave no probability, which scipy too takes as a reason to approximate.
            if (0.0..=1.0).contains(&p) {
                return Some(Self { statistic, p, method: Method::Exact });
            }
        }
        let p = asymptotic_p(statistic, first.len(), second.len());
        Some(Self { statistic, p, method: Method::Asymptotic })
    }
}

/// The largest distance between the shares, as a number and exactly: in units of one over the product of both sizes.
fn distance(first: &[f64], second: &[f64]) -> (f64, u64) {
    let (n, m) = (first.len() as i64, second.len() as i64);
    let (mut i, mut j) = (0, 0);
    let mut largest = 0i64;
    while i < first.len() && j < second.len() {
        let value = first[i].min(second[j]);
        while i < first.len() && first[i] <= value {
            i += 1;
        }
        while j < second.len() && second[j] <= value {
            j += 1;
        }
        largest = largest.max((i as i64 * m - j as i64 * n).abs());
    }
    (largest as f64 / (n as f64 * m as f64), largest as u64)
}

fn asymptotic_p(statistic: f64, first: usize, second: usize) -> f64 {
    let (n, m) = (first as f64, second as f64);
    // Ties go to the even number, as in numpy.
    one_sample::beyond((n * m / (n + m)).round_ties_even() as u64, statistic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn samples_that_do_not_overlap_are_as_far_apart_as_can_be() {
        let test = KolmogorovSmirnov::of(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!((test.statistic, test.method), (1.0, Method::Exact));
        assert!((test.p - 0.1).abs() < 1e-15);
    }

    #[test]
    fn nothing_and_what_is_not_a_number_cannot_be_tested() {
        assert_eq!(KolmogorovSmirnov::of(&[], &[1.0]), None);
        assert_eq!(KolmogorovSmirnov::of(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn the_largest_exact_test_is_quick_at_any_distance() {
        let first: Vec<f64> = (0..10_000).map(f64::from).collect();
        for shift in [0.5, 100.5, 5_000.5, 9_990.5] {
            let second: Vec<f64> = (0..9_999).map(|i| f64::from(i) + shift).collect();
            let test = KolmogorovSmirnov::of_sorted(&first, &second).unwrap();
            assert_eq!(test.method, Method::Exact);
            assert!((0.0..=1.0).contains(&test.p));
        }
    }

    /// Every order in which the values of both samples can come, each as likely as the others.
    fn by_counting(n: usize, m: usize, steps: u64) -> f64 {
        let (mut far, mut all) = (0, 0);
        for order in 0u32..1 << (n + m) {
            if order.count_ones() as usize != n {
                continue;
            }
            let (mut i, mut j, mut largest) = (0i64, 0i64, 0);
            for place in 0..n + m {
                if order >> place & 1 == 1 {
                    i += 1
                } else {
                    j += 1
                }
                largest = largest.max((i * m as i64 - j * n as i64).unsigned_abs());
            }
            all += 1;
            far += usize::from(largest >= steps);
        }
        far as f64 / all as f64
    }

    #[test]
    fn exact_p_is_the_share_of_orders_that_lie_as_far_apart() {
        for (n, m) in [(1, 1), (1, 4), (3, 3), (4, 6), (5, 5), (6, 4), (5, 7)] {
            for steps in 0..=(n * m) as u64 {
                // Only multiples of the greatest common divisor occur.
                let divisor = (1..=n).rev().find(|d| n % d == 0 && m % d == 0).unwrap() as u64;
                if steps % divisor == 0 {
                    let (p, _) = lattice::probability(n, m, steps);
                    let expected = by_counting(n, m, steps);
                    assert!((p - expected).abs() < 1e-14, "{n} {m} {steps}: {p} {expected}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn sides_may_be_exchanged_and_values_stretched(
            first in prop::collection::vec(-5i32..5, 1..40),
            second in prop::collection::vec(-4i32..6, 1..40),
        ) {
            let values = |of: &[i32], scale: f64| of.iter().map(|&v| f64::from(v) * scale).collect::<Vec<_>>();
            let test = KolmogorovSmirnov::of(&values(&first, 1.0), &values(&second, 1.0)).unwrap();
            let other = KolmogorovSmirnov::of(&values(&second, 3.0), &values(&first, 3.0)).unwrap();
            prop_assert!((0.0..=1.0).contains(&test.p) && (0.0..=1.0).contains(&test.statistic));
            prop_assert!((test.p - other.p).abs() < 1e-12);
            let same = KolmogorovSmirnov::of(&values(&first, 1.0), &values(&first, 1.0)).unwrap();
            prop_assert_eq!((same.statistic, same.p), (0.0, 1.0));
        }
    }
}
