//! The values of one metric of one run, without statistics of them.

/// In the order of time, and sorted.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) in_time: Vec<f64>,
    sorted: Vec<f64>,
}

impl Values {
    /// From values in the order of time. What is not finite is left out.
    pub(super) fn new(mut in_time: Vec<f64>) -> Self {
        in_time.retain(|value| value.is_finite());
        let mut sorted = in_time.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { in_time, sorted }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The value below which a share of the values lies, between neighbours in proportion; none past either end.
    pub(super) fn at_share(&self, share: f64) -> Option<f64> {
        let last = self.sorted.len().checked_sub(1)?;
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let place = share * last as f64;
        let (below, above) = (self.sorted[place.floor() as usize], self.sorted[place.ceil() as usize]);
        Some(below + (above - below) * place.fract())
    }

    /// How many values are smaller, and how many are equal.
    pub(super) fn below_and_at(&self, value: f64) -> (usize, usize) {
        let below = self.sorted.partition_point(|other| *other < value);
        (below, self.sorted[below..].partition_point(|other| *other <= value))
    }
}
