//! Durations and byte counts as text for people.

/// Shown if nothing is known.
const UNKNOWN: &str = "--";

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// A duration split into its units; the last has the remainder.
struct Parts {
    days: f64,
    hours: f64,
    minutes: f64,
    seconds: f64,
}

impl Parts {
    fn of(seconds: f64) -> Self {
        Self {
            days: (seconds / DAY).floor(),
            hours: (seconds % DAY / HOUR).floor(),
            minutes: (seconds % HOUR / MINUTE).floor(),
            seconds: seconds % MINUTE,
        }
    }
}

/// A valid duration; `None` if it is negative or not a number.
fn known(seconds: Option<f64>) -> Option<f64> {
    seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

fn joined<const N: usize>(parts: [(f64, &str); N]) -> String {
    let shown = parts.iter().filter(|(count, _)| *count > 0.0);
    shown.map(|(count, unit)| format!("{count:.0}{unit}")).collect::<Vec<_>>().join(" ")
}

/// Elapsed seconds: `59.9s`, `1m 2s`, `1d 1h 1m 2s`.
pub fn duration_text(seconds: Option<f64>) -> String {
    match known(seconds) {
        None => UNKNOWN.to_owned(),
        Some(seconds) if seconds < MINUTE => format!("{seconds:.1}s"),
        Some(seconds) => {
            let Parts { days, hours, minutes, seconds } = Parts::of(seconds);
            joined([(days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s")])
        }
    }
}

/// Remaining seconds, in the two largest units: `59.9s`, `1m 2s`, `1d 1h`.
pub fn remaining_text(seconds: Option<f64>) -> String {
    match known(seconds) {
        None => UNKNOWN.to_owned(),
        Some(seconds) if seconds < MINUTE => format!("{seconds:.1}s"),
        Some(left) => {
            let Parts { days, hours, minutes, seconds } = Parts::of(left);
            if left >= DAY {
                joined([(days, "d"), (hours, "h")])
            } else if left >= HOUR {
                joined([(hours, "h"), (minutes, "m")])
            } else {
                // Beside minutes, a fraction of a second is omitted.
                joined([(minutes, "m"), (if seconds < 1.0 { 0.0 } else { seconds }, "s")])
            }
        }
    }
}

/// Whole seconds as a clock: `MM:SS`, `H:MM:SS` from one hour on.
pub fn clock_text(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

const BYTE_UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];

/// Bytes in the unit that leaves three digits, in steps of 1024: `999 B`, `1.0 KB`, `118 MB`.
pub fn bytes_text(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else { return UNKNOWN.to_owned() };
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut count = bytes as f64;
    let mut text = String::new();
    for unit in BYTE_UNITS {
        count /= 1024.0;
        text = if count < 100.0 { format!("{count:.1} {unit}") } else { format!("{count:.0} {unit}") };
        if count < 1000.0 {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_shown_in_two_units() {
        let left = [60.9, 61.5, 3600.5, 3719.9, 89_999.9].map(|seconds| remaining_text(Some(seconds)));
        assert_eq!(left, ["1m", "1m 2s", "1h", "1h 1m", "1d"]);
    }

    #[test]
    fn any_count_of_bytes_has_a_text() {
        assert_eq!(
            (bytes_text(Some(u64::MAX)), bytes_text(Some(1_000_000_000_000_000_000))),
            ("16.0 EB".into(), "888 PB".into())
        );
    }

    #[test]
    fn an_invalid_duration_is_unknown() {
        let texts = [f64::NAN, f64::INFINITY, -1.0]
            .map(|seconds| (duration_text(Some(seconds)), remaining_text(Some(seconds))));
        assert!(texts.iter().all(|(passed, left)| passed == "--" && left == "--"));
    }
}
