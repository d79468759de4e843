//! Several runs a side, by one figure of each.

use super::verdict::{Comparison, Direction, Finding};
use crate::student;
use crate::welch::{Sample, Welch};

/// Runs of a side below which there is no verdict: two do not show how far a third would lie.
pub const FEWEST_TRIALS: usize = 3;

/// Compares the runs of both sides by one figure of each run, by Welch's test. None where a side has none. What is not
/// finite is left out.
pub fn compare_trials(first: &[f64], second: &[f64], direction: Direction, level: f64) -> Option<Comparison> {
    let finite = |values: &[f64]| values.iter().copied().filter(|value| value.is_finite()).collect::<Vec<_>>();
    Some(compare_samples(Sample::of(&finite(first))?, Sample::of(&finite(second))?, direction, level))
}

/// The same of runs of which only their number, mean and variance are known.
pub fn compare_samples(first: Sample, second: Sample, direction: Direction, level: f64) -> Comparison {
    let (interval, p) = match Welch::of(first, second) {
        Some(test) => (test.interval(level), test.p),
        None => ((f64::NEG_INFINITY, f64::INFINITY), student::two_sided(0.0, 1.0)),
    };
    let finding = Finding {
        first: first.mean,
        second: second.mean,
        interval,
        p,
        effective: (first.count as f64, second.count as f64),
        enough: first.count.min(second.count) >= FEWEST_TRIALS,
    };
    finding.judged(direction, level)
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Doubt, Verdict};
    use super::*;

    #[test]
    fn three_runs_a_side_may_be_a_verdict_and_two_may_not() {
        let verdict = |first: &[f64], second: &[f64]| {
            compare_trials(first, second, Direction::LargerIsBetter, 0.95).unwrap().verdict
        };
        assert_eq!(verdict(&[10.0, 10.1, 9.9], &[12.0, 12.1, 11.9]), Verdict::Better);
        assert_eq!(verdict(&[10.0, 10.1, 9.9], &[10.0, 10.2, 9.8]), Verdict::Undecided(Doubt::WithinNoise));
        assert_eq!(verdict(&[10.0, 10.1], &[12.0, 12.1]), Verdict::Undecided(Doubt::TooLittleData));
        assert_eq!(verdict(&[10.0], &[12.0]), Verdict::Undecided(Doubt::TooLittleData));
        assert_eq!(compare_trials(&[], &[12.0], Direction::LargerIsBetter, 0.95), None);
        assert_eq!(compare_trials(&[f64::NAN], &[12.0], Direction::LargerIsBetter, 0.95), None);
    }
}
