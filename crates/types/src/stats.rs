//! The statistics of one metric: what summaries, snapshots and comparisons of runs are made of.

use serde::{Deserialize, Serialize};

/// The percentiles of a distribution, in order.
pub const PERCENTILES: [u8; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// The statistics of one metric. What a kind of metric does not have is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Mean; the value itself where there is only one.
    pub avg: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub sum: Option<f64>,
    pub p1: Option<f64>,
    pub p5: Option<f64>,
    pub p10: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    /// Standard deviation: of a sample for records, of time for curves.
    pub std: Option<f64>,
    /// Number of values.
    pub count: Option<u64>,
}

impl Stats {
    /// Every statistic by name, in the order of summaries.
    pub const ALL: [&'static str; 15] =
        ["avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std", "count"];
    /// Without `count`, which is a whole number.
    pub const NAMES: [&'static str; 14] = {
        let [names @ .., _count] = Self::ALL;
        names
    };
    /// The percentiles, in the order of [`PERCENTILES`].
    pub const PERCENTILE_NAMES: [&'static str; 9] = {
        let [_avg, _min, _max, _sum, percentiles @ .., _std, _count] = Self::ALL;
        percentiles
    };

    /// A single value.
    pub fn of(value: f64) -> Self {
        Self { avg: Some(value), ..Self::default() }.finite()
    }

    /// A statistic by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        match name {
            "count" => self.count.map(|count| count as f64),
            _ => self.named().find(|(known, _)| *known == name).and_then(|(_, value)| value),
        }
    }

    /// The statistics of [`Self::NAMES`], by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + use<> {
        Self::NAMES.into_iter().zip(self.slots())
    }

    /// The statistics that a source has by name; those that it lacks are absent.
    pub fn of_named(source: impl Fn(&str) -> Option<f64>) -> Self {
        let mut stats = Self { count: source("count").map(|count| count as u64), ..Self::default() };
        for (name, slot) in Self::NAMES.into_iter().zip(stats.slots_mut()) {
            *slot = source(name);
        }
        stats
    }

    /// Whether there is any percentile.
    pub fn has_percentiles(&self) -> bool {
        Self::PERCENTILE_NAMES.iter().any(|name| self.get(name).is_some())
    }

    /// In the order of [`Self::NAMES`].
    fn slots(&self) -> [Option<f64>; 14] {
        let &Self { avg, min, max, sum, p1, p5, p10, p25, p50, p75, p90, p95, p99, std, count: _ } = self;
        [avg, min, max, sum, p1, p5, p10, p25, p50, p75, p90, p95, p99, std]
    }

    fn slots_mut(&mut self) -> [&mut Option<f64>; 14] {
        [
            &mut self.avg,
            &mut self.min,
            &mut self.max,
            &mut self.sum,
            &mut self.p1,
            &mut self.p5,
            &mut self.p10,
            &mut self.p25,
            &mut self.p50,
            &mut self.p75,
            &mut self.p90,
            &mut self.p95,
            &mut self.p99,
            &mut self.std,
        ]
    }

    /// Sets the nine percentiles, in the order of [`PERCENTILES`].
    pub fn set_percentiles(&mut self, values: [Option<f64>; 9]) {
        // Behind average, extremes and sum.
        let [_, _, _, _, slots @ .., _] = self.slots_mut();
        for (slot, value) in slots.into_iter().zip(values) {
            *slot = value;
        }
    }

    /// In another unit. A whole number of nanoseconds is divided, which is exact to the last digit: 1.8 ms times 1e-6 would
    /// be 1.7999999999999998.
    pub fn scaled(mut self, factor: f64) -> Self {
        let parts = (1.0 / factor).round();
        let is_part = factor < 1.0 && (parts * factor - 1.0).abs() < 1e-12;
        if factor != 1.0 {
            for slot in self.slots_mut() {
                *slot = slot.map(|value| if is_part { value / parts } else { value * factor });
            }
        }
        self
    }

    /// Without what is infinite or not a number.
    pub fn finite(mut self) -> Self {
        for slot in self.slots_mut() {
            *slot = slot.filter(|value| value.is_finite());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_another_unit_is_exact_to_the_last_digit() {
        assert_eq!(Stats::of(1_800_000.0).scaled(1e-6).avg, Some(1.8));
        assert_eq!(Stats::of(3.0).scaled(1e-9).avg, Some(3e-9));
        assert_eq!(Stats::of(0.5).scaled(100.0).avg, Some(50.0));
    }

    #[test]
    fn every_statistic_is_read_and_written_by_its_name() {
        let place = |name: &str| Stats::ALL.iter().position(|known| *known == name).map(|at| at as f64);
        let stats = Stats::of_named(place);
        for name in Stats::ALL {
            assert_eq!(stats.get(name), place(name), "{name}");
        }
        assert_eq!((stats.avg, stats.p1, stats.p99, stats.std, stats.count), {
            (Some(0.0), Some(4.0), Some(12.0), Some(13.0), Some(14))
        });
        for (name, percent) in Stats::PERCENTILE_NAMES.iter().zip(PERCENTILES) {
            assert_eq!(*name, format!("p{percent}"));
        }
    }
}
