//! One run a side, by their records.

use super::long_run::LongRun;
use super::percentile::Percentile;
use super::series::Series;
use super::verdict::{Comparison, Direction, Finding, Statistic};
use crate::student;
use crate::welch::{Estimate, Welch};

/// Past so many standard errors p is zero to most readers, and is not looked for.
const FARTHEST: f64 = 40.0;

/// Compares two runs by the records of one metric, at a confidence `level` such as 0.95. None where a side has none, or
/// the statistic is no percentile.
pub fn compare(
    first: &Series,
    second: &Series,
    statistic: Statistic,
    direction: Direction,
    level: f64,
) -> Option<Comparison> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let finding = match statistic {
        Statistic::Mean => means(first.mean(), second.mean(), level),
        Statistic::Percentile(percent) => {
            let share = percent / 100.0;
            percentiles(&first.percentile(share)?, &second.percentile(share)?, level)
        }
    };
    Some(finding.judged(direction, level))
}

fn means(first: &LongRun, second: &LongRun, level: f64) -> Finding {
    let estimate = |side: &LongRun| Estimate { value: side.mean, error: side.error, freedom: side.freedom };
    let test = Welch::of_estimates(estimate(first), estimate(second));
    Finding {
        first: first.mean,
        second: second.mean,
        interval: test.interval(level),
        p: test.p,
        effective: (first.effective, second.effective),
        enough: first.is_enough() && second.is_enough(),
    }
}

fn percentiles(first: &Percentile, second: &Percentile, level: f64) -> Finding {
    let difference = second.value - first.value;
    // What one side may lie lower and the other higher moves the difference one way.
    let interval = |t: f64| {
        let ((lower, higher), (second_lower, second_higher)) = (first.reach(t), second.reach(t));
        (difference - second_lower.hypot(higher), difference + second_higher.hypot(lower))
    };
    let freedom = freedom(first, second);
    let covers_zero = |t: f64| {
        let (low, high) = interval(t);
        low <= 0.0 && high >= 0.0
    };
    Finding {
        first: first.value,
        second: second.value,
        interval: interval(student::critical(level, freedom)),
        p: student::two_sided(smallest(covers_zero), freedom),
        effective: (first.known.effective, second.known.effective),
        enough: first.is_enough() && second.is_enough(),
    }
}

/// Degrees of freedom of the difference, each side weighted by how far it reaches at one standard error.
fn freedom(first: &Percentile, second: &Percentile) -> f64 {
    let estimate = |side: &Percentile| {
        let (low, high) = side.reach(1.0);
        Estimate { value: side.value, error: low + high, freedom: side.known.freedom }
    };
    let (first, second) = (estimate(first), estimate(second));
    if first.error.is_finite() && second.error.is_finite() {
        Welch::of_estimates(first, second).freedom
    } else {
        first.freedom.min(second.freedom)
    }
}

/// The smallest number from 0 to [`FARTHEST`] for which something holds that holds for all larger ones.
pub(super) fn smallest(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, FARTHEST);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Doubt, Verdict};
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    const LATENCY: Direction = Direction::SmallerIsBetter;

    /// Values without order, from `shift` to one more.
    fn scattered(count: usize, shift: f64) -> Series {
        let mut random = ChaCha8Rng::seed_from_u64(count as u64);
        Series::new((0..count).map(|_| shift + f64::from(random.next_u32()) / 2f64.powi(32)).collect())
    }

    #[test]
    fn a_clear_difference_is_better_or_worse_by_the_metrics_direction() {
        let (low, high) = (scattered(1000, 1.0), scattered(1000, 2.0));
        for statistic in [Statistic::Mean, Statistic::Percentile(50.0), Statistic::Percentile(90.0)] {
            let verdict = |direction| compare(&low, &high, statistic, direction, 0.95).unwrap().verdict;
            assert_eq!(verdict(Direction::SmallerIsBetter), Verdict::Worse);
            assert_eq!(verdict(Direction::LargerIsBetter), Verdict::Better);
            assert_eq!(verdict(Direction::Neither), Verdict::Different);
            let comparison = compare(&low, &high, statistic, LATENCY, 0.95).unwrap();
            assert!((comparison.difference - 1.0).abs() < 1e-9 && comparison.p < 1e-6, "{comparison:?}");
            assert!(comparison.interval.0 > 0.5 && comparison.interval.1 < 1.5, "{comparison:?}");
        }
    }

    #[test]
    fn too_little_data_is_no_verdict_however_far_apart() {
        let undecided = Verdict::Undecided(Doubt::TooLittleData);
        let verdict = |count, statistic| {
            compare(&scattered(count, 1.0), &scattered(count, 100.0), statistic, LATENCY, 0.95).unwrap().verdict
        };
        assert_eq!(verdict(20, Statistic::Mean), undecided);
        assert_eq!(verdict(900, Statistic::Percentile(99.0)), undecided);
        assert_eq!(verdict(1, Statistic::Mean), undecided);
        assert_eq!(compare(&scattered(0, 1.0), &scattered(9, 1.0), Statistic::Mean, LATENCY, 0.95), None);
        assert_eq!(compare(&scattered(9, 1.0), &scattered(9, 1.0), Statistic::Percentile(101.0), LATENCY, 0.95), None);
    }

    #[test]
    fn a_run_that_drifts_is_no_verdict() {
        let drifting = |shift: f64| Series::new((0..5000).map(|i| shift + f64::from(i) / 5000.0).collect());
        let comparison = compare(&drifting(0.0), &drifting(0.3), Statistic::Mean, LATENCY, 0.95).unwrap();
        assert_eq!(comparison.verdict, Verdict::Undecided(Doubt::TooLittleData));
    }

    #[test]
    fn values_that_never_vary_are_equal_or_different() {
        let constant = |value: f64| Series::new(vec![value; 2000]);
        for statistic in [Statistic::Mean, Statistic::Percentile(99.0)] {
            let same = compare(&constant(5.0), &constant(5.0), statistic, LATENCY, 0.95).unwrap();
            assert_eq!((same.p, same.verdict), (1.0, Verdict::Undecided(Doubt::WithinNoise)));
            let other = compare(&constant(5.0), &constant(6.0), statistic, LATENCY, 0.95).unwrap();
            assert_eq!((other.interval, other.verdict), ((1.0, 1.0), Verdict::Worse));
        }
    }

    proptest! {
        #[test]
        fn sides_may_be_exchanged_and_verdicts_follow_p(
            first in prop::collection::vec(0i32..50, 1..200),
            second in prop::collection::vec(0i32..60, 1..200),
            percent in 0.0f64..=100.0,
        ) {
            let series = |values: &[i32]| Series::new(values.iter().map(|&v| f64::from(v)).collect());
            let (first, second) = (series(&first), series(&second));
            for statistic in [Statistic::Mean, Statistic::Percentile(percent)] {
                let one = compare(&first, &second, statistic, LATENCY, 0.95).unwrap();
                let other = compare(&second, &first, statistic, LATENCY, 0.95).unwrap();
                prop_assert_eq!(one.difference, -other.difference);
                prop_assert!((0.0..=1.0).contains(&one.p) && (one.p - other.p).abs() < 1e-9);
                prop_assert!(one.interval.0 <= one.difference && one.difference <= one.interval.1);
                let decided = |side: &Comparison| !matches!(side.verdict, Verdict::Undecided(_));
                prop_assert!(!decided(&one) || one.p < 0.05);
                if (one.p - 0.05).abs() > 1e-6 {
                    prop_assert_eq!(one.p < 0.05, one.interval.0 > 0.0 || one.interval.1 < 0.0);
                    prop_assert_eq!(decided(&one), decided(&other));
                }
            }
        }
    }
}
