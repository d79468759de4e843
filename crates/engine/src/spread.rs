//! How a run's own delays are spread: a small histogram of nanoseconds, within 3% of the truth.

/// Parts of an octave, as a power of two.
const PART_BITS: u32 = 4;
const PARTS: usize = 1 << PART_BITS;

/// Counts of delays by magnitude.
#[derive(Clone, Debug)]
pub struct Spread {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: vec![0; 64 * PARTS], count: 0, sum: 0, max: 0 }
    }
}

impl Spread {
    /// Counts a delay.
    pub fn add(&mut self, nanos: u64) {
        self.counts[place(nanos)] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Delays counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in nanoseconds.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Largest.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The delay that a share of all do not exceed, in nanoseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, &count) in self.counts.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return middle(at).min(self.max as f64);
            }
        }
        0.0
    }
}

fn place(nanos: u64) -> usize {
    if nanos < PARTS as u64 {
        return nanos as usize;
    }
    let octave = 63 - nanos.leading_zeros();
    let part = (nanos >> (octave - PART_BITS)) as usize & (PARTS - 1);
    (octave - PART_BITS + 1) as usize * PARTS + part
}

fn middle(place: usize) -> f64 {
    if place < PARTS {
        return place as f64;
    }
    let width = 1u64 << (place / PARTS - 1);
    let low = (PARTS + place % PARTS) as u64 * width;
    low as f64 + (width - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut spread = Spread::default();
        (1..=100_000u64).for_each(|n| spread.add(n * 10));
        for (share, exact) in [(0.5, 500_000.0), (0.99, 990_000.0)] {
            assert!((spread.quantile(share) / exact - 1.0).abs() < 0.035, "{share}");
        }
        assert_eq!(spread.max(), 1_000_000);
        assert!((spread.mean() - 500_005.0).abs() < 1e-6);
    }

    #[test]
    fn small_and_huge_delays_have_a_place() {
        let mut spread = Spread::default();
        [0, 1, 15, 16, u64::MAX].into_iter().for_each(|n| spread.add(n));
        assert_eq!(spread.quantile(0.2), 0.0);
        assert_eq!(spread.count(), 5);
    }
}
