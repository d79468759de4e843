//! How well the mean of a series is known when its values are not independent.
//!
//! A request that waits behind a long one is long too, so records of a run show less than as many independent ones: the
//! variance of their mean is not variance / n but long-run variance / n, the sum of all autocovariances. A block bootstrap
//! finds it by drawing blocks of neighbours again and again. For a mean there is no need to draw: over all draws of
//! circular blocks of length L its variance is the sum of autocovariances weighted 1 - k/L (Bartlett's weights). That is
//! what is computed here, exactly and in one pass:
//! - the block length follows the autocorrelation, by the rule of Politis and White ("Automatic Block-Length Selection for
//!   the Dependent Bootstrap", 2004, with Patton's correction of 2009), but is never below a few correlation times;
//! - blocks of any length see too little of the correlation; the leading error is the same in blocks of half the length,
//!   so twice the one less the other is free of it;
//! - what is lost by measuring from the series' own mean is given back;
//! - degrees of freedom measure how well the variance itself is known; Student's t makes up for them.
//!
//! Long series are first cut into [`MOST_STEPS`] runs of neighbours, whose means have the same long-run variance.

/// Steps that a longer series is cut into. Past a few thousand, more of them add nothing about its variance.
const MOST_STEPS: usize = 4096;
/// Steps of the widest kind in which correlation is looked for.
const FEWEST_STEPS: usize = 48;
/// Standard errors by which neighbours among wide steps must be correlated before they count.
const PLAIN: f64 = 3.0;
/// A block is at least so many correlation times long: then the error of [`long_run_variance`] is small.
const TIMES: f64 = 4.0;

/// The fewest effective values from which a mean is known well enough for a verdict.
pub const FEWEST_EFFECTIVE: f64 = 30.0;
/// The fewest blocks, likewise.
pub const FEWEST_BLOCKS: f64 = 8.0;

/// The mean of a series, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRun {
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Degrees of freedom with which the error is known.
    pub freedom: f64,
    /// Independent values that would give the mean as well.
    pub effective: f64,
    /// Blocks that the series holds; a block is several correlation times long.
    pub blocks: f64,
}

impl LongRun {
    /// Of values in the order of time, in blocks that are at least `least` of the whole long.
    pub fn of(values: impl ExactSizeIterator<Item = f64>, least: f64) -> Self {
        let count = values.len();
        let series = Steps::of(values);
        if series.means.len() < 4 || series.variance == 0.0 {
            let freedom = (count as f64 - 1.0).max(1.0);
            let error = if count < 2 { f64::INFINITY } else { (series.variance / count as f64).sqrt() };
            return Self { mean: series.mean, error, freedom, effective: count as f64, blocks: count as f64 };
        }
        let steps = series.means.len() as f64;
        let mut covariances = Covariances::of(series.means);
        let length = block_length(&mut covariances).max(least * steps).min(steps / 3.0);
        let long_run = long_run_variance(&mut covariances, length);
        let blocks = steps / length;
        Self {
            mean: series.mean,
            error: (long_run / steps).sqrt(),
            freedom: (0.75 * blocks).max(1.0),
            effective: (series.variance / (long_run / steps)).min(count as f64),
            blocks,
        }
    }

    /// Whether the data suffice for a verdict.
    pub fn is_enough(&self) -> bool {
        self.effective >= FEWEST_EFFECTIVE && self.blocks >= FEWEST_BLOCKS
    }
}

/// A series as the means of at most [`MOST_STEPS`] runs of neighbours, less the mean of all.
struct Steps {
    mean: f64,
    /// Of single values.
    variance: f64,
    means: Vec<f64>,
}

impl Steps {
    fn of(values: impl ExactSizeIterator<Item = f64>) -> Self {
        let count = values.len();
        let width = count.div_ceil(MOST_STEPS).max(1);
        let mut means = Vec::with_capacity(count / width);
        // Sums of squares around the first value: around zero they would cancel where values lie far from it.
        let (mut origin, mut sum, mut squares) = (None, 0.0, 0.0);
        let (mut step, mut in_step) = (0.0, 0);
        for value in values {
            let value = value - *origin.get_or_insert(value);
            sum += value;
            squares += value * value;
            step += value;
            in_step += 1;
            if in_step == width {
                means.push(step / width as f64);
                (step, in_step) = (0.0, 0);
            }
        }
        let n = count as f64;
        let variance = if count < 2 { 0.0 } else { ((squares - sum * sum / n) / (n - 1.0)).max(0.0) };
        let middle = means.iter().sum::<f64>() / means.len().max(1) as f64;
        means.iter_mut().for_each(|mean| *mean -= middle);
        Self { mean: origin.unwrap_or(f64::NAN) + sum / n, variance, means }
    }
}

/// Autocovariances of a series around zero, each computed when it is first asked for.
struct Covariances {
    series: Vec<f64>,
    known: Vec<f64>,
}

impl Covariances {
    fn of(series: Vec<f64>) -> Self {
        Self { series, known: Vec::new() }
    }

    fn at(&mut self, lag: usize) -> f64 {
        while self.known.len() <= lag {
            let later = &self.series[self.known.len()..];
            // Several sums at once, because each would wait for its last addition.
            let mut sums = [0.0; 8];
            let (first, second) = (self.series[..later.len()].chunks_exact(8), later.chunks_exact(8));
            let rest = first.remainder().iter().zip(second.remainder()).map(|(a, b)| a * b).sum::<f64>();
            for (a, b) in first.zip(second) {
                for i in 0..8 {
                    sums[i] += a[i] * b[i];
                }
            }
            self.known.push((sums.iter().sum::<f64>() + rest) / self.series.len() as f64);
        }
        self.known[lag]
    }

    fn len(&self) -> usize {
        self.series.len()
    }

    /// The same series in steps twice as wide.
    fn halved(&self) -> Self {
        Self::of(self.series.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect())
    }
}

/// The length of blocks, in steps: the longest that the series asks for, seen in steps of its own and ever wider ones. A
/// correlation that is weak but long is lost in the noise of single steps, and plain to see in wide ones.
fn block_length(covariances: &mut Covariances) -> f64 {
    let steps = covariances.len() as f64;
    let mut length = block_length_at(covariances).unwrap_or(1.0);
    let mut width = 2.0;
    let mut wide = covariances.halved();
    while wide.len() >= FEWEST_STEPS {
        let plain = PLAIN / (wide.len() as f64).sqrt() * wide.at(0);
        if wide.at(1) > plain
            && let Some(found) = block_length_at(&mut wide)
        {
            length = length.max(width * found);
        }
        wide = wide.halved();
        width *= 2.0;
    }
    length.min(steps / 3.0)
}

/// The length of blocks by one width of steps; none where neighbours are independent as far as can be seen.
fn block_length_at(covariances: &mut Covariances) -> Option<f64> {
    let steps = covariances.len() as f64;
    let variance = covariances.at(0);
    if variance <= 0.0 {
        return None;
    }
    let insignificant = 2.0 * (steps.log10() / steps).sqrt() * variance;
    let quiet = (steps.log10() as usize).max(5);
    // The last lag before so many insignificant ones.
    let most = covariances.len() / 3;
    let (mut last, mut lag) = (0, 1);
    while lag <= last + quiet && lag <= most {
        if covariances.at(lag).abs() >= insignificant {
            last = lag;
        }
        lag += 1;
    }
    if last == 0 {
        return None;
    }
    let window = (2 * last).min(most);
    let (mut total, mut moment) = (variance, 0.0);
    for lag in 1..=window {
        let weighted = 2.0 * (2.0 * (1.0 - lag as f64 / window as f64)).min(1.0) * covariances.at(lag);
        total += weighted;
        moment += weighted * lag as f64;
    }
    let total = total.max(variance / 10.0);
    let politis_white = (1.5 * (moment / total).powi(2) * steps).cbrt();
    Some(politis_white.max(TIMES * total / variance).max(1.0))
}

/// The sum of all autocovariances, from blocks of `length` and of half of it.
fn long_run_variance(covariances: &mut Covariances, length: f64) -> f64 {
    let steps = covariances.len() as f64;
    let mut weighted = |weight: fn(f64) -> f64| {
        let (mut sum, mut weights) = (covariances.at(0), 1.0);
        for lag in 1..length.ceil() as usize {
            let weight = weight(lag as f64 / length);
            sum += 2.0 * weight * covariances.at(lag);
            weights += 2.0 * weight;
        }
        // What is lost by measuring from the series' own mean.
        sum / (1.0 - weights / steps)
    };
    let blocks = weighted(|share| 1.0 - share);
    let corrected = weighted(|share| (2.0 * (1.0 - share)).min(1.0));
    blocks.max(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    /// Of variance one; each value keeps a share of the last.
    fn autoregressive(count: usize, carried: f64, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut state = 0.0;
        let mut next = || {
            let fresh: f64 = StandardNormal.sample(&mut random);
            state = carried * state + (1.0 - carried * carried).sqrt() * fresh;
            state
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_error_of_a_mean_grows_with_correlation_as_in_theory() {
        for (carried, count) in [(0.0, 1000), (0.5, 4000), (0.9, 30_000), (0.98, 100_000)] {
            let expected = ((1.0 + carried) / (1.0 - carried) / count as f64).sqrt();
            let errors = (0..40).map(|seed| LongRun::of(autoregressive(count, carried, seed).into_iter(), 0.0).error);
            let error = errors.sum::<f64>() / 40.0;
            assert!((error / expected - 1.0).abs() < 0.08, "{carried}: {error}, not {expected}");
        }
    }

    #[test]
    fn independent_values_are_worth_their_number() {
        let known = LongRun::of(autoregressive(3000, 0.0, 1).into_iter(), 0.0);
        assert!(known.effective > 2500.0 && known.blocks > 500.0, "{known:?}");
    }

    #[test]
    fn a_weak_correlation_over_hundreds_of_values_is_seen() {
        let slow = autoregressive(20_000, 0.995, 1);
        let values = slow.iter().zip(autoregressive(20_000, 0.0, 2)).map(|(slow, noise)| 0.2 * slow + noise);
        let known = LongRun::of(values.collect::<Vec<_>>().into_iter(), 0.0);
        assert!(known.effective < 4000.0, "{known:?}");
    }

    #[test]
    fn a_single_value_is_too_little() {
        let known = LongRun::of([3.0].into_iter(), 0.0);
        assert_eq!((known.mean, known.error), (3.0, f64::INFINITY));
    }

    proptest! {
        #[test]
        fn a_scale_carries_over(values in prop::collection::vec(-5i32..5, 2..300), shift in -1000i32..1000) {
            let plain = LongRun::of(values.iter().map(|&value| f64::from(value)), 0.0);
            let moved = LongRun::of(values.iter().map(|&value| f64::from(shift + 4 * value)), 0.0);
            prop_assert!((moved.error - 4.0 * plain.error).abs() <= 1e-9 * plain.error);
            prop_assert!((moved.mean - 4.0 * plain.mean - f64::from(shift)).abs() < 1e-9);
            prop_assert!(plain.error >= 0.0 && plain.effective <= values.len() as f64);
        }
    }
}
