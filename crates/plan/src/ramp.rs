//! Values that climb to their target over a time.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// How a value climbs to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ramp {
    pub duration: Nanos,
    pub strategy: RampStrategy,
}

/// The curve of the climb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RampStrategy {
    #[default]
    Linear,
    /// Slow at first: the square of the elapsed share of the time.
    Exponential,
    /// In equal steps at the instants of a Poisson process.
    Poisson,
}

impl Ramp {
    pub fn linear(duration: Nanos) -> Self {
        Self { duration, strategy: RampStrategy::Linear }
    }
}
