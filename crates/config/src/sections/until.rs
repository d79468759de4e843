//! How exactly statistics should be known when a phase ends: `until` of a file, and `--until METRIC.STAT:WIDTH%`.

use super::limits::subject;
use super::spelled::{Refusal, Spelled, SpelledList};
use crate::choice::{Choice, choices};
use crate::nearest::nearest;
use crate::range::between;
use crate::setting::section;
use serde_json::{Value, json};

choices! {
    /// A statistic with a confidence interval.
    UntilStat {
        Avg = "avg",
        P1 = "p1",
        P5 = "p5",
        P10 = "p10",
        P25 = "p25",
        P50 = "p50",
        P75 = "p75",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
    }
}

section! {
    /// One statistic.
    Precision {
        /// Metric
        metric: String;
        /// Its statistic
        stat: UntilStat;
        /// Half the width of its 95% confidence interval, in percent of its value
        percent: f64 [between(0.0, false, 100.0, false)];
    }
}

/// A list of statistics, each a map or a text such as `time_to_first_token.p99:5%`.
pub type Until = SpelledList<Precision>;

impl Spelled for Precision {
    const EXAMPLE: &str = "time_to_first_token.p99:5%";
    const LIST: &str = ", as in [time_to_first_token.p99:5%]";
    const NOT_WHOLE: [&str; 3] =
        ["is not whole", "it needs metric, stat and percent", "{metric: time_to_first_token, stat: p99, percent: 5}"];

    fn parse(text: &str) -> Result<Value, Refusal> {
        precision(text)
    }

    fn is_whole(&self) -> bool {
        self.metric.as_deref().is_some_and(|metric| !metric.trim().is_empty())
            && self.stat.is_some()
            && self.percent.is_some()
    }
}

const FORM: &str = "is not METRIC.STAT:WIDTH%";

/// `METRIC.STAT:WIDTH%`.
fn precision(text: &str) -> Result<Value, Refusal> {
    let Some((name, width)) = text.rsplit_once(':') else {
        return Err(format!("{FORM}: there is no colon before a width").into());
    };
    let (metric, stat) = subject(name.trim(), FORM)?;
    let stat = stat.ok_or_else(|| match UntilStat::exactly(metric) {
        Some(_) => Refusal {
            what: format!("{FORM}: it names no metric before {metric}"),
            way_out: Some(format!("time_to_first_token.{metric}:{}", width.trim())),
        },
        None => Refusal {
            what: format!("{FORM}: it names no statistic of {metric}, one of {}", UntilStat::NAMES.join(", ")),
            way_out: Some(format!("{metric}.avg:{}", width.trim())),
        },
    })?;
    let known = UntilStat::exactly(stat).ok_or_else(|| {
        let meant = nearest(stat, UntilStat::NAMES.iter().copied());
        let meant = meant.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let stat = stat.escape_debug();
        let known = UntilStat::NAMES.join(", ");
        format!("has the statistic '{stat}', and only these have an interval: {known}{meant}")
    })?;
    let (known, percent) = (known.name(), percent(&format!("{metric}.{}", known.name()), width.trim())?);
    Ok(json!({"metric": metric, "stat": known, "percent": percent}))
}

/// A number with a percent sign, between 0 and 100.
fn percent(subject: &str, width: &str) -> Result<f64, Refusal> {
    let finite = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let shown = width.escape_debug();
    let Some(digits) = width.strip_suffix('%') else {
        return Err(match finite(width) {
            Some(number) if number > 0.0 => {
                // A share, or percent without the sign.
                let percent = if number < 1.0 { (number * 1e8).round() / 1e6 } else { number };
                let what = format!("has the width '{shown}' without a percent sign");
                Refusal { what, way_out: Some(format!("{subject}:{percent}%")) }
            }
            _ => Refusal {
                what: format!("has the width '{shown}', which is not a number with a percent sign"),
                way_out: Some(format!("{subject}:5%")),
            },
        });
    };
    match finite(digits.trim_end()) {
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        _ => Err(Refusal {
            what: format!("has the width '{shown}', which is not a number above 0% and below 100%"),
            way_out: Some(format!("{subject}:5%")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Value {
        precision(text).unwrap()
    }

    fn why(text: &str) -> String {
        let Refusal { what, way_out } = precision(text).unwrap_err();
        format!("{what} / {}", way_out.unwrap_or_default())
    }

    #[test]
    fn a_statistic_has_intervals_if_it_is_a_mean_or_a_percentile() {
        let has_interval = |stat: &&&str| !matches!(**stat, "min" | "max" | "sum" | "std" | "count");
        let expected: Vec<&str> = aiperf_types::Stats::ALL.iter().filter(has_interval).copied().collect();
        assert_eq!(UntilStat::NAMES, expected);
    }

    #[test]
    fn a_precision_is_a_metric_a_statistic_and_a_width() {
        let ttft = json!({"metric": "time_to_first_token", "stat": "p99", "percent": 5.0});
        assert_eq!(of("time_to_first_token.p99:5%"), ttft);
        assert_eq!(of(" time_to_first_token.p99 : 5.0 % "), ttft);
        assert_eq!(of("a.avg:0.5%")["percent"], 0.5);
    }

    #[test]
    fn a_refusal_names_the_fault_and_the_way_out() {
        assert!(why("time_to_first_token.p99").contains("no colon"));
        assert!(why(":5%").contains("names no metric"));
        assert!(why("a b.p99:5%").contains("no metric has ' ' in its name"));
        let no_stat = why("request_latency:5%");
        assert!(no_stat.contains("names no statistic") && no_stat.ends_with("request_latency.avg:5%"), "{no_stat}");
        let no_metric = why("p99:5%");
        assert!(
            no_metric.contains("names no metric") && no_metric.ends_with("time_to_first_token.p99:5%"),
            "{no_metric}"
        );
        assert!(why("a.max:5%").contains("only these have an interval: avg, p1"));
        assert!(why("a.p98:5%").contains("did you mean p9"));
        assert!(why("a.p99:0.05").ends_with("without a percent sign / a.p99:5%"));
        assert!(why("a.p99:5").ends_with("without a percent sign / a.p99:5%"));
        for width in ["0%", "-5%", "100%", "200%", "nan%", "inf%", "x%", "%", "5%%", "", "soon", "-1", "0"] {
            let why = why(&format!("a.p99:{width}"));
            assert!(why.contains("which is not a number") && why.ends_with(" / a.p99:5%"), "{width}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>(), start in "[a-z_.:%0-9 ]{0,20}") {
            for text in [text.clone(), format!("{start}{text}"), start] {
                if let Ok(read) = precision(&text) {
                    prop_assert!(read["percent"].as_f64().is_some_and(|percent| percent > 0.0 && percent < 100.0));
                    prop_assert!(read["metric"].as_str().is_some_and(|metric| !metric.is_empty()));
                }
            }
        }
    }
}
