//! The start, first content and end of a record, and its tokens: the input of curves.

use crate::facts::{Fact, Facts};

/// One record as curves see it. Instants are nanoseconds of the wall clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// First content; only streams that did not fail have it.
    pub(crate) generation: Option<u64>,
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
}

impl Timing {
    /// The facts that it is made from.
    pub(crate) const FACTS: &[Fact] =
        &[Fact::Start, Fact::End, Fact::First, Fact::Input, Fact::Output, Fact::Reasoning];

    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let start = facts.get(Fact::Start)?;
        let end = start.checked_add(facts.get(Fact::End)?)?;
        if facts.failed() {
            return Some(Self { start, end, generation: None, input: None, output: None });
        }
        let output = match (facts.get(Fact::Output), facts.get(Fact::Reasoning)) {
            (None, None) => None,
            (output, reasoning) => Some(output.unwrap_or(0).saturating_add(reasoning.unwrap_or(0))),
        };
        let generation = facts.get(Fact::First).map(|first| (start + first).min(end));
        Some(Self { start, end, generation, input: facts.get(Fact::Input), output })
    }

    /// Input tokens that are in flight from the start to the first content.
    pub(crate) fn prompt(&self) -> Option<u64> {
        self.input.filter(|_| self.generation.is_some_and(|generation| generation > self.start))
    }

    /// Tokens read per nanosecond, between start and first content.
    pub(crate) fn prefill(&self) -> Option<f64> {
        Some(self.prompt()? as f64 / (self.generation? - self.start) as f64)
    }

    /// Tokens produced per nanosecond at an even pace, between first content and end.
    pub(crate) fn decode(&self) -> Option<f64> {
        let generation = self.generation.filter(|&generation| self.end > generation)?;
        let output = self.output.filter(|&output| output >= 1)?;
        Some((output - 1) as f64 / (self.end - generation) as f64)
    }

    /// Output tokens that are in flight from the first content to the end.
    pub(crate) fn produced(&self) -> Option<u64> {
        self.output.filter(|_| self.generation.is_some_and(|generation| self.end > generation))
    }

    /// Tokens per chunk, if the first carries one token and all others that count carry the same.
    fn chunk_share(&self, gaps: &[u64], counts: impl Fn(&u64) -> bool) -> Option<f64> {
        let output = self.output.filter(|&output| output >= 1)?;
        let chunks = gaps.iter().filter(|gap| counts(gap)).count();
        (chunks > 0).then(|| (output - 1) as f64 / chunks as f64)
    }

    /// Tokens per chunk while decoding: spread over the gaps longer than zero.
    pub(crate) fn decode_share(&self, gaps: &[u64]) -> Option<f64> {
        self.chunk_share(gaps, |gap| *gap > 0)
    }

    /// Tokens per chunk on arrival: spread over all gaps.
    pub(crate) fn arrival_share(&self, gaps: &[u64]) -> Option<f64> {
        self.chunk_share(gaps, |_| true)
    }
}
