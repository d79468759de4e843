//! A window divided into slices of one length or, if pages arrive less often than that, at its samples.

use crate::numbers::median;
use aiperf_types::Nanos;
use std::ops::Range;

/// Most slices of a series; with more of them, files would be of no use.
pub const MOST_SLICES: u64 = 65_536;

/// There would be more slices than [`MOST_SLICES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a series would have more than {MOST_SLICES} slices, and has none\n  try: a longer --slice-duration, or a shorter run"
)]
pub struct TooManySlices;

/// A part of a window, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub start: u64,
    pub end: u64,
    /// `false` for the last one where the window ends inside it.
    pub is_complete: bool,
}

/// Slices of one length from the start of a window; the last may be shorter.
pub fn of_length(window: Range<u64>, length: Nanos) -> Vec<Slice> {
    let length = length.0.max(1);
    let mut slices = Vec::new();
    let mut start = window.start;
    while start < window.end {
        let end = start.saturating_add(length);
        slices.push(Slice { start, end: end.min(window.end), is_complete: end <= window.end });
        start = end;
    }
    slices
}

/// One slice from each sample to the next, all complete; none begins before the window.
pub fn between_samples(window: Range<u64>, times: &[u64]) -> Vec<Slice> {
    let clipped = times.iter().map(|time| (*time).max(window.start));
    let pairs = clipped.clone().zip(clipped.skip(1));
    pairs.filter(|(start, end)| start < end).map(|(start, end)| Slice { start, end, is_complete: true }).collect()
}

/// The slices of a series with samples at these instants, including the one before the window.
///
/// Slices shorter than the time between two samples would be empty or repeat one: then the intervals between samples
/// are the slices.
pub fn of_series(window: Range<u64>, times: &[u64], length: Nanos) -> Result<Vec<Slice>, TooManySlices> {
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let is_between_samples = median(gaps).is_some_and(|gap| (length.0 as f64) < gap);
    let slices = if is_between_samples {
        times.len().saturating_sub(1) as u64
    } else {
        window.end.saturating_sub(window.start).div_ceil(length.0.max(1))
    };
    if slices > MOST_SLICES {
        return Err(TooManySlices);
    }
    Ok(if is_between_samples { between_samples(window, times) } else { of_length(window, length) })
}
