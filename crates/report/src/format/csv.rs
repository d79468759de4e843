//! Lines and fields of CSV files.

pub(crate) const LINE_END: &str = "\r\n";

/// Quotes a field that needs it.
pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Appends a line with its line break.
pub(crate) fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push_str(LINE_END);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_comma_or_a_quote_is_quoted() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("plain (ms)"), "plain (ms)");
    }
}
