//! Bounds of a number, in code and in words.

/// Which numbers are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower bound, and whether it is included.
    pub low: Option<(f64, bool)>,
    /// The upper bound, and whether it is included.
    pub high: Option<(f64, bool)>,
}

/// Any number.
pub(crate) const ANY: Range = Range { low: None, high: None };

pub(crate) const fn at_least(low: f64) -> Range {
    Range { low: Some((low, true)), high: None }
}

pub(crate) const fn more_than(low: f64) -> Range {
    Range { low: Some((low, false)), high: None }
}

/// The same, and finite: for limits that must be reached some day.
pub(crate) const fn finite_at_least(low: f64) -> Range {
    Range { low: Some((low, true)), high: Some((f64::INFINITY, false)) }
}

/// Between two bounds, each included or not.
pub(crate) const fn between(low: f64, with_low: bool, high: f64, with_high: bool) -> Range {
    Range { low: Some((low, with_low)), high: Some((high, with_high)) }
}

impl Range {
    /// Whether a number is allowed. With any bound, NaN is not.
    pub fn holds(&self, value: f64) -> bool {
        let low = self.low.is_none_or(|(low, with)| value > low || (with && value == low));
        let high = self.high.is_none_or(|(high, with)| value < high || (with && value == high));
        low && high
    }

    /// The rule in words, after "must be".
    pub fn in_words(&self) -> String {
        let low = self.low.map(|(n, with)| if with { format!("at least {n}") } else { format!("more than {n}") });
        let high = self.high.map(|(n, with)| {
            if n.is_infinite() {
                "finite".to_owned()
            } else if with {
                format!("at most {n}")
            } else {
                format!("less than {n}")
            }
        });
        match (low, high) {
            (Some(low), Some(high)) => format!("{low} and {high}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "a number".to_owned(),
        }
    }
}

/// The most requests and sessions of a phase: 30,000 years at one per second, a day at ten million.
const REQUESTS: f64 = 1e12;
/// The most concurrent requests: more connections than an address has ports.
const CONCURRENCY: f64 = 1e6;

/// Counts of a phase, with their largest values.
const COUNTS: &[(&str, f64)] = &[
    ("requests", REQUESTS),
    ("sessions", REQUESTS),
    ("concurrency", CONCURRENCY),
    ("prefill_concurrency", CONCURRENCY),
    ("users", CONCURRENCY),
];

/// The largest value of a count of a phase.
pub(crate) fn largest_count(key: &str) -> f64 {
    COUNTS.iter().find(|(known, _)| *known == key).map_or(f64::INFINITY, |(_, largest)| *largest)
}

/// The largest whole number at a path, for the message about a number too large to read.
pub(crate) fn largest_at(path: &str) -> i64 {
    let key = path.strip_prefix("benchmark.phases.").and_then(|rest| rest.split_once('.')).map(|(_, key)| key);
    // Infinity becomes the largest integer.
    key.map_or(i64::MAX, |key| largest_count(key) as i64)
}
