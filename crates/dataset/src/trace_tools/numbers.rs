//! Statistics of numbers.

/// A quantile of sorted numbers, interpolated between neighbours.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor(), at.fract());
    let (a, b) = (sorted[low as usize], sorted[at.ceil() as usize]);
    // From the nearer neighbour, as numpy rounds.
    if part >= 0.5 { b - (b - a) * (1.0 - part) } else { a + (b - a) * part }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The deviation of a population, not of a sample.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// A number rounded to `digits` decimals, as its text has them.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().unwrap_or(value)
}
