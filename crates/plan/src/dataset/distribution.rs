//! Random numbers: lengths in tokens, turns, delays, sizes.

use serde::{Deserialize, Serialize};

/// A random number, within limits if it has any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub shape: Shape,
    /// The least value of a draw.
    pub min: Option<f64>,
    /// The largest value of a draw.
    pub max: Option<f64>,
}

/// The shape of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Always the same.
    Fixed(f64),
    Normal {
        mean: f64,
        stddev: f64,
    },
    Lognormal {
        mean: f64,
        median: f64,
    },
    /// One of several distributions, by their weights.
    Multimodal(Vec<Weighted<Distribution>>),
    /// One of several values, by their weights.
    Empirical(Vec<Weighted<f64>>),
}

/// An item that is picked by its weight among others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighted<T> {
    pub item: T,
    pub weight: f64,
}

impl Distribution {
    /// The distance from the mean, in deviations, that only one in 500 million normal draws exceeds.
    pub const FAR: f64 = 6.0;

    pub const fn fixed(value: f64) -> Self {
        Self { shape: Shape::Fixed(value), min: None, max: None }
    }

    pub const fn normal(mean: f64, stddev: f64) -> Self {
        Self { shape: Shape::Normal { mean, stddev }, min: None, max: None }
    }

    /// The mean of draws, moved into the limits.
    pub fn mean(&self) -> f64 {
        self.within(match &self.shape {
            Shape::Fixed(value) => *value,
            Shape::Normal { mean, .. } | Shape::Lognormal { mean, .. } => *mean,
            Shape::Multimodal(peaks) => weighted(peaks, Self::mean),
            Shape::Empirical(points) => weighted(points, |value| *value),
        })
    }

    /// The largest draw that can be expected.
    pub fn largest(&self) -> f64 {
        self.within(match &self.shape {
            Shape::Fixed(value) => *value,
            Shape::Normal { mean, stddev } => mean + Self::FAR * stddev,
            Shape::Lognormal { mean, median } => {
                let (mu, sigma) = log_parameters(*mean, *median);
                (mu + Self::FAR * sigma).exp()
            }
            Shape::Multimodal(peaks) => peaks.iter().map(|peak| peak.item.largest()).fold(0.0, f64::max),
            Shape::Empirical(points) => points.iter().map(|point| point.item).fold(0.0, f64::max),
        })
    }

    /// Whether every draw is the same.
    pub fn is_fixed(&self) -> bool {
        match &self.shape {
            Shape::Fixed(_) => true,
            Shape::Normal { stddev, .. } => *stddev <= 0.0,
            Shape::Lognormal { mean, median } => mean <= median,
            Shape::Multimodal(_) | Shape::Empirical(_) => false,
        }
    }

    /// The nearest value within the limits.
    pub fn within(&self, value: f64) -> f64 {
        value.max(self.min.unwrap_or(f64::NEG_INFINITY)).min(self.max.unwrap_or(f64::INFINITY))
    }
}

/// Mean and deviation of the logarithm of a lognormal draw.
pub fn log_parameters(mean: f64, median: f64) -> (f64, f64) {
    (median.ln(), (2.0 * (mean / median).ln()).max(0.0).sqrt())
}

pub(super) fn weighted<T>(items: &[Weighted<T>], value: impl Fn(&T) -> f64) -> f64 {
    let total: f64 = items.iter().map(|item| item.weight).sum();
    items.iter().map(|item| value(&item.item) * item.weight).sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_extremes_follow_the_shape() {
        let of = |shape| Distribution { shape, min: None, max: None };
        assert_eq!(Distribution::fixed(7.0).mean(), 7.0);
        assert_eq!(Distribution::normal(100.0, 10.0).largest(), 160.0);
        let lognormal = of(Shape::Lognormal { mean: 3500.0, median: 1800.0 });
        assert_eq!(lognormal.mean(), 3500.0);
        assert!(lognormal.largest() > 100_000.0);
        let points = |pairs: &[(f64, f64)]| pairs.iter().map(|&(item, weight)| Weighted { item, weight }).collect();
        let empirical = of(Shape::Empirical(points(&[(10.0, 3.0), (50.0, 1.0)])));
        assert_eq!((empirical.mean(), empirical.largest()), (20.0, 50.0));
        let peak = |mean, weight| Weighted { item: Distribution::normal(mean, 1.0), weight };
        let peaks = of(Shape::Multimodal(vec![peak(10.0, 1.0), peak(30.0, 1.0)]));
        assert_eq!((peaks.mean(), peaks.largest()), (20.0, 36.0));
    }

    #[test]
    fn limits_hold_for_means_and_extremes() {
        let limited = Distribution { min: Some(5.0), max: Some(8.0), ..Distribution::normal(100.0, 10.0) };
        assert_eq!((limited.mean(), limited.largest(), limited.within(1.0)), (8.0, 8.0, 5.0));
    }
}
