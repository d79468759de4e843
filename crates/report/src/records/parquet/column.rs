//! One column: its name, the type of its values, and their unit.

use parquet::basic::Type as Physical;

/// The name of list elements.
pub(crate) const ELEMENT: &str = "element";

pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnType,
    pub(crate) unit: Option<&'static str>,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Int,
    Float,
    Bool,
    Text,
    Floats,
    Texts,
}

impl ColumnType {
    /// The physical type of the values, or of the elements of lists.
    pub(crate) fn physical(self) -> Physical {
        match self {
            Self::Int => Physical::INT64,
            Self::Float | Self::Floats => Physical::DOUBLE,
            Self::Bool => Physical::BOOLEAN,
            Self::Text | Self::Texts => Physical::BYTE_ARRAY,
        }
    }

    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::Floats | Self::Texts)
    }
}
