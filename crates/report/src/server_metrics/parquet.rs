//! Server metrics as Parquet: every sample of the profiling phases, cumulative values counted from their start, one row
//! per bucket of a histogram, one column per label.

use crate::export::Exporter;
use crate::format::json::push_str;
use crate::format::parquet_pages::ColumnData;
use crate::format::stamp::iso;
use crate::run::{RunResult, ServerMetricsResult};
use aiperf_observe::{DeltaColumns, Deltas, MetricKind, StoredSeries, deltas, units};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "server_metrics_parquet",
    label: "Server Metrics Parquet Export",
    file: |names| &names.server_metrics_parquet,
    applies: Some(|run| run.observed().is_some_and(|observed| observed.formats.parquet && has_rows(observed))),
    needs_observers: true,
    write: |run, folder| {
        if let Some(observed) = run.observed() {
            let name = &run.artifacts.names.server_metrics_parquet;
            folder.write(name, |out| write_server_metrics_parquet(out, run, observed));
        }
    },
};

/// Version of the file's layout.
const SCHEMA_VERSION: &str = "1.0";
const SCHEMA_NOTE: &str = "Label columns vary by endpoint/model. Use union_by_name=true for cross-file queries.";
/// The most rows of a row group.
const GROUP: usize = 10_000;
/// A series with this many rows has its own row groups, in which most columns have one value.
const OWN_GROUP: usize = 1_000;
/// Longer texts have no bounds in the footer, which every reader reads first.
const LONGEST_BOUND: usize = 64;

/// A column that every file has.
#[derive(Clone, Copy)]
enum Fixed {
    Text(for<'a> fn(&'a Rows<'a>) -> Option<&'a str>),
    Timestamp,
    Value,
    Sum,
    Count,
    Le,
    BucketCount,
}

const BEFORE_LABELS: [(&str, Fixed); 6] = [
    ("endpoint_url", Fixed::Text(|rows| Some(rows.series.endpoint().url()))),
    ("metric_name", Fixed::Text(|rows| Some(rows.series.name()))),
    ("metric_type", Fixed::Text(|rows| Some(rows.series.kind().name()))),
    ("unit", Fixed::Text(|rows| rows.unit)),
    ("description", Fixed::Text(|rows| Some(rows.series.description()))),
    ("timestamp_ns", Fixed::Timestamp),
];
const BEHIND_LABELS: [(&str, Fixed); 5] = [
    ("value", Fixed::Value),
    ("sum", Fixed::Sum),
    ("count", Fixed::Count),
    ("bucket_le", Fixed::Le),
    ("bucket_count", Fixed::BucketCount),
];

enum Column {
    Fixed(Fixed),
    /// The value of a label.
    Label(Arc<str>),
}

/// Writes the whole file.
pub fn write_server_metrics_parquet(
    out: &mut (impl Write + Send),
    run: &RunResult,
    observed: &ServerMetricsResult,
) -> io::Result<()> {
    write(out, run, observed).map_err(|error| match error {
        ParquetError::External(error) => io::Error::other(error),
        other => io::Error::other(other),
    })
}

fn write(out: &mut (impl Write + Send), run: &RunResult, observed: &ServerMetricsResult) -> Result<()> {
    let columns = columns(observed);
    let (names, columns): (Vec<String>, Vec<Column>) = columns.into_iter().unzip();
    let properties = WriterProperties::builder()
        .set_created_by(format!("aiperf version {}", run.version))
        .set_key_value_metadata(Some(metadata(run, observed, &names, &columns)));
    let schema = schema(&names, &columns)?;
    let file = SerializedFileWriter::new(out, schema, properties.build().into())?;
    let mut table = Table { file, columns };
    let (mut small, mut waiting): (Vec<Rows<'_>>, usize) = (Vec::new(), 0);
    for series in observed.store.series() {
        let rows = Rows::new(series, observed);
        let is_long = rows.len() >= OWN_GROUP;
        if is_long || waiting + rows.len() > GROUP {
            table.write_together(&std::mem::take(&mut small))?;
            waiting = 0;
        }
        if is_long {
            table.write_alone(&rows)?;
        } else if rows.len() > 0 {
            waiting += rows.len();
            small.push(rows);
        }
    }
    table.write_together(&small)?;
    table.file.close()?;
    Ok(())
}

fn has_rows(observed: &ServerMetricsResult) -> bool {
    observed.store.series().any(|series| Rows::new(series, observed).len() > 0)
}

/// The samples of one series.
struct Rows<'a> {
    series: StoredSeries<'a>,
    unit: Option<&'static str>,
    deltas: Deltas<'a>,
}

impl<'a> Rows<'a> {
    fn new(series: StoredSeries<'a>, observed: &'a ServerMetricsResult) -> Self {
        let unit = units::infer(series.name(), series.description());
        Self { series, unit, deltas: deltas(series, &observed.window) }
    }

    /// Rows per instant.
    fn width(&self) -> usize {
        match &self.deltas.columns {
            DeltaColumns::Values(_) => 1,
            DeltaColumns::Histogram { bounds, .. } => bounds.len(),
        }
    }

    fn len(&self) -> usize {
        self.deltas.timestamps.len() * self.width()
    }

    /// One value per instant, and how many rows have it.
    fn by_instant<'b, T: Copy>(
        &'b self,
        of: &'b [T],
        rows: &'b Range<usize>,
    ) -> impl Iterator<Item = (T, usize)> + Clone + 'b {
        let width = self.width().max(1);
        let instants = rows.start / width..rows.end.div_ceil(width);
        instants.map(move |at| {
            let own = (at * width).max(rows.start)..((at + 1) * width).min(rows.end);
            (of[at], own.len())
        })
    }
}

/// Rows of one series in a row group.
type Part<'a> = (&'a Rows<'a>, Range<usize>);

struct Table<W: Write> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
}

impl<W: Write + Send> Table<W> {
    /// Writes a long series in groups of one size, with whole instants in each.
    fn write_alone(&mut self, rows: &Rows<'_>) -> Result<()> {
        let width = rows.width();
        let whole = if width > GROUP { GROUP } else { GROUP / width * width };
        let groups = rows.len().div_ceil(whole);
        let size = if width > GROUP { GROUP } else { (rows.len() / width).div_ceil(groups) * width };
        for start in (0..rows.len()).step_by(size) {
            self.write_group(&[(rows, start..(start + size).min(rows.len()))])?;
        }
        Ok(())
    }

    /// Writes short series in one group.
    fn write_together(&mut self, all: &[Rows<'_>]) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let parts: Vec<Part<'_>> = all.iter().map(|rows| (rows, 0..rows.len())).collect();
        self.write_group(&parts)
    }

    fn write_group(&mut self, parts: &[Part<'_>]) -> Result<()> {
        let descriptors = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        for (column, descriptor) in self.columns.iter().zip(&descriptors) {
            let (data, statistics) = column.data(parts);
            let chunk = data.chunk(descriptor, statistics)?;
            group.append_column(&chunk.bytes, chunk.close)?;
        }
        group.close()?;
        Ok(())
    }
}

impl Column {
    fn data(&self, parts: &[Part<'_>]) -> (ColumnData, Statistics) {
        match self {
            Self::Label(name) => texts(parts, |rows| {
                let label = rows.series.labels().iter().find(|(known, _)| known == name);
                label.map(|(_, value)| &**value)
            }),
            Self::Fixed(Fixed::Text(text)) => texts(parts, text),
            Self::Fixed(Fixed::Timestamp) => timestamps(parts),
            Self::Fixed(Fixed::Value) => floats(ColumnData::floats(parts.iter().map(|(rows, range)| {
                let values = match &rows.deltas.columns {
                    DeltaColumns::Values(values) => Some(&values[range.clone()]),
                    DeltaColumns::Histogram { .. } => None,
                };
                (values, range.len())
            }))),
            Self::Fixed(Fixed::Sum) => of_instants(parts, |columns| match columns {
                DeltaColumns::Histogram { sums, .. } => Some(sums),
                DeltaColumns::Values(_) => None,
            }),
            Self::Fixed(Fixed::Count) => of_instants(parts, |columns| match columns {
                DeltaColumns::Histogram { counts, .. } => Some(counts),
                DeltaColumns::Values(_) => None,
            }),
            Self::Fixed(Fixed::Le) => bounds(parts),
            Self::Fixed(Fixed::BucketCount) => floats(ColumnData::floats(parts.iter().map(|(rows, range)| {
                let buckets = match &rows.deltas.columns {
                    DeltaColumns::Histogram { buckets, .. } => Some(&buckets[range.clone()]),
                    DeltaColumns::Values(_) => None,
                };
                (buckets, range.len())
            }))),
        }
    }

    fn physical(&self) -> Physical {
        match self {
            Self::Label(_) | Self::Fixed(Fixed::Text(_) | Fixed::Le) => Physical::BYTE_ARRAY,
            Self::Fixed(Fixed::Timestamp) => Physical::INT64,
            Self::Fixed(Fixed::Value | Fixed::Sum | Fixed::Count | Fixed::BucketCount) => Physical::DOUBLE,
        }
    }
}

fn texts<'a>(parts: &'a [Part<'a>], text: impl Fn(&'a Rows<'a>) -> Option<&'a str>) -> (ColumnData, Statistics) {
    let runs: Vec<(Option<&str>, usize)> = parts.iter().map(|(rows, range)| (text(rows), range.len())).collect();
    let present = runs.iter().filter_map(|(text, _)| *text);
    let bounds = present.clone().min().zip(present.max());
    let (least, most) = bounds.filter(|(least, most)| least.len().max(most.len()) <= LONGEST_BOUND).unzip();
    let data = ColumnData::texts(runs.into_iter());
    let statistics =
        Statistics::byte_array(least.map(ByteArray::from), most.map(ByteArray::from), None, Some(data.nulls()), false);
    (data, statistics)
}

fn timestamps(parts: &[Part<'_>]) -> (ColumnData, Statistics) {
    let instants = parts.iter().flat_map(|(rows, range)| rows.by_instant(&rows.deltas.timestamps, range));
    let runs: Vec<(Option<[u8; 8]>, usize)> =
        instants.clone().map(|(at, rows)| (Some((at as i64).to_le_bytes()), rows)).collect();
    let instants = instants.map(|(at, _)| at as i64);
    let data = ColumnData::numbers(&runs);
    let statistics = Statistics::int64(instants.clone().min(), instants.max(), None, Some(data.nulls()), false);
    (data, statistics)
}

/// The values that a histogram has once per instant.
fn of_instants(
    parts: &[Part<'_>],
    of: impl for<'b> Fn(&'b DeltaColumns<'_>) -> Option<&'b Vec<f64>>,
) -> (ColumnData, Statistics) {
    let mut runs = Vec::new();
    for (rows, range) in parts {
        match of(&rows.deltas.columns) {
            Some(values) => {
                let own = rows.by_instant(values, range);
                runs.extend(own.map(|(value, rows)| (Some(value.to_le_bytes()), rows)));
            }
            None => runs.push((None, range.len())),
        }
    }
    floats(ColumnData::numbers(&runs))
}

fn floats(data: ColumnData) -> (ColumnData, Statistics) {
    let statistics = Statistics::double(None, None, None, Some(data.nulls()), false);
    (data, statistics)
}

fn bounds(parts: &[Part<'_>]) -> (ColumnData, Statistics) {
    let data = ColumnData::cycles(parts.iter().map(|(rows, range)| {
        let texts = match &rows.deltas.columns {
            DeltaColumns::Histogram { bounds, .. } => Some(bounds.iter().map(|bound| &*bound.le)),
            DeltaColumns::Values(_) => None,
        };
        (texts, range.clone())
    }));
    let statistics = Statistics::byte_array(None, None, None, Some(data.nulls()), false);
    (data, statistics)
}

/// Every column with its name. Labels are sorted; a label with the name of a fixed column is stored as `label_<name>`.
fn columns(observed: &ServerMetricsResult) -> Vec<(String, Column)> {
    let fixed = |columns: &[(&str, Fixed)]| -> Vec<(String, Column)> {
        columns.iter().map(|(name, column)| ((*name).to_owned(), Column::Fixed(*column))).collect()
    };
    let labels: BTreeSet<&Arc<str>> =
        observed.store.series().flat_map(|series| series.labels()).map(|(name, _)| name).collect();
    // For DuckDB and others, columns that differ only in case are the same.
    let folded = |name: &str| name.to_lowercase();
    let mut taken: BTreeSet<String> =
        BEFORE_LABELS.iter().chain(&BEHIND_LABELS).map(|(name, _)| (*name).to_owned()).collect();
    let (others, colliding): (Vec<_>, Vec<_>) = labels.into_iter().partition(|name| taken.insert(folded(name)));
    let mut named: BTreeMap<String, Column> =
        others.into_iter().map(|name| (name.to_string(), Column::Label(name.clone()))).collect();
    for name in colliding {
        let mut column = format!("label_{name}");
        while !taken.insert(folded(&column)) {
            column = format!("label_{column}");
        }
        named.insert(column, Column::Label(name.clone()));
    }
    fixed(&BEFORE_LABELS).into_iter().chain(named).chain(fixed(&BEHIND_LABELS)).collect()
}

fn schema(names: &[String], columns: &[Column]) -> Result<TypePtr> {
    let field = |(name, column): (&String, &Column)| {
        let physical = column.physical();
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        let field = match physical {
            Physical::BYTE_ARRAY => {
                field.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
            }
            _ => field,
        };
        Ok(Arc::new(field.build()?))
    };
    let fields: Result<Vec<TypePtr>> = names.iter().zip(columns).map(field).collect();
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields?).build()?))
}

/// The facts about the run that a reader needs.
fn metadata(run: &RunResult, observed: &ServerMetricsResult, names: &[String], columns: &[Column]) -> Vec<KeyValue> {
    let store = &observed.store;
    let range = observed.window.range();
    let end = store.last_update().map_or(range.end, |update| update.max(range.end));
    let length = range.length();
    let mut urls: Vec<&str> = store.endpoints().iter().map(|endpoint| &**endpoint.url()).collect();
    urls.sort_unstable();
    let labels: Vec<&str> = names
        .iter()
        .zip(columns)
        .filter(|(_, column)| matches!(column, Column::Label(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let kinds = [MetricKind::Gauge, MetricKind::Counter, MetricKind::Histogram, MetricKind::Unknown].map(|kind| {
        let count = store.series().filter(|series| series.kind() == kind).count();
        format!("\"{}\":{count}", kind.name())
    });
    let models: Vec<&str> = run.models.iter().map(String::as_str).collect();
    let not_python = format!("not applicable (written by aiperf {})", run.version);
    [
        ("schema_version", SCHEMA_VERSION.to_owned()),
        ("version", run.version.clone()),
        ("benchmark_id", run.info.benchmark_id.clone()),
        ("export_timestamp_utc", format!("{}+00:00", iso(observed.exported))),
        ("exporter", "ServerMetricsParquetExporter".to_owned()),
        ("hostname", observed.hostname.clone()),
        ("python_version", not_python.clone()),
        ("pyarrow_version", not_python),
        ("time_filter_start_ns", range.start.0.to_string()),
        ("time_filter_end_ns", end.0.to_string()),
        ("profiling_duration_ns", length.0.to_string()),
        ("profiling_duration_seconds", format!("{:?}", length.0 as f64 / 1e9)),
        ("input_config", run.input_config.to_string()),
        ("model_names", list(&models)),
        ("concurrency", run.concurrency.map_or_else(|| "None".to_owned(), |sessions| sessions.to_string())),
        ("endpoint_urls", list(&urls)),
        ("endpoint_count", urls.len().to_string()),
        ("label_columns", list(&labels)),
        ("label_count", labels.len().to_string()),
        ("metric_count", store.series().count().to_string()),
        ("metric_type_counts", format!("{{{}}}", kinds.join(","))),
        ("schema_note", SCHEMA_NOTE.to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| KeyValue { key: format!("aiperf.{key}"), value: Some(value) })
    .collect()
}

/// A JSON list of texts.
fn list(texts: &[&str]) -> String {
    let mut out = vec![b'['];
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_str(&mut out, text);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}
