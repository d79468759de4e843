//! How exact the instants of one request are. Most requests have nothing to report.

use crate::format::json::push_f64;
use aiperf_types::{Measured, Nanos, Uncertainty};

/// A record reports its receive lag above this: below it, the worker was not late.
const LARGEST_UNREPORTED_LAG: Nanos = Nanos(1_000_000);

/// What is not exact about a request that was read late, or whose first or last content may have arrived earlier than
/// recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordMeasurement {
    pub(crate) receive_lag_ms: Option<f64>,
    pub(crate) first_width_ms: f64,
    pub(crate) last_width_ms: f64,
    pub(crate) is_late: bool,
    pub(crate) is_unstamped: bool,
}

impl RecordMeasurement {
    /// `None` for an exact record.
    #[inline]
    pub(crate) fn of(measured: &Measured) -> Option<Self> {
        let Measured { receive_lag, first_uncertainty: first, last_uncertainty: last, .. } = measured;
        // A failed request has no instants of content, so none of them is uncertain.
        let has_content = measured.error.is_none();
        let is_uncertain = |one: &Uncertainty| has_content && one.width > Nanos::ZERO;
        if *receive_lag <= Some(LARGEST_UNREPORTED_LAG) && !is_uncertain(first) && !is_uncertain(last) {
            return None;
        }
        let width_ms = |one: &Uncertainty| if is_uncertain(one) { one.width.as_millis_f64() } else { 0.0 };
        Some(Self {
            receive_lag_ms: receive_lag.map(Nanos::as_millis_f64),
            first_width_ms: width_ms(first),
            last_width_ms: width_ms(last),
            is_late: [first, last].into_iter().any(|one| is_uncertain(one) && one.is_late),
            is_unstamped: [first, last].into_iter().any(|one| is_uncertain(one) && one.is_unstamped),
        })
    }

    /// Appends the member: `,"measurement":{...}`.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"measurement\":{\"receive_lag_ms\":");
        match self.receive_lag_ms {
            Some(lag) => push_f64(out, lag),
            None => out.extend_from_slice(b"null"),
        }
        for (key, value) in
            [(&b",\"first_width_ms\":"[..], self.first_width_ms), (b",\"last_width_ms\":", self.last_width_ms)]
        {
            out.extend_from_slice(key);
            push_f64(out, value);
        }
        for (key, value) in [(&b",\"late\":"[..], self.is_late), (b",\"unstamped\":", self.is_unstamped)] {
            out.extend_from_slice(key);
            out.extend_from_slice(if value { b"true" } else { b"false" });
        }
        out.push(b'}');
    }
}
