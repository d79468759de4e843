//! Sweeps stored records again: the curves of several parts of a run come from all their requests together.
//!
//! A curve is a sum of step functions, one per request: it changes when a request starts, when content arrives and when
//! it ends. The curve of two parts does not follow from their statistics. So the step functions are sent, as the facts
//! and gaps of the records, and one sweep adds them up. As steps they would take 24 bytes per content, as gaps they
//! take about four.

use crate::curves::pending::Pending;
use crate::curves::sweep_line::SweepLine;
use crate::curves::timing::Timing;
use crate::facts::columns::{Batch, BatchReader, Columns};

/// Sweeps all records of some columns together, to their end.
///
/// Batches are taken in the order of their first starts, so time is known up to the start of the next batch. Memory
/// holds about what was in flight at once, however many records there are.
pub(crate) fn sweep_columns<'c>(columns: impl IntoIterator<Item = &'c Columns>, sweep: &mut SweepLine) {
    let with_start = |batch: Batch<'c>| Some((batch.first_start()?, batch));
    let mut batches: Vec<(u64, Batch<'c>)> =
        columns.into_iter().flat_map(Columns::batches).filter_map(with_start).collect();
    batches.sort_by_key(|(start, _)| *start);
    let (mut reader, mut pending) = (BatchReader::new(Timing::FACTS), Pending::default());
    let next_starts = batches.iter().skip(1).map(|(start, _)| *start).chain([0]);
    for ((_, batch), next_start) in batches.iter().zip(next_starts) {
        reader.each_with_gaps(*batch, |facts, gaps| {
            if let Some(timing) = Timing::of(facts) {
                pending.add_unnumbered(timing, gaps);
            }
        });
        sweep.take(&mut pending);
        sweep.sweep_to(next_start);
    }
    sweep.end();
}
