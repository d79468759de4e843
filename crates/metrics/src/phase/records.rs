//! What is kept of the records of a phase: a value that merges with others and travels.

use crate::facts::columns::Columns;
use crate::numbers::durations::Gaps;
use crate::phase::errors::Errors;
use crate::run::record::RecordMetrics;
use aiperf_types::Measured;
use std::collections::BTreeMap;

/// The records of a phase, or a part of them: their facts, the gaps between their content responses, their errors.
///
/// All of it is integers, so that merging parts gives the whole, bit for bit, whichever part a record is in.
#[derive(Clone, Debug)]
pub struct Records {
    pub(crate) columns: Columns,
    pub(crate) gaps: Gaps,
    pub(crate) errors: Errors,
    /// Accepted drafts per step.
    pub(crate) spec_decode: BTreeMap<u32, u64>,
}

impl Default for Records {
    fn default() -> Self {
        Self { columns: Columns::new(), gaps: Gaps::default(), errors: Errors::default(), spec_decode: BTreeMap::new() }
    }
}

impl Records {
    pub(crate) fn add(&mut self, m: &Measured, record: &RecordMetrics) {
        self.gaps.add_all(&record.gaps);
        self.columns.push(&record.facts, &record.gaps);
        match &m.error {
            Some(error) => self.errors.add(error, m.start_wall.0 + m.end.since(m.start).0),
            None => {
                for (&accepted, &steps) in m.spec_decode.iter().flat_map(|spec| &spec.acceptance_histogram) {
                    *self.spec_decode.entry(accepted).or_default() += steps;
                }
            }
        }
    }

    /// Both together.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.errors.merge(&other.errors);
        for (accepted, steps) in other.spec_decode {
            *self.spec_decode.entry(accepted).or_default() += steps;
        }
        self.gaps.merge(&other.gaps);
        self.columns.append(other.columns);
        self
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.columns.rows() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stops keeping the gaps one by one when there are more than this.
    pub(crate) fn limit_gaps(&mut self, count: u64, limit: u64) {
        if count > limit && self.columns.keeps_gaps() {
            self.columns.drop_gaps();
        }
    }

    /// Bytes held, roughly.
    pub(crate) fn size(&self) -> usize {
        self.columns.size() + self.gaps.size()
    }
}
