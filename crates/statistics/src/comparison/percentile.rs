//! How well a percentile of a run is known.
//!
//! A percentile lies where a share p of the values is below. How well that share is known at a point is the question of a
//! mean (of ones and zeros in the order of time), so its error comes from blocks as that of any mean; and the values that
//! have the shares p - t error and p + t error below them enclose the percentile (Woodruff, 1952). The density of the
//! values, which no sample shows well near its end, is not needed, and the interval is as lopsided as the values are.

use super::long_run::LongRun;
use super::values::Values;

/// The fewest effective values beyond a percentile, on its thinner side, from which it is known well enough for a verdict.
pub const FEWEST_BEYOND: f64 = 10.0;

/// A percentile of a run.
pub(super) struct Percentile<'a> {
    pub(super) values: &'a Values,
    pub(super) share: f64,
    pub(super) value: f64,
    /// Of the share of values below.
    pub(super) known: LongRun,
}

impl<'a> Percentile<'a> {
    /// None of a run without values.
    pub(super) fn of(values: &'a Values, share: f64, mean: &LongRun) -> Option<Self> {
        let value = values.at_share(share)?;
        let (below, at) = values.below_and_at(value);
        // Where many values are equal, each counts as much below as makes the share come out.
        let part = match at {
            0 => 0.0,
            _ => ((share * values.len() as f64 - below as f64) / at as f64).clamp(0.0, 1.0),
        };
        let indicator = |other: &f64| match other.partial_cmp(&value) {
            Some(std::cmp::Ordering::Less) => 1.0,
            Some(std::cmp::Ordering::Equal) => part,
            _ => 0.0,
        };
        // Where few values lie beyond, single ones hide how long a busy spell lasts; the whole of the run shows it.
        let known = LongRun::of(values.in_time.iter().map(indicator), 1.0 / mean.blocks);
        Some(Self { values, share, value, known })
    }

    /// How far below and above the value the percentile may be, at `t` standard errors; infinite past the last value.
    pub(super) fn reach(&self, t: f64) -> (f64, f64) {
        let margin = t * self.known.error;
        let low = self.values.at_share(self.share - margin).map_or(f64::INFINITY, |low| self.value - low);
        let high = self.values.at_share(self.share + margin).map_or(f64::INFINITY, |high| high - self.value);
        (low, high)
    }

    /// Whether the data suffice for a verdict.
    pub(super) fn is_enough(&self) -> bool {
        let effective_beyond = self.known.effective * self.share.min(1.0 - self.share);
        self.known.is_enough() && effective_beyond >= FEWEST_BEYOND
    }
}
