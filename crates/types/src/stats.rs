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
    /// The statistics by name, in the order of summaries; `count` is apart.
    pub const NAMES: [&'static str; 14] =
        ["avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"];

    /// A single value.
    pub fn of(value: f64) -> Self {
        Self { avg: Some(value), ..Self::default() }.finite()
    }

    /// A statistic by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        match name {
            "count" => self.count.map(|count| count as f64),
            _ => Self::NAMES.iter().position(|known| *known == name).and_then(|at| *self.slots()[at]),
        }
    }

    fn slots(&self) -> [&Option<f64>; 14] {
        [
            &self.avg, &self.min, &self.max, &self.sum, &self.p1, &self.p5, &self.p10, &self.p25, &self.p50, &self.p75,
            &self.p90, &self.p95, &self.p99, &self.std,
        ]
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
}
