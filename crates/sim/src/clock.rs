//! The two clocks of the simulator, in nanoseconds: monotonic for deadlines, wall for logs.

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
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = unix_seconds / 86_400;
    let second_of_day = unix_seconds % 86_400;
    // Days since 0000-03-01, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12;
    let year = era * 400 + year_of_era + u64::from(month < 2);
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        WEEKDAYS[(days % 7) as usize],
        day,
        MONTHS[month as usize],
        year,
        second_of_day / 3_600,
        second_of_day / 60 % 60,
        second_of_day % 60
    )
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
