//! ISO 8601 times of recordings.

use chrono::DateTime;

/// With seconds and perhaps a fraction of them, or without.
const FORMATS: [&str; 2] = ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z"];

/// Milliseconds since 1970 of a date and a time of day; UTC if there is no zone. Digits beyond microseconds are ignored.
pub(crate) fn unix_ms(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let zone = if time.contains(['Z', 'z', '+', '-']) { "" } else { "Z" };
    let text = format!("{date}T{time}{zone}");
    let at = FORMATS.iter().find_map(|format| DateTime::parse_from_str(&text, format).ok())?;
    Some(at.timestamp_micros() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_milliseconds_since_1970() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("1969-12-31T23:59:59Z", -1000.0),
            ("2000-02-29T12:00:00+00:00", 951_825_600_000.0),
            ("2024-02-29t00:00:00z", 1_709_164_800_000.0),
            ("2026-01-01T00:00:01.500Z", 1_767_225_601_500.0),
            ("2026-01-01T00:00:01.5", 1_767_225_601_500.0),
            ("2026-01-01T00:00:01.123456789Z", 1_767_225_601_123.456),
            ("2026-01-01T02:00:01.5+02:00", 1_767_225_601_500.0),
            ("2026-01-01T02:00:01.5+02", 1_767_225_601_500.0),
            ("2025-12-31 19:00:01.5-0500", 1_767_225_601_500.0),
            (" 2026-04-29T00:03 ", 1_777_420_980_000.0),
        ] {
            assert_eq!(unix_ms(text), Some(wanted), "{text}");
        }
        for text in [
            "",
            "x",
            "yesterday",
            "2026-01-01",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T25:00Z",
            "2026-01-01T00:00:0xZ",
            "2026-01-01T00:00:00+24:00",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}", near in "[0-9TZ:+.-]{0,40}") {
            let _ = unix_ms(&text);
            let _ = unix_ms(&near);
        }
    }
}
