//! The common parts of the three kinds of ranking: plausible scores, best first.

use super::{PlannedResponse, mixed};

/// The scores of `count` passages, from 0 to 1, best first: index and score.
pub(super) fn scores(planned: &PlannedResponse, count: usize) -> Vec<(usize, f64)> {
    let score = |index: usize| (mixed(planned.number ^ (index as u64) << 32) >> 11) as f64 / (1_u64 << 53) as f64;
    let mut scores: Vec<_> = (0..count).map(|index| (index, score(index))).collect();
    scores.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scores
}
