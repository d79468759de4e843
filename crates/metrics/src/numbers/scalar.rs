//! One number, as exact as it is known.

/// A number in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Int(i128),
    /// As exact as floats are.
    Float(f64),
}

impl Scalar {
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}
