//! Several runs of one benchmark as CSV: a row for each statistic of each metric, then the runs themselves.

use super::python;
use super::trials::{AcrossRuns, ConfidenceReport};
use crate::format::csv::{push_line, quoted};

const HEAD: &str = "metric,mean,std,min,max,cv,se,ci_low,ci_high,t_critical,unit";

/// The table.
pub fn confidence_csv(report: &ConfidenceReport) -> String {
    let mut out = String::new();
    push_line(&mut out, HEAD);
    for (key, across) in &report.metrics {
        push_line(&mut out, &row(key, across));
    }
    push_line(&mut out, "");
    push_line(&mut out, "Aggregation Type,confidence");
    push_line(&mut out, &format!("Total Runs,{}", report.tally.runs));
    push_line(&mut out, &format!("Successful Runs,{}", report.tally.successful.len()));
    for (key, value) in &report.metadata() {
        push_line(&mut out, &format!("{},{}", title_case(key), quoted(&python::text(value))));
    }
    if let Some(worst) = report.verdicts.grade() {
        push_line(&mut out, &format!("Verdict,{}", worst.name()));
        push_line(&mut out, &format!("Runs by Verdict,{}", quoted(&report.verdicts.counts())));
    }
    out
}

fn row(key: &str, across: &AcrossRuns) -> String {
    let AcrossRuns { mean, std, min, max, cv, se, ci_low, ci_high, t_critical, unit } = across;
    let short = |value: &Option<f64>| cell(*value, 2);
    let long = |value: &Option<f64>| cell(*value, 4);
    [
        quoted(key),
        short(mean),
        short(std),
        short(&Some(*min)),
        short(&Some(*max)),
        long(cv),
        long(se),
        short(ci_low),
        short(ci_high),
        long(t_critical),
        quoted(unit),
    ]
    .join(",")
}

/// A number with `decimals` decimals: empty if there is none, `inf` if it has no bound.
fn cell(value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(value) if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        Some(value) if !value.is_nan() => format!("{value:.decimals$}"),
        _ => String::new(),
    }
}

/// `confidence_level` as `Confidence Level`.
pub(crate) fn title_case(key: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    key.split('_').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_a_bound_is_inf_and_an_unknown_value_is_empty() {
        let values = [Some(0.005), Some(f64::INFINITY), Some(f64::NEG_INFINITY), Some(f64::NAN), None];
        assert_eq!(values.map(|value| cell(value, 4)), ["0.0050", "inf", "-inf", "", ""]);
    }
}
