//! The values of one scope (a run, a slice, a run so far), for derived metrics.

use crate::numbers::scalar::Scalar;
use crate::registry;
use aiperf_types::Nanos;

#[derive(Debug)]
pub struct Scope<'a> {
    pub(crate) values: &'a [Option<Scalar>],
    /// The duration that rates divide by, if it is not the benchmark's.
    pub(crate) window: Option<Nanos>,
}

impl Scope<'_> {
    fn scalar(&self, tag: &str) -> Option<Scalar> {
        self.values[registry::place(tag)?]
    }

    /// The value of a metric, in its base unit: an aggregate, a total or a derived one.
    pub fn value(&self, tag: &str) -> Option<f64> {
        self.scalar(tag).map(Scalar::as_f64)
    }

    /// The value of a metric that is an integer.
    pub fn int(&self, tag: &str) -> Option<i128> {
        match self.scalar(tag)? {
            Scalar::Int(value) => Some(value),
            Scalar::Float(_) => None,
        }
    }

    /// The duration that rates divide by.
    pub fn seconds(&self) -> Option<f64> {
        let length = match self.window {
            Some(window) => window.0 as f64,
            None => self.value("benchmark_duration")?,
        };
        (length > 0.0).then_some(length / 1e9)
    }
}
