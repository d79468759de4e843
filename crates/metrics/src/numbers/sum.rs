//! Sums of floats that do not depend on the order of their terms, except for the last bit or two.

/// A sum of floats. The rounding error of each addition is kept beside it: one term may be so large that it would
/// swallow all others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, term: f64) {
        let next = self.sum + term;
        let added = next - self.sum;
        self.lost += (self.sum - (next - added)) + (term - added);
        self.sum = next;
    }

    /// Adds a term with its rounding error.
    #[inline]
    pub(crate) fn add_with_rest(&mut self, term: f64, rest: f64) {
        self.add(term);
        self.lost += rest;
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: Self) {
        self.add_with_rest(other.sum, other.lost);
    }

    #[inline]
    pub(crate) fn value(self) -> f64 {
        self.sum + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> Self {
        terms.into_iter().fold(Self::default(), |mut sum, term| {
            sum.add(term);
            sum
        })
    }
}

/// The same for terms by the million: plain additions, which are settled every few thousand terms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchedSum {
    settled: Sum,
    batch: f64,
}

impl BatchedSum {
    #[inline]
    pub(crate) fn add(&mut self, term: f64) {
        self.batch += term;
    }

    pub(crate) fn settle(&mut self) {
        self.settled.add(std::mem::take(&mut self.batch));
    }

    pub(crate) fn value(mut self) -> f64 {
        self.settle();
        self.settled.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_term_is_lost_beside_another() {
        let terms = [1.0, 1e16, 1e-3, -1e16, 3.3];
        assert!((terms.into_iter().collect::<Sum>().value() - 4.301).abs() < 1e-12);
        assert_eq!(terms.into_iter().rev().collect::<Sum>().value(), terms.into_iter().collect::<Sum>().value());
    }
}
