//! Durbin's matrix, after Marsaglia, Tsang and Wang, "Evaluating Kolmogorov's Distribution" (2003).

/// Powers of two, so that scaling loses nothing.
const SCALE: i32 = 128;

/// The chance of a distance of at most `x`: an entry of the n-th power of a matrix of 2 n x rows. For small n x.
pub(super) fn within(n: u64, x: f64) -> f64 {
    let steps = n as f64 * x;
    let middle = steps.ceil() as usize;
    let rest = middle as f64 - steps;
    let size = 2 * middle - 1;
    let (power, mut exponent) = power(&matrix(size, rest), size, n);
    let mut p = power[(middle - 1) * size + middle - 1];
    let (large, small) = (2f64.powi(SCALE), 2f64.powi(-SCALE));
    for i in 1..=n {
        p = i as f64 * p / n as f64;
        if p.abs() < small {
            p *= large;
            exponent -= SCALE;
        }
    }
    (p * 2f64.powi(exponent)).clamp(0.0, 1.0)
}

/// Ones over factorials below the diagonal; the first column and the last row make up for the distance not being a whole
/// number of steps.
fn matrix(size: usize, rest: f64) -> Vec<f64> {
    let mut inverse_factorials = vec![1.0; size + 1];
    for j in 1..=size {
        inverse_factorials[j] = inverse_factorials[j - 1] / j as f64;
    }
    let mut edge: Vec<f64> = (0..size).map(|j| (1.0 - rest.powi(j as i32 + 1)) * inverse_factorials[j + 1]).collect();
    let corner = (2.0 * rest - 1.0).max(0.0).powi(size as i32) - 2.0 * rest.powi(size as i32);
    edge[size - 1] = (1.0 + corner) * inverse_factorials[size];
    let mut matrix = vec![0.0; size * size];
    for row in 0..size {
        for column in 1..size.min(row + 2) {
            matrix[row * size + column] = inverse_factorials[row + 1 - column];
        }
    }
    for i in 0..size {
        matrix[i * size] = edge[i];
    }
    for i in 0..size {
        matrix[(size - 1) * size + i] = edge[size - 1 - i];
    }
    matrix
}

/// The matrix to the power of `n`, and how often two has been taken out of it.
fn power(matrix: &[f64], size: usize, mut n: u64) -> (Vec<f64>, i32) {
    let mut base = matrix.to_vec();
    let mut result: Vec<f64> = (0..size * size).map(|i| f64::from(u8::from(i % (size + 1) == 0))).collect();
    let (mut base_exponent, mut exponent) = (0, 0);
    let centre = (size / 2) * size + size / 2;
    while n > 0 {
        if n % 2 == 1 {
            result = product(&result, &base, size);
            exponent += base_exponent;
            scale(&mut result, centre, &mut exponent);
        }
        n /= 2;
        if n > 0 {
            base = product(&base, &base, size);
            base_exponent *= 2;
            scale(&mut base, centre, &mut base_exponent);
        }
    }
    (result, exponent)
}

fn scale(matrix: &mut [f64], centre: usize, exponent: &mut i32) {
    if matrix[centre].abs() > 2f64.powi(SCALE) {
        let small = 2f64.powi(-SCALE);
        matrix.iter_mut().for_each(|value| *value *= small);
        *exponent += SCALE;
    }
}

fn product(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut product = vec![0.0; size * size];
    for (row, sums) in a.chunks_exact(size).zip(product.chunks_exact_mut(size)) {
        for (factor, line) in row.iter().zip(b.chunks_exact(size)) {
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum += factor * value;
            }
        }
    }
    product
}
