//! Base facts of many records, one column each, packed in blocks.
//!
//! A block has 1024 records. Each of its columns stores the smallest value and, for every record, the difference from
//! it in as few bytes as the largest difference needs. A column that no record has takes no bytes, and one with the
//! same value in all records takes none per record. A streamed chat with usage and HTTP trace takes about 70 bytes per
//! record.

use crate::facts::{FACTS, Fact, Facts};
use aiperf_types::binary_form;
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

const ROWS: usize = 1024;
/// Records to unpack at once: few enough for a core's first-level cache.
const AT_ONCE: usize = 64;

/// Numbers packed by their distance from the smallest.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packed {
    base: u64,
    width: u8,
    #[serde(with = "binary_form::bytes")]
    bytes: Box<[u8]>,
}

impl Packed {
    fn new(values: impl Iterator<Item = u64> + Clone) -> Self {
        let (mut base, mut top) = (u64::MAX, 0);
        for value in values.clone() {
            base = base.min(value);
            top = top.max(value);
        }
        let spread = top.saturating_sub(base);
        let width = (64 - spread.leading_zeros()).div_ceil(8) as u8;
        let mut bytes = Vec::with_capacity(values.size_hint().0 * width as usize);
        for value in values {
            bytes.extend_from_slice(&value.wrapping_sub(base).to_le_bytes()[..width as usize]);
        }
        Self { base, width, bytes: bytes.into_boxed_slice() }
    }

    /// Visits the values at the positions from `from` to `to`.
    fn each(&self, from: usize, to: usize, visit: impl FnMut(u64)) {
        match self.width {
            0 => (from..to).map(|_| self.base).for_each(visit),
            1 => self.each_of_width::<1>(from, to, visit),
            2 => self.each_of_width::<2>(from, to, visit),
            3 => self.each_of_width::<3>(from, to, visit),
            4 => self.each_of_width::<4>(from, to, visit),
            5 => self.each_of_width::<5>(from, to, visit),
            6 => self.each_of_width::<6>(from, to, visit),
            7 => self.each_of_width::<7>(from, to, visit),
            _ => self.each_of_width::<8>(from, to, visit),
        }
    }

    fn each_of_width<const W: usize>(&self, from: usize, to: usize, mut visit: impl FnMut(u64)) {
        let mut word = [0_u8; 8];
        let (values, _) = self.bytes[from * W..to * W].as_chunks::<W>();
        for bytes in values {
            word[..W].copy_from_slice(bytes);
            visit(self.base.wrapping_add(u64::from_le_bytes(word)));
        }
    }
}

/// Gaps with seven bits per byte; the highest bit is set if a number continues. Chunks from one read have gaps of zero:
/// one byte each, however long the longest gap of their block is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PackedGaps(#[serde(with = "binary_form::bytes")] Box<[u8]>);

impl PackedGaps {
    fn new(gaps: &[u64]) -> Self {
        let mut bytes = Vec::with_capacity(gaps.len() * 4);
        for &gap in gaps {
            let mut rest = gap;
            while rest > 0x7f {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        Self(bytes.into_boxed_slice())
    }

    /// Whether every number ends, and none has too many bits.
    fn is_sound(&self) -> bool {
        self.0.split_inclusive(|byte| byte & 0x80 == 0).all(|number| match number {
            [rest @ .., last] => last & 0x80 == 0 && (rest.len() < 9 || rest.len() == 9 && *last <= 1),
            [] => false,
        })
    }

    fn unpack(&self, gaps: &mut Vec<u64>) {
        let (mut gap, mut shift) = (0, 0);
        for &byte in &self.0 {
            gap |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                gaps.push(gap);
                (gap, shift) = (0, 0);
            }
        }
    }
}

/// One column of a block: its values, and which records have one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Column {
    values: Packed,
    /// One bit per record; `None` if all have a value.
    present: Option<Box<[u64]>>,
}

impl Column {
    /// Whether all records have the same value.
    fn is_one_value(&self) -> bool {
        self.values.width == 0 && self.present.is_none()
    }

    /// Writes one fact of the records from `first` on.
    fn unpack(column: Option<&Self>, fact: Fact, first: usize, rows: &mut [Facts]) {
        let Some(column) = column else {
            rows.iter_mut().for_each(|row| row.set_raw(fact, Facts::ABSENT));
            return;
        };
        let mut unset = rows.iter_mut();
        column.values.each(first, first + unset.len(), |value| {
            if let Some(row) = unset.next() {
                row.set_raw(fact, value);
            }
        });
        if let Some(present) = &column.present {
            for (at, row) in (first..).zip(rows) {
                if present[at / 64] >> (at % 64) & 1 == 0 {
                    row.set_raw(fact, Facts::ABSENT);
                }
            }
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Block {
    rows: usize,
    columns: Vec<(Fact, Column)>,
    gaps: Option<PackedGaps>,
}

impl Block {
    fn pack(rows: &[Facts], gaps: Option<&[u64]>) -> Self {
        let columns = Fact::ALL.iter().filter_map(|&fact| Some((fact, pack_column(rows, fact)?))).collect();
        Self { rows: rows.len(), columns, gaps: gaps.map(PackedGaps::new) }
    }

    fn column(&self, fact: Fact) -> Option<&Column> {
        self.columns.iter().find(|(known, _)| *known == fact).map(|(_, column)| column)
    }

    /// Whether there are records, and every column has as many values: data from another machine may be damaged.
    fn is_sound(&self) -> bool {
        let is_sound = |Column { values, present }: &Column| {
            let marks = present.as_ref().is_none_or(|marks| marks.len() == self.rows.div_ceil(64));
            marks && values.width <= 8 && values.bytes.len() == self.rows * usize::from(values.width)
        };
        let gaps_are_sound = self.gaps.as_ref().is_none_or(PackedGaps::is_sound);
        gaps_are_sound && (1..=ROWS).contains(&self.rows) && self.columns.iter().all(|(_, column)| is_sound(column))
    }

    fn size(&self) -> usize {
        let columns = self.columns.iter().map(|(_, column)| {
            size_of::<(Fact, Column)>()
                + column.values.bytes.len()
                + column.present.as_ref().map_or(0, |bits| bits.len() * 8)
        });
        columns.sum::<usize>() + self.gaps.as_ref().map_or(0, |gaps| gaps.0.len())
    }
}

fn pack_column(rows: &[Facts], fact: Fact) -> Option<Column> {
    let count = rows.iter().filter(|row| row.raw(fact) != Facts::ABSENT).count();
    if count == 0 {
        return None;
    }
    if count == rows.len() {
        return Some(Column { values: Packed::new(rows.iter().map(|row| row.raw(fact))), present: None });
    }
    let mut present = vec![0_u64; rows.len().div_ceil(64)];
    let mut stand_in = 0;
    for (at, row) in rows.iter().enumerate() {
        if let Some(value) = row.get(fact) {
            present[at / 64] |= 1 << (at % 64);
            stand_in = value;
        }
    }
    let values = Packed::new(rows.iter().map(|row| row.get(fact).unwrap_or(stand_in)));
    Some(Column { values, present: Some(present.into_boxed_slice()) })
}

/// The base facts of all records of a phase, and the gaps between their content responses while these are stored.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    blocks: Vec<Block>,
    open: Vec<Facts>,
    open_gaps: Vec<u64>,
    keeps_gaps: bool,
    rows: usize,
}

impl Columns {
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), open: Vec::new(), open_gaps: Vec::new(), keeps_gaps: true, rows: 0 }
    }

    pub(crate) fn push(&mut self, facts: &Facts, gaps: &[u64]) {
        self.open.push(facts.clone());
        if self.keeps_gaps {
            self.open_gaps.extend_from_slice(gaps);
        }
        self.rows += 1;
        if self.open.len() == ROWS {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            let gaps = self.keeps_gaps.then_some(self.open_gaps.as_slice());
            self.blocks.push(Block::pack(&self.open, gaps));
            self.open.clear();
            self.open_gaps.clear();
        }
    }

    /// Drops the gaps: from now on only their sums are known.
    pub(crate) fn drop_gaps(&mut self) {
        self.keeps_gaps = false;
        self.open_gaps = Vec::new();
        self.blocks.iter_mut().for_each(|block| block.gaps = None);
    }

    pub(crate) fn keeps_gaps(&self) -> bool {
        self.keeps_gaps
    }

    /// Appends the records of another part of the phase.
    pub(crate) fn append(&mut self, other: Self) {
        if self.keeps_gaps && !other.keeps_gaps {
            self.drop_gaps();
        }
        self.seal();
        self.blocks.extend(other.blocks);
        if !self.keeps_gaps {
            self.blocks.iter_mut().for_each(|block| block.gaps = None);
        }
        self.open = other.open;
        self.open_gaps = if self.keeps_gaps { other.open_gaps } else { Vec::new() };
        self.rows += other.rows;
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The records in batches; those of a batch were added one after another.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Batch<'_>> {
        let open = (!self.open.is_empty()).then_some(Batch::Open(&self.open, &self.open_gaps));
        self.blocks.iter().map(Batch::Packed).chain(open)
    }

    /// Visits every record in order. Only the requested facts, and the status, are valid.
    pub(crate) fn each(&self, facts: &[Fact], mut visit: impl FnMut(usize, &Facts)) {
        let (mut row, mut reader) = (0, BatchReader::new(facts));
        for batch in self.batches() {
            reader.each_part(batch, false, |rows, _| {
                for facts in rows {
                    visit(row, facts);
                    row += 1;
                }
            });
        }
    }

    /// Visits every record in order, like [`Self::each`]. Successive records that are equal in these facts may be
    /// visited together: the first argument is their number.
    pub(crate) fn each_run(&self, facts: &[Fact], mut visit: impl FnMut(usize, &Facts)) {
        let mut reader = BatchReader::new(facts);
        for batch in self.batches() {
            match reader.only_row(batch) {
                Some(facts) => visit(batch.rows(), facts),
                None => reader.each(batch, |facts| visit(1, facts)),
            }
        }
    }

    /// Visits every record with its gaps; without gaps once they were dropped.
    pub(crate) fn each_with_gaps(&self, facts: &[Fact], mut visit: impl FnMut(usize, &Facts, &[u64])) {
        let (mut row, mut reader) = (0, BatchReader::new(facts));
        for batch in self.batches() {
            reader.each_with_gaps(batch, |facts, gaps| {
                visit(row, facts, gaps);
                row += 1;
            });
        }
    }

    pub(crate) fn size(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| size_of::<Block>() + block.size()).sum();
        blocks + self.open.capacity() * size_of::<Facts>() + self.open_gaps.capacity() * 8
    }
}

/// Some records that were added one after another.
#[derive(Clone, Copy)]
pub(crate) enum Batch<'c> {
    Packed(&'c Block),
    Open(&'c [Facts], &'c [u64]),
}

impl Batch<'_> {
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::Packed(block) => block.rows,
            Self::Open(rows, _) => rows.len(),
        }
    }

    pub(crate) fn first_start(self) -> Option<u64> {
        match self {
            // A record without a start holds the start of another one here.
            Self::Packed(block) => block.column(Fact::Start).map(|column| column.values.base),
            Self::Open(rows, _) => rows.iter().filter_map(|facts| facts.get(Fact::Start)).min(),
        }
    }
}

/// Unpacks some facts of one batch after another, in the same memory.
pub(crate) struct BatchReader {
    /// The requested facts, and the status; with gaps also the number of chunks.
    wanted: Vec<Fact>,
    rows: Vec<Facts>,
    gaps: Vec<u64>,
}

impl BatchReader {
    pub(crate) fn new(facts: &[Fact]) -> Self {
        let mut wanted = [false; FACTS];
        facts.iter().chain(&[Fact::Status]).for_each(|&fact| wanted[fact as usize] = true);
        let wanted = Fact::ALL.iter().copied().filter(|&fact| wanted[fact as usize]).collect();
        Self { wanted, rows: Vec::new(), gaps: Vec::new() }
    }

    /// The facts of all records of a batch, if they are known to be equal.
    fn only_row(&mut self, batch: Batch<'_>) -> Option<&Facts> {
        let Batch::Packed(block) = batch else { return None };
        if !self.wanted.iter().all(|&fact| block.column(fact).is_none_or(Column::is_one_value)) {
            return None;
        }
        self.rows.resize(AT_ONCE, Facts::default());
        self.wanted.iter().for_each(|&fact| Column::unpack(block.column(fact), fact, 0, &mut self.rows[..1]));
        self.rows.first()
    }

    /// Visits every record of a batch.
    pub(crate) fn each(&mut self, batch: Batch<'_>, mut visit: impl FnMut(&Facts)) {
        self.each_part(batch, false, |rows, _| rows.iter().for_each(&mut visit));
    }

    /// Visits every record of a batch with its gaps; without gaps once they were dropped.
    pub(crate) fn each_with_gaps(&mut self, batch: Batch<'_>, mut visit: impl FnMut(&Facts, &[u64])) {
        if !self.wanted.contains(&Fact::Chunks) {
            self.wanted.push(Fact::Chunks);
        }
        self.each_part(batch, true, |rows, gaps| {
            for facts in rows {
                let (own, others) = gaps.split_at(facts.gaps().min(gaps.len()));
                visit(facts, own);
                *gaps = others;
            }
        });
    }

    /// Visits the records a few at a time, with the gaps of the batch that are left.
    fn each_part(&mut self, batch: Batch<'_>, with_gaps: bool, mut visit: impl FnMut(&[Facts], &mut &[u64])) {
        let block = match batch {
            Batch::Packed(block) => block,
            Batch::Open(rows, mut gaps) => return visit(rows, &mut gaps),
        };
        let columns = self.wanted.iter().map(|&fact| (fact, block.column(fact)));
        let (same, different): (Vec<_>, Vec<_>) =
            columns.partition(|(_, column)| column.is_none_or(Column::is_one_value));
        self.rows.resize(AT_ONCE, Facts::default());
        // Once for the whole block.
        let rows = &mut self.rows[..AT_ONCE.min(block.rows)];
        same.iter().for_each(|(fact, column)| Column::unpack(*column, *fact, 0, rows));
        self.gaps.clear();
        if let Some(packed) = block.gaps.as_ref().filter(|_| with_gaps) {
            packed.unpack(&mut self.gaps);
        }
        let mut rest = self.gaps.as_slice();
        for first in (0..block.rows).step_by(AT_ONCE) {
            let rows = &mut self.rows[..AT_ONCE.min(block.rows - first)];
            different.iter().for_each(|(fact, column)| Column::unpack(*column, *fact, first, rows));
            visit(rows, &mut rest);
        }
    }
}

/// Columns for sending: all records packed.
#[derive(Deserialize)]
struct PackedColumns {
    blocks: Vec<Block>,
    keeps_gaps: bool,
}

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PackedColumns<'c> {
            blocks: Vec<&'c Block>,
            keeps_gaps: bool,
        }
        let gaps = self.keeps_gaps.then_some(self.open_gaps.as_slice());
        let open = (!self.open.is_empty()).then(|| Block::pack(&self.open, gaps));
        let blocks = self.blocks.iter().chain(&open).collect();
        PackedColumns { blocks, keeps_gaps: self.keeps_gaps }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PackedColumns { blocks, keeps_gaps } = PackedColumns::deserialize(deserializer)?;
        if !blocks.iter().all(|block| block.is_sound() && block.gaps.is_some() == keeps_gaps) {
            return Err(D::Error::custom("columns of records with damaged content"));
        }
        let rows = blocks.iter().map(|block| block.rows).sum();
        Ok(Self { blocks, rows, keeps_gaps, ..Self::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_records_is_refused() {
        let of_rows = |rows: usize| Block { rows, columns: Vec::new(), gaps: None };
        assert!(of_rows(1).is_sound() && of_rows(ROWS).is_sound());
        assert!(!of_rows(0).is_sound() && !of_rows(ROWS + 1).is_sound());
    }
}
