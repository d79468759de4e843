//! One metric of one run.

use super::long_run::LongRun;
use super::percentile::Percentile;

/// The values of one metric, in the order in which their requests started.
#[derive(Clone, Debug)]
pub struct Series {
    in_time: Vec<f64>,
    sorted: Vec<f64>,
    mean: LongRun,
}

impl Series {
    /// From values in the order of time. What is not finite is left out.
    pub fn new(mut in_time: Vec<f64>) -> Self {
        in_time.retain(|value| value.is_finite());
        let mut sorted = in_time.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = LongRun::of(in_time.iter().copied(), 0.0);
        let mut series = Self { in_time, sorted, mean };
        // A median shows persistence that outliers hide from the mean.
        if let Some(median) = Percentile::of(&series, 0.5)
            && median.known.blocks < series.mean.blocks
        {
            series.mean = LongRun::of(series.in_time.iter().copied(), 1.0 / median.known.blocks);
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
        Self::new(self.in_time.iter().map(|value| change(*value)).collect())
    }

    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The mean, and how well it is known.
    pub fn mean(&self) -> &LongRun {
        &self.mean
    }

    pub(super) fn in_time(&self) -> &[f64] {
        &self.in_time
    }

    /// The value below which a share of the values lies, between neighbours in proportion; none past either end.
    pub(super) fn at_share(&self, share: f64) -> Option<f64> {
        let last = self.sorted.len().checked_sub(1)?;
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let place = share * last as f64;
        let (below, above) = (self.sorted[place.floor() as usize], self.sorted[place.ceil() as usize]);
        Some(below + (above - below) * place.fract())
    }

    /// How many values are smaller, and how many are equal.
    pub(super) fn below_and_at(&self, value: f64) -> (usize, usize) {
        let below = self.sorted.partition_point(|other| *other < value);
        (below, self.sorted[below..].partition_point(|other| *other <= value))
    }
}
