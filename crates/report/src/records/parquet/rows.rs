//! Puts records into rows of cells, on the record threads.

use super::cells::Cells;
use super::column::ColumnType;
use super::columns::{Columns, Source};
use crate::records::measurement::RecordMeasurement;
use crate::records::metadata::RunIds;
use aiperf_metrics::{RecordEncoder, RecordMetrics, RecordView, Value};
use std::sync::Arc;

/// Puts records into rows. Each record thread has its own.
pub(crate) struct RecordRow {
    columns: Arc<Columns>,
    ids: RunIds,
}

impl RecordRow {
    pub(crate) fn new(columns: Arc<Columns>, benchmark_id: &str) -> Self {
        Self { columns, ids: RunIds::new(benchmark_id) }
    }

    /// The metrics of a record are in the order of columns: one pass finds them all. Columns and records follow from
    /// the metrics of the run, so each finds its place; if one does not, only that one is left out.
    fn push_metrics(&self, cells: &mut Cells<'_>, metrics: &RecordMetrics) {
        let mut columns = self.columns.metrics();
        for (metric, value) in metrics.iter() {
            let Some((column, _)) = columns.find(|(_, known)| std::ptr::eq(*known, metric)) else {
                debug_assert!(false, "{} has no column", metric.tag);
                columns = self.columns.metrics();
                continue;
            };
            cells.go_to(column);
            match (self.columns.kind(column), value) {
                (Some(ColumnType::Int), Value::Int(value)) => cells.maybe_signed(Some(value)),
                (Some(ColumnType::Float), Value::Float(value)) => cells.float(value),
                (Some(ColumnType::Floats), Value::List(values)) => cells.floats(values),
                (kind, value) => debug_assert!(false, "{}: {value:?} in a column of {kind:?}", metric.tag),
            }
        }
    }
}

impl RecordEncoder for RecordRow {
    /// As in the JSONL, a record with neither a metric nor an error writes nothing.
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        if record.measured.error.is_none() && record.metrics.iter().next().is_none() {
            return;
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let measurement = RecordMeasurement::of(record.measured);
        let source = Source { ids: self.ids, meta: record.meta, measured: record.measured, measurement };
        self.columns.write(&source, &mut Cells::new(out), |cells| self.push_metrics(cells, record.metrics));
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}
