//! Lines, fields and columns of statistics for CSV files.

use aiperf_types::Stats;

pub(crate) const LINE_END: &str = "\r\n";

/// The statistics of a metric by name, in the order of the columns.
pub(crate) fn columns(stats: &Stats) -> impl Iterator<Item = (&'static str, Option<f64>)> + use<> {
    let &Stats { avg, min, max, sum, p1, p5, p10, p25, p50, p75, p90, p95, p99, std, count: _ } = stats;
    [
        ("avg", avg),
        ("min", min),
        ("max", max),
        ("sum", sum),
        ("p1", p1),
        ("p5", p5),
        ("p10", p10),
        ("p25", p25),
        ("p50", p50),
        ("p75", p75),
        ("p90", p90),
        ("p95", p95),
        ("p99", p99),
        ("std", std),
    ]
    .into_iter()
}

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
