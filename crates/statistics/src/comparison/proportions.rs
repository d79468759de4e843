//! Shares of requests, by counts: how many failed, how many met their objectives.
//!
//! Whether they differ is Fisher's exact test. Where the difference lies, and whether it lies past a limit, comes from
//! Wilson's intervals of both shares, put together as those of independent estimates are (Newcombe, 1998).

use super::records::smallest;
use super::verdict::{Comparison, Direction, Finding};
use crate::fisher::{Proportion, fisher};
use crate::student;

/// Compares two shares, the first after it was multiplied and added to.
pub fn compare_proportions(
    first: Proportion,
    second: Proportion,
    (factor, sum): (f64, f64),
    direction: Direction,
    level: f64,
) -> Comparison {
    let (from, to) = (first.share() * factor + sum, second.share());
    let interval = |z: f64| {
        let ((first_low, first_high), (second_low, second_high)) = (first.interval(z), second.interval(z));
        // What a factor makes of an interval may turn it round.
        let (below, above) = (factor.abs() * (first.share() - first_low), factor.abs() * (first_high - first.share()));
        let (below, above) = if factor < 0.0 { (above, below) } else { (below, above) };
        (to - from - (to - second_low).hypot(above), to - from + (second_high - to).hypot(below))
    };
    let covers_zero = |z: f64| {
        let (low, high) = interval(z);
        low <= 0.0 && high >= 0.0
    };
    let p = match (factor, sum) {
        (1.0, 0.0) => fisher(first, second),
        _ => student::two_sided(smallest(covers_zero), f64::INFINITY),
    };
    let finding = Finding {
        first: from,
        second: to,
        interval: interval(student::critical(level, f64::INFINITY)),
        p,
        effective: (first.of as f64, second.of as f64),
        enough: true,
    };
    finding.judged(direction, level)
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Doubt, Verdict};
    use super::*;

    fn compared(first: (u64, u64), second: (u64, u64), changed: (f64, f64)) -> Comparison {
        let of = |(hits, of)| Proportion::new(hits, of).unwrap();
        compare_proportions(of(first), of(second), changed, Direction::SmallerIsBetter, 0.95)
    }

    #[test]
    fn more_failures_are_worse_and_a_few_are_chance() {
        let found = compared((0, 1500), (750, 1500), (1.0, 0.0));
        assert_eq!((found.verdict, found.difference), (Verdict::Worse, 0.5));
        assert!(found.interval.0 > 0.47 && found.interval.1 < 0.53 && found.p < 1e-200, "{found:?}");
        assert_eq!(compared((750, 1500), (0, 1500), (1.0, 0.0)).verdict, Verdict::Better);
        for (first, second) in [((0, 1500), (2, 1500)), ((0, 10), (2, 10)), ((0, 1500), (0, 1500))] {
            assert_eq!(compared(first, second, (1.0, 0.0)).verdict, Verdict::Undecided(Doubt::WithinNoise));
        }
    }

    #[test]
    fn a_limit_is_one_on_the_first_share_and_what_is_added() {
        // 10% and 15%: past half as much again with few, and not past twice as much.
        let past = compared((1000, 10_000), (1700, 10_000), (1.5, 0.0));
        assert!(past.difference > 0.0 && past.verdict == Verdict::Worse, "{past:?}");
        let within = compared((1000, 10_000), (1700, 10_000), (2.0, 0.0));
        assert!(within.difference < 0.0 && within.interval.1 < 0.0, "{within:?}");
        let beside = compared((1000, 10_000), (1510, 10_000), (1.0, 0.05));
        assert_eq!(beside.verdict, Verdict::Undecided(Doubt::WithinNoise));
    }
}
