//! What many numbers have in common.

/// A quantile of sorted numbers, between its neighbours where it falls between them.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor(), at.fract());
    let (a, b) = (sorted[low as usize], sorted[at.ceil() as usize]);
    // From the nearer neighbour, which is how numpy rounds.
    if part >= 0.5 { b - (b - a) * (1.0 - part) } else { a + (b - a) * part }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The deviation of all there are, not of a sample.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// A number with so many digits after the point, as it is written with them.
pub(super) fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().unwrap_or(value)
}
