//! Column chunks of Parquet files, made of runs.
//!
//! In a table of time series most columns have one value for thousands of rows. The library's column writers take
//! values one by one, at about 30 ns each; here a run has the same cost at any length. The library still writes page
//! headers, row groups and the footer. `cargo bench -p aiperf-report` gives the cost of a file.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::collections::HashMap;

/// A chunk, ready to append to a row group.
pub(crate) struct Chunk {
    pub(crate) bytes: Bytes,
    pub(crate) close: ColumnCloseResult,
}

/// The values of one column in one row group.
#[derive(Debug, Default)]
pub(crate) struct ColumnData {
    /// Runs of rows with or without a value.
    present: Vec<(bool, usize)>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    /// One after another, as they are.
    Plain(Vec<u8>),
    /// The distinct values, and for each row the index of its value: in runs, or packed to a number of bits.
    Dictionary { plain: Vec<u8>, entries: usize, indices: Indices },
}

impl Default for Values {
    fn default() -> Self {
        Self::Plain(Vec::new())
    }
}

/// The dictionary index of each row.
#[derive(Debug)]
pub(crate) enum Indices {
    Runs(Vec<(usize, usize)>),
    Each(Vec<usize>),
}

/// About the size of the headers of a dictionary and of a page.
const PAGE_HEADS: usize = 128;
/// Runs of at least this average length take fewer bytes than the values themselves.
const LONG_RUN: usize = 4;

impl ColumnData {
    /// Texts in runs.
    pub(crate) fn texts<'a>(runs: impl Iterator<Item = (Option<&'a str>, usize)>) -> Self {
        let mut dictionary = Dictionary::default();
        let mut present = Vec::new();
        let mut indices: Vec<(usize, usize)> = Vec::new();
        for (text, rows) in runs {
            extend(&mut present, text.is_some(), rows);
            if let Some(text) = text {
                extend(&mut indices, dictionary.index(text.as_bytes()), rows);
            }
        }
        Self { present, values: dictionary.values(Indices::Runs(indices)) }
    }

    /// Repeating sequences of texts: for each stretch its texts and the number of rows, or `None` and the rows without
    /// any.
    pub(crate) fn cycles<'a, T: Iterator<Item = &'a str>>(
        stretches: impl Iterator<Item = (Option<T>, std::ops::Range<usize>)>,
    ) -> Self {
        let mut dictionary = Dictionary::default();
        let mut present = Vec::new();
        let mut indices = Vec::new();
        for (texts, rows) in stretches {
            extend(&mut present, texts.is_some(), rows.len());
            let cycle: Vec<usize> = texts.into_iter().flatten().map(|text| dictionary.index(text.as_bytes())).collect();
            if !cycle.is_empty() {
                let at = rows.start % cycle.len();
                indices.extend(cycle.iter().copied().cycle().skip(at).take(rows.len()));
            }
        }
        Self { present, values: dictionary.values(Indices::Each(indices)) }
    }

    /// Numbers of eight bytes in runs.
    pub(crate) fn numbers(runs: &[(Option<[u8; 8]>, usize)]) -> Self {
        let rows: usize = runs.iter().map(|(_, rows)| rows).sum();
        let mut present = Vec::new();
        runs.iter().for_each(|(value, rows)| extend(&mut present, value.is_some(), *rows));
        let values = runs.iter().filter_map(|(value, rows)| Some((value.as_ref()?, *rows)));
        let mut plain = Vec::new();
        if runs.len() * LONG_RUN > rows {
            values.for_each(|(value, rows)| (0..rows).for_each(|_| plain.extend_from_slice(value)));
            return Self { present, values: Values::Plain(plain) };
        }
        let mut indices = Vec::with_capacity(runs.len());
        for (index, (value, rows)) in values.enumerate() {
            plain.extend_from_slice(value);
            indices.push((index, rows));
        }
        Self { present, values: Values::Dictionary { plain, entries: indices.len(), indices: Indices::Runs(indices) } }
    }

    /// Floats, in stretches; `None` are rows without a value.
    pub(crate) fn floats<'a>(stretches: impl Iterator<Item = (Option<&'a [f64]>, usize)>) -> Self {
        let mut present = Vec::new();
        let mut plain = Vec::new();
        for (values, rows) in stretches {
            extend(&mut present, values.is_some(), rows);
            let values = values.unwrap_or_default();
            plain.reserve(values.len() * 8);
            values.iter().for_each(|value| plain.extend_from_slice(&value.to_le_bytes()));
        }
        Self { present, values: Values::Plain(plain) }
    }

    pub(crate) fn nulls(&self) -> u64 {
        self.present.iter().filter(|(present, _)| !present).map(|(_, rows)| *rows as u64).sum()
    }

    /// The chunk of a column, compressed.
    pub(crate) fn chunk(&self, column: &ColumnDescPtr, statistics: Statistics) -> Result<Chunk> {
        let rows: usize = self.present.iter().map(|(_, rows)| rows).sum();
        let mut data = self.levels();
        let (dictionary, encoding) = match &self.values {
            Values::Plain(plain) => {
                data.extend_from_slice(plain);
                (None, Encoding::PLAIN)
            }
            Values::Dictionary { plain, entries, indices } => {
                indices.push(&mut data, bits(entries.saturating_sub(1)));
                (Some((plain.as_slice(), *entries)), Encoding::RLE_DICTIONARY)
            }
        };
        let pages = Pages { dictionary, data: &data, parts: &[], encoding, values: rows, rows };
        let snappy = |bytes: &[u8], _: &[usize]| snap::raw::Encoder::new().compress_vec(bytes).map_err(external);
        pages.chunk(column, statistics, Compression::SNAPPY, snappy)
    }

    /// Which rows have a value, preceded by the length in bytes.
    fn levels(&self) -> Vec<u8> {
        let mut levels = Vec::new();
        push_levels(&mut levels, self.present.iter().map(|(present, rows)| (usize::from(*present), *rows)), 1);
        levels
    }
}

/// The content of a chunk before compression: all on one page, after its dictionary.
pub(crate) struct Pages<'a> {
    /// Its values one after another, and their number.
    pub(crate) dictionary: Option<(&'a [u8], usize)>,
    /// Levels and values.
    pub(crate) data: &'a [u8],
    /// Where the kind of data changes, for a compression that uses it.
    pub(crate) parts: &'a [usize],
    pub(crate) encoding: Encoding,
    /// The number of values, including absent ones.
    pub(crate) values: usize,
    pub(crate) rows: usize,
}

impl Pages<'_> {
    pub(crate) fn chunk(
        &self,
        column: &ColumnDescPtr,
        statistics: Statistics,
        compression: Compression,
        mut compress: impl FnMut(&[u8], &[usize]) -> Result<Vec<u8>>,
    ) -> Result<Chunk> {
        let dictionary = match self.dictionary {
            Some((plain, entries)) => Some((compress(plain, &[])?, plain.len(), entries)),
            None => None,
        };
        let data = compress(self.data, self.parts)?;
        let pages = data.len() + dictionary.as_ref().map_or(0, |(compressed, ..)| compressed.len());
        let mut sink = TrackedWrite::new(Vec::with_capacity(pages + PAGE_HEADS));
        let mut writer = SerializedPageWriter::new(&mut sink);
        let (mut compressed_size, mut uncompressed_size) = (0, 0);
        let mut write = |page: Page, uncompressed: usize| {
            let written = writer.write_page(CompressedPage::new(page, uncompressed))?;
            compressed_size += written.compressed_size as i64;
            uncompressed_size += written.uncompressed_size as i64;
            Ok::<_, ParquetError>(written.offset as i64)
        };
        let mut write_dictionary = |(compressed, length, entries): (Vec<u8>, usize, usize)| {
            write(dictionary_page(compressed.into(), entries as u32, Encoding::PLAIN), length)
        };
        let dictionary_at = dictionary.map(&mut write_dictionary).transpose()?;
        let data_at = write(data_page(data.into(), self.values as u32, self.encoding), self.data.len())?;
        writer.close()?;
        let bytes: Bytes = sink.into_inner()?.into();
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(compression)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, self.encoding])
            .set_total_compressed_size(compressed_size)
            .set_total_uncompressed_size(uncompressed_size)
            .set_num_values(self.values as i64)
            .set_data_page_offset(data_at)
            .set_dictionary_page_offset(dictionary_at)
            .set_statistics(statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(Chunk { bytes, close })
    }
}

fn dictionary_page(buf: Bytes, num_values: u32, encoding: Encoding) -> Page {
    Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }
}

fn data_page(buf: Bytes, num_values: u32, encoding: Encoding) -> Page {
    let (def_level_encoding, rep_level_encoding) = (Encoding::RLE, Encoding::RLE);
    Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics: None }
}

fn external(error: snap::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// The texts of a column, each once.
#[derive(Default)]
pub(crate) struct Dictionary<'a> {
    /// One after another, each preceded by its length.
    pub(crate) plain: Vec<u8>,
    known: HashMap<&'a [u8], usize>,
    /// The next text is often the same.
    last: Option<(&'a [u8], usize)>,
}

impl<'a> Dictionary<'a> {
    pub(crate) fn index(&mut self, text: &'a [u8]) -> usize {
        if let Some((_, index)) = self.last.filter(|(last, _)| *last == text) {
            return index;
        }
        let next = self.known.len();
        let index = *self.known.entry(text).or_insert_with(|| {
            self.plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
            self.plain.extend_from_slice(text);
            next
        });
        self.last = Some((text, index));
        index
    }

    pub(crate) fn entries(&self) -> usize {
        self.known.len()
    }

    /// A column without values needs no dictionary.
    fn values(self, indices: Indices) -> Values {
        match self.known.len() {
            0 => Values::default(),
            entries => Values::Dictionary { plain: self.plain, entries, indices },
        }
    }
}

impl Indices {
    /// In the form that takes fewer bytes.
    pub(crate) fn of(each: Vec<usize>) -> Self {
        let mut runs = Vec::new();
        each.iter().for_each(|index| extend(&mut runs, *index, 1));
        if runs.len() * LONG_RUN <= each.len() { Self::Runs(runs) } else { Self::Each(each) }
    }

    pub(crate) fn push(&self, out: &mut Vec<u8>, bits: u8) {
        out.push(bits);
        match self {
            Self::Runs(runs) => runs.iter().for_each(|(index, rows)| push_run(out, *index, *rows, bits)),
            Self::Each(indices) => push_packed(out, indices, bits),
        }
    }
}

pub(crate) fn extend<T: PartialEq>(runs: &mut Vec<(T, usize)>, value: T, rows: usize) {
    match runs.last_mut() {
        Some((last, length)) if *last == value => *length += rows,
        _ if rows == 0 => {}
        _ => runs.push((value, rows)),
    }
}

/// Bits of the largest value, at least one.
pub(crate) fn bits(largest: usize) -> u8 {
    (usize::BITS - largest.leading_zeros()).max(1) as u8
}

/// A value and its number of repetitions.
pub(crate) fn push_run(out: &mut Vec<u8>, value: usize, length: usize, bits: u8) {
    push_varint(out, (length << 1) as u64);
    out.extend_from_slice(&value.to_le_bytes()[..usize::from(bits.div_ceil(8))]);
}

/// Levels in runs, preceded by their length in bytes.
pub(crate) fn push_levels(out: &mut Vec<u8>, runs: impl Iterator<Item = (usize, usize)>, bits: u8) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    runs.for_each(|(level, length)| push_run(out, level, length, bits));
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Values of `bits` bits, one after another, in groups of eight.
pub(crate) fn push_packed(out: &mut Vec<u8>, values: &[usize], bits: u8) {
    let groups = values.len().div_ceil(8);
    push_varint(out, (groups << 1 | 1) as u64);
    let filled_up = values.iter().map(|value| *value as u64).chain(std::iter::repeat(0)).take(groups * 8);
    push_bits(out, filled_up, bits);
}

/// Values of `bits` bits, one after another, padded to whole bytes at the end.
pub(crate) fn push_bits(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, bits: u8) {
    if bits == 0 {
        return;
    }
    let (mut waiting, mut filled) = (0u128, 0u8);
    for value in values {
        waiting |= u128::from(value) << filled;
        filled += bits;
        if filled >= 64 {
            out.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= 64;
            filled -= 64;
        }
    }
    out.extend_from_slice(&waiting.to_le_bytes()[..usize::from(filled / 8)]);
}

pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_values_fill_whole_groups() {
        let mut out = Vec::new();
        push_packed(&mut out, &[0, 1, 2, 3, 4, 5, 6, 7], 3);
        assert_eq!(out, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010], "the example of the format's description");
        out.clear();
        push_packed(&mut out, &[1], 1);
        assert_eq!(out, [0b11, 1]);
    }

    #[test]
    fn a_run_is_its_length_and_its_value() {
        let mut out = Vec::new();
        push_run(&mut out, 300, 10_000, bits(300));
        assert_eq!(out, [0xa0, 0x9c, 0x01, 0x2c, 0x01]);
    }
}
