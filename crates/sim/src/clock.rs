//! The two clocks of the simulator, in nanoseconds: monotonic for deadlines, wall for logs.

use chrono::DateTime;
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary moment; never steps. Deadlines live on this clock.
pub(crate) fn monotonic_ns() -> u64 {
    now(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since the epoch: the clock of kernel receive stamps and of the truth log.
pub(crate) fn wall_ns() -> u64 {
    now(ClockId::CLOCK_REALTIME)
}

fn now(clock: ClockId) -> u64 {
    // Neither clock can fail on Linux with a valid pointer.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// An HTTP `date` value, such as `Sun, 15 Nov 2026 00:29:13 GMT`.
pub(crate) fn http_date(unix_seconds: u64) -> String {
    let at = DateTime::from_timestamp(unix_seconds as i64, 0).unwrap_or_default();
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_http_wants_them() {
        assert_eq!(http_date(1_794_702_553), "Sun, 15 Nov 2026 00:29:13 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(1_709_164_800), "Thu, 29 Feb 2024 00:00:00 GMT");
    }
}
