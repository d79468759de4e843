//! One metric of one run.

use super::long_run::LongRun;
use super::percentile::Percentile;
use super::values::Values;

/// The values of one metric, in the order in which their requests started.
#[derive(Clone, Debug)]
pub struct Series {
    values: Values,
    mean: LongRun,
}

impl Series {
    /// From values in the order of time. What is not finite is left out.
    pub fn new(in_time: Vec<f64>) -> Self {
        let values = Values::new(in_time);
        let mean = LongRun::of(values.in_time.iter().copied(), 0.0);
        let mut series = Self { values, mean };
        // A median shows persistence that outliers hide from the mean.
        if let Some(median) = series.percentile(0.5)
            && median.known.blocks < series.mean.blocks
        {
            let least = 1.0 / median.known.blocks;
            series.mean = LongRun::of(series.values.in_time.iter().copied(), least);
        }
        series
    }

    /// From pairs of start and value in any order.
    pub fn from_records(mut records: Vec<(i64, f64)>) -> Self {
        records.sort_by_key(|(start, _)| *start);
        Self::new(records.into_iter().map(|(_, value)| value).collect())
    }

    /// The series of changed values.
    pub fn mapped(&self, change: impl Fn(f64) -> f64) -> Self {
        Self::new(self.values.in_time.iter().map(|value| change(*value)).collect())
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mean, and how well it is known.
    pub fn mean(&self) -> &LongRun {
        &self.mean
    }

    /// The percentile that a share of the values is below; none of a run without values.
    pub(super) fn percentile(&self, share: f64) -> Option<Percentile<'_>> {
        Percentile::of(&self.values, share, &self.mean)
    }
}
