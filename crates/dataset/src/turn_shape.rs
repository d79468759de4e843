//! Turns as schedules see them.

use aiperf_types::{Nanos, TurnShape};

/// A delay too long to be told in nanoseconds is as long as can be.
pub(crate) fn turn_shape(delay_ms: Option<f64>, timestamp_ms: Option<f64>) -> TurnShape {
    TurnShape { delay: delay_ms.map(|ms| Nanos((ms * 1e6).round() as u64)), timestamp_ms }
}
