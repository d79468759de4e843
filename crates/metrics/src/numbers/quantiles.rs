//! Percentiles of stretches of time without sorting all of them.

use crate::numbers::ranges::{Ranges, range};
use crate::numbers::stats::float_key;

/// For how long values of each range held, of stretches that are visited again to find quantiles.
#[derive(Clone, Debug)]
pub(crate) struct TimeByRange(Ranges);

impl TimeByRange {
    pub(crate) fn of(stretches: impl Iterator<Item = (f64, u64)>) -> Self {
        let mut ranges = Ranges::new();
        stretches.for_each(|(value, length)| ranges.add(float_key(value), length));
        Self(ranges)
    }

    /// For each target (ascending) the smallest value by which that much time has passed, lowest values first; `top` if
    /// there is none. `stretches` are the same as before. Only those of the ranges that contain a quantile are sorted.
    pub(crate) fn quantiles(
        &mut self,
        stretches: impl Iterator<Item = (f64, u64)>,
        targets: &[f64],
        found: &mut [f64],
        top: f64,
    ) {
        let (mut wanted, mut passed): (Vec<Wanted>, u64) = (Vec::new(), 0);
        let mut rest = (targets, found);
        for (first, &mut length) in self.0.used() {
            let (targets, found) = rest;
            let here = targets.partition_point(|&target| target <= (passed + length) as f64);
            let (own, later) = targets.split_at(here);
            let (own_found, later_found) = found.split_at_mut(here);
            if here > 0 {
                wanted.push(Wanted {
                    range: range(first),
                    passed,
                    targets: own,
                    found: own_found,
                    stretches: Vec::new(),
                });
            }
            rest = (later, later_found);
            passed += length;
        }
        rest.1.fill(top);
        for (value, length) in stretches {
            let range = range(float_key(value));
            if let Some(wanted) = wanted.iter_mut().find(|wanted| wanted.range == range) {
                wanted.add(value, length);
            }
        }
        for Wanted { mut passed, targets, found, mut stretches, .. } in wanted {
            stretches.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
            let start = (top, passed as f64);
            let ascending = stretches.into_iter().map(|(value, length)| {
                passed += length;
                (value, passed as f64)
            });
            of_sorted(start, ascending, targets, found, top);
        }
    }
}

/// A range that contains quantiles.
struct Wanted<'a> {
    range: i64,
    /// The time of all lower ranges.
    passed: u64,
    targets: &'a [f64],
    found: &'a mut [f64],
    /// Its values. Equal values in a row are together.
    stretches: Vec<(f64, u64)>,
}

impl Wanted<'_> {
    fn add(&mut self, value: f64, length: u64) {
        match self.stretches.last_mut() {
            Some((last, total)) if *last == value => *total += length,
            _ => self.stretches.push((value, length)),
        }
    }
}

/// The same for ascending values, each with how much has passed after it. `start`: the value and what has passed before
/// the first.
pub(crate) fn of_sorted(
    start: (f64, f64),
    mut ascending: impl Iterator<Item = (f64, f64)>,
    targets: &[f64],
    found: &mut [f64],
    top: f64,
) {
    let (mut value, mut passed) = start;
    for (target, found) in targets.iter().zip(found) {
        while passed < *target {
            match ascending.next() {
                Some(next) => (value, passed) = next,
                None => {
                    value = top;
                    break;
                }
            }
        }
        *found = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_find_what_a_sort_finds() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let stretches: Vec<(f64, u64)> = (0..5000).map(|_| ((draw() % 300) as f64 / 7.0, draw() % 50)).collect();
        let mut sorted = stretches.clone();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: u64 = sorted.iter().map(|(_, length)| length).sum();
        let targets = [0.5, 0.500_001, 0.9, 0.95, 0.99].map(|share| share * total as f64);
        let mut found = [0.0; 5];
        let mut by_range = TimeByRange::of(stretches.iter().copied());
        by_range.quantiles(stretches.iter().copied(), &targets, &mut found, 300.0);
        for (target, found) in targets.iter().zip(found) {
            let mut passed = 0;
            let naive = sorted.iter().find(|(_, length)| {
                passed += length;
                passed as f64 >= *target
            });
            assert_eq!(naive.unwrap().0, found);
        }
    }
}
