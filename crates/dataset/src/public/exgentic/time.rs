//! ISO 8601 times.

use serde_json::Value;

use super::super::row::Fault;

/// Milliseconds since 1970 of a date and a time of day; UTC if there is no offset.
pub(super) fn unix_ms(value: &Value) -> Result<f64, Fault> {
    let text = value.as_str().unwrap_or_default();
    read(text).ok_or_else(|| format!("{value} is no time\n  try: 2026-01-31T12:00:00.000Z"))
}

fn read(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone = time.find(['Z', 'z', '+', '-']);
    let (time, zone) = time.split_at(zone.unwrap_or(time.len()));
    let offset = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') => 0,
        Some(sign) => {
            let (hours, minutes) = zone[1..].split_once(':').or_else(|| zone[1..].split_at_checked(2))?;
            let minutes = digits(hours)? * 60 + digits(minutes).unwrap_or(0);
            if *sign == b'-' { -minutes } else { minutes }
        }
    };
    let mut time = time.splitn(3, ':');
    let (hour, minute, second) = (digits(time.next()?)?, digits(time.next()?)?, time.next().unwrap_or("0"));
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let second = digits(second)?;
    // Digits beyond microseconds are ignored.
    let fraction = fraction.get(..6).unwrap_or(fraction);
    let micros = digits(fraction)? * 10_i64.pow(6 - u32::try_from(fraction.len()).ok()?);
    let is_time = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    let seconds = days(year, month, day) * 86_400 + (hour * 60 + minute - offset) * 60 + second;
    is_time.then_some((seconds * 1_000_000 + micros) as f64 / 1e3)
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Days since 1970 in the Gregorian calendar, which repeats every 400 years of 146,097 days. Years begin in March here,
/// so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_milliseconds_since_1970() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2026-01-01T00:00:01.500Z", 1_767_225_601_500.0),
            ("2026-01-01T00:00:01.5", 1_767_225_601_500.0),
            ("2026-01-01T00:00:01.123456789Z", 1_767_225_601_123.456),
            ("2026-01-01T02:00:01.5+02:00", 1_767_225_601_500.0),
            ("2025-12-31 19:00:01.5-0500", 1_767_225_601_500.0),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000.0),
        ] {
            assert_eq!(read(text), Some(wanted), "{text}");
        }
        for text in ["", "x", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:0xZ"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}", near in "[0-9TZ:+.-]{0,40}") {
            let _ = read(&text);
            let _ = read(&near);
        }
    }
}
