//! Columns as Parquet keeps them: flat values, and levels that place them in lists and structs.

use ::parquet::basic::{ConvertedType, IntType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::schema::types::ColumnDescriptor;

use crate::columns::Fault;
use crate::columns::cell::{Cell, Unsupported, decimal, half, text};

/// Bytes of the largest decimals that are read.
const DECIMAL_BYTES: usize = 16;

/// The next rows of a column.
pub(super) struct Leaf {
    kind: LeafType,
    /// The level at which a value is there.
    most_defined: i16,
    reader: Option<ColumnReader>,
    /// How far each entry is defined, and how far it repeats the one before; empty where that is always the same.
    defined: Vec<i16>,
    repeats: Vec<i16>,
    entries: usize,
    next: usize,
    /// Of the entries that have one.
    values: std::vec::IntoIter<Cell>,
}

#[derive(Clone, Debug, PartialEq)]
enum LeafType {
    Number,
    Unsigned,
    Decimal { scale: i32 },
    Half,
    Text,
    Bytes,
    Null,
    Unsupported(Unsupported),
}

impl Leaf {
    pub(super) fn new(column: &ColumnDescriptor) -> Self {
        Self {
            kind: LeafType::of(column),
            most_defined: column.max_def_level(),
            reader: None,
            defined: Vec::new(),
            repeats: Vec::new(),
            entries: 0,
            next: 0,
            values: Vec::new().into_iter(),
        }
    }

    pub(super) fn refuse(&mut self, why: Unsupported) {
        self.kind = LeafType::Unsupported(why);
    }

    /// Goes on with the column of another group of rows.
    pub(super) fn set_reader(&mut self, reader: ColumnReader) {
        self.reader = Some(reader);
    }

    /// Reads so many rows more.
    pub(super) fn fill(&mut self, rows: usize) -> Result<(), Fault> {
        let Some(mut reader) = self.reader.take() else { return Err(Fault::lengths()) };
        let kind = self.kind.clone();
        match &mut reader {
            ColumnReader::BoolColumnReader(reader) => self.read(reader, rows, |it| Ok(Cell::Bool(it))),
            ColumnReader::Int32ColumnReader(reader) => self.read(reader, rows, |it| {
                Ok(if kind == LeafType::Unsigned { Cell::Int((it as u32).into()) } else { kind.number(it.into()) })
            }),
            ColumnReader::Int64ColumnReader(reader) => self.read(reader, rows, |it| {
                Ok(if kind == LeafType::Unsigned { Cell::Int((it as u64).into()) } else { kind.number(it.into()) })
            }),
            ColumnReader::Int96ColumnReader(reader) => self.read(reader, rows, |_| Ok(Cell::Null)),
            ColumnReader::FloatColumnReader(reader) => self.read(reader, rows, |it| Ok(Cell::Float(it.into()))),
            ColumnReader::DoubleColumnReader(reader) => self.read(reader, rows, |it| Ok(Cell::Float(it))),
            ColumnReader::ByteArrayColumnReader(reader) => self.read(reader, rows, |it| kind.bytes(it.data())),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => self.read(reader, rows, |it| kind.bytes(it.data())),
        }?;
        self.reader = Some(reader);
        Ok(())
    }

    fn read<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        cell: impl Fn(T::T) -> Result<Cell, Fault>,
    ) -> Result<(), Fault> {
        self.defined.clear();
        self.repeats.clear();
        let mut values = Vec::new();
        let (found, _, entries) =
            reader.read_records(rows, Some(&mut self.defined), Some(&mut self.repeats), &mut values)?;
        if found != rows {
            return Err(Fault::lengths());
        }
        (self.entries, self.next) = (entries, 0);
        self.values = values.into_iter().map(cell).collect::<Result<Vec<_>, _>>()?.into_iter();
        Ok(())
    }

    /// How far the next entry is defined.
    pub(super) fn defined(&self) -> Result<i16, Fault> {
        if self.next >= self.entries {
            return Err(Fault::lengths());
        }
        Ok(self.defined.get(self.next).copied().unwrap_or(self.most_defined))
    }

    /// How far the next entry repeats the one before: 0 begins a row.
    pub(super) fn repeats(&self) -> i16 {
        self.repeats.get(self.next).copied().unwrap_or(0)
    }

    pub(super) fn is_taken(&self) -> bool {
        self.next == self.entries
    }

    /// Takes the next entry, which has no value.
    pub(super) fn skip(&mut self) -> Result<(), Fault> {
        if self.defined()? == self.most_defined {
            return Err(Fault::lengths());
        }
        self.next += 1;
        Ok(())
    }

    /// Takes the next entry, which has a value.
    pub(super) fn take(&mut self) -> Result<Cell, Fault> {
        if self.defined()? != self.most_defined {
            return Err(Fault::lengths());
        }
        if let LeafType::Unsupported(why) = &self.kind {
            return Err(why.fault());
        }
        self.next += 1;
        let value = self.values.next().ok_or_else(Fault::lengths)?;
        Ok(if self.kind == LeafType::Null { Cell::Null } else { value })
    }
}

impl LeafType {
    fn of(column: &ColumnDescriptor) -> Self {
        let other = |name: String| Self::Unsupported(Unsupported::Other(name));
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        if logical == Some(&LogicalType::Unknown) {
            return Self::Null;
        }
        let is_decimal = converted == ConvertedType::DECIMAL || matches!(logical, Some(LogicalType::Decimal(_)));
        let (precision, scale) = match logical {
            Some(LogicalType::Decimal(decimal)) => (decimal.precision, decimal.scale),
            _ => (column.type_precision(), column.type_scale()),
        };
        let width = column.type_length();
        match column.physical_type() {
            Physical::INT96 => return Self::Unsupported(Unsupported::Dates),
            Physical::BYTE_ARRAY if is_decimal && precision > 38 => {
                return other(format!("Decimal256({precision}, {scale})"));
            }
            Physical::FIXED_LEN_BYTE_ARRAY if is_decimal && width > DECIMAL_BYTES as i32 => {
                return other(format!("Decimal256({precision}, {scale})"));
            }
            _ if is_decimal => return Self::Decimal { scale },
            Physical::FIXED_LEN_BYTE_ARRAY if logical == Some(&LogicalType::Float16) && width == 2 => {
                return Self::Half;
            }
            Physical::FIXED_LEN_BYTE_ARRAY if converted == ConvertedType::INTERVAL => {
                return other("Interval(DayTime)".into());
            }
            Physical::FIXED_LEN_BYTE_ARRAY => return other(format!("FixedSizeBinary({width})")),
            _ => {}
        }
        match (logical, converted) {
            (Some(LogicalType::Integer(IntType { is_signed: false, .. })), _) => Self::Unsigned,
            (Some(LogicalType::String | LogicalType::Json), _) => Self::Text,
            (Some(LogicalType::Date | LogicalType::Timestamp(_)), _) => Self::Unsupported(Unsupported::Dates),
            (Some(LogicalType::Time(time)), _) => other(
                match time.unit {
                    TimeUnit::MILLIS => "Time32(ms)",
                    TimeUnit::MICROS => "Time64(µs)",
                    TimeUnit::NANOS => "Time64(ns)",
                }
                .into(),
            ),
            (Some(_), _) => Self::plain(column.physical_type()),
            (None, converted) => match converted {
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                    Self::Unsigned
                }
                ConvertedType::UTF8 | ConvertedType::JSON => Self::Text,
                ConvertedType::DATE | ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS => {
                    Self::Unsupported(Unsupported::Dates)
                }
                ConvertedType::TIME_MILLIS => other("Time32(ms)".into()),
                ConvertedType::TIME_MICROS => other("Time64(µs)".into()),
                _ => Self::plain(column.physical_type()),
            },
        }
    }

    fn plain(physical: Physical) -> Self {
        if physical == Physical::BYTE_ARRAY { Self::Bytes } else { Self::Number }
    }

    fn number(&self, value: i128) -> Cell {
        match self {
            Self::Decimal { scale } => decimal(value, *scale),
            _ => Cell::Int(value),
        }
    }

    fn bytes(&self, bytes: &[u8]) -> Result<Cell, Fault> {
        Ok(match (self, bytes) {
            (Self::Text, _) => text(bytes)?,
            (Self::Bytes, _) => Cell::Bytes(bytes.to_owned()),
            (Self::Half, &[low, high]) => half(u16::from_le_bytes([low, high])),
            (Self::Decimal { scale }, _) if bytes.len() <= DECIMAL_BYTES => decimal(big_endian(bytes), *scale),
            (Self::Null | Self::Unsupported(_), _) => Cell::Null,
            _ => return Err(Fault::lengths()),
        })
    }
}

/// A signed number of up to 16 bytes.
fn big_endian(bytes: &[u8]) -> i128 {
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; DECIMAL_BYTES];
    wide[DECIMAL_BYTES - bytes.len()..].copy_from_slice(bytes);
    i128::from_be_bytes(wide)
}
