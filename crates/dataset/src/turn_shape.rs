//! Turns as the schedule sees them.

use aiperf_types::{Nanos, TurnShape};

/// The longest wait for a turn, in milliseconds: thirty years, the limit of all times of a run.
pub(crate) const LONGEST_MS: f64 = 1e12;
/// The timestamp farthest from zero: it has room for milliseconds since 1970, and is exact to the microsecond.
pub(crate) const FARTHEST_MS: f64 = 1e13;

/// Saturates a delay that is too long for nanoseconds.
pub(crate) fn turn_shape(delay_ms: Option<f64>, timestamp_ms: Option<f64>) -> TurnShape {
    TurnShape { delay: delay_ms.map(|ms| Nanos((ms * 1e6).round() as u64)), timestamp_ms }
}
