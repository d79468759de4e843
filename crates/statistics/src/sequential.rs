//! When a sample is large enough: looks at a growing sample until its statistics are known as exactly as is asked for.
//!
//! The first look is at [`FIRST_LOOK`] values, each later one at 10% more. A sample is large enough when two looks in a
//! row find every target met. One look alone would often be luck: of many looks, some see an interval that is too narrow
//! by chance. The earlier of both looks is at fewer values than the sample ends with, so it is held to the width that
//! the later one would make of its own: with 10% more values an interval is narrower by the root of 1.1. Without this, a
//! sample would end with 15% more values than it needs (median), with it 5%.
//!
//! `tests/it/sequential.rs` counts how many values a sample ends with, and how often its interval contains the truth.

use crate::comparison::{FEWEST_BEYOND, Series, Statistic};

/// Values at the first look.
pub const FIRST_LOOK: u64 = 200;
/// Values of a look, as a multiple of those of the one before.
const GROWTH: f64 = 1.1;

/// Values of the look after one.
fn next_look(values: u64) -> u64 {
    values + values.div_ceil(10)
}

/// The fewest values with which a sample can end: two looks must have enough values. Correlated values need more.
pub fn fewest_values(statistic: Statistic) -> u64 {
    next_look(fewest_of_a_look(statistic))
}

fn fewest_of_a_look(statistic: Statistic) -> u64 {
    let of_percentile = |percent: f64| {
        let share = percent / 100.0;
        // A little less, because a share such as 0.99 is not exact.
        (FEWEST_BEYOND / share.min(1.0 - share) - 1e-6).ceil() as u64
    };
    match statistic {
        Statistic::Mean => FIRST_LOOK,
        Statistic::Percentile(percent) => of_percentile(percent).max(FIRST_LOOK),
    }
}

/// A statistic, and how exactly it should be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub statistic: Statistic,
    /// Half the width of its interval, as a share of its value.
    pub half_width: f64,
}

/// Ends a growing sample when its statistics are known exactly enough.
#[derive(Clone, Debug, PartialEq)]
pub struct StoppingRule {
    level: f64,
    targets: Vec<Target>,
    /// Values at which the next look is due.
    next: u64,
    /// Whether the last look was met, if the widths are those of the next one.
    was_nearly_met: bool,
    /// By target, of the last look: half the width of the interval, as a share of the value; `None` if there are too few
    /// values for one.
    half_widths: Vec<Option<f64>>,
    met_at: Option<u64>,
}

impl StoppingRule {
    /// No look yet. `level`: that of the intervals, such as 0.95.
    pub fn new(targets: Vec<Target>, level: f64) -> Self {
        let half_widths = vec![None; targets.len()];
        Self { level, targets, next: FIRST_LOOK, was_nearly_met: false, half_widths, met_at: None }
    }

    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Half the width of each interval at the last look, as a share of the value, by target; `None` if there were too few
    /// values for one.
    pub fn half_widths(&self) -> &[Option<f64>] {
        &self.half_widths
    }

    /// Values at which the sample was large enough.
    pub fn met_at(&self) -> Option<u64> {
        self.met_at
    }

    /// Whether a sample of this size should be looked at.
    pub fn is_due(&self, values: u64) -> bool {
        self.met_at.is_none() && values >= self.next
    }

    /// Looks at a sample: one series per target, the shortest of which has so many values. `true` if it is large enough.
    pub fn look<'a>(&mut self, values: u64, series: impl IntoIterator<Item = &'a Series>) -> bool {
        let width = |(series, target): (&Series, &Target)| series.relative_half_width(target.statistic, self.level);
        let half_widths: Vec<Option<f64>> = series.into_iter().zip(&self.targets).map(width).collect();
        self.conclude(values, half_widths)
    }

    fn conclude(&mut self, values: u64, half_widths: Vec<Option<f64>>) -> bool {
        let all_within = |slack: f64| {
            let is_met = |(width, target): (&Option<f64>, &Target)| {
                width.is_some_and(|width| width <= slack * target.half_width)
            };
            half_widths.len() == self.targets.len() && half_widths.iter().zip(&self.targets).all(is_met)
        };
        let is_met = self.was_nearly_met && all_within(1.0);
        self.was_nearly_met = all_within(GROWTH.sqrt());
        self.half_widths = half_widths;
        self.next = next_look(values);
        self.met_at = self.met_at.or(is_met.then_some(values));
        is_met
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEAN: Target = Target { statistic: Statistic::Mean, half_width: 0.05 };

    /// Looks at such widths, with one target; the values at which it was met.
    fn met_at(widths: &[Option<f64>]) -> Option<u64> {
        let mut rule = StoppingRule::new(vec![MEAN], 0.95);
        for width in widths {
            rule.conclude(rule.next, vec![*width]);
        }
        rule.met_at()
    }

    #[test]
    fn two_looks_in_a_row_must_be_met() {
        assert_eq!(met_at(&[Some(0.04)]), None);
        assert_eq!(met_at(&[Some(0.04), Some(0.04)]), Some(220));
        assert_eq!(met_at(&[Some(0.04), Some(0.07), Some(0.04)]), None);
        assert_eq!(met_at(&[Some(0.04), None, Some(0.04), Some(0.04)]), Some(267));
    }

    #[test]
    fn the_earlier_look_may_have_the_width_that_the_later_one_narrows() {
        assert_eq!(met_at(&[Some(0.052), Some(0.05)]), Some(220));
        assert_eq!(met_at(&[Some(0.053), Some(0.05)]), None);
        assert_eq!(met_at(&[Some(0.05), Some(0.052)]), None);
    }

    #[test]
    fn every_target_must_be_met_by_the_same_looks() {
        let p99 = Target { statistic: Statistic::Percentile(99.0), half_width: 0.1 };
        let mut rule = StoppingRule::new(vec![MEAN, p99], 0.95);
        let steps = [(200, 0.04, 0.2, false), (220, 0.04, 0.08, false), (242, 0.06, 0.08, false)];
        for (values, mean, p99, is_met) in steps.into_iter().chain([(267, 0.05, 0.1, false), (294, 0.05, 0.1, true)]) {
            assert_eq!(rule.conclude(values, vec![Some(mean), Some(p99)]), is_met, "{values}");
        }
        assert_eq!((rule.met_at(), rule.is_due(1_000_000)), (Some(294), false));
        assert_eq!(rule.half_widths(), [Some(0.05), Some(0.1)]);
    }

    #[test]
    fn the_first_look_is_at_two_hundred_values_and_each_later_one_at_a_tenth_more() {
        let mut rule = StoppingRule::new(vec![MEAN], 0.95);
        assert!(!rule.is_due(199) && rule.is_due(200));
        // Late: more values arrived meanwhile.
        rule.conclude(1000, vec![None]);
        assert!(!rule.is_due(1099) && rule.is_due(1100));
    }

    #[test]
    fn two_looks_at_a_percentile_need_ten_values_beyond_it() {
        let fewest = [50.0, 90.0, 95.0, 99.0, 1.0].map(|percent| fewest_values(Statistic::Percentile(percent)));
        assert_eq!(fewest, [220, 220, 220, 1100, 1100]);
        assert_eq!(fewest_values(Statistic::Mean), 220);
    }

    proptest! {
        #[test]
        fn a_sample_ends_with_widths_that_meet_all_targets(
            widths in prop::collection::vec(prop::collection::vec(prop::option::of(0.0..0.2), 2), 1..60),
        ) {
            let mut rule = StoppingRule::new(vec![MEAN, Target { half_width: 0.1, ..MEAN }], 0.95);
            let (mut values, mut all) = (0, 0);
            for widths in widths {
                if rule.met_at().is_some() {
                    break;
                }
                prop_assert!(rule.next > values);
                values = rule.next;
                all += values;
                rule.conclude(values, widths);
            }
            if let Some(at) = rule.met_at() {
                prop_assert_eq!(at, values);
                let is_met = |(width, target): (&Option<f64>, &Target)| width.unwrap() <= target.half_width;
                prop_assert!(rule.half_widths().iter().zip(rule.targets()).all(is_met));
            }
            // All looks together cost about as much as eleven at the last one.
            prop_assert!(all <= 11 * values);
        }
    }
}
