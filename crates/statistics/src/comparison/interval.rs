//! The interval of a statistic: where its true value lies.
//!
//! A run is a sample of what the server does. [`Series::interval`] gives the interval that contains the true mean or
//! percentile at a level such as 0.95. That of the mean is Student's. That of a percentile lies between two values of the
//! run (see `percentile`): it needs no assumption about the distribution, and its upper end may lie past the last value.

use super::series::Series;
use super::verdict::Statistic;
use crate::student;

/// Where the true value of a statistic lies. An end is infinite where the data do not bound it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Values of the run.
    pub count: u64,
    /// Independent values with as much information.
    pub effective: f64,
    /// Whether the data suffice for the interval to be trusted.
    pub is_enough: bool,
}

impl Series {
    /// The interval of a statistic at a level such as 0.95. `None` if there are no values.
    pub fn interval(&self, statistic: Statistic, level: f64) -> Option<Interval> {
        if self.is_empty() {
            return None;
        }
        let count = self.len() as u64;
        Some(match statistic {
            Statistic::Mean => {
                let mean = self.mean();
                let margin = student::critical(level, mean.freedom) * mean.error;
                Interval {
                    low: mean.mean - margin,
                    high: mean.mean + margin,
                    count,
                    effective: mean.effective,
                    is_enough: mean.is_enough(),
                }
            }
            Statistic::Percentile(percent) => {
                let percentile = self.percentile(percent / 100.0)?;
                let (below, above) = percentile.reach(student::critical(level, percentile.known.freedom));
                Interval {
                    low: percentile.value - below,
                    high: percentile.value + above,
                    count,
                    effective: percentile.known.effective,
                    is_enough: percentile.is_enough(),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Exp1};

    const P99: Statistic = Statistic::Percentile(99.0);

    fn exponential(count: usize) -> Series {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        Series::new((0..count).map(|_| Exp1.sample(&mut random)).collect())
    }

    #[test]
    fn a_percentile_without_enough_values_has_no_upper_end() {
        let interval = exponential(60).interval(P99, 0.95).unwrap();
        assert!(interval.low.is_finite() && interval.high == f64::INFINITY && !interval.is_enough, "{interval:?}");
        let interval = exponential(5000).interval(P99, 0.95).unwrap();
        assert!(interval.low < 4.605 && 4.605 < interval.high && interval.is_enough, "{interval:?}");
    }

    #[test]
    fn four_times_the_values_halve_the_interval() {
        for statistic in [Statistic::Mean, Statistic::Percentile(50.0), P99] {
            let width = |count| {
                let interval = exponential(count).interval(statistic, 0.95).unwrap();
                interval.high - interval.low
            };
            let ratio = width(5000) / width(20_000);
            assert!((1.5..2.6).contains(&ratio), "{statistic:?}: {ratio}");
        }
    }

    #[test]
    fn values_that_never_vary_are_known_exactly() {
        let series = Series::new(vec![5.0; 2000]);
        for statistic in [Statistic::Mean, P99] {
            let interval = series.interval(statistic, 0.95).unwrap();
            assert_eq!((interval.low, interval.high, interval.count), (5.0, 5.0, 2000));
        }
        assert_eq!(Series::new(Vec::new()).interval(Statistic::Mean, 0.95), None);
    }
}
