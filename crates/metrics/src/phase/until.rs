//! The values of a phase that ends when its statistics are known exactly enough, and what the looks at them found.

use crate::phase::intervals::CONFIDENCE_LEVEL;
use aiperf_statistics::{Series, Statistic, StoppingRule, Target};
use aiperf_types::Precision;
use serde::{Deserialize, Serialize};

/// The most records whose values are kept: 16 bytes for each target. A phase that needs more ends by its maximum.
const MOST_RECORDS: usize = 2_000_000;

/// The values of one phase so far.
#[derive(Clone, Debug)]
pub struct Sample {
    /// By target: start and value of each record.
    values: Vec<Vec<(u64, f64)>>,
    rule: StoppingRule,
    /// Records that were added when there were too many to look at.
    too_many: Option<u64>,
}

/// What the looks at one phase found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// By target: half the width of its interval at the last look, as a share of its value; `None` if there was no look,
    /// or too few values.
    pub half_widths: Vec<Option<f64>>,
    /// Requests at the look that met all targets.
    pub met_at: Option<u64>,
    /// Whether this ended the phase. If its counts or its time ended it first, it did not.
    pub ended: bool,
    /// Requests after which no more looks were taken, because their values would take too much memory.
    pub gave_up_at: Option<u64>,
}

impl Sample {
    pub fn new(precisions: &[Precision]) -> Self {
        let target = |precision: &Precision| Target {
            statistic: precision.percent().map_or(Statistic::Mean, Statistic::Percentile),
            half_width: precision.half_width,
        };
        let rule = StoppingRule::new(precisions.iter().map(target).collect(), CONFIDENCE_LEVEL);
        Self { values: vec![Vec::new(); precisions.len()], rule, too_many: None }
    }

    /// Adds a record: when it started, and its values, by target.
    pub fn add(&mut self, start: u64, values: &[Option<f64>]) {
        // Nothing is looked at any more.
        if self.rule.met_at().is_some() || self.too_many.is_some() {
            return;
        }
        for (known, value) in self.values.iter_mut().zip(values) {
            known.extend(value.map(|value| (start, value)));
        }
        let most = self.values.iter().map(Vec::len).max().unwrap_or(0);
        if most >= MOST_RECORDS {
            self.too_many = Some(most as u64);
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.values.iter_mut().for_each(|values| *values = Vec::new());
    }

    /// Looks at the values if a look is due; `true` if all targets are met by now, and were not before.
    pub fn look(&mut self) -> bool {
        let requests = self.values.iter().map(Vec::len).min().unwrap_or(0) as u64;
        if !self.rule.is_due(requests) {
            return false;
        }
        let series: Vec<Series> = self
            .values
            .iter_mut()
            .map(|values| {
                // Nearly sorted from the look before.
                values.sort_by_key(|(start, _)| *start);
                Series::new(values.iter().map(|(_, value)| *value).collect())
            })
            .collect();
        let is_met = self.rule.look(requests, &series);
        if is_met {
            self.forget();
        }
        is_met
    }

    /// What the looks found. `ended`: whether the phase ended because of them.
    pub fn reached(&self, ended: bool) -> Reached {
        let half_widths = self.rule.half_widths().to_vec();
        Reached { half_widths, met_at: self.rule.met_at(), ended, gave_up_at: self.too_many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(stats: &[(&str, f64)]) -> Sample {
        let precision = |(stat, half_width): &(&str, f64)| Precision {
            metric: "request_latency".into(),
            stat: (*stat).into(),
            half_width: *half_width,
        };
        Sample::new(&stats.iter().map(precision).collect::<Vec<_>>())
    }

    /// A number without pattern (SplitMix64).
    fn mixed(number: u64) -> u64 {
        let bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// From 10 to 106, in no order.
    fn latency(number: u64) -> f64 {
        (10 + mixed(number) % 97) as f64
    }

    #[test]
    fn a_sample_ends_when_all_targets_are_met() {
        let mut sample = sample(&[("avg", 0.03), ("p50", 0.06)]);
        let met = (0..10_000).find(|number| {
            sample.add(*number, &[Some(latency(*number)), Some(latency(*number))]);
            sample.look()
        });
        let reached = sample.reached(true);
        assert!(reached.met_at.is_some_and(|at| (800..2000).contains(&at)), "{reached:?}");
        assert_eq!(reached.met_at, met.map(|number| number + 1));
        let widths: Vec<f64> = reached.half_widths.iter().flatten().copied().collect();
        assert!(widths[0] <= 0.03 && widths[1] <= 0.06, "{reached:?}");
        sample.add(10_000, &[Some(5.0), Some(5.0)]);
        assert!(!sample.look(), "it is met once");
    }

    #[test]
    fn a_request_without_a_value_does_not_count() {
        let mut sample = sample(&[("avg", 0.99), ("p50", 0.99)]);
        for number in 0..1000 {
            let second = (number % 10 == 0).then(|| latency(number));
            sample.add(number, &[Some(latency(number)), second]);
            assert!(!sample.look());
        }
        assert_eq!(sample.reached(false), Reached { half_widths: vec![None, None], ..Reached::default() });
    }

    #[test]
    fn a_phase_that_needs_too_many_values_keeps_none_and_reports_it() {
        let mut sample = sample(&[("avg", 1e-6)]);
        for number in 0..MOST_RECORDS as u64 {
            sample.add(number, &[Some(latency(number))]);
            if number == 999 {
                sample.look();
            }
        }
        assert!(sample.values.iter().all(|values| values.capacity() == 0));
        sample.add(0, &[Some(1.0)]);
        assert!(!sample.look());
        let reached = sample.reached(false);
        assert_eq!((reached.gave_up_at, reached.met_at), (Some(2_000_000), None));
        assert!(reached.half_widths[0].is_some_and(|width| width > 1e-6), "the last look is known: {reached:?}");
    }

    #[test]
    fn the_order_in_which_records_come_does_not_matter() {
        // Busy and idle spells, which only the order of starts shows.
        let spell = |number: u64| latency(number) + (mixed(number / 20) % 2 * 100) as f64;
        let width = |place: fn(u64) -> u64| {
            let mut sample = sample(&[("avg", 0.001)]);
            (0..4000).for_each(|at| sample.add(place(at), &[Some(spell(place(at)))]));
            sample.look();
            sample.reached(false).half_widths[0]
        };
        assert!(width(|at| at).is_some());
        assert_eq!(width(|at| at), width(|at| at * 7919 % 4000));
    }
}
