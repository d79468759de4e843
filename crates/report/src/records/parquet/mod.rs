//! The records file as columns: a row for each line of the JSONL, in the same order.
//!
//! Encoders put records into cells on the record threads ([`rows`] into [`cells`], by the table in [`columns`]). The
//! thread of the file collects these, which costs a copy, and parts them into row groups; a thread of lowest priority
//! turns each group into compressed column chunks ([`chunks`]), and that of the file appends what is done ([`writing`]).
//! No other thread waits for that one: a group is a value, and what it has not done may be done by others.

mod arrow_schema;
mod cells;
mod chunks;
mod column;
mod columns;
mod delta;
mod rows;
mod writing;
mod zstd;

use crate::export::{RecordFile, RecordWriting};
use columns::Columns;
use rows::RecordRow;
use std::sync::Arc;
use writing::Writing;

pub(crate) const SINK: RecordFile = RecordFile {
    name: "records_parquet",
    label: "Records Parquet",
    file: |names| &names.records_parquet,
    wanted: |plan| plan.records.parquet,
    open: |path, run| {
        let columns = Arc::new(Columns::of(&run.metrics)?);
        let (file, complete) = Writing::open(path, columns.clone())?.ends();
        let benchmark_id = run.benchmark_id.clone();
        Ok(RecordWriting {
            encoder: Box::new(move || Box::new(RecordRow::new(columns.clone(), &benchmark_id))),
            file: Box::new(file),
            holds: writing::HOLDS,
            complete: Some(complete),
        })
    },
};
