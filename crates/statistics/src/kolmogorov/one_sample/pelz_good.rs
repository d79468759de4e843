//! The expansion of Pelz and Good, "Approximating the Lower Tail-Areas of the Kolmogorov-Smirnov One-Sample Statistic"
//! (1976): three terms past Kolmogorov's limit, in the form that converges for small distances.

use std::f64::consts::PI;

/// The chance of a distance of at most `x`; for n above a hundred.
pub(super) fn within(n: u64, x: f64) -> f64 {
    let root = (n as f64).sqrt();
    let z = root * x;
    let (z2, z4, z6) = (z * z, z.powi(4), z.powi(6));
    let (pi2, pi4, pi6) = (PI * PI, PI.powi(4), PI.powi(6));
    let log = -pi2 / 8.0 / z2;
    if log < -708.0 {
        return 0.0;
    }
    let q = log.exp();
    let terms = (16.0 * z / PI).ceil() as i32;
    let mut sums = [0.0f64; 4];
    for k in (1..=terms).rev() {
        let m2 = f64::from(2 * k - 1).powi(2);
        let (m4, m6) = (m2 * m2, m2 * m2 * m2);
        let coefficients = [
            1.0,
            -z2 + pi2 / 4.0 * m2,
            6.0 * z6 + 2.0 * z4 + (2.0 * z4 - 5.0 * z2) * pi2 / 4.0 * m2 + pi4 * (1.0 - 2.0 * z2) / 16.0 * m4,
            -30.0 * z6 - 90.0 * z.powi(8)
                + pi2 * (135.0 * z4 - 96.0 * z6) / 4.0 * m2
                + pi4 * (-60.0 * z2 + 212.0 * z4) / 16.0 * m4
                + pi6 * (5.0 - 30.0 * z2) / 64.0 * m6,
        ];
        let power = q.powi(8 * k);
        for (sum, coefficient) in sums.iter_mut().zip(coefficients) {
            *sum = *sum * power + coefficient;
        }
    }
    let front = q * (2.0 * PI).sqrt();
    for (sum, divisor) in sums.iter_mut().zip([z, 6.0 * z4, 72.0 * z.powi(7), 6480.0 * z.powi(10)]) {
        *sum *= front / divisor;
    }
    // The second and third terms have a sum over all whole numbers as well.
    for k in (1..=terms).rev() {
        let k2 = f64::from(k * k);
        let power = (-pi2 / 2.0 / z2 * k2).exp();
        sums[2] += k2 * power * pi2 * (2.0 * PI).sqrt() / (-36.0 * z.powi(3));
        sums[3] += (3.0 * z2 - pi2 * k2) * k2 * power * pi2 * (2.0 * PI).sqrt() / (216.0 * z6);
    }
    (sums[0] + sums[1] / root + sums[2] / (root * root) + sums[3] / root.powi(3)).clamp(0.0, 1.0)
}
