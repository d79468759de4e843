//! Fisher's exact test: whether two shares differ, by counts alone.
//!
//! Given how many hits there are on both sides together, those of one side follow the hypergeometric distribution if the
//! sides do not differ. The p-value is the chance of all tables that are no likelier than the one found. Probabilities
//! come from deviances and the error of Stirling's formula (Loader, 2000), which lose no digits with millions of tries,
//! where differences of log-gamma functions lose eight; `tests/it/scipy.rs` holds them against whole numbers and scipy.

use std::f64::consts::PI;

/// Hits among tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    pub hits: u64,
    /// At least as many.
    pub of: u64,
}

impl Proportion {
    /// None where there are no tries, or fewer than hits.
    pub fn new(hits: u64, of: u64) -> Option<Self> {
        (of > 0 && hits <= of).then_some(Self { hits, of })
    }

    pub fn share(self) -> f64 {
        self.hits as f64 / self.of as f64
    }

    /// Where the share lies (Wilson, 1927), at `z` standard errors.
    pub fn interval(self, z: f64) -> (f64, f64) {
        let (tries, share) = (self.of as f64, self.share());
        let square = z * z;
        let middle = share + square / (2.0 * tries);
        let reach = z * (share * (1.0 - share) / tries + square / (4.0 * tries * tries)).sqrt();
        let (low, high) = ((middle - reach) / (1.0 + square / tries), (middle + reach) / (1.0 + square / tries));
        // At either end the formula gives the end, but for rounding.
        let low = if self.hits == 0 { 0.0 } else { low.max(0.0) };
        let high = if self.hits == self.of { 1.0 } else { high.min(1.0) };
        (low, high)
    }
}

/// Tables that differ in likelihood by less than this are alike: where both sides have as many tries, each has a twin.
const ALIKE: f64 = 1e-9;

/// The chance of a table as unlikely as this one, or more, if both sides have the same share.
pub fn fisher(first: Proportion, second: Proportion) -> f64 {
    let table = Hypergeometric {
        tries: first.of as f64,
        others: second.of as f64,
        hits: (first.hits + second.hits) as f64,
        misses: (first.of - first.hits + second.of - second.hits) as f64,
    };
    let (low, high) = table.range();
    let found = first.hits as f64;
    let likelihood = table.log_chance(found);
    let mode = ((table.hits + 1.0) * (table.tries + 1.0) / (table.tries + table.others + 2.0)).floor().clamp(low, high);
    if likelihood >= table.log_chance(mode) - ALIKE {
        return 1.0;
    }
    let is_as_unlikely = |hits: f64| table.log_chance(hits) <= likelihood + ALIKE;
    let p = if found < mode {
        let other = smallest(mode, high, is_as_unlikely);
        table.down_from(found) + other.map_or(0.0, |hits| table.up_from(hits))
    } else {
        let other = smallest(-mode, -low, |hits| is_as_unlikely(-hits));
        table.up_from(found) + other.map_or(0.0, |hits| table.down_from(-hits))
    };
    p.min(1.0)
}

/// The smallest whole number of a range for which something holds that holds for all larger ones.
fn smallest(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = ((low + high) / 2.0).floor();
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1.0;
        }
    }
    Some(high)
}

/// Hits among the tries of one side, where hits and misses of both are known. Counts are whole and below 2^53.
struct Hypergeometric {
    tries: f64,
    others: f64,
    hits: f64,
    misses: f64,
}

impl Hypergeometric {
    fn range(&self) -> (f64, f64) {
        ((self.tries - self.misses).max(0.0), self.hits.min(self.tries))
    }

    fn log_chance(&self, hits: f64) -> f64 {
        let all = self.tries + self.others;
        let (p, q) = (self.tries / all, self.others / all);
        log_binomial(hits, self.hits, p, q) + log_binomial(self.tries - hits, self.misses, p, q)
            - log_binomial(self.tries, all, p, q)
    }

    /// The chance of so many hits or more.
    fn up_from(&self, hits: f64) -> f64 {
        let next =
            |at: f64| (self.hits - at) * (self.tries - at) / ((at + 1.0) * (self.misses - self.tries + at + 1.0));
        self.log_chance(hits).exp() * tail(hits, 1.0, next)
    }

    /// The chance of so many hits or fewer.
    fn down_from(&self, hits: f64) -> f64 {
        let next = |at: f64| at * (self.misses - self.tries + at) / ((self.hits - at + 1.0) * (self.tries - at + 1.0));
        self.log_chance(hits).exp() * tail(hits, -1.0, next)
    }
}

/// The sum of 1 and what follows it, each term so many times the one before; none counts past the last digit.
fn tail(from: f64, step: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut at, mut term, mut sum) = (from, 1.0, 1.0);
    loop {
        term *= ratio(at);
        // Past the end of the range a ratio is zero. Terms fall faster and faster, so the rest is less than this one's
        // share of a geometric series.
        if term <= 0.0 || term < sum * 1e-18 {
            return sum;
        }
        sum += term;
        at += step;
    }
}

/// The logarithm of the chance of `hits` among `tries`, each with the chance p, and q is one less p.
fn log_binomial(hits: f64, tries: f64, p: f64, q: f64) -> f64 {
    if hits == 0.0 {
        return if tries == 0.0 { 0.0 } else { tries * (-p).ln_1p() };
    }
    if hits == tries {
        return tries * (-q).ln_1p();
    }
    let misses = tries - hits;
    let errors = stirling_error(tries) - stirling_error(hits) - stirling_error(misses);
    let deviances = deviance(hits, tries * p) + deviance(misses, tries * q);
    errors - deviances - 0.5 * (2.0 * PI * hits * (misses / tries)).ln()
}

/// ln n! less Stirling's formula for it.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let log_factorial: f64 = (2..=n as u32).map(f64::from).product::<f64>().ln();
        return if n == 0.0 { 0.0 } else { log_factorial - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * PI).ln() };
    }
    const SERIES: [f64; 6] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    SERIES.iter().rev().fold(0.0, |sum, term| sum / (n * n) + term) / n
}

/// x ln(x / mean) + mean - x, also where both are nearly equal.
fn deviance(x: f64, mean: f64) -> f64 {
    let (difference, sum) = (x - mean, x + mean);
    if difference.abs() >= 0.1 * sum {
        return x * (x / mean).ln() + mean - x;
    }
    // 2 x artanh(v) - difference, by the series of artanh without its first term.
    let v = difference / sum;
    let (mut total, mut power) = (difference * v, 2.0 * x * v);
    for n in 1..1000 {
        power *= v * v;
        let next = total + power / f64::from(2 * n + 1);
        if next == total {
            break;
        }
        total = next;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proportion(hits: u64, of: u64) -> Proportion {
        Proportion::new(hits, of).unwrap()
    }

    /// By counting every table, in whole numbers as far as they go.
    fn counted(first: Proportion, second: Proportion) -> f64 {
        let choose = |n: u64, k: u64| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
        let (hits, tries, others) = (first.hits + second.hits, first.of, second.of);
        let weight = |x: u64| choose(tries, x) * choose(others, hits - x);
        let all: Vec<f64> = (hits.saturating_sub(others)..=hits.min(tries)).map(weight).collect();
        let found = weight(first.hits);
        all.iter().filter(|other| **other <= found * (1.0 + 1e-9)).sum::<f64>() / all.iter().sum::<f64>()
    }

    #[test]
    fn half_of_all_requests_are_no_chance_and_none_on_both_sides_are() {
        assert!(fisher(proportion(0, 1500), proportion(750, 1500)) < 1e-200);
        assert_eq!(fisher(proportion(0, 1500), proportion(0, 900)), 1.0);
        assert_eq!(fisher(proportion(3, 3), proportion(7, 7)), 1.0);
        assert_eq!(fisher(proportion(0, 5_000_000_000), proportion(4_000_000_000, 5_000_000_000)), 0.0);
    }

    #[test]
    fn a_share_of_none_lies_at_zero_or_above() {
        assert_eq!(proportion(0, 100).interval(1.96).0, 0.0);
        assert_eq!(proportion(100, 100).interval(1.96).1, 1.0);
        assert_eq!((Proportion::new(0, 0), Proportion::new(3, 2)), (None, None));
        // Wilson's own: 10 of 20.
        let (low, high) = proportion(10, 20).interval(1.959_963_984_540_054);
        assert!((low - 0.299_298).abs() < 1e-6 && (high - 0.700_702).abs() < 1e-6, "{low} {high}");
    }

    proptest! {
        #[test]
        fn it_is_the_sum_over_all_tables(a in 1u64..60, b in 1u64..60, x in 0.0f64..=1.0, y in 0.0f64..=1.0) {
            let of = |of: u64, share: f64| proportion((of as f64 * share).round() as u64, of);
            let (first, second) = (of(a, x), of(b, y));
            let (found, wanted) = (fisher(first, second), counted(first, second));
            prop_assert!((found / wanted - 1.0).abs() < 1e-9, "{:?} {:?}: {} for {}", first, second, found, wanted);
            let exchanged = fisher(second, first);
            prop_assert!((found / exchanged - 1.0).abs() < 1e-9);
        }
    }
}
