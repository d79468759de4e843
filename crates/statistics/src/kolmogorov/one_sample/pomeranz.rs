//! Pomeranz's recursion, "Exact Cumulative Distribution of the Kolmogorov-Smirnov Statistic for Small Samples" (1974).

/// A row of the recursion is its predecessor convolved with the terms of a Poisson distribution; only `len` entries from
/// `start` on are not zero.
struct Row {
    start: i64,
    values: Vec<f64>,
}

/// The chance of a distance of at most `x`. Takes n n x steps: for n of a few hundred at most.
pub(super) fn within(n: u64, x: f64) -> f64 {
    let count = n as f64;
    let steps = count * x;
    let whole = steps.floor();
    let rest = steps - whole;
    let near = rest.min(1.0 - rest);
    let terms = 2 * (whole as usize + 1);
    let ends = poisson(near / count, terms);
    let odd = poisson(2.0 * near / count, terms);
    let even = poisson((1.0 - 2.0 * near) / count, terms);
    let bounds = Bounds { n: n as i64, whole: whole as i64, up: i64::from(rest > 0.0), round: i64::from(rest > 0.5) };

    let (large, small) = (2f64.powi(128), 2f64.powi(-128));
    let mut exponent = 0;
    let mut row = Row { start: bounds.of(0).0, values: vec![1.0] };
    for i in 1..=2 * n as i64 + 1 {
        let weights = match i {
            _ if i == 1 || i == 2 * n as i64 + 1 => &ends,
            _ if i % 2 == 1 => &odd,
            _ => &even,
        };
        let (from, to) = bounds.of(i);
        row = Row { start: from, values: (from..=to).map(|j| row.convolved(weights, j)).collect() };
        let largest = row.values.iter().copied().fold(0.0, f64::max);
        if largest > 0.0 && largest < small {
            row.values.iter_mut().for_each(|value| *value *= large);
            exponent -= 128;
        }
    }
    let mut p = row.at(n as i64);
    for i in 1..=n {
        if p > large {
            p *= small;
            exponent += 128;
        }
        p *= i as f64;
    }
    (p * 2f64.powi(exponent)).clamp(0.0, 1.0)
}

impl Row {
    fn at(&self, j: i64) -> f64 {
        usize::try_from(j - self.start).ok().and_then(|index| self.values.get(index)).copied().unwrap_or(0.0)
    }

    fn convolved(&self, weights: &[f64], j: i64) -> f64 {
        let last = (j - self.start + 1).clamp(0, self.values.len() as i64) as usize;
        let sum = |(index, value): (usize, &f64)| {
            weights.get((j - self.start) as usize - index).map_or(0.0, |weight| weight * value)
        };
        self.values[..last].iter().enumerate().map(sum).sum()
    }
}

/// The terms g^m / m!.
fn poisson(g: f64, terms: usize) -> Vec<f64> {
    let next = |term: &mut f64, m: usize| {
        *term *= if m == 0 { 1.0 } else { g / m as f64 };
        Some(*term)
    };
    (0..terms).scan(1.0, next).collect()
}

struct Bounds {
    n: i64,
    whole: i64,
    up: i64,
    round: i64,
}

impl Bounds {
    /// First and last entry of row `i`.
    fn of(&self, i: i64) -> (i64, i64) {
        let half = (i + 1) / 2;
        let (from, to) = match i {
            0 => (-self.whole - self.up - 1, self.whole + self.up - 1),
            _ if i % 2 == 1 && half == self.n + 1 => {
                (self.n - self.whole - self.up - 1, self.n + self.whole + self.up - 1)
            }
            _ if i % 2 == 1 => (half - 2 - self.whole - self.round, half + self.whole - 2 + self.up),
            _ => (half - 2 - self.whole, half + self.whole + self.round - 1),
        };
        ((from + 2).max(0), to.min(self.n))
    }
}
