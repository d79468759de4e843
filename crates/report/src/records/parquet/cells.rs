//! A record as cells: the data between the record threads and the thread that makes columns.
//!
//! A row is its length in bytes and its cells in the order of columns. A cell is the number of its column and a value
//! whose form follows from the column. Columns without a cell are absent. All integers are little-endian.

use std::ops::Range;

/// Writes the cells of a row.
pub(crate) struct Cells<'o> {
    out: &'o mut Vec<u8>,
    column: u16,
}

impl<'o> Cells<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, column: 0 }
    }

    /// The next value belongs to this column.
    pub(crate) fn go_to(&mut self, column: usize) {
        self.column = column as u16;
    }

    fn begin(&mut self) {
        self.out.extend_from_slice(&self.column.to_le_bytes());
    }

    pub(crate) fn int(&mut self, value: impl Into<u64>) {
        self.maybe_int(Some(value));
    }

    pub(crate) fn maybe_int(&mut self, value: Option<impl Into<u64>>) {
        self.maybe_signed(value.map(|value| i64::try_from(value.into()).unwrap_or(i64::MAX)));
    }

    pub(crate) fn maybe_signed(&mut self, value: Option<i64>) {
        if let Some(value) = value {
            self.begin();
            self.out.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.begin();
        self.out.push(value.into());
    }

    /// NaN and infinity are absent, as they are `null` in the JSONL.
    pub(crate) fn float(&mut self, value: f64) {
        if value.is_finite() {
            self.begin();
            self.out.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn maybe_float(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.float(value);
        }
    }

    pub(crate) fn maybe_bool(&mut self, value: Option<bool>) {
        if let Some(value) = value {
            self.bool(value);
        }
    }

    pub(crate) fn floats(&mut self, values: &[f64]) {
        self.begin();
        self.length(values.len());
        let start = self.out.len();
        self.out.resize(start + values.len() * 8, 0);
        let (places, _) = self.out[start..].as_chunks_mut();
        places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &[u8]) {
        self.begin();
        self.bytes(text);
    }

    pub(crate) fn maybe_text(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.text(text.as_bytes());
        }
    }

    pub(crate) fn maybe_texts(&mut self, texts: Option<&[String]>) {
        if let Some(texts) = texts {
            self.begin();
            self.length(texts.len());
            texts.iter().for_each(|text| self.bytes(text.as_bytes()));
        }
    }

    /// A name and the number after it.
    pub(crate) fn id(&mut self, name: &str, number: [u8; 8]) {
        self.begin();
        self.length(name.len() + number.len());
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(&number);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    fn length(&mut self, length: usize) {
        self.out.extend_from_slice(&(length as u32).to_le_bytes());
    }
}

/// Reads what [`Cells`] wrote: rows, the cells of a row, or the values of a cell.
pub(crate) struct CellReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> CellReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    fn skip(&mut self, length: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end)?;
        Some(std::mem::replace(&mut self.at, end)..end)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.skip(N).and_then(|place| self.bytes[place].first_chunk().copied())
    }

    pub(crate) fn row(&mut self) -> Option<CellReader<'a>> {
        let Range { start, end } = self.text()?;
        Some(Self { bytes: self.bytes, at: start, end })
    }

    pub(crate) fn column(&mut self) -> Option<usize> {
        self.take().map(|column| u16::from_le_bytes(column).into())
    }

    pub(crate) fn int(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    pub(crate) fn floats(&mut self, count: usize) -> Option<impl Iterator<Item = f64> + use<'a>> {
        let place = self.skip(count.checked_mul(8)?)?;
        let (floats, _) = self.bytes[place].as_chunks();
        Some(floats.iter().map(|float| f64::from_le_bytes(*float)))
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        self.take().map(|[byte]| byte != 0)
    }

    pub(crate) fn length(&mut self) -> Option<usize> {
        self.take().map(|length| u32::from_le_bytes(length) as usize)
    }

    /// The range of a text in the bytes.
    pub(crate) fn text(&mut self) -> Option<Range<usize>> {
        let length = self.length()?;
        self.skip(length)
    }
}
