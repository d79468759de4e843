//! The Arrow schema of the columns: Parquet has no place for the unit of a column, but Arrow's fields have metadata.
//! Readers that use Arrow find `{"unit": "ms"}` there.
//!
//! The schema is a message of Arrow's IPC format, in base64. The message is a flatbuffer: tables with an index of their
//! members before them, and offsets that point forward. It is written from the top down, and an offset is filled in
//! when its target is written. `scripts/check-docs` compares it with Arrow itself.

use super::column::{Column, ColumnType, ELEMENT};
use super::columns::Columns;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Starts every message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Version 5 of the metadata, counted from 0.
const VERSION: u32 = 4;
/// A message with a schema.
const SCHEMA: u32 = 1;
/// Floats of 64 bits.
const DOUBLE: u32 = 2;

/// Tags of types.
const INT: u32 = 2;
const FLOATING_POINT: u32 = 3;
const UTF8: u32 = 5;
const BOOL: u32 = 6;
const LIST: u32 = 12;

pub(crate) fn arrow_schema(columns: &Columns) -> String {
    let mut buffer = FlatBuffer(vec![0; 4]);
    let message = buffer.table(&[Some(VERSION), Some(SCHEMA), Some(0)]);
    buffer.point(0, message.at);
    let schema = buffer.table(&[None, Some(0)]);
    buffer.point(message.member(2), schema.at);
    let places = buffer.vector(schema.member(1), columns.iter().len());
    for (place, column) in places.zip(columns.iter()) {
        buffer.column(place, column);
    }
    let FlatBuffer(mut message) = buffer;
    message.resize(message.len().next_multiple_of(8), 0);
    let mut bytes = CONTINUATION.to_vec();
    bytes.extend_from_slice(&(message.len() as u32).to_le_bytes());
    bytes.append(&mut message);
    STANDARD.encode(bytes)
}

struct FlatBuffer(Vec<u8>);

/// The start of a table. Every member has four bytes: none here is longer.
struct Table {
    at: usize,
}

impl Table {
    fn member(&self, number: usize) -> usize {
        self.at + 4 + 4 * number
    }
}

impl FlatBuffer {
    /// A table of numbers, and of offsets that are not known yet; `None` is a member with its default.
    fn table(&mut self, members: &[Option<u32>]) -> Table {
        let index = 4 + 2 * members.len();
        let at = (self.0.len().next_multiple_of(2) + index).next_multiple_of(4);
        self.0.resize(at - index, 0);
        let table = Table { at };
        self.push_u16(index);
        self.push_u16(4 + 4 * members.len());
        for (number, member) in members.iter().enumerate() {
            self.push_u16(member.map_or(0, |_| table.member(number) - at));
        }
        self.0.extend_from_slice(&(index as u32).to_le_bytes());
        members.iter().for_each(|member| self.0.extend_from_slice(&member.unwrap_or(0).to_le_bytes()));
        table
    }

    /// A list of `length` offsets; returns their positions.
    fn vector(&mut self, place: usize, length: usize) -> impl Iterator<Item = usize> + use<> {
        let at = self.0.len().next_multiple_of(4);
        self.0.resize(at, 0);
        self.point(place, at);
        self.0.extend_from_slice(&(length as u32).to_le_bytes());
        self.0.resize(self.0.len() + 4 * length, 0);
        (0..length).map(move |number| at + 4 + 4 * number)
    }

    fn text(&mut self, place: usize, text: &str) {
        let at = self.0.len().next_multiple_of(4);
        self.0.resize(at, 0);
        self.point(place, at);
        self.0.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }

    /// Fills in an offset, which is relative to its own position.
    fn point(&mut self, place: usize, at: usize) {
        self.0[place..place + 4].copy_from_slice(&((at - place) as u32).to_le_bytes());
    }

    fn push_u16(&mut self, value: usize) {
        self.0.extend_from_slice(&(value as u16).to_le_bytes());
    }

    fn column(&mut self, place: usize, column: &Column) {
        let element = match column.kind {
            ColumnType::Floats => Some(ColumnType::Float),
            ColumnType::Texts => Some(ColumnType::Text),
            ColumnType::Int | ColumnType::Float | ColumnType::Bool | ColumnType::Text => None,
        };
        self.field(place, column.name, column.kind, column.unit, element);
    }

    fn field(&mut self, place: usize, name: &str, kind: ColumnType, unit: Option<&str>, element: Option<ColumnType>) {
        let (tag, members): (u32, &[Option<u32>]) = match kind {
            ColumnType::Int => (INT, &[Some(64), Some(1)]),
            ColumnType::Float => (FLOATING_POINT, &[Some(DOUBLE)]),
            ColumnType::Bool => (BOOL, &[]),
            ColumnType::Text => (UTF8, &[]),
            ColumnType::Floats | ColumnType::Texts => (LIST, &[]),
        };
        // Elements of lists are never absent.
        let nullable = u32::from(name != ELEMENT);
        let metadata = unit.map(|_| 0);
        let field = self.table(&[Some(0), Some(nullable), Some(tag), Some(0), None, Some(0), metadata]);
        self.point(place, field.at);
        self.text(field.member(0), name);
        let of_type = self.table(members);
        self.point(field.member(3), of_type.at);
        let children = self.vector(field.member(5), element.iter().len());
        for (place, element) in children.zip(element) {
            self.field(place, ELEMENT, element, None, None);
        }
        if let Some(unit) = unit {
            for place in self.vector(field.member(6), 1) {
                let pair = self.table(&[Some(0), Some(0)]);
                self.point(place, pair.at);
                self.text(pair.member(0), "unit");
                self.text(pair.member(1), unit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Metrics, RunTraits};
    use aiperf_types::EndpointKind;

    /// Follows offsets as readers do.
    struct Reader(Vec<u8>);

    impl Reader {
        fn u32(&self, at: usize) -> usize {
            u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()) as usize
        }

        fn u16(&self, at: usize) -> usize {
            u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap()).into()
        }

        fn target(&self, at: usize) -> usize {
            at + self.u32(at)
        }

        /// The position of a member of a table; `None` if it has its default.
        fn member(&self, table: usize, number: usize) -> Option<usize> {
            let index = table - self.u32(table);
            let at = 4 + 2 * number;
            let offset = (at < self.u16(index)).then(|| self.u16(index + at))?;
            (offset > 0).then_some(table + offset)
        }

        fn text(&self, place: usize) -> String {
            let at = self.target(place);
            String::from_utf8(self.0[at + 4..at + 4 + self.u32(at)].to_vec()).unwrap()
        }

        /// The tables of a list.
        fn tables(&self, place: usize) -> Vec<usize> {
            let at = self.target(place);
            (0..self.u32(at)).map(|number| self.target(at + 4 + 4 * number)).collect()
        }
    }

    #[test]
    fn every_column_has_its_field_with_its_unit() {
        let columns = Columns::of(&Metrics::for_run(RunTraits::new(EndpointKind::Chat, true))).unwrap();
        let message = STANDARD.decode(arrow_schema(&columns)).unwrap();
        assert_eq!(message.len() % 8, 0);
        let reader = Reader(message[8..].to_vec());
        let schema = reader.target(reader.member(reader.target(0), 2).unwrap());
        let fields = reader.tables(reader.member(schema, 1).unwrap());
        let read = |field: usize| {
            let name = reader.text(reader.member(field, 0).unwrap());
            let children = reader.tables(reader.member(field, 5).unwrap()).len();
            let unit = reader.member(field, 6).map(|metadata| {
                let pair = reader.tables(metadata)[0];
                reader.text(reader.member(pair, 1).unwrap())
            });
            (name, children, unit)
        };
        let expected = |column: &Column| {
            (column.name.to_owned(), usize::from(column.kind.is_list()), column.unit.map(str::to_owned))
        };
        assert_eq!(fields.into_iter().map(read).collect::<Vec<_>>(), columns.iter().map(expected).collect::<Vec<_>>());
    }
}
