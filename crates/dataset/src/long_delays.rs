//! The note about delays that keep a session waiting for long.

use aiperf_types::Nanos;

/// Longer delays are worth a note.
const LONG: Nanos = Nanos::from_millis(60_000);

#[derive(Debug, Default)]
pub(crate) struct LongDelays {
    count: u64,
    longest: Nanos,
    /// The row of the first one.
    first: usize,
}

impl LongDelays {
    pub(crate) fn add(&mut self, delay: Option<Nanos>, row: usize) {
        let Some(delay) = delay.filter(|delay| *delay > LONG) else { return };
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
        self.longest = self.longest.max(delay);
    }

    /// The note, with the location of the first delay.
    pub(crate) fn note(&self, at: impl FnOnce(usize) -> String) -> Option<String> {
        let (limit, longest) = (LONG.as_secs_f64(), self.longest.as_secs_f64());
        let what = format!("delays of more than {limit} s between turns: {}, the longest of {longest} s", self.count);
        (self.count > 0).then(|| format!("{}: {what}", at(self.first)))
    }
}
