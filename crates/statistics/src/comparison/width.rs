//! The relative half-width of an interval: how exactly a statistic is known, as a share of its value.
//!
//! A rule that ends a run at some width needs a steady one. The two ends of a percentile's [interval](Series::interval)
//! are single values of the run. At p99 of 5,000 values the width varies by 18% from run to run, so the number of values
//! at which it reaches a limit would vary by a third. So the width of a percentile is that of a line instead: the
//! logarithm of the percentiles around it against the log-odds of their shares, which is nearly straight for latencies.
//! Its width varies by 10%. Where the percentiles make a jump, a line fits badly. So the width is never less than
//! [`LEAST_OF_OWN`] of the interval's own.

use super::percentile::Percentile;
use super::series::Series;
use super::verdict::Statistic;
use crate::student;

/// How far the line reaches to both sides, in log-odds: at p99, from p95.2 to p99.80.
const REACH: f64 = 1.6;
/// Points on each side of the percentile.
const POINTS: i32 = 20;
/// The least part of the interval's own half-width that counts.
const LEAST_OF_OWN: f64 = 2.0 / 3.0;

impl Series {
    /// Half the width of the interval of a statistic, as a share of its value. `None` if there are too few values for an
    /// interval that can be trusted.
    pub fn relative_half_width(&self, statistic: Statistic, level: f64) -> Option<f64> {
        let interval = self.interval(statistic, level).filter(|interval| interval.is_enough)?;
        let own = |value: f64| relative((interval.high - interval.low) / 2.0, value);
        let width = match statistic {
            Statistic::Mean => own(self.mean().mean),
            Statistic::Percentile(percent) => {
                let percentile = self.percentile(percent / 100.0)?;
                let own = own(percentile.value);
                percentile.fitted_half_width(level).map_or(own, |fitted| fitted.max(LEAST_OF_OWN * own))
            }
        };
        width.is_finite().then_some(width)
    }
}

/// Zero of zero is zero: values that never vary are known exactly.
fn relative(half: f64, value: f64) -> f64 {
    if half == 0.0 { 0.0 } else { half / value.abs() }
}

impl Percentile<'_> {
    /// The half-width by the line through the percentiles around it. `None` unless all of them are positive.
    fn fitted_half_width(&self, level: f64) -> Option<f64> {
        let own = (self.share / (1.0 - self.share)).ln();
        let (mut products, mut squares) = (0.0, 0.0);
        for point in -POINTS..=POINTS {
            let place = f64::from(point) / f64::from(POINTS + 1);
            let share = 1.0 / (1.0 + (-own - place * REACH).exp());
            let value = self.values.at_share(share).filter(|value| *value > 0.0)?;
            // Points count less the farther away they are. They lie evenly, so the means of both axes do not matter.
            let weight = 1.0 - place * place;
            products += weight * place * value.ln();
            squares += weight * place * place;
        }
        let slope = products / squares / REACH;
        let margin = student::critical(level, self.known.freedom) * self.known.error;
        Some(margin / (self.share * (1.0 - self.share)) * slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Exp1};

    const MEDIAN: Statistic = Statistic::Percentile(50.0);
    const P99: Statistic = Statistic::Percentile(99.0);

    fn exponential(count: usize, shift: f64) -> Series {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        Series::new((0..count).map(|_| -> f64 { Exp1.sample(&mut random) }).map(|value| value + shift).collect())
    }

    #[test]
    fn the_width_is_that_of_theory() {
        let series = exponential(20_000, 0.0);
        // Standard errors of an exponential sample: 1/sqrt(n), and sqrt(p / (1 - p) / n) of a percentile.
        let root = 20_000_f64.sqrt();
        for (statistic, of_one) in
            [(Statistic::Mean, 1.0), (MEDIAN, 1.0 / std::f64::consts::LN_2), (P99, 99_f64.sqrt() / 100_f64.ln())]
        {
            let width = series.relative_half_width(statistic, 0.95).unwrap();
            let expected = 1.96 * of_one / root;
            assert!((width / expected - 1.0).abs() < 0.12, "{statistic:?}: {width}, not {expected}");
        }
    }

    #[test]
    fn too_few_values_have_no_width() {
        assert_eq!(exponential(900, 0.0).relative_half_width(P99, 0.95), None);
        assert!(exponential(900, 0.0).relative_half_width(MEDIAN, 0.95).is_some());
        assert_eq!(Series::new(Vec::new()).relative_half_width(Statistic::Mean, 0.95), None);
    }

    #[test]
    fn values_that_never_vary_have_no_width_to_speak_of() {
        for value in [5.0, 0.0] {
            let series = Series::new(vec![value; 2000]);
            assert_eq!(series.relative_half_width(Statistic::Mean, 0.95), Some(0.0));
            assert_eq!(series.relative_half_width(P99, 0.95), Some(0.0));
        }
    }

    #[test]
    fn values_around_zero_have_the_width_of_their_interval() {
        let series = exponential(2000, -0.5);
        let interval = series.interval(MEDIAN, 0.95).unwrap();
        let value = series.percentile(0.5).unwrap().value;
        let width = series.relative_half_width(MEDIAN, 0.95).unwrap();
        assert!((width - (interval.high - interval.low) / 2.0 / value).abs() < 1e-12);
    }

    #[test]
    fn a_jump_at_the_percentile_is_no_narrower_than_its_interval_allows() {
        // One value in a hundred is a hundred times as long: the interval of p99 spans both kinds.
        let series = Series::new((0..4000).map(|n| if n * 7919 % 100 == 0 { 100.0 } else { 1.0 }).collect());
        let interval = series.interval(P99, 0.95).unwrap();
        let value = series.percentile(0.99).unwrap().value;
        let own = (interval.high - interval.low) / 2.0 / value;
        assert!(series.relative_half_width(P99, 0.95).unwrap() >= LEAST_OF_OWN * own - 1e-12);
    }

    #[test]
    fn the_width_of_a_percentile_varies_half_as_much_as_its_interval() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let widths = |of: &mut dyn FnMut(&Series) -> f64| {
            let all: Vec<f64> = (0..200)
                .map(|_| of(&Series::new((0..5000).map(|_| -> f64 { Exp1.sample(&mut random) }).collect())).ln())
                .collect();
            let mean = all.iter().sum::<f64>() / 200.0;
            (all.iter().map(|width| (width - mean).powi(2)).sum::<f64>() / 200.0).sqrt()
        };
        let mut widths = widths;
        let fitted = widths(&mut |series| series.relative_half_width(P99, 0.95).unwrap());
        let own = widths(&mut |series| {
            let interval = series.interval(P99, 0.95).unwrap();
            interval.high - interval.low
        });
        println!("fitted {fitted:.3}, own {own:.3}");
        assert!(fitted < 0.6 * own, "{fitted} of {own}");
    }
}
