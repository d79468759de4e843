//! Exact p of the two-sample test: the share of lattice paths that leave a band around the diagonal.
//!
//! Where both samples come from one distribution, every order of their values is as likely as any other; an order is a
//! path from (0, 0) to (n, m), and its largest distance from the diagonal is the statistic.

/// The chance of a distance of at least `steps` / (`n` `m`), and that distance as a number.
pub(super) fn probability(n: usize, m: usize, steps: u64) -> (f64, f64) {
    let (n, m) = (n.max(m) as u64, n.min(m) as u64);
    let divisor = greatest_common_divisor(n, m);
    // The statistic is always a whole multiple of this much.
    let steps = steps / divisor;
    let statistic = steps as f64 / (n / divisor * m) as f64;
    let p = match steps {
        0 => 1.0,
        _ if n == m => outside_square(n, steps),
        _ => outside_band(n, m, divisor, steps),
    };
    (p, statistic)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Samples of one size: reflections of the path at both sides of the band, an alternating sum in which the common factors
/// of all later terms are taken out, so that nothing cancels.
fn outside_square(n: u64, steps: u64) -> f64 {
    let mut sum = 0.0;
    for reflection in (0..=n / steps).rev() {
        let passed = reflection * steps;
        let factor: f64 = (0..steps).fold(1.0, |product, j| {
            // Past the corner there are no paths.
            (n as f64 - (passed + j) as f64) * product / (n + passed + j + 1) as f64
        });
        sum = factor * (1.0 - sum);
    }
    2.0 * sum
}

/// Samples of different sizes, `n` > `m`: the share of paths to each point that have left the band, column by column.
/// Points outside the band have a share of one, so only those inside are kept.
fn outside_band(n: u64, m: u64, divisor: u64, steps: u64) -> f64 {
    let (across, up) = ((n / divisor) as i64, (m / divisor) as i64);
    let (steps, rows) = (steps as i64, m as i64 + 1);
    // A division is five times as slow as a product, and there is one for each point.
    let inverse: Vec<f64> = (0..=n + m).map(|sum| 1.0 / sum as f64).collect();
    let mut low = 0i64;
    let mut high = div_ceil(steps, across).min(rows);
    let mut shares = vec![0.0; high as usize];
    for column in 1..=n as i64 {
        let (last_low, last_high) = (low, high);
        low = ((up * column - steps).div_euclid(across) + 1).clamp(0, m as i64);
        high = div_ceil(up * column + steps, across).min(rows);
        if high <= low {
            return 1.0;
        }
        shares.resize(shares.len().max((high - low) as usize), 1.0);
        // Below the band all paths have left it; below row 0 there are none, and the factor is zero.
        let mut below = 1.0;
        for row in low..high {
            let left = if row < last_high { shares[(row - last_low) as usize] } else { 1.0 };
            below = left * (column as f64 * inverse[(column + row) as usize])
                + below * (row as f64 * inverse[(column + row) as usize]);
            shares[(row - low) as usize] = below;
        }
    }
    shares[(high - low - 1) as usize]
}

fn div_ceil(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}
