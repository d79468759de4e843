//! The columns of the file: metadata with the names of the JSONL, one column per metric that records of the run may
//! have, the server's data on speculative decoding, the error, and what is not exact about the request.

use super::cells::Cells;
use super::column::{Column, ColumnType, ELEMENT};
use crate::format::json::push_str;
use crate::records::jsonl::push_spec_decode;
use crate::records::measurement::RecordMeasurement;
use crate::records::metadata::{RunIds, hex};
use aiperf_metrics::{Metric, Metrics, ValueKind};
use aiperf_types::{CorrelationId, Measured, RecordMeta, RequestError, uuid_text};
use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::errors::Result;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::io;
use std::sync::Arc;

/// The parts of a record that columns other than metrics use.
pub(crate) struct Source<'a> {
    pub(crate) ids: RunIds,
    pub(crate) meta: &'a RecordMeta,
    pub(crate) measured: &'a Measured,
    pub(crate) measurement: Option<RecordMeasurement>,
}

impl Source<'_> {
    fn error(&self) -> Option<&RequestError> {
        self.measured.error.as_ref()
    }
}

/// A column of every file. A record without a value writes no cell.
struct Fixed {
    name: &'static str,
    kind: ColumnType,
    cell: CellOf,
}

type CellOf = fn(&Source<'_>, &mut Cells<'_>);

const fn int(name: &'static str, cell: CellOf) -> Fixed {
    Fixed { name, kind: ColumnType::Int, cell }
}

const fn float(name: &'static str, cell: CellOf) -> Fixed {
    Fixed { name, kind: ColumnType::Float, cell }
}

const fn bool(name: &'static str, cell: CellOf) -> Fixed {
    Fixed { name, kind: ColumnType::Bool, cell }
}

const fn text(name: &'static str, cell: CellOf) -> Fixed {
    Fixed { name, kind: ColumnType::Text, cell }
}

const fn texts(name: &'static str, cell: CellOf) -> Fixed {
    Fixed { name, kind: ColumnType::Texts, cell }
}

/// Units by the end of a column's name.
const UNITS: [(&str, &str); 2] = [("_ns", "ns"), ("_ms", "ms")];

const METADATA: &[Fixed] = &[
    int("session_num", |of, cells| cells.int(of.meta.session_num)),
    text("x_request_id", |of, cells| cells.text(&uuid_text(of.meta.request_id))),
    text("x_correlation_id", correlation_id),
    text("conversation_id", |of, cells| cells.text(of.meta.conversation_id.as_bytes())),
    int("turn_index", |of, cells| cells.int(of.meta.turn_index)),
    int("credit_issued_ns", |of, cells| cells.maybe_int(of.meta.credit_issued.map(|at| at.0))),
    int("request_start_ns", |of, cells| cells.int(of.meta.request_start.0)),
    int("request_ack_ns", |of, cells| cells.maybe_int(of.meta.request_ack.map(|at| at.0))),
    int("request_end_ns", |of, cells| cells.int(of.meta.request_end.0)),
    text("worker_id", |of, cells| cells.id("worker_", hex(of.ids.worker(of.meta.worker)))),
    text("record_processor_id", |of, cells| {
        cells.id("record_processor_", hex(of.ids.record_thread(of.meta.record_thread)));
    }),
    text("benchmark_phase", phase_kind),
    int("phase_index", |of, cells| cells.int(of.meta.phase.index)),
    int("profiling_index", |of, cells| cells.maybe_int(of.meta.phase.profiling_index)),
    text("phase_name", |of, cells| cells.text(of.meta.phase.name.as_bytes())),
    text("phase_kind", phase_kind),
    bool("was_cancelled", |of, cells| cells.bool(of.meta.was_cancelled)),
    int("cancellation_time_ns", |of, cells| cells.maybe_int(of.meta.cancelled_at.map(|at| at.0))),
    bool("context_overflow_skip", |_, cells| cells.bool(false)),
    int("agent_depth", |_, cells| cells.int(0u32)),
    text("root_correlation_id", correlation_id),
];

const BEHIND_METRICS: &[Fixed] = &[
    // Most runs have none of it, so it is one column: the JSON object of the JSONL as text.
    text("spec_decode_acceptance", spec_decode),
    int("error_code", |of, cells| cells.maybe_signed(of.error().and_then(|error| error.code))),
    text("error_type", |of, cells| cells.maybe_text(of.error().and_then(|error| error.kind.as_deref()))),
    text("error_message", |of, cells| cells.maybe_text(of.error().map(|error| &*error.message))),
    text("error_cause", |of, cells| cells.maybe_text(of.error().and_then(|error| error.cause.as_deref()))),
    texts("error_cause_chain", |of, cells| {
        cells.maybe_texts(of.error().and_then(|error| error.cause_chain.as_deref()));
    }),
];

/// What is not exact about a request: behind all others, so that an exact one skips them.
const MEASUREMENT: &[Fixed] = &[
    float("measurement_receive_lag_ms", |of, cells| {
        cells.maybe_float(of.measurement.and_then(|one| one.receive_lag_ms))
    }),
    float("measurement_first_width_ms", |of, cells| cells.maybe_float(of.measurement.map(|one| one.first_width_ms))),
    float("measurement_last_width_ms", |of, cells| cells.maybe_float(of.measurement.map(|one| one.last_width_ms))),
    bool("measurement_late", |of, cells| cells.maybe_bool(of.measurement.map(|one| one.is_late))),
    bool("measurement_unstamped", |of, cells| cells.maybe_bool(of.measurement.map(|one| one.is_unstamped))),
];

fn correlation_id(of: &Source<'_>, cells: &mut Cells<'_>) {
    match &of.meta.correlation_id {
        CorrelationId::Uuid(bits) => cells.text(&uuid_text(*bits)),
        CorrelationId::Text(text) => cells.text(text.as_bytes()),
    }
}

fn phase_kind(of: &Source<'_>, cells: &mut Cells<'_>) {
    cells.text(of.meta.phase.kind.name().as_bytes());
}

fn spec_decode(of: &Source<'_>, cells: &mut Cells<'_>) {
    if let Some(reported) = &of.measured.spec_decode {
        let mut text = Vec::new();
        push_spec_decode(&mut text, reported);
        cells.text(&text);
    }
}

/// The columns of a run, in the order of the file.
pub(crate) struct Columns {
    columns: Vec<Column>,
    metrics: Vec<&'static Metric>,
    schema: TypePtr,
    leaves: SchemaDescriptor,
}

impl Columns {
    pub(crate) fn of(metrics: &Metrics) -> io::Result<Self> {
        let fixed = |fixed: &Fixed| Column {
            name: fixed.name,
            kind: fixed.kind,
            unit: UNITS.iter().find(|(end, _)| fixed.name.ends_with(end)).map(|(_, unit)| *unit),
        };
        let metric = |(metric, kind): (&'static Metric, ValueKind)| Column {
            name: metric.tag,
            kind: match kind {
                ValueKind::Int => ColumnType::Int,
                ValueKind::Float => ColumnType::Float,
                ValueKind::List => ColumnType::Floats,
            },
            unit: Some(metric.display.name()),
        };
        let shown = metrics.shown_in_records();
        let behind = BEHIND_METRICS.iter().chain(MEASUREMENT).map(fixed);
        let columns: Vec<Column> = METADATA.iter().map(fixed).chain(shown.map(metric)).chain(behind).collect();
        let schema = schema(&columns).map_err(io::Error::other)?;
        let leaves = SchemaDescriptor::new(schema.clone());
        Ok(Self { columns, metrics: metrics.shown_in_records().map(|(metric, _)| metric).collect(), schema, leaves })
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.columns.iter()
    }

    pub(crate) fn schema(&self) -> &TypePtr {
        &self.schema
    }

    pub(crate) fn leaves(&self) -> &SchemaDescriptor {
        &self.leaves
    }

    /// Writes the cells of a record: its own, and those of its metrics in their place.
    pub(crate) fn write(&self, of: &Source<'_>, cells: &mut Cells<'_>, metrics: impl FnOnce(&mut Cells<'_>)) {
        let write = |fixed: &[Fixed], first: usize, cells: &mut Cells<'_>| {
            for (at, fixed) in fixed.iter().enumerate() {
                cells.go_to(first + at);
                (fixed.cell)(of, cells);
            }
        };
        write(METADATA, 0, cells);
        metrics(cells);
        let behind = METADATA.len() + self.metrics.len();
        write(BEHIND_METRICS, behind, cells);
        if of.measurement.is_some() {
            write(MEASUREMENT, behind + BEHIND_METRICS.len(), cells);
        }
    }

    /// The metrics of the run with the numbers of their columns.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = (usize, &'static Metric)> {
        self.metrics.iter().enumerate().map(|(at, metric)| (METADATA.len() + at, *metric))
    }

    pub(crate) fn kind(&self, column: usize) -> Option<ColumnType> {
        self.columns.get(column).map(|column| column.kind)
    }

    /// The units of columns as a JSON object.
    pub(crate) fn units(&self) -> String {
        let mut out = Vec::new();
        for column in &self.columns {
            let Some(unit) = column.unit else { continue };
            out.push(if out.is_empty() { b'{' } else { b',' });
            push_str(&mut out, column.name);
            out.push(b':');
            push_str(&mut out, unit);
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let fields: Result<Vec<TypePtr>> = columns.iter().map(field).collect();
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields?).build()?))
}

/// A list has three levels, by the format's rules for lists; its elements are never absent.
fn field(column: &Column) -> Result<TypePtr> {
    if !column.kind.is_list() {
        return leaf(column.name, column.kind, Repetition::OPTIONAL);
    }
    let element = leaf(ELEMENT, column.kind, Repetition::REQUIRED)?;
    let list =
        Type::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![element]).build()?;
    let group = Type::group_type_builder(column.name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(list)]);
    Ok(Arc::new(group.build()?))
}

fn leaf(name: &str, kind: ColumnType, repetition: Repetition) -> Result<TypePtr> {
    let leaf = Type::primitive_type_builder(name, kind.physical()).with_repetition(repetition);
    let leaf = match kind {
        ColumnType::Text | ColumnType::Texts => {
            leaf.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
        }
        _ => leaf,
    };
    Ok(Arc::new(leaf.build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::RunTraits;
    use aiperf_types::EndpointKind;
    use std::collections::BTreeSet;

    #[test]
    fn no_metric_is_named_like_another_column() {
        for kind in EndpointKind::ALL {
            let columns = Columns::of(&Metrics::for_run(RunTraits::new(*kind, true))).unwrap();
            let names: BTreeSet<&str> = columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), columns.iter().len(), "{kind:?}");
        }
    }
}
