//! Results by slice of time, unless there are too many slices to keep.

use aiperf_metrics::{Accumulator, Context, Metrics, Slice};
use aiperf_types::{Nanos, WallNs};
use thiserror::Error;

/// The most slices that are computed. A slice takes 42 KB of memory until it is written, 21 KB of JSON and 53 KB of
/// CSV: this many take 2 GB and 4 GB. (Maximum resident set and file sizes of 20,000 streamed requests with
/// `--slice-duration 0.0001`, against the same run without.)
const MOST: u64 = 50_000;

/// There would be more slices than are kept.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "no time slices are written: there would be up to {slices}, and at most {MOST} are kept\n  try: a longer \
     --slice-duration; the records of this run can still be cut by their request_start_ns"
)]
pub(crate) struct TooManySlices {
    slices: u64,
}

/// The results of the requests that started in each slice.
pub(crate) fn slices(
    records: &Accumulator,
    metrics: &Metrics,
    length: Nanos,
    context: Context,
) -> Result<Vec<Slice>, TooManySlices> {
    let slices = at_most(records.attempted_span(), records.records(), length);
    if slices > MOST {
        return Err(TooManySlices { slices });
    }
    Ok(records.slices(metrics, length, context))
}

/// An upper bound: the slices that fit into the run, or one per request. Slices without requests are left out.
fn at_most(span: Option<(WallNs, WallNs)>, requests: u64, length: Nanos) -> u64 {
    let fit = |(first, last): (WallNs, WallNs)| (last.0 - first.0) / length.0.max(1) + 1;
    span.map_or(0, fit).min(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_as_many_as_fit_or_as_there_are_requests() {
        let second = Some((WallNs(5), WallNs(1_000_000_005)));
        assert_eq!(at_most(second, 1_000, Nanos::from_millis(100)), 11);
        assert_eq!(at_most(second, 3, Nanos::from_millis(100)), 3);
        assert_eq!(at_most(None, 0, Nanos::from_millis(100)), 0);
    }

    #[test]
    fn too_many_are_refused_with_the_way_out() {
        let text = TooManySlices { slices: 86_400 }.to_string();
        assert!(text.contains("up to 86400") && text.contains("try: a longer --slice-duration"), "{text}");
    }
}
