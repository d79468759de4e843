//! Values of rows.

use serde_json::{Map, Value};

use super::Fault;

/// A value of a row.
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
    /// The value as JSON has it; bytes that are no text have none.
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

/// A decimal: its digits as a whole number, and how many of them follow the point.
pub(super) fn decimal(digits: i128, scale: i32) -> Cell {
    if scale == 0 { Cell::Int(digits) } else { Cell::Float(digits as f64 / 10f64.powi(scale)) }
}

/// A float of 16 bits: a sign, 5 bits of exponent and 10 of fraction.
pub(super) fn half(bits: u16) -> Cell {
    let fraction = f64::from(bits & 0x3ff);
    let size = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    Cell::Float(if bits >> 15 == 0 { size } else { -size })
}

/// Text, which both formats keep as UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<Cell, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cell::Text(text.to_owned())),
        Err(error) => Err(Fault::Broken(format!("a text is not UTF-8: {error}"))),
    }
}

/// A type of columns that is not read. A column of it is refused at its first value that is not null.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unsupported {
    Dates,
    Other(String),
}

impl Unsupported {
    pub(super) fn fault(&self) -> Fault {
        Fault::Refused(match self {
            Self::Dates => "has a column of dates, which are not read\n  try: milliseconds as whole numbers".into(),
            Self::Other(name) => {
                format!("has a column of type {name}, which is not read\n  try: text, numbers or lists of them")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_16_bits_are_widened() {
        let known = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_953_125),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x03ff, 1023.0 * 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, wanted) in known {
            assert_eq!(half(bits), Cell::Float(wanted), "{bits:#x}");
        }
        assert!(matches!(half(0x7e00), Cell::Float(value) if value.is_nan()));
    }
}
