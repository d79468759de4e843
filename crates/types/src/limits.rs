//! What results are held against: objectives of the user, and how far token counts may be off.

use serde::{Deserialize, Serialize};

/// One service level objective: a metric and its threshold, in the unit the metric is shown in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    pub tag: String,
    /// The value it has to reach, or must not exceed.
    pub threshold: f64,
}

/// A bound on one statistic of one metric that a configuration has to keep to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlaFilter {
    pub metric_tag: String,
    /// As statistics are named: `avg`, `p95`.
    pub stat: String,
    pub op: SlaOp,
    /// In the unit the metric is shown in.
    pub threshold: f64,
}

impl SlaFilter {
    /// Whether a value keeps to it. What was not measured does not.
    pub fn is_met_by(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| self.op.holds(value, self.threshold))
    }
}

/// A condition on one statistic of one metric under which a run fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub metric: String,
    /// As statistics are named: `avg`, `p99`; `None` where the metric has one value.
    pub stat: Option<String>,
    /// On which side of the threshold a run fails.
    pub op: SlaOp,
    /// In the unit the metric is shown in.
    pub threshold: f64,
    /// The unit, where the user gave it.
    pub unit: Option<String>,
}

impl Limit {
    /// The statistic it checks: the value itself where there is one.
    pub fn stat(&self) -> &str {
        self.stat.as_deref().unwrap_or("avg")
    }

    /// What it checks: `time_to_first_token.p99`.
    pub fn subject(&self) -> String {
        match &self.stat {
            Some(stat) => format!("{}.{stat}", self.metric),
            None => self.metric.clone(),
        }
    }
}

/// As a user writes it.
impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = self.unit.as_deref().unwrap_or_default();
        write!(f, "{}{}{}{unit}", self.subject(), self.op.sign(), self.threshold)
    }
}

/// How exactly one statistic of one metric should be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    pub metric: String,
    /// As statistics are named: `avg`, `p99`.
    pub stat: String,
    /// Half the width of its confidence interval, as a share of its value.
    pub half_width: f64,
}

impl Precision {
    /// What is known so: `time_to_first_token.p99`.
    pub fn subject(&self) -> String {
        format!("{}.{}", self.metric, self.stat)
    }

    /// Its percentile; `None` for the mean.
    pub fn percent(&self) -> Option<f64> {
        self.stat.strip_prefix('p').and_then(|percent| percent.parse().ok())
    }
}

/// As a user writes it.
impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without digits that only binary fractions have.
        write!(f, "{}:{}%", self.subject(), (self.half_width * 1e8).round() / 1e6)
    }
}

/// On which side of a threshold a value has to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlaOp {
    Lt,
    Le,
    Gt,
    Ge,
}

impl SlaOp {
    /// The name a user chooses it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
        }
    }

    /// The same as a formula has it.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }

    /// Whether a value lies there.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::Lt => value < threshold,
            Self::Le => value <= threshold,
            Self::Gt => value > threshold,
            Self::Ge => value >= threshold,
        }
    }
}

/// What is wrong with a list of objectives, in the words of the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SloFault {
    Empty,
    /// An item has no colon.
    NoPair(String),
    /// An item has nothing before its colon.
    EmptyKey(String),
    /// An item has nothing after its colon.
    EmptyValue(String),
    /// A value is no number.
    NotNumeric {
        key: String,
        value: String,
    },
}

impl std::fmt::Display for SloFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "expected space-separated 'key:value' pairs (e.g., 'k:v x:y'), got empty string"),
            Self::NoPair(item) => write!(f, "'{item}' is not in 'key:value' format"),
            Self::EmptyKey(item) => write!(f, "'{item}' has an empty key"),
            Self::EmptyValue(item) => write!(f, "'{item}' has an empty value"),
            Self::NotNumeric { key, value } => write!(f, "value for '{key}' must be numeric, got '{value}'"),
        }
    }
}

impl std::error::Error for SloFault {}

impl Slo {
    /// Reads `tag:value tag:value`. A tag given twice keeps its last value; whether a value makes sense is not asked
    /// here.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, SloFault> {
        let mut slos: Vec<Self> = Vec::new();
        for item in text.split_whitespace() {
            let slo = Self::parse(item)?;
            match slos.iter_mut().find(|known| known.tag == slo.tag) {
                Some(known) => known.threshold = slo.threshold,
                None => slos.push(slo),
            }
        }
        if slos.is_empty() { Err(SloFault::Empty) } else { Ok(slos) }
    }

    fn parse(item: &str) -> Result<Self, SloFault> {
        let (key, value) = item.split_once(':').ok_or_else(|| SloFault::NoPair(item.to_owned()))?;
        if key.is_empty() {
            return Err(SloFault::EmptyKey(item.to_owned()));
        }
        if value.is_empty() {
            return Err(SloFault::EmptyValue(item.to_owned()));
        }
        let threshold =
            parse_number(value).ok_or_else(|| SloFault::NotNumeric { key: key.to_owned(), value: value.to_owned() })?;
        Ok(Self { tag: key.to_owned(), threshold })
    }
}

/// Numbers may group their digits with single underscores, as in `1_000`.
fn parse_number(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut grouped = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    if !grouped.all(|(at, _)| digit(at.checked_sub(1)) && digit(Some(at + 1))) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Limits beyond which a record is counted as deviating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Largest difference between reported and counted tokens, in percent.
    pub usage_diff_pct: f64,
    /// Largest difference between produced and requested tokens, in percent of the request.
    pub osl_mismatch_pct: f64,
    /// The same in tokens; the smaller of both counts.
    pub osl_mismatch_tokens: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { usage_diff_pct: 10.0, osl_mismatch_pct: 5.0, osl_mismatch_tokens: 50 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_group_their_digits() {
        let threshold = |text: &str| Slo::parse_all(text).map(|slos| slos[0].threshold);
        assert_eq!(threshold("request_latency:1_000.5"), Ok(1000.5));
        assert!(matches!(threshold("a:1__0"), Err(SloFault::NotNumeric { .. })));
        assert!(matches!(threshold("a:_1"), Err(SloFault::NotNumeric { .. })));
    }
}
