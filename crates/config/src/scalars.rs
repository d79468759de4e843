//! Numbers and names, to and from text.

use serde_json::{Number, Value};

/// A whole number: optional sign, digits, single underscores between digits.
pub(crate) fn int(text: &str) -> Result<i64, String> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let shaped = digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !shaped {
        return Err("is not a whole number".to_owned());
    }
    let bound = if trimmed.starts_with('-') { ("least", i64::MIN) } else { ("most", i64::MAX) };
    trimmed.replace('_', "").parse().map_err(|_| format!("must be at {} {}", bound.0, bound.1))
}

/// A number; `inf` is valid here, for a range to refuse.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    let read = text.trim().replace('_', "").parse::<f64>().ok();
    read.filter(|n| !n.is_nan()).ok_or_else(|| "is not a number".to_owned())
}

/// A number as JSON, or its name if JSON has none.
pub(crate) fn number(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("nan"),
        None => Value::from(if value > 0.0 { "inf" } else { "-inf" }),
    }
}

/// The choice that a text names: letter case and `-`/`_` do not matter.
pub(crate) fn choice(text: &str, choices: &[&'static str]) -> Option<&'static str> {
    let plain = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(text);
    choices.iter().copied().find(|choice| plain(choice) == wanted)
}
