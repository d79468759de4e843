//! The distribution of the largest distance between a sample of n values and the distribution it was drawn from.
//!
//! No one formula serves all n and distances; which serves where is after Simard and L'Ecuyer, "Computing the Two-Sided
//! Kolmogorov-Smirnov Distribution" (2011), with the borders that scipy has, so that figures agree.
//!
//! # Layout
//! - `durbin`: small distances, a power of a matrix
//! - `pomeranz`: few values, a recursion
//! - `pelz_good`: many values, an expansion
//! - `smirnov`: large distances, twice the one-sided distribution

mod durbin;
mod pelz_good;
mod pomeranz;
mod smirnov;

/// The chance of a distance larger than `x` between `n` values and their distribution.
pub(super) fn beyond(n: u64, x: f64) -> f64 {
    if n == 0 || x.is_nan() {
        return f64::NAN;
    }
    let count = n as f64;
    let steps = count * x;
    if steps <= 0.5 {
        return 1.0;
    }
    if x >= 1.0 {
        return 0.0;
    }
    let p = if steps <= 1.0 {
        1.0 - barely_apart(n, steps)
    } else if steps >= count - 1.0 {
        2.0 * (1.0 - x).powf(count)
    } else if x >= 0.5 {
        2.0 * smirnov::beyond(n, x)
    } else if n <= 140 {
        match steps * x {
            square if square <= 0.754_693 => 1.0 - durbin::within(n, x),
            square if square <= 4.0 => 1.0 - pomeranz::within(n, x),
            _ => 2.0 * smirnov::beyond(n, x),
        }
    } else {
        match steps * x {
            square if square >= 370.0 => 0.0,
            square if square >= 2.2 => 2.0 * smirnov::beyond(n, x),
            _ if n <= 100_000 && count * x.powf(1.5) <= 1.4 => 1.0 - durbin::within(n, x),
            _ => 1.0 - pelz_good::within(n, x),
        }
    };
    p.clamp(0.0, 1.0)
}

/// The chance of at most `steps` / n, between a half and one over n: n! / n^n (2 `steps` - 1)^n.
fn barely_apart(n: u64, steps: f64) -> f64 {
    (1..=n).fold(1.0, |product, i| product * (i as f64 / n as f64) * (2.0 * steps - 1.0))
}
