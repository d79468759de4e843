//! Wall-clock instants as UTC text.

use aiperf_types::WallNs;

/// ISO 8601 in UTC without an offset, to the microsecond; the fraction is left out when it is zero.
pub(crate) fn iso(at: WallNs) -> String {
    // Readers compare with files that are rounded to the nearest microsecond.
    let micros = at.0.saturating_add(500) / 1_000;
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let mut text =
        format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    if fraction != 0 {
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}

/// The date, and the time of day to the millisecond, for log lines.
pub fn log_time(at: WallNs) -> (String, String) {
    let (seconds, millis) = (at.0 / 1_000_000_000, at.0 / 1_000_000 % 1_000);
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    let time = format!("{:02}:{:02}:{:02}.{millis:03}", second / 3600, second / 60 % 60, second % 60);
    (format!("{year:04}-{month:02}-{day:02}"), time)
}

/// Year, month and day of a number of days since 1970-01-01, counting years from March so that the leap day is last.
fn date(days: u64) -> (u64, u64, u64) {
    let from_era = days + 719_468;
    let (era, day_of_era) = (from_era / 146_097, from_era % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
