//! Student's t: its distribution, its quantiles, and the t of an interval.
//!
//! Degrees of freedom need not be whole, because Welch's are not. All of it rests on the share of the distribution beyond
//! ±t, an incomplete beta function whose second parameter is a half: one continued fraction and one ratio of gamma
//! functions. Relative error is about 1e-13 (`tests/it/scipy.rs`), in the tails as well.

use std::f64::consts::PI;

/// Past this, Student's t is the normal distribution to the last digit, and the fraction would only take longer.
const MOST_FREEDOM: f64 = 1e10;

/// Share of the distribution below `t`.
pub fn cdf(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || !is_valid(freedom) {
        return f64::NAN;
    }
    let beyond = two_sided(t, freedom) / 2.0;
    if t < 0.0 { beyond } else { 1.0 - beyond }
}

/// Share of the distribution beyond `-t` and `t` together: the p-value of a two-sided test.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || !is_valid(freedom) {
        return f64::NAN;
    }
    Shares::of(t.abs(), freedom).beyond
}

/// The t below which a share `p` of the distribution lies.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || !is_valid(freedom) {
        return f64::NAN;
    }
    // 2p - 1 is exact near a half, and 2p, 2(1 - p) are exact near the ends.
    let t = solve(2.0 * p.min(1.0 - p), (2.0 * p - 1.0).abs(), freedom);
    if p < 0.5 { -t } else { t }
}

/// The t within which, on both sides of zero, a share `level` of the distribution lies.
pub fn critical(level: f64, freedom: f64) -> f64 {
    if !(0.0..=1.0).contains(&level) || !is_valid(freedom) {
        return f64::NAN;
    }
    solve(1.0 - level, level, freedom)
}

/// Degrees of freedom may be infinite.
fn is_valid(freedom: f64) -> bool {
    freedom > 0.0
}

/// The distribution cut at -t and t.
struct Shares {
    within: f64,
    beyond: f64,
    density: f64,
}

impl Shares {
    fn of(t: f64, freedom: f64) -> Self {
        let freedom = freedom.min(MOST_FREEDOM);
        let half = freedom / 2.0;
        let scaled = t / freedom.sqrt();
        let square = scaled * scaled;
        // 1 / (1 + square) to the power of half, and square / (1 + square), also where the square is infinite.
        let log = if scaled > 1e100 { 2.0 * scaled.ln() } else { square.ln_1p() };
        let power = (-half * log).exp();
        let far = if scaled > 1e100 { 1.0 } else { square / (1.0 + square) };
        let near = if scaled > 1e100 { 0.0 } else { 1.0 / (1.0 + square) };
        let ratio = gamma_ratio(half);
        let density = ratio / (freedom * PI).sqrt() * power * near.sqrt();
        let front = ratio / PI.sqrt() * power * far.sqrt();
        if near < (half + 1.0) / (half + 2.5) {
            let beyond = (front / half * fraction(half, 0.5, near, far)).min(1.0);
            Self { within: 1.0 - beyond, beyond, density }
        } else {
            let within = (front / 0.5 * fraction(0.5, half, far, near)).min(1.0);
            Self { within, beyond: 1.0 - within, density }
        }
    }
}

/// The t >= 0 beyond which (on both sides) lies `beyond`; `within` is one less it, and the smaller of both is aimed at.
fn solve(beyond: f64, within: f64, freedom: f64) -> f64 {
    if within <= 0.0 {
        return 0.0;
    }
    if beyond <= 0.0 {
        return f64::INFINITY;
    }
    // Of the smaller share the logarithm is followed, which is nearly straight in the tail, or the share itself.
    let tail = beyond < within;
    let error = |shares: &Shares| if tail { (beyond / shares.beyond).ln() } else { shares.within - within };
    let slope = |shares: &Shares| if tail { 2.0 * shares.density / shares.beyond } else { 2.0 * shares.density };
    let (mut low, mut high) = (0.0, 1.0);
    while error(&Shares::of(high, freedom)) < 0.0 {
        low = high;
        high *= 4.0;
        if high > 1e300 {
            return f64::INFINITY;
        }
    }
    let mut t = f64::midpoint(low, high);
    for _ in 0..200 {
        let shares = Shares::of(t, freedom);
        let wrong = error(&shares);
        if wrong < 0.0 {
            low = t;
        } else {
            high = t;
        }
        let step = t - wrong / slope(&shares);
        let next = if step > low && step < high { step } else { f64::midpoint(low, high) };
        if (next - t).abs() <= 1e-15 * t {
            return next;
        }
        t = next;
    }
    t
}

/// Gamma(a + 1/2) / Gamma(a): by its series in 1/a where that is exact to the last digit, and down from there.
fn gamma_ratio(a: f64) -> f64 {
    let (mut a, mut factor) = (a, 1.0);
    while a < 40.0 {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    const SERIES: [f64; 8] = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1024.0,
        -21.0 / 32_768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
        39_325.0 / 33_554_432.0,
    ];
    let series = SERIES.iter().rev().fold(0.0, |sum, term| sum / a + term);
    factor * a.sqrt() * series
}

/// The continued fraction of the incomplete beta function of x = 1 - y, for x below (a + 1) / (a + b + 2), times a.
///
/// In the form of Didonato and Morris ("Algorithm 708", 1992), in which y is separate: with many degrees of freedom
/// it is tiny, and 1 - x would have lost it.
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let start = 1.0 + if a > b { (a + b) * y - b } else { a - (a + b) * x };
    let (mut before, mut top) = (0.0, 1.0);
    let (mut below_before, mut below) = (1.0, start / (1.0 + 1.0 / a));
    let mut result = top / below;
    for n in 1..200_000 {
        let n = f64::from(n);
        let span = a + 2.0 * n - 1.0;
        let weight = n * (b - n) * x;
        let last = 1.0 + (n - 1.0) / a;
        let alpha = last * (last + b / a) * (a / span) * (a / span) * weight * x;
        let beta = n + weight / span + (1.0 + n / a) / (1.0 + (2.0 * n + 1.0) / a) * (start + n * (1.0 + y));
        (before, top) = (top, alpha * before + beta * top);
        (below_before, below) = (below, alpha * below_before + beta * below);
        let next = top / below;
        if (next - result).abs() <= 1e-16 * next {
            return next * a;
        }
        result = next;
        // Both grow like factorials; their ratio is what counts.
        (before, top, below_before, below) = (before / below, next, below_before / below, 1.0);
    }
    result * a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_degree_of_freedom_is_cauchys_distribution() {
        for t in [1e-9f64, 0.3, 1.0, 12.7, 1e9, 1e150] {
            let expected = 2.0 * (1.0 / t).atan() / PI;
            assert!((two_sided(t, 1.0) / expected - 1.0).abs() < 1e-13, "{t}");
        }
        assert_eq!(two_sided(0.0, 1.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
    }

    #[test]
    fn many_degrees_of_freedom_are_the_normal_distribution() {
        assert!((critical(0.95, 1e10) - 1.959_963_984_540_054).abs() < 1e-9);
        assert_eq!(critical(0.95, f64::INFINITY), critical(0.95, 1e10));
    }

    #[test]
    fn what_is_no_share_has_no_quantile() {
        for (p, freedom) in [(-0.1, 3.0), (1.1, 3.0), (f64::NAN, 3.0), (0.5, 0.0), (0.5, f64::NAN)] {
            assert!(quantile(p, freedom).is_nan(), "{p} {freedom}");
        }
        assert_eq!(quantile(0.0, 2.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0, 2.0), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn a_quantile_undoes_the_distribution(p in 1e-12f64..1.0, freedom in 0.3f64..1e5) {
            let again = cdf(quantile(p, freedom), freedom);
            prop_assert!((again - p).abs() <= 1e-11 * p, "{} {} {}", p, freedom, again);
        }

        #[test]
        fn both_sides_mirror_each_other(t in 0.0f64..50.0, freedom in 0.3f64..1e5) {
            prop_assert!((cdf(t, freedom) + cdf(-t, freedom) - 1.0).abs() < 1e-14);
        }
    }
}
