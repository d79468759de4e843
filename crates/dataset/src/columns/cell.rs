//! Values of rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Cell>),
    /// Members in the order of the file.
    Object(Vec<(String, Cell)>),
}

impl Cell {
    /// The value as JSON; `None` for bytes that are not UTF-8.
    pub fn json(self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => return None,
            },
            Self::Float(value) => value.into(),
            Self::Text(value) => value.into(),
            Self::Bytes(bytes) => String::from_utf8(bytes).ok()?.into(),
            Self::List(cells) => Value::Array(cells.into_iter().map(Self::json).collect::<Option<_>>()?),
            Self::Object(members) => {
                let members = members.into_iter().map(|(name, cell)| Some((name, cell.json()?)));
                Value::Object(members.collect::<Option<Map<_, _>>>()?)
            }
        })
    }
}

/// The value of one row in a column.
pub(super) fn cell(column: &dyn Array, row: usize) -> Result<Cell, String> {
    if column.is_null(row) {
        return Ok(Cell::Null);
    }
    macro_rules! number {
        ($kind:ident, $of:expr) => {
            $of(column.as_primitive::<$kind>().value(row).into())
        };
    }
    Ok(match column.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => Cell::Bool(column.as_boolean().value(row)),
        DataType::Int8 => number!(Int8Type, Cell::Int),
        DataType::Int16 => number!(Int16Type, Cell::Int),
        DataType::Int32 => number!(Int32Type, Cell::Int),
        DataType::Int64 => number!(Int64Type, Cell::Int),
        DataType::UInt8 => number!(UInt8Type, Cell::Int),
        DataType::UInt16 => number!(UInt16Type, Cell::Int),
        DataType::UInt32 => number!(UInt32Type, Cell::Int),
        DataType::UInt64 => number!(UInt64Type, Cell::Int),
        DataType::Float16 => number!(Float16Type, Cell::Float),
        DataType::Float32 => number!(Float32Type, Cell::Float),
        DataType::Float64 => number!(Float64Type, Cell::Float),
        DataType::Decimal128(_, scale) => {
            let value = column.as_primitive::<Decimal128Type>().value(row);
            if *scale == 0 { Cell::Int(value) } else { Cell::Float(value as f64 / 10f64.powi(i32::from(*scale))) }
        }
        DataType::Utf8 => Cell::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Cell::Text(column.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Cell::Text(column.as_string_view().value(row).to_owned()),
        DataType::Binary => Cell::Bytes(column.as_binary::<i32>().value(row).to_owned()),
        DataType::LargeBinary => Cell::Bytes(column.as_binary::<i64>().value(row).to_owned()),
        DataType::BinaryView => Cell::Bytes(column.as_binary_view().value(row).to_owned()),
        DataType::List(_) => list(&column.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => list(&column.as_list::<i64>().value(row))?,
        DataType::FixedSizeList(_, _) => list(&column.as_fixed_size_list().value(row))?,
        DataType::Struct(fields) => {
            let of = column.as_struct();
            let members = fields.iter().zip(of.columns());
            let member = |(field, column): (&FieldRef, &ArrayRef)| Ok((field.name().clone(), cell(column, row)?));
            Cell::Object(members.map(member).collect::<Result<_, String>>()?)
        }
        DataType::Dictionary(_, _) => {
            // All keys are looked up at once, so take this row alone.
            let one = column.slice(row, 1);
            let of = one.as_any_dictionary();
            cell(of.values(), of.normalized_keys()[0])?
        }
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => {
            return Err("has a column of dates, which are not read\n  try: milliseconds as whole numbers".into());
        }
        other => {
            return Err(format!(
                "has a column of type {other}, which is not read\n  try: text, numbers or lists of them"
            ));
        }
    })
}

fn list(values: &dyn Array) -> Result<Cell, String> {
    (0..values.len()).map(|row| cell(values, row)).collect::<Result<_, _>>().map(Cell::List)
}
