//! Lengths drawn around a mean.

use aiperf_plan::Length;
use rand::Rng;
use rand_distr::{Distribution, Normal};

/// Draws below zero are drawn again, at most so often: a mean far below zero must not hang a run.
const TRIES: u32 = 10_000;

/// A length of at least 1: the mean itself without a deviation, else a normal draw rounded up.
pub(crate) fn draw(length: Length, rng: &mut impl Rng) -> usize {
    let mean = length.mean.trunc();
    let fixed = mean.max(1.0) as usize;
    if length.stddev <= 0.0 {
        return fixed;
    }
    let Ok(normal) = Normal::new(mean, length.stddev) else { return fixed };
    (0..TRIES)
        .map(|_| normal.sample(rng))
        .find(|drawn| *drawn >= 0.0)
        .map_or(fixed, |drawn| (drawn.ceil() as usize).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::Draws;

    fn lengths(mean: f64, stddev: f64, count: u64) -> Vec<f64> {
        let purpose = Draws::new(Some(11), "").purpose("length");
        (0..count).map(|index| draw(Length { mean, stddev }, &mut purpose.at(index)) as f64).collect()
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
}
