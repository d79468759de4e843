//! The distribution of many numbers.
//!
//! Up to a million numbers are kept, and the statistics are exact. Beyond that they are counted in steps of 0.1%:
//! percentiles are off by at most 0.05%, and memory no longer grows with the number of sessions. Mean and deviation
//! stay exact.

use crate::trace_tools::numbers::rounded;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many numbers are kept.
const EXACT: usize = 1 << 20;
/// The ratio of two steps.
const STEP: f64 = 1.001;
/// The largest error of a percentile once numbers are counted in steps.
const OFF: f64 = 0.0005;

#[derive(Debug, Default)]
pub(super) struct Column {
    kept: Vec<f64>,
    steps: BTreeMap<i32, u64>,
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    least: f64,
    most: f64,
}

impl Column {
    /// Adds a number, which must be above 0.
    pub(super) fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.most) = (value, value);
        }
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        if self.steps.is_empty() {
            self.kept.push(value);
            if self.kept.len() > EXACT {
                for value in std::mem::take(&mut self.kept) {
                    self.count_step(value);
                }
            }
        } else {
            self.count_step(value);
        }
    }

    fn count_step(&mut self, value: f64) {
        let step = (value.max(f64::MIN_POSITIVE).ln() / STEP.ln()).floor() as i32;
        *self.steps.entry(step).or_default() += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The numbers in ascending order, each with its count.
    pub(super) fn sorted(&self) -> Vec<(f64, u64)> {
        if self.steps.is_empty() {
            let mut kept = self.kept.clone();
            kept.sort_unstable_by(f64::total_cmp);
            return kept.into_iter().map(|value| (value, 1)).collect();
        }
        let middle = |step: i32| (STEP.ln() * (f64::from(step) + 0.5)).exp().clamp(self.least, self.most);
        self.steps.iter().map(|(step, count)| (middle(*step), *count)).collect()
    }

    /// Their statistics, to two digits; all 0 if there are none.
    pub(super) fn stats(&self) -> Value {
        let ordered = Ordered::of(self.sorted());
        let deviation = if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).sqrt() };
        let at = |q| rounded(ordered.quantile(q), 2);
        let mut out = json!({
            "count": self.count, "mean": rounded(self.mean, 2), "std": rounded(deviation, 2), "median": at(0.5),
            "p05": at(0.05), "p25": at(0.25), "p75": at(0.75), "p95": at(0.95), "p99": at(0.99),
        });
        if !self.steps.is_empty() {
            out["max_relative_percentile_error"] = json!(OFF);
        }
        out
    }
}

/// Numbers in order, each with the count of numbers up to it.
struct Ordered(Vec<(f64, u64)>);

impl Ordered {
    fn of(mut sorted: Vec<(f64, u64)>) -> Self {
        let mut total = 0;
        for (_, count) in &mut sorted {
            total += *count;
            *count = total;
        }
        Self(sorted)
    }

    /// Interpolates between neighbours.
    fn quantile(&self, q: f64) -> f64 {
        let Some((_, total)) = self.0.last() else { return 0.0 };
        let at = q * (total - 1) as f64;
        let value = |rank: f64| self.0[self.0.partition_point(|(_, up_to)| *up_to <= rank as u64)].0;
        let (low, high) = (value(at.floor()), value(at.ceil()));
        low + (high - low) * at.fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: impl Iterator<Item = f64>) -> Column {
        let mut column = Column::default();
        values.for_each(|value| column.add(value));
        column
    }

    #[test]
    fn few_numbers_are_known_exactly() {
        let stats = column([4.0, 1.0, 2.0, 3.0].into_iter()).stats();
        let wanted = json!({"count": 4, "mean": 2.5, "std": 1.12, "median": 2.5, "p05": 1.15, "p25": 1.75, "p75": 3.25,
            "p95": 3.85, "p99": 3.97});
        assert_eq!(stats, wanted);
        assert_eq!(Column::default().stats()["p99"], 0.0);
    }

    #[test]
    fn many_numbers_need_no_more_memory_and_are_hardly_off() {
        let many = EXACT as u64 * 5 / 4;
        let column = column((1..=many).map(|value| value as f64));
        assert!(column.kept.is_empty() && column.steps.len() < 20_000);
        let stats = column.stats();
        assert_eq!((stats["count"].as_u64(), stats["mean"].as_f64()), (Some(many), Some((many + 1) as f64 / 2.0)));
        for (name, q) in [("p05", 0.05), ("median", 0.5), ("p99", 0.99)] {
            let (found, wanted) = (stats[name].as_f64().unwrap(), q * many as f64);
            assert!((found / wanted - 1.0).abs() <= 2.0 * OFF, "{name}: {found}, not {wanted}");
        }
    }
}
