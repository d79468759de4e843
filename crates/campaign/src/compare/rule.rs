//! `--fail-on`: how much worse a statistic may be, as text and as a rule.

use aiperf_statistics::Statistic;
use std::fmt;
use std::str::FromStr;

/// A statistic that can be compared, by its name in summaries: `avg`, `p99`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stat(pub(super) Statistic);

impl Stat {
    pub(super) const MEAN: Self = Self(Statistic::Mean);

    pub(super) const fn percentile(percent: f64) -> Self {
        Self(Statistic::Percentile(percent))
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Statistic::Mean => f.write_str("avg"),
            Statistic::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl FromStr for Stat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "avg" || text == "mean" {
            return Ok(Self::MEAN);
        }
        let digits = text.strip_prefix('p').filter(|rest| is_plain_number(rest));
        match digits.and_then(|digits| digits.parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent < 100.0 => Ok(Self::percentile(percent)),
            _ => Err(format!(
                "'{text}' is no statistic that has an interval\n  try: avg, p50, p90, p99 or another percentile"
            )),
        }
    }
}

/// A limit: how far the second side may go beyond the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The text of the flag.
    pub(super) text: String,
    pub(super) tag: String,
    pub(super) stat: Stat,
    pub(super) towards: Towards,
    pub(super) by: By,
}

/// The direction that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Towards {
    Above,
    Below,
}

/// How far it may go, from zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum By {
    /// A share of the first side's value: 0.05 is 5%.
    Share(f64),
    /// In the metric's own unit.
    Amount { size: f64, unit: String },
}

impl Rule {
    /// A factor and a sum that turn values of the first side into values at the limit.
    pub(super) fn limit(&self, first: f64) -> (f64, f64) {
        let sign = match self.towards {
            Towards::Above => 1.0,
            Towards::Below => -1.0,
        };
        match &self.by {
            // A share is relative to the size, whatever the sign.
            By::Share(share) => (1.0 + sign * share * if first < 0.0 { -1.0 } else { 1.0 }, 0.0),
            By::Amount { size, .. } => (1.0, sign * size),
        }
    }
}

const WAY_OUT: &str =
    "\n  try: METRIC:STAT:+N% or -N%, such as 'time_to_first_token:p99:+5%' or 'request_throughput:avg:-5%'";

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |what: String| format!("--fail-on '{text}': {what}{WAY_OUT}");
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let [tag, stat, limit] = parts[..] else {
            return Err(refused(format!("a limit has three parts between colons, and this has {}", parts.len())));
        };
        if tag.is_empty() {
            return Err(refused("there is no metric before the first colon".to_owned()));
        }
        let stat: Stat = stat.parse().map_err(|what: String| format!("--fail-on '{text}': {what}"))?;
        let (towards, size) = if let Some(size) = limit.strip_prefix('+') {
            (Towards::Above, size)
        } else if let Some(size) = limit.strip_prefix('-') {
            (Towards::Below, size)
        } else {
            return Err(refused(format!("'{limit}' has no sign: + fails above, - fails below")));
        };
        let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
        let (digits, unit) = (&size[..digits], size[digits..].trim());
        let size: f64 = match digits.parse() {
            Ok(size) if is_plain_number(digits) => size,
            _ => return Err(refused(format!("'{limit}' has no number after its sign"))),
        };
        let by = match unit {
            "%" if towards == Towards::Below && size >= 100.0 => {
                return Err(refused("nothing is 100% or more below something else".to_owned()));
            }
            "%" => By::Share(size / 100.0),
            "" => return Err(refused(format!("'{limit}' has neither % nor a unit"))),
            unit => By::Amount { size, unit: unit.to_owned() },
        };
        Ok(Self { text: text.to_owned(), tag: tag.to_owned(), stat, towards, by })
    }
}

/// Digits with at most one point, of finite size.
fn is_plain_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_shares_or_amounts_above_or_below() {
        let rule: Rule = "time_to_first_token:p99:+5%".parse().unwrap();
        assert_eq!((rule.tag.as_str(), rule.stat.to_string().as_str()), ("time_to_first_token", "p99"));
        assert_eq!((rule.towards, &rule.by), (Towards::Above, &By::Share(0.05)));
        assert_eq!(rule.limit(100.0), (1.05, 0.0));
        assert_eq!(rule.limit(-100.0), (0.95, 0.0));
        let rule: Rule = " request_throughput : avg : -2.5 requests/sec ".parse().unwrap();
        assert_eq!(rule.by, By::Amount { size: 2.5, unit: "requests/sec".into() });
        assert_eq!(rule.limit(10.0), (1.0, -2.5));
        assert_eq!("x:p99.9:+0%".parse::<Rule>().unwrap().stat.to_string(), "p99.9");
    }

    #[test]
    fn a_malformed_limit_is_refused_with_the_reason_and_the_fix() {
        for (text, reason) in [
            ("", "three parts"),
            ("a:b", "three parts"),
            ("a:p99:+5%:x", "three parts"),
            (":p99:+5%", "no metric"),
            ("a:max:+5%", "'max' is no statistic"),
            ("a:p100:+5%", "'p100' is no statistic"),
            ("a:p0:+5%", "'p0' is no statistic"),
            ("a:p9e1:+5%", "'p9e1' is no statistic"),
            ("a:p99:5%", "has no sign"),
            ("a:p99:+%", "no number"),
            ("a:p99:+1.2.3%", "no number"),
            ("a:p99:+5", "neither % nor a unit"),
            ("a:p99:-100%", "100% or more"),
        ] {
            let refused = text.parse::<Rule>().unwrap_err();
            assert!(refused.contains(reason) && refused.contains("\n  try: "), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>()) {
            let _ = text.parse::<Rule>();
            let _ = format!("a:p99:{text}").parse::<Rule>();
        }

        #[test]
        fn what_is_read_is_what_was_written(percent in 1u32..99, size in 0u32..99, above in any::<bool>()) {
            let text = format!("request_latency:p{percent}:{}{size}%", if above { '+' } else { '-' });
            let rule: Rule = text.parse().unwrap();
            prop_assert_eq!(rule.stat, Stat::percentile(f64::from(percent)));
            prop_assert_eq!(rule.by.clone(), By::Share(f64::from(size) / 100.0));
            let (factor, _) = rule.limit(1.0);
            let is_apart = if above { factor >= 1.0 } else { factor <= 1.0 && factor > 0.0 };
            prop_assert!(is_apart);
        }
    }
}
