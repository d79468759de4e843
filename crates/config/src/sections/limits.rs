//! Limits that fail a run: `limits` of a file, and `--fail-if METRIC.STAT>NUMBER`.

use super::scale::Comparison;
use super::spelled::{Refusal, Spelled, SpelledList};
use crate::choice::{Choice, choices};
use crate::nearest::nearest;
use crate::setting::section;
use serde_json::{Value, json};

choices! {
    /// A statistic of a metric.
    LimitStat {
        Avg = "avg",
        Min = "min",
        Max = "max",
        Sum = "sum",
        P1 = "p1",
        P5 = "p5",
        P10 = "p10",
        P25 = "p25",
        P50 = "p50",
        P75 = "p75",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
        Std = "std",
        Count = "count",
    }
}

section! {
    /// One limit.
    Limit {
        /// Metric
        metric: String;
        /// Its statistic; none for a metric that has one value
        stat: LimitStat;
        /// On which side of the threshold the run fails
        op: Comparison;
        /// Threshold, in the unit the metric is shown in
        threshold: f64;
        /// That unit, to be certain of it
        unit: String;
    }
}

/// A list of limits, each a map or a text such as `time_to_first_token.p99>200`.
pub type Limits = SpelledList<Limit>;

impl Spelled for Limit {
    const EXAMPLE: &str = "'time_to_first_token.p99>200', in quotes: a shell keeps < and > for itself";
    const LIST: &str = " of limits";
    const NOT_WHOLE: [&str; 3] = [
        "is not a whole limit",
        "a limit needs metric, op and a finite threshold",
        "{metric: time_to_first_token, stat: p99, op: gt, threshold: 200}",
    ];

    fn parse(text: &str) -> Result<Value, Refusal> {
        Ok(limit(text)?)
    }

    fn is_whole(&self) -> bool {
        self.metric.as_deref().is_some_and(|metric| !metric.trim().is_empty())
            && self.op.is_some()
            && self.threshold.is_some_and(f64::is_finite)
    }
}

const FORM: &str = "is not METRIC.STAT>NUMBER";

/// `METRIC[.STAT] OP NUMBER[UNIT]`, where OP is `>`, `>=`, `<` or `<=`.
fn limit(text: &str) -> Result<Value, String> {
    let Some(at) = text.find(['<', '>']) else {
        return Err(format!("{FORM}: there is no comparison, which is one of >, >=, <, <="));
    };
    let (subject, rest) = text.split_at(at);
    let (op, number) = match rest.as_bytes() {
        [b'>', b'=', ..] => (Comparison::Ge, &rest[2..]),
        [b'<', b'=', ..] => (Comparison::Le, &rest[2..]),
        [b'>', ..] => (Comparison::Gt, &rest[1..]),
        _ => (Comparison::Lt, &rest[1..]),
    };
    let (metric, stat) = subject_of(subject.trim())?;
    let (threshold, unit) = quantity(number.trim())?;
    let mut limit = json!({"metric": metric, "op": op.name(), "threshold": threshold});
    if let Some(stat) = stat {
        limit["stat"] = stat.name().into();
    }
    if let Some(unit) = unit {
        limit["unit"] = unit.into();
    }
    Ok(limit)
}

fn subject_of(text: &str) -> Result<(&str, Option<LimitStat>), String> {
    let (metric, stat) = subject(text, FORM)?;
    let known = |stat: &str| {
        LimitStat::exactly(stat).ok_or_else(|| {
            let meant = nearest(stat, LimitStat::NAMES.iter().copied());
            let meant = meant.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            let stat = stat.escape_debug();
            format!("has the statistic '{stat}', not one of {}{meant}", LimitStat::NAMES.join(", "))
        })
    };
    Ok((metric, stat.map(known).transpose()?))
}

/// `METRIC[.STAT]`, where STAT may be any text. `form`: the rule that messages start with.
pub(super) fn subject<'t>(text: &'t str, form: &str) -> Result<(&'t str, Option<&'t str>), String> {
    let (metric, stat) = match text.split_once('.') {
        Some((metric, stat)) => (metric.trim_end(), Some(stat.trim_start())),
        None => (text, None),
    };
    if metric.is_empty() {
        return Err(format!("{form}: it names no metric"));
    }
    match metric.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
        Some(odd) => Err(format!("{form}: no metric has '{}' in its name", odd.escape_debug())),
        None => Ok((metric, stat)),
    }
}

/// A number, and the unit after it.
fn quantity(text: &str) -> Result<(f64, Option<&str>), String> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| match digits {
        "" if text.is_empty() => format!("{FORM}: there is no number"),
        _ => format!("has the threshold '{}', which is not a finite number", text.escape_debug()),
    })?;
    Ok((number, Some(unit.trim_start()).filter(|unit| !unit.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_limit_may_be_on_any_statistic() {
        assert_eq!(LimitStat::NAMES, aiperf_types::Stats::ALL);
    }

    #[test]
    fn a_limit_is_a_metric_a_statistic_a_comparison_and_a_number() {
        let ttft = json!({"metric": "time_to_first_token", "stat": "p99", "op": "gt", "threshold": 200.0});
        assert_eq!(limit("time_to_first_token.p99>200"), Ok(ttft.clone()));
        assert_eq!(limit("  time_to_first_token.p99  > 200.0 "), Ok(ttft));
        let rate = json!({"metric": "request_throughput", "op": "le", "threshold": 1500.0, "unit": "requests/sec"});
        assert_eq!(limit("request_throughput<=1.5e3 requests/sec"), Ok(rate));
        let of = |text: &str| limit(text).map(|limit| (limit["op"].clone(), limit["threshold"].clone()));
        assert_eq!(of("a.avg>=-0.5"), Ok((json!("ge"), json!(-0.5))));
        assert_eq!(of("a.avg<5ms"), Ok((json!("lt"), json!(5.0))));
    }

    #[test]
    fn the_message_names_what_is_wrong() {
        let why = |text: &str| limit(text).unwrap_err();
        // The rest of a limit after a shell parsed `>` as a redirection.
        assert!(why("time_to_first_token.p99").contains("no comparison"));
        assert!(why("a.p99=5").contains("no comparison"));
        assert!(why(">5").contains("names no metric"));
        assert!(why("a b.p99>5").contains("no metric has ' ' in its name"));
        assert!(why("a.p98>5").contains("'p98', not one of avg") && why("a.p98>5").contains("did you mean p9"));
        assert!(why("a.P99>5").contains("not one of"));
        assert!(why("a.p99>").contains("there is no number"));
        for text in
            ["a.p99>x", "a.p99>1e999", "a.p99>nan", "a.p99>inf", "a.p99>>5", "a.p99=>5", "a.p99>1 < 2", "a.p99>1.2.3"]
        {
            // The rest after a number is its unit, and no metric has such a unit.
            assert!(limit(text).is_err() || limit(text).is_ok_and(|limit| limit.get("unit").is_some()), "{text}");
        }
        assert!(why("a.p99>1e999").contains("not a finite number"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>(), start in "[a-z_.<>=0-9 ]{0,20}") {
            for text in [text.clone(), format!("{start}{text}"), start] {
                if let Ok(read) = limit(&text) {
                    prop_assert!(read["threshold"].as_f64().is_some_and(f64::is_finite));
                    prop_assert!(read["metric"].as_str().is_some_and(|metric| !metric.is_empty()));
                }
            }
        }

        #[test]
        fn a_limit_as_text_is_parsed_back(
            metric in "[a-z][a-z_]{0,20}", stat in 0..LimitStat::NAMES.len(), op in 0..4usize, number in -1e12..1e12f64,
        ) {
            let (stat, sign) = (LimitStat::NAMES[stat], [">", ">=", "<", "<="][op]);
            let read = limit(&format!("{metric}.{stat}{sign}{number}")).unwrap();
            prop_assert_eq!(&read["metric"], &json!(metric));
            prop_assert_eq!(&read["stat"], &json!(stat));
            prop_assert_eq!(read["threshold"].as_f64(), Some(number));
        }
    }
}
