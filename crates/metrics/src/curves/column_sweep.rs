//! Records that are kept, swept again: curves of parts of a run are those of all their requests at once.
//!
//! A curve is a sum of step functions, one a request: it changes where the request starts, where content comes and where
//! it ends. The sum of two parts does not follow from their statistics, so the step functions travel, as the facts and
//! gaps that records are kept by, and one sweep sums them up. As steps they would take 24 bytes a content, as gaps some
//! four.

use crate::curves::pending::Pending;
use crate::curves::sweep_line::SweepLine;
use crate::curves::timing::Timing;
use crate::facts::columns::{Batch, BatchReader, Columns};

/// Sweeps all records of some columns together, to their end.
///
/// Batches are taken in the order of their first starts, so that time is known up to where the next one begins: what is
/// held is about what was in flight at once, however many records there are.
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
