//! A window cut into slices of one length, or, where pages come less often than that, at its samples.

use crate::numbers::median;
use aiperf_types::Nanos;
use std::ops::Range;

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

/// The slices of a series whose samples are of these instants, the one before the window included.
///
/// Slices shorter than the time between two samples would be empty or would repeat one: then the intervals themselves
/// are the slices.
pub fn of_series(window: Range<u64>, times: &[u64], length: Nanos) -> Vec<Slice> {
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    match median(gaps) {
        Some(gap) if (length.0 as f64) < gap => between_samples(window, times),
        _ => of_length(window, length),
    }
}
