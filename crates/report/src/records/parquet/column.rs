//! One column: its name, what its values are, and what they are measured in.

use parquet::basic::Type as Physical;

/// What lists call their elements.
pub(crate) const ELEMENT: &str = "element";

pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Option<&'static str>,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Float,
    Bool,
    Text,
    Floats,
    Texts,
}

impl Kind {
    /// Of a column's values, or those of its lists.
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
