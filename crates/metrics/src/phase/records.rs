//! The stored records of a phase: a value that merges with others and can be sent.

use crate::curves::column_sweep::sweep_columns;
use crate::curves::sweep_line::SweepLine;
use crate::facts::columns::{Batch, Columns};
use crate::numbers::durations::Gaps;
use crate::phase::errors::Errors;
use crate::run::record::RecordMetrics;
use aiperf_types::{Measured, WallNs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The records of a phase, or a part of them: their facts, the gaps between their content responses, their errors.
///
/// All of it is integers, so merging parts gives the whole, bit for bit, whichever part a record is in. Curves are not
/// stored but [swept](Self::sweep) from all records.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

    pub fn len(&self) -> u64 {
        self.columns.rows() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn first_start(&self) -> Option<WallNs> {
        self.columns.batches().filter_map(Batch::first_start).min().map(WallNs)
    }

    /// Whether the gaps are stored one by one: without them, these records have no curves together with others.
    pub fn keeps_gaps(&self) -> bool {
        self.columns.keeps_gaps()
    }

    /// The curves of all records together. Requests that overlapped in time overlap in the curves.
    #[must_use]
    pub fn sweep<'r>(records: impl IntoIterator<Item = &'r Self>, mut sweep: SweepLine) -> SweepLine {
        sweep_columns(records.into_iter().map(|records| &records.columns), &mut sweep);
        sweep
    }

    /// Drops the gaps if there are more than `limit`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Fact, Facts};
    use aiperf_types::{BinaryForm, RequestError};
    use proptest::prelude::*;

    const FORM: BinaryForm = BinaryForm { name: "records", version: 1 };

    /// A record of pseudo-random facts, some of them absent.
    fn add(records: &mut Records, number: u64, seed: u64) {
        let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 20
        };
        let mut facts = Facts::default();
        for &fact in Fact::ALL {
            let (is_present, shift) = (draw() % 4 > 0, draw() % 40);
            if is_present {
                facts.set_raw(fact, draw() >> shift);
            }
        }
        let gaps: Vec<u64> = (0..draw() % 9).map(|_| draw() >> (draw() % 40)).collect();
        facts.set_raw(Fact::Status, 0);
        facts.set_raw(Fact::Chunks, gaps.len() as u64 + 1);
        records.gaps.add_all(&gaps);
        records.columns.push(&facts, &gaps);
        *records.spec_decode.entry(draw() as u32 % 7).or_default() += draw();
        let error = RequestError::status(500 + (draw() % 5) as u16, "Error", (draw() % 50).to_string());
        records.errors.add(&error, draw() % 1000);
    }

    /// Every fact of every record with its gaps, in a canonical order.
    fn rows(records: &Records) -> Vec<(Vec<u64>, Vec<u64>)> {
        let mut rows = Vec::new();
        records.columns.each_with_gaps(Fact::ALL, |_, facts, gaps| {
            rows.push((Fact::ALL.iter().map(|&fact| facts.raw(fact)).collect(), gaps.to_vec()));
        });
        rows.sort_unstable();
        rows
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_sent_and_merged_hold_the_same_records_bit_for_bit(
            count in 0..2600_u64,
            seed in any::<u64>(),
            parts in 1..6_u64,
        ) {
            let mut whole = Records::default();
            let mut split = vec![Records::default(); parts as usize];
            for number in 0..count {
                add(&mut whole, number, seed);
                add(&mut split[(number.wrapping_mul(seed | 1) >> 7) as usize % parts as usize], number, seed);
            }
            let sent = |part: &Records| FORM.read::<Records>(&FORM.write(part).unwrap()).unwrap();
            let merged = split.iter().map(sent).reduce(Records::merge).unwrap();
            prop_assert_eq!(merged.len(), count);
            prop_assert_eq!(rows(&merged), rows(&whole));
            prop_assert_eq!(&merged.gaps, &whole.gaps);
            prop_assert_eq!(&merged.spec_decode, &whole.spec_decode);
            prop_assert_eq!(merged.errors.list(), whole.errors.list());
            prop_assert_eq!(merged.first_start(), whole.first_start());
        }
    }
}
