//! The one-sided distance: a sum of positive terms, each nearly a binomial probability.

use std::f64::consts::PI;

/// The chance of a distance of more than `x` to one side: the sum over j of x / (x + j/n) times the chance that j of `n`
/// values lie below x + j/n.
pub(super) fn beyond(n: u64, x: f64) -> f64 {
    let count = n as f64;
    let last = (count * (1.0 - x)).floor() as u64;
    let sum: f64 = (1..=last).map(|j| x / (x + j as f64 / count) * binomial(n, j, count * x)).sum();
    let none = (count * (-x).ln_1p()).exp();
    sum + none
}

/// The chance that `j` of `n` values lie below (`j` + `excess`) / n, in Loader's form ("Fast and Accurate Computation of
/// Binomial Probabilities", 2000), whose error does not grow with n.
fn binomial(n: u64, j: u64, excess: f64) -> f64 {
    let (count, hits) = (n as f64, j as f64);
    let misses = count - hits;
    if misses <= excess {
        // Either all below one, or beyond the end.
        return if j == n { ((hits + excess) / count).powf(count) } else { 0.0 };
    }
    let deviance = deviance(hits, excess) + deviance(misses, -excess);
    let correction = stirling_error(n) - stirling_error(j) - stirling_error(n - j);
    (correction - deviance).exp() * (count / (2.0 * PI * hits * misses)).sqrt()
}

/// k ln(k / (k + e)) + e, without cancellation where e is small beside k.
fn deviance(k: f64, e: f64) -> f64 {
    let r = e / k;
    if r.abs() > 0.05 {
        return e - k * r.ln_1p();
    }
    // r - ln(1 + r), as a series that ends at the last digit.
    let (mut sum, mut power) = (0.0, r);
    for i in 2..40 {
        power *= -r;
        let term = -power / f64::from(i);
        sum += term;
        if term.abs() <= 1e-18 * sum.abs() {
            break;
        }
    }
    k * sum
}

/// ln k! less Stirling's formula for it.
fn stirling_error(k: u64) -> f64 {
    if k < 16 {
        let factorial: f64 = (1..=k).map(|i| i as f64).product();
        let k = k as f64;
        return factorial.ln() - ((k + 0.5) * k.max(1.0).ln() - k + 0.5 * (2.0 * PI).ln());
    }
    let inverse = 1.0 / k as f64;
    let square = inverse * inverse;
    const SERIES: [f64; 6] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    SERIES.iter().rev().fold(0.0, |sum, term| sum * square + term) * inverse
}
