//! Numbers for people.

/// Two decimals, rounded half to even on the binary value; empty when absent or not finite.
pub(crate) fn csv_cell(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| format!("{value:.2}")).unwrap_or_default()
}

/// Two decimals with thousands commas; `None` when absent or not finite.
pub(crate) fn grouped(value: Option<f64>) -> Option<String> {
    let text = format!("{:.2}", value.filter(|value| value.is_finite())?);
    let (whole, fraction) = text.split_once('.')?;
    Some(format!("{}.{fraction}", commas(whole)))
}

/// A whole number with thousands commas.
pub(crate) fn commas(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}")
}

/// A count with thousands commas.
pub fn thousands(count: u64) -> String {
    commas(&count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_thousands() {
        for (value, text) in [
            (0.0, "0.00"),
            (999.994, "999.99"),
            (999.995, "1,000.00"),
            (-1234.5, "-1,234.50"),
            (1234567.891, "1,234,567.89"),
            (1e9, "1,000,000,000.00"),
        ] {
            assert_eq!(grouped(Some(value)).as_deref(), Some(text));
        }
    }

    #[test]
    fn an_absent_value_or_nan_has_no_text() {
        assert_eq!([None, Some(f64::NAN), Some(f64::INFINITY)].map(grouped), [None, None, None]);
        assert_eq!([None, Some(f64::NAN), Some(f64::NEG_INFINITY)].map(csv_cell), ["", "", ""]);
    }
}
