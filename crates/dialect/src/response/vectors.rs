//! Vectors of embeddings, as responses have them.

use serde_json::Value;
use std::borrow::Cow;

/// Vectors, each as the JSON it came as: nothing looks at the numbers in them, and there are thousands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vectors<'a>(pub(crate) Vec<Cow<'a, str>>);

impl Vectors<'_> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists of numbers, or texts in which numbers are encoded.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.0.iter().filter_map(|json| serde_json::from_str(json).ok())
    }
}

impl From<Vec<Value>> for Vectors<'_> {
    fn from(values: Vec<Value>) -> Self {
        Self(values.iter().map(|value| value.to_string().into()).collect())
    }
}
