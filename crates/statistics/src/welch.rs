//! Welch's test: whether two means differ, without supposing that the samples vary alike.

use crate::student;

/// What the test needs to know of a sample of independent values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub count: usize,
    pub mean: f64,
    /// With one less than the count below.
    pub variance: f64,
}

impl Sample {
    /// None without values. The variance of a single one is unknown, so NaN.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Some(Self { count, mean, variance: if count == 1 { f64::NAN } else { squares / (count - 1) as f64 } })
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            value: self.mean,
            error: (self.variance / self.count as f64).sqrt(),
            freedom: self.count as f64 - 1.0,
        }
    }
}

/// A value, its standard error, and the degrees of freedom with which that error is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub error: f64,
    pub freedom: f64,
}

/// How far two means lie apart, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The second mean less the first.
    pub difference: f64,
    /// Standard error of the difference.
    pub error: f64,
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom, by Welch and Satterthwaite.
    pub freedom: f64,
    /// Two-sided.
    pub p: f64,
}

impl Welch {
    /// None where either sample has fewer than two values.
    pub fn of_samples(first: &[f64], second: &[f64]) -> Option<Self> {
        Self::of(Sample::of(first)?, Sample::of(second)?)
    }

    /// None where either sample has fewer than two values.
    pub fn of(first: Sample, second: Sample) -> Option<Self> {
        let enough = first.count > 1 && second.count > 1;
        enough.then(|| Self::of_estimates(first.estimate(), second.estimate()))
    }

    /// Of any two estimates that are independent and nearly normal.
    pub fn of_estimates(first: Estimate, second: Estimate) -> Self {
        let difference = second.value - first.value;
        let error = first.error.hypot(second.error);
        let freedom = freedom(first, second);
        // Values that never vary are equal or different; there is nothing to doubt.
        let t = if difference == 0.0 { 0.0 } else { difference / error };
        Self { difference, error, t, freedom, p: student::two_sided(t, freedom) }
    }

    /// Where the difference lies with a confidence of `level`, for example 0.95.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let margin = if self.error == 0.0 { 0.0 } else { student::critical(level, self.freedom) * self.error };
        (self.difference - margin, self.difference + margin)
    }
}

/// Degrees of freedom of a difference, by Welch and Satterthwaite.
fn freedom(first: Estimate, second: Estimate) -> f64 {
    let largest = first.error.max(second.error);
    if largest == 0.0 {
        return first.freedom + second.freedom;
    }
    if largest == f64::INFINITY {
        return first.freedom.min(second.freedom);
    }
    // Relative to the larger one: the fourth power of a small number is zero.
    let (a, b) = ((first.error / largest).powi(2), (second.error / largest).powi(2));
    (a + b) * (a + b) / (a * a / first.freedom + b * b / second.freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_never_vary_are_equal_or_different() {
        let same = Welch::of_samples(&[3.0; 4], &[3.0; 5]).unwrap();
        assert_eq!((same.p, same.interval(0.95)), (1.0, (0.0, 0.0)));
        let other = Welch::of_samples(&[3.0; 4], &[4.0; 5]).unwrap();
        assert_eq!((other.p, other.interval(0.95)), (0.0, (1.0, 1.0)));
    }

    #[test]
    fn a_single_value_is_too_little() {
        assert_eq!(Welch::of_samples(&[3.0], &[3.0, 4.0]), None);
        assert_eq!(Welch::of_samples(&[], &[3.0, 4.0]), None);
    }

    proptest! {
        #[test]
        fn the_interval_leaves_out_zero_exactly_when_p_is_small(
            first in prop::collection::vec(-10.0f64..10.0, 2..20),
            second in prop::collection::vec(-9.0f64..12.0, 2..20),
        ) {
            let test = Welch::of_samples(&first, &second).unwrap();
            let (low, high) = test.interval(0.95);
            prop_assume!((test.p - 0.05).abs() > 1e-9);
            prop_assert_eq!(test.p < 0.05, low > 0.0 || high < 0.0);
        }

        #[test]
        fn sides_may_be_exchanged(
            first in prop::collection::vec(-10.0f64..10.0, 2..20),
            second in prop::collection::vec(-9.0f64..12.0, 2..20),
        ) {
            let (one, other) = (Welch::of_samples(&first, &second).unwrap(), Welch::of_samples(&second, &first).unwrap());
            prop_assert_eq!(one.difference, -other.difference);
            prop_assert!((one.p - other.p).abs() <= 1e-12);
            let least = (first.len().min(second.len()) - 1) as f64;
            prop_assert!(one.freedom >= least * 0.999_999);
            prop_assert!(one.freedom <= (first.len() + second.len() - 2) as f64 * 1.000_001);
        }
    }
}
