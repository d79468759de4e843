//! What is asked of two runs, and what is answered.

/// What of a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    Mean,
    /// From 0 to 100, between neighbours in proportion.
    Percentile(f64),
}

/// What is good in a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    LargerIsBetter,
    SmallerIsBetter,
    /// Neither is: a length, a count.
    Neither,
}

/// The verdict on the second side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Better,
    Worse,
    /// It differs, in a metric of which neither direction is better.
    Different,
    Undecided(Doubt),
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Not enough for any verdict, whatever the difference.
    TooLittleData,
    /// Chance alone would differ as much.
    WithinNoise,
}

/// Two sides, compared by one statistic of one metric. Differences are the second side less the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    pub first: f64,
    pub second: f64,
    pub difference: f64,
    /// The difference as a share of the first side's size; none where that is zero.
    pub relative: Option<f64>,
    /// Where the difference lies, at the level asked for. An end is infinite where the data do not bound it.
    pub interval: (f64, f64),
    /// The chance of so large a difference between sides that do not differ.
    pub p: f64,
    /// Effective values of each side: independent ones with as much information.
    pub effective: (f64, f64),
    pub verdict: Verdict,
}

/// A comparison but for its verdict, and whether there are data enough for one.
pub(super) struct Finding {
    pub(super) first: f64,
    pub(super) second: f64,
    pub(super) interval: (f64, f64),
    pub(super) p: f64,
    pub(super) effective: (f64, f64),
    pub(super) enough: bool,
}

impl Finding {
    pub(super) fn judged(self, direction: Direction, level: f64) -> Comparison {
        let difference = self.second - self.first;
        Comparison {
            first: self.first,
            second: self.second,
            difference,
            relative: (self.first != 0.0).then(|| difference / self.first.abs()),
            interval: self.interval,
            p: self.p,
            effective: self.effective,
            verdict: verdict(difference, self.p, self.enough, direction, level),
        }
    }
}

fn verdict(difference: f64, p: f64, enough: bool, direction: Direction, level: f64) -> Verdict {
    if !enough {
        return Verdict::Undecided(Doubt::TooLittleData);
    }
    // A p that is not a number is no verdict.
    if p.is_nan() || p >= 1.0 - level {
        return Verdict::Undecided(Doubt::WithinNoise);
    }
    match direction {
        Direction::Neither => Verdict::Different,
        Direction::LargerIsBetter if difference > 0.0 => Verdict::Better,
        Direction::SmallerIsBetter if difference < 0.0 => Verdict::Better,
        Direction::LargerIsBetter | Direction::SmallerIsBetter => Verdict::Worse,
    }
}
