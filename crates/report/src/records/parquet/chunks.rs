//! Turns rows into compressed column chunks.
//!
//! Each kind of value has the encoding that fits its content: texts that repeat (phases, workers) a dictionary; texts
//! that do not (ids) their lengths and then all their bytes; whole numbers their differences; floats byte by byte, all
//! first bytes, then all second ones, so that equal bytes are together.

use super::cells::CellReader;
use super::column::ColumnType;
use super::columns::Columns;
use super::delta::push_deltas;
use super::zstd::Compressor;
use crate::format::parquet_pages::{Chunk, Dictionary, Indices, Pages, bits, extend, push_levels, push_run};
use parquet::basic::{Compression, Encoding};
use parquet::errors::{ParquetError, Result};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use std::ops::Range;
use std::sync::Arc;

/// Larger rows leave nothing in memory: one huge record must not stay for ever.
const MOST_KEPT: usize = 16 << 20;

/// Turns rows into the column chunks of a row group. Its memory is reused from one group to the next: it is megabytes,
/// and an allocator that is asked for them repeatedly holds a multiple.
pub(crate) struct GroupEncoder {
    columns: Arc<Columns>,
    data: Vec<ColumnValues>,
    page: Page,
    compressor: Compressor,
}

impl GroupEncoder {
    pub(crate) fn new(columns: Arc<Columns>) -> Result<Self> {
        let data = columns.iter().map(|column| ColumnValues::new(column.kind)).collect();
        Ok(Self { columns, data, page: Page::default(), compressor: Compressor::new()? })
    }

    pub(crate) fn chunks(&mut self, rows: &[u8]) -> Result<Vec<Chunk>> {
        self.data.iter_mut().for_each(ColumnValues::clear);
        let (mut reader, mut count) = (CellReader::new(rows), 0);
        while let Some(mut row) = reader.row() {
            while let Some(column) = row.column() {
                let values = self.data.get_mut(column).ok_or_else(broken)?;
                // Rows skipped since the last cell are absent.
                if values.levels.rows < count {
                    values.levels.fill(count);
                }
                values.read(&mut row).ok_or_else(broken)?;
            }
            count += 1;
        }
        let mut chunk = |(values, leaf): (&mut ColumnValues, &ColumnDescPtr)| {
            values.levels.fill(count);
            self.page.clear();
            values.chunk(leaf, rows, &mut self.page, &mut self.compressor)
        };
        let chunks = self.data.iter_mut().zip(self.columns.leaves().columns()).map(&mut chunk).collect();
        if rows.len() > MOST_KEPT {
            *self = Self::new(self.columns.clone())?;
        }
        chunks
    }
}

fn broken() -> ParquetError {
    ParquetError::General("a row of records does not read back".into())
}

/// One column of a row group.
struct ColumnValues {
    levels: Levels,
    values: Values,
}

enum Values {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    /// Their ranges in the rows.
    Texts(Vec<Range<usize>>),
}

/// Which rows have a value, and which values are in one list, in runs.
struct Levels {
    is_list: bool,
    rows: usize,
    /// 0 is absent; for a list, 1 is empty.
    definition: Vec<(usize, usize)>,
    /// 0 starts a row.
    repetition: Vec<(usize, usize)>,
}

impl Levels {
    fn clear(&mut self) {
        self.rows = 0;
        self.definition.clear();
        self.repetition.clear();
    }

    /// Rows up to this one are absent unless they have a cell.
    fn fill(&mut self, rows: usize) {
        self.push(0, rows - self.rows);
    }

    /// Rows of one value each, or none.
    fn push(&mut self, definition: usize, rows: usize) {
        extend(&mut self.definition, definition, rows);
        if self.is_list {
            extend(&mut self.repetition, 0, rows);
        }
        self.rows += rows;
    }

    fn push_list(&mut self, length: usize) {
        if length == 0 {
            return self.push(1, 1);
        }
        self.push(2, 1);
        extend(&mut self.definition, 2, length - 1);
        extend(&mut self.repetition, 1, length - 1);
    }

    fn most(&self) -> usize {
        if self.is_list { 2 } else { 1 }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.is_list {
            push_levels(out, self.repetition.iter().copied(), 1);
        }
        push_levels(out, self.definition.iter().copied(), bits(self.most()));
    }

    fn len(&self) -> usize {
        self.definition.iter().map(|(_, length)| length).sum()
    }

    fn nulls(&self) -> u64 {
        self.definition.iter().filter(|(level, _)| *level < self.most()).map(|(_, length)| *length as u64).sum()
    }
}

impl ColumnValues {
    fn new(kind: ColumnType) -> Self {
        let values = match kind {
            ColumnType::Int => Values::Ints(Vec::new()),
            ColumnType::Float | ColumnType::Floats => Values::Floats(Vec::new()),
            ColumnType::Bool => Values::Bools(Vec::new()),
            ColumnType::Text | ColumnType::Texts => Values::Texts(Vec::new()),
        };
        let levels = Levels { is_list: kind.is_list(), rows: 0, definition: Vec::new(), repetition: Vec::new() };
        Self { levels, values }
    }

    fn read(&mut self, row: &mut CellReader<'_>) -> Option<()> {
        let length = if self.levels.is_list {
            let length = row.length()?;
            self.levels.push_list(length);
            length
        } else {
            self.levels.push(1, 1);
            1
        };
        match &mut self.values {
            Values::Floats(values) => values.extend(row.floats(length)?),
            Values::Ints(values) => values.push(row.int()?),
            Values::Bools(values) => values.push(row.bool()?),
            Values::Texts(values) => {
                for _ in 0..length {
                    values.push(row.text()?);
                }
            }
        }
        Some(())
    }

    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Ints(values) => values.clear(),
            Values::Floats(values) => values.clear(),
            Values::Bools(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
    }

    fn chunk(&self, leaf: &ColumnDescPtr, rows: &[u8], page: &mut Page, compressor: &mut Compressor) -> Result<Chunk> {
        self.levels.write(&mut page.data);
        page.end_part();
        let statistics = self.values.statistics(self.levels.nulls());
        match &self.values {
            // Readers disagree about an empty list of values, except for this form.
            values if values.is_empty() => {}
            Values::Ints(values) => page.ints(values),
            Values::Floats(values) => page.floats(values),
            Values::Bools(values) => page.bools(values),
            Values::Texts(values) => page.texts(&Texts { rows, places: values }),
        }
        let dictionary = page.dictionary.as_ref().map(|(plain, entries)| (plain.as_slice(), *entries));
        let (data, parts, encoding) = (&page.data, &page.parts, page.encoding);
        let pages = Pages { dictionary, data, parts, encoding, values: self.levels.len(), rows: self.levels.rows };
        let compression = Compression::ZSTD(Default::default());
        pages.chunk(leaf, statistics, compression, |bytes, parts| compressor.compress(bytes, parts))
    }
}

/// The texts of a column, within their rows.
struct Texts<'a> {
    rows: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> Texts<'a> {
    fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let rows = self.rows;
        self.places.iter().map(move |place| &rows[place.clone()])
    }
}

impl Values {
    fn is_empty(&self) -> bool {
        match self {
            Self::Ints(values) => values.is_empty(),
            Self::Floats(values) => values.is_empty(),
            Self::Bools(values) => values.is_empty(),
            Self::Texts(values) => values.is_empty(),
        }
    }

    /// Bounds of numbers let readers skip row groups.
    fn statistics(&self, nulls: u64) -> Statistics {
        let nulls = Some(nulls);
        match self {
            Self::Ints(values) => {
                Statistics::int64(values.iter().copied().min(), values.iter().copied().max(), None, nulls, false)
            }
            Self::Floats(values) => {
                let least = values.iter().copied().reduce(f64::min);
                Statistics::double(least, values.iter().copied().reduce(f64::max), None, nulls, false)
            }
            Self::Bools(_) => Statistics::boolean(None, None, None, nulls, false),
            Self::Texts(_) => Statistics::byte_array(None, None, None, nulls, false),
        }
    }
}

/// The page of a chunk under construction.
struct Page {
    data: Vec<u8>,
    /// Where the kind of data changes.
    parts: Vec<usize>,
    encoding: Encoding,
    dictionary: Option<(Vec<u8>, usize)>,
}

impl Default for Page {
    fn default() -> Self {
        Self { data: Vec::new(), parts: Vec::new(), encoding: Encoding::PLAIN, dictionary: None }
    }
}

/// A text that occurs this often on average is worth a dictionary entry.
const OFTEN: usize = 3;
/// If hardly any of these texts occurs twice, they are treated as ids.
const SAMPLE: usize = 1 << 9;

impl Page {
    fn clear(&mut self) {
        self.data.clear();
        self.parts.clear();
        self.encoding = Encoding::PLAIN;
        self.dictionary = None;
    }

    fn end_part(&mut self) {
        self.parts.push(self.data.len());
    }

    /// A value that all rows have: a dictionary of one, and one run.
    fn one(&mut self, value: [u8; 8], rows: usize) {
        self.encoding = Encoding::RLE_DICTIONARY;
        self.data.push(1);
        push_run(&mut self.data, 0, rows, 1);
        self.dictionary = Some((value.to_vec(), 1));
    }

    fn ints(&mut self, values: &[i64]) {
        if let Some(value) = same(values.iter().copied()) {
            return self.one(value.to_le_bytes(), values.len());
        }
        self.encoding = Encoding::DELTA_BINARY_PACKED;
        push_deltas(&mut self.data, values.iter().copied());
    }

    fn floats(&mut self, values: &[f64]) {
        if let Some(value) = same(values.iter().map(|value| value.to_bits())) {
            return self.one(value.to_le_bytes(), values.len());
        }
        self.encoding = Encoding::BYTE_STREAM_SPLIT;
        self.data.reserve(values.len() * 8);
        for place in 0..8 {
            self.data.extend(values.iter().map(|value| value.to_le_bytes()[place]));
            self.end_part();
        }
    }

    fn bools(&mut self, values: &[bool]) {
        let byte = |bools: &[bool]| bools.iter().rev().fold(0, |byte, one| byte << 1 | u8::from(*one));
        self.data.extend(values.chunks(8).map(byte));
    }

    fn texts(&mut self, values: &Texts<'_>) {
        match in_a_dictionary(values) {
            Some((dictionary, indices)) => {
                let entries = dictionary.entries();
                self.encoding = Encoding::RLE_DICTIONARY;
                indices.push(&mut self.data, bits(entries - 1));
                self.dictionary = Some((dictionary.plain, entries));
            }
            None => {
                self.encoding = Encoding::DELTA_LENGTH_BYTE_ARRAY;
                push_deltas(&mut self.data, values.places.iter().map(|place| place.len() as i64));
                self.end_part();
                values.iter().for_each(|text| self.data.extend_from_slice(text));
            }
        }
    }
}

/// The value that all have in common.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// The texts of a column, each once, and the index of each row; `None` if most occur once or twice.
fn in_a_dictionary<'a>(texts: &Texts<'a>) -> Option<(Dictionary<'a>, Indices)> {
    let count = texts.places.len();
    let (mut dictionary, mut indices) = (Dictionary::default(), Vec::with_capacity(count));
    for (at, text) in texts.iter().enumerate() {
        indices.push(dictionary.index(text));
        let known = dictionary.entries();
        if known > count / OFTEN + 1 || at == SAMPLE && known > SAMPLE / 8 * 7 {
            return None;
        }
    }
    Some((dictionary, Indices::of(indices)))
}
