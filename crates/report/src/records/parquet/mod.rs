//! The records file as columns: one row per line of the JSONL, in the same order.
//!
//! Encoders put records into cells on the record threads ([`rows`] into [`cells`], by the table in [`columns`]). The
//! file's thread collects these, which costs a copy, and divides them into row groups. A thread of the lowest priority
//! turns each group into compressed column chunks ([`chunks`]), and the file's thread appends finished groups
//! ([`writing`]). No thread waits for the one of lowest priority: a group is a value, and another thread can do the
//! work.

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
