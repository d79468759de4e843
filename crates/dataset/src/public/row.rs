//! One row of a public dataset, from any file type.

use serde_json::Value;

use crate::columns::Cell;

/// Why a row cannot be used, without the location.
pub(super) type Fault = String;

/// Named values.
#[derive(Debug, Default)]
pub(super) struct Row(Vec<(String, Cell)>);

impl Row {
    pub(super) fn new(cells: Vec<(String, Cell)>) -> Self {
        Self(cells)
    }

    /// A row from JSON.
    pub(super) fn of_json(value: Value) -> Result<Self, Fault> {
        match cell(value) {
            Cell::Object(members) => Ok(Self(members)),
            _ => Err("a row is no object\n  try: the file as its publisher has it".into()),
        }
    }

    /// A value; null counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&Cell> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, cell)| cell).filter(|cell| **cell != Cell::Null)
    }

    /// The value of a column that every row must have, though it may be null.
    pub(super) fn column(&self, name: &str) -> Result<Option<&Cell>, Fault> {
        if self.0.iter().any(|(other, _)| other == name) {
            return Ok(self.get(name));
        }
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        Err(format!(
            "has no column '{name}': its columns are {}\n  try: another subset (--hf-subset NAME), or the files as their \
             publisher has them",
            names.join(", ")
        ))
    }

    /// All values as JSON.
    pub(super) fn json(self) -> Result<Value, Fault> {
        Cell::Object(self.0).json().ok_or_else(|| "holds bytes that are no text".into())
    }
}

/// The text of a value; numbers are written out.
pub(super) fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Int(number) => Some(number.to_string()),
        Cell::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(super) fn list(cell: &Cell) -> Option<&[Cell]> {
    match cell {
        Cell::List(cells) => Some(cells),
        _ => None,
    }
}

/// A member of an object; null counts as missing.
pub(super) fn member<'a>(cell: &'a Cell, name: &str) -> Option<&'a Cell> {
    let Cell::Object(members) = cell else { return None };
    members.iter().find(|(other, _)| other == name).map(|(_, cell)| cell).filter(|cell| **cell != Cell::Null)
}

/// Converts JSON to cells.
pub(super) fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Bool(value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Cell::Int(number.into()),
            (_, Some(number)) => Cell::Int(number.into()),
            _ => Cell::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cell::Text(text),
        Value::Array(items) => Cell::List(items.into_iter().map(cell).collect()),
        Value::Object(members) => Cell::Object(members.into_iter().map(|(name, value)| (name, cell(value))).collect()),
    }
}
