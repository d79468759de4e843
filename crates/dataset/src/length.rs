//! Numbers drawn from distributions.

use aiperf_plan::dataset::distribution::{Shape, Weighted, log_parameters};
use aiperf_plan::{Distribution, PairedLengths, Window};
use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, LogNormal, Normal};

/// Draws below zero are repeated, at most this often: a mean far below zero must not hang a run.
const TRIES: u32 = 10_000;

/// A length of at least 1: the mean if there is no deviation, otherwise a draw, rounded up.
pub(crate) fn draw(length: &Distribution, rng: &mut impl Rng) -> usize {
    let drawn = match &length.shape {
        Shape::Fixed(value) => value.trunc(),
        Shape::Normal { mean, stddev } => normal(mean.trunc(), *stddev, 0.0, rng).ceil(),
        _ => sample(length, 0.0, rng).ceil(),
    };
    (length.within(drawn) as usize).max(1)
}

/// Input and output length of a turn. The input may be 0 if its window begins at 0.
pub(crate) fn draw_pair(pairs: &PairedLengths, rng: &mut impl Rng) -> (usize, usize) {
    match pairs {
        PairedLengths::Mix(pairs) => {
            let pair = pick(pairs, rng);
            (draw(&pair.input, rng), draw(&pair.output, rng))
        }
        PairedLengths::Windows { input, output } => (within(*input, rng), within(*output, rng)),
    }
}

fn within(Window { least, most }: Window, rng: &mut impl Rng) -> usize {
    rng.random_range(least..=most.max(least)) as usize
}

/// A number of at least `least`, not rounded.
pub(crate) fn sample(of: &Distribution, least: f64, rng: &mut impl Rng) -> f64 {
    of.within(match &of.shape {
        Shape::Fixed(value) => value.max(least),
        Shape::Normal { mean, stddev } => normal(*mean, *stddev, least, rng),
        Shape::Lognormal { mean, median } => {
            let (mu, sigma) = log_parameters(*mean, *median);
            LogNormal::new(mu, sigma).map_or(*mean, |lognormal| lognormal.sample(rng)).max(least)
        }
        Shape::Multimodal(peaks) => sample(pick(peaks, rng), least, rng),
        Shape::Empirical(points) => pick(points, rng).max(least),
    })
}

fn normal(mean: f64, stddev: f64, least: f64, rng: &mut impl Rng) -> f64 {
    let fixed = mean.max(least);
    if stddev <= 0.0 {
        return fixed;
    }
    let Ok(normal) = Normal::new(mean, stddev) else { return fixed };
    (0..TRIES).map(|_| normal.sample(rng)).find(|drawn| *drawn >= least).unwrap_or(fixed)
}

fn pick<'a, T>(items: &'a [Weighted<T>], rng: &mut impl Rng) -> &'a T {
    let total: f64 = items.iter().map(|item| item.weight).sum();
    let mut left = rng.random::<f64>() * total;
    let found = items.iter().find(|item| {
        left -= item.weight;
        left < 0.0
    });
    &found.unwrap_or(&items[items.len() - 1]).item
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::Draws;

    fn lengths(mean: f64, stddev: f64, count: u64) -> Vec<f64> {
        let purpose = Draws::new(Some(11), "").purpose("length");
        (0..count).map(|index| draw(&Distribution::normal(mean, stddev), &mut purpose.at(index)) as f64).collect()
    }

    #[test]
    fn without_a_deviation_every_length_is_the_mean() {
        assert!(lengths(550.0, 0.0, 100).iter().all(|length| *length == 550.0));
        assert!(lengths(550.9, 0.0, 10).iter().all(|length| *length == 550.0));
    }

    #[test]
    fn drawn_lengths_have_the_mean_and_deviation_asked_for() {
        let drawn = lengths(550.0, 60.0, 20_000);
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / (drawn.len() - 1) as f64;
        assert!((mean - 550.5).abs() < 2.0, "{mean}");
        assert!((variance.sqrt() - 60.0).abs() < 1.5, "{}", variance.sqrt());
    }

    #[test]
    fn a_deviation_below_one_is_not_lost() {
        let drawn = lengths(100.0, 0.9, 1000);
        assert!(drawn.iter().any(|length| *length != drawn[0]));
    }

    #[test]
    fn no_length_is_below_one() {
        assert!(lengths(1.0, 50.0, 5_000).iter().all(|length| *length >= 1.0));
        assert!(lengths(-1e9, 1.0, 3).iter().all(|length| *length == 1.0));
    }

    #[test]
    fn every_shape_draws_around_its_mean_and_within_its_limits() {
        let points = [(10.0, 1.0), (200.0, 3.0)].map(|(item, weight)| Weighted { item, weight }).to_vec();
        let peaks = [(100.0, 1.0), (500.0, 1.0)]
            .map(|(mean, weight)| Weighted { item: Distribution::normal(mean, 20.0), weight })
            .to_vec();
        for (shape, mean) in [
            (Shape::Lognormal { mean: 350.0, median: 180.0 }, 350.0),
            (Shape::Multimodal(peaks), 300.0),
            (Shape::Empirical(points), 152.5),
        ] {
            let of = Distribution { shape, min: None, max: None };
            let purpose = Draws::new(Some(11), "").purpose("length");
            let drawn: Vec<f64> = (0..40_000).map(|index| draw(&of, &mut purpose.at(index)) as f64).collect();
            let found = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.03, "{of:?}: {found}");
            let limited = Distribution { min: Some(90.0), max: Some(150.0), ..of };
            let drawn = (0..1000).map(|index| draw(&limited, &mut purpose.at(index)));
            assert!(drawn.into_iter().all(|length| (90..=150).contains(&length)), "{limited:?}");
        }
    }
}
