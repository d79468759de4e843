//! Turns as schedules see them.

use aiperf_types::{Nanos, TurnShape};

/// The longest wait for a turn, in milliseconds: thirty years, as of every other time of a run.
pub(crate) const LONGEST_MS: f64 = 1e12;
/// The timestamp farthest from zero: with room for milliseconds of the calendar, and told to the microsecond.
pub(crate) const FARTHEST_MS: f64 = 1e13;

/// A delay too long to be told in nanoseconds is as long as can be.
pub(crate) fn turn_shape(delay_ms: Option<f64>, timestamp_ms: Option<f64>) -> TurnShape {
    TurnShape { delay: delay_ms.map(|ms| Nanos((ms * 1e6).round() as u64)), timestamp_ms }
}
