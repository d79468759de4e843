//! Lognormally distributed numbers.

use aiperf_plan::dataset::distribution::log_parameters;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};

/// Draws outside the limits are repeated, at most this often.
const TRIES: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lognormal {
    pub(super) mu: f64,
    pub(super) sigma: f64,
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

impl Lognormal {
    pub(super) fn new(mean: f64, median: f64) -> Self {
        let (mu, sigma) = log_parameters(mean, median);
        Self { mu, sigma, mean, median, min: None, max: None }
    }

    pub(super) fn draw(&self, rng: &mut impl Rng) -> f64 {
        let (min, max) = (self.min.unwrap_or(0.0), self.max.unwrap_or(f64::MAX));
        let mut drawn = 0.0;
        for _ in 0..TRIES {
            let normal: f64 = StandardNormal.sample(rng);
            drawn = (self.mu + self.sigma * normal).exp();
            if (min..=max).contains(&drawn) {
                return drawn;
            }
        }
        drawn.clamp(min, max)
    }

    /// The number at this many standard deviations from the median, within the limits.
    pub(super) fn at(&self, deviations: f64) -> f64 {
        let value = (self.mu + self.sigma * deviations).exp();
        value.clamp(self.min.unwrap_or(0.0), self.max.unwrap_or(f64::MAX))
    }

    pub(super) fn json(&self) -> Value {
        let Self { mu, sigma, mean, median, min, max } = self;
        json!({"mu": mu, "sigma": sigma, "mean": mean, "median": median, "min": min, "max": max})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::kinds::datasets::LOGNORMAL;
    use aiperf_plan::Draws;

    #[test]
    fn golden_parameters_follow_from_mean_and_median() {
        LOGNORMAL.run(
            |_| None,
            |case| {
                let number = |name: &str| case[name].as_f64().unwrap();
                let found = Lognormal::new(number("lognormal_mean"), number("lognormal_median"));
                assert!((found.mu - number("mu")).abs() < 1e-12, "{found:?}");
                assert!((found.sigma - number("sigma")).abs() < 1e-12, "{found:?}");
            },
        );
    }

    #[test]
    fn draws_have_the_mean_and_stay_within_the_limits() {
        let purpose = Draws::new(Some(3), "").purpose("lognormal");
        let open = Lognormal::new(500.0, 300.0);
        let mean = (0..20_000).map(|index| open.draw(&mut purpose.at(index))).sum::<f64>() / 20_000.0;
        assert!((mean / 500.0 - 1.0).abs() < 0.05, "{mean}");
        let limited = Lognormal { min: Some(1e6), max: Some(2e6), ..open };
        assert!((0..100).all(|index| (1e6..=2e6).contains(&limited.draw(&mut purpose.at(index)))));
    }
}
