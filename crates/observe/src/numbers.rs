//! Sums, deviations and percentiles of plain numbers.

use aiperf_types::stats::PERCENTILES;

/// Pairwise summation, in blocks of eight: as exact as addition can be, and bit for bit the result of numpy, whose sums
/// were recorded.
pub fn sum(values: &[f64]) -> f64 {
    let count = values.len();
    if count < 8 {
        return values.iter().fold(0.0, |sum, value| sum + value);
    }
    if count <= 128 {
        let (blocks, rest) = values.as_chunks::<8>();
        let mut partial = [0.0; 8];
        for block in blocks {
            partial.iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
        }
        let [a, b, c, d, e, f, g, h] = partial;
        let blocks = ((a + b) + (c + d)) + ((e + f) + (g + h));
        return rest.iter().fold(blocks, |sum, value| sum + value);
    }
    let half = count / 2;
    let (first, second) = values.split_at(half - half % 8);
    sum(first) + sum(second)
}

/// The arithmetic mean; zero if empty.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { sum(values) / values.len() as f64 }
}

/// Of a sample (divisor n - 1); zero for a single value.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - mean) * (value - mean)).collect();
    (sum(&squares) / (values.len() - 1) as f64).sqrt()
}

pub fn least_and_most(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)))
}

/// The nine percentiles, interpolated between neighbours. Sorts the values; `None` if empty.
pub fn percentiles(values: &mut [f64]) -> Option<[f64; 9]> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(PERCENTILES.map(|percentile| {
        // In this order, as in numpy: the last digit of a position decides the last digit of a cell.
        let at = last as f64 * (f64::from(percentile) / 100.0);
        let (before, share) = (at.floor() as usize, at - at.floor());
        let (low, high) = (values[before], values[(before + 1).min(last)]);
        if share < 0.5 { low + (high - low) * share } else { high - (high - low) * (1.0 - share) }
    }))
}

/// For durations; the mean of the two middle ones if there is no middle one.
pub fn median(mut values: Vec<u64>) -> Option<f64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some((lower as f64 + upper as f64) / 2.0)
}
