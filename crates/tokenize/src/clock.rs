//! The date, for the chat templates that print it (`strftime_now`). UTC.

use chrono::format::StrftimeItems;
use chrono::{DateTime, Utc};
use minijinja::{Error, ErrorKind};
use std::fmt::Write;
use std::time::SystemTime;

/// The longest format, in bytes: a field such as `%c` is twelve times as long once it is written.
const LONGEST: usize = 1000;

/// The present moment in a format of Python's `strftime`.
pub(crate) fn format_now(format: &str) -> Result<String, Error> {
    if format.len() > LONGEST {
        let why = format!("strftime_now takes a format of at most {LONGEST} bytes");
        return Err(Error::new(ErrorKind::InvalidOperation, why));
    }
    Ok(format_at(SystemTime::now().into(), format))
}

/// Unknown fields stay as they are. So does a format with `%#z`, which chrono can only parse.
fn format_at(at: DateTime<Utc>, format: &str) -> String {
    let mut text = String::new();
    let written = write!(text, "{}", at.format_with_items(StrftimeItems::new_lenient(format)));
    if written.is_ok() { text } else { format.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_format_is_refused_before_it_is_read() {
        assert!(format_now(&"%c".repeat(500)).is_ok());
        let refused = format_now(&"%c".repeat(50_000_000)).unwrap_err();
        assert!(refused.to_string().contains("at most 1000 bytes"), "{refused}");
    }

    #[test]
    fn moments_are_written_as_strftime_does() {
        for (seconds, format, text) in [
            (0, "%A, %d %b %Y %H:%M:%S", "Thursday, 01 Jan 1970 00:00:00"),
            (951_827_696, "%a %d %B %y", "Tue 29 February 00"),
            (1_767_225_599, "%Y-%m-%d %H%%", "2025-12-31 23%"),
            (0, "%-d %B %Y, %I:%M %p", "1 January 1970, 12:00 AM"),
            (0, "%Y %#z", "%Y %#z"),
            (0, "100% %Q \u{e9}%\u{e9} %", "100% %Q \u{e9}%\u{e9} %"),
        ] {
            assert_eq!(format_at(DateTime::from_timestamp(seconds, 0).unwrap(), format), text);
        }
    }
}
