//! Wall-clock instants as UTC text.

use aiperf_types::WallNs;
use chrono::{DateTime, Utc};

/// ISO 8601 in UTC without an offset, to the microsecond; the fraction is left out when it is zero.
pub(crate) fn iso(at: WallNs) -> String {
    // Readers compare with files that are rounded to the nearest microsecond.
    let micros = at.0.saturating_add(500) / 1_000;
    let format = if micros.is_multiple_of(1_000_000) { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H:%M:%S%.6f" };
    utc(micros).format(format).to_string()
}

/// The date, and the time of day to the millisecond, for log lines.
pub fn log_time(at: WallNs) -> (String, String) {
    let at = utc(at.0 / 1_000);
    (at.format("%Y-%m-%d").to_string(), at.format("%H:%M:%S%.3f").to_string())
}

/// The date and time of microseconds since 1970. Those of any [`WallNs`] have one: the last is in the year 2554.
fn utc(micros: u64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros as i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc_to_the_microsecond() {
        for (ns, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00"),
            (1_794_702_396_195_918_018, "2026-11-15T00:26:36.195918"),
            (1_794_702_396_364_521_579, "2026-11-15T00:26:36.364522"),
            (1_767_225_599_999_999_900, "2026-01-01T00:00:00"),
            (4_107_542_399_000_001_000, "2100-02-28T23:59:59.000001"),
            (u64::MAX, "2554-07-21T23:34:33.709551"),
        ] {
            assert_eq!(iso(WallNs(ns)), text);
        }
    }

    #[test]
    fn log_lines_have_the_date_and_milliseconds() {
        let at = WallNs(1_794_702_396_195_918_018);
        assert_eq!(log_time(at), ("2026-11-15".to_owned(), "00:26:36.195".to_owned()));
    }
}
