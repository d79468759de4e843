//! Service level objectives as a user writes them: `tag:value tag:value`.

use crate::flags::Flags;
use crate::metric::{Kind, Of};
use crate::registry;
use crate::run::RunTraits;
use aiperf_types::Slo;

/// What is wrong with a list of objectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoodputError {
    /// Nothing was given.
    Empty,
    /// An item has no colon.
    NoPair(String),
    /// An item has nothing before its colon.
    EmptyKey(String),
    /// An item has nothing after its colon.
    EmptyValue(String),
    /// A value is no number.
    NotNumeric {
        /// The metric.
        key: String,
        /// What was given.
        value: String,
    },
    /// A value is infinite or not a number.
    NotFinite {
        /// The metric.
        key: String,
        /// What was given.
        value: String,
    },
    /// Metrics that the run does not have.
    NotApplicable(Vec<NotApplicable>),
}

/// Why a metric cannot be an objective of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotApplicable {
    /// The metric.
    pub tag: String,
    /// Why not.
    pub why: WhyNot,
}

/// Why a metric cannot be an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// There is no such metric.
    Unknown,
    /// The endpoint or configuration does not fulfil this condition of the metric.
    NotInThisRun(Flags),
    /// Only failed requests have it, and they are not good anyway.
    FailedOnly,
    /// It has several values a request.
    List,
    /// It is no number of a single request.
    NotPerRequest,
}

impl WhyNot {
    fn text(self) -> &'static str {
        match self {
            Self::Unknown => "no such metric",
            Self::NotInThisRun(lacking) => lacking.meaning(),
            Self::FailedOnly => "only failed requests have it, and no failed request is good",
            Self::List => "has several values a request",
            Self::NotPerRequest => "is not measured per request",
        }
    }
}

impl std::fmt::Display for GoodputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => {
                write!(f, "User Config: expected space-separated 'key:value' pairs (e.g., 'k:v x:y'), got empty string")
            }
            Self::NoPair(item) => write!(f, "User Config: '{item}' is not in 'key:value' format"),
            Self::EmptyKey(item) => write!(f, "User Config: '{item}' has an empty key"),
            Self::EmptyValue(item) => write!(f, "User Config: '{item}' has an empty value"),
            Self::NotNumeric { key, value } => {
                write!(f, "User Config: value for '{key}' must be numeric, got '{value}'")
            }
            Self::NotFinite { key, value } => {
                write!(f, "User Config: value for '{key}' must be a finite number, got '{value}'")
            }
            Self::NotApplicable(problems) => {
                let tags: Vec<&str> = problems.iter().map(|problem| problem.tag.as_str()).collect();
                write!(
                    f,
                    "Invalid --goodput: metric(s) {} are not applicable to the current endpoint/configuration.",
                    tags.join(", ")
                )?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {}: {}", problem.tag, problem.why.text()))
            }
        }
    }
}

impl std::error::Error for GoodputError {}

/// Reads `tag:value tag:value`. A tag given twice keeps its last value.
pub fn parse_goodput(text: &str) -> Result<Vec<Slo>, GoodputError> {
    let mut slos: Vec<Slo> = Vec::new();
    for item in text.split_whitespace() {
        let slo = parse_item(item)?;
        match slos.iter_mut().find(|known| known.tag == slo.tag) {
            Some(known) => known.threshold = slo.threshold,
            None => slos.push(slo),
        }
    }
    if slos.is_empty() { Err(GoodputError::Empty) } else { Ok(slos) }
}

fn parse_item(item: &str) -> Result<Slo, GoodputError> {
    let (key, value) = item.split_once(':').ok_or_else(|| GoodputError::NoPair(item.to_owned()))?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() {
        return Err(GoodputError::EmptyKey(item.to_owned()));
    }
    if value.is_empty() {
        return Err(GoodputError::EmptyValue(item.to_owned()));
    }
    let not_numeric = || GoodputError::NotNumeric { key: key.to_owned(), value: value.to_owned() };
    let threshold = parse_number(value).ok_or_else(not_numeric)?;
    if !threshold.is_finite() {
        return Err(GoodputError::NotFinite { key: key.to_owned(), value: value.to_owned() });
    }
    Ok(Slo { tag: key.to_owned(), threshold })
}

/// Numbers may group their digits with single underscores, as in `1_000`.
fn parse_number(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let grouped = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    if !grouped.clone().all(|(at, _)| digit(at.checked_sub(1)) && digit(Some(at + 1))) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Checks that every objective speaks of a metric that each request of the run has one value of.
pub fn check_goodput(traits: &RunTraits) -> Result<(), GoodputError> {
    let mut problems: Vec<NotApplicable> = traits
        .slos
        .iter()
        .filter_map(|slo| why_not(&slo.tag, traits).map(|why| NotApplicable { tag: slo.tag.clone(), why }))
        .collect();
    problems.sort_by(|one, other| one.tag.cmp(&other.tag));
    if problems.is_empty() { Ok(()) } else { Err(GoodputError::NotApplicable(problems)) }
}

fn why_not(tag: &str, traits: &RunTraits) -> Option<WhyNot> {
    let Some(metric) = registry::find(tag) else { return Some(WhyNot::Unknown) };
    if let Some(lacking) = traits.lacks(metric) {
        return Some(WhyNot::NotInThisRun(lacking));
    }
    match metric.kind() {
        _ if metric.of == Of::Failed => Some(WhyNot::FailedOnly),
        Kind::Record | Kind::Aggregate(_) if tag != "good_request_count" => None,
        Kind::List => Some(WhyNot::List),
        _ => Some(WhyNot::NotPerRequest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::EndpointKind;

    #[test]
    fn numbers_may_group_their_digits_and_must_be_finite() {
        assert_eq!(parse_goodput("request_latency:1_000.5").unwrap()[0].threshold, 1000.5);
        assert!(matches!(parse_goodput("a:1__0"), Err(GoodputError::NotNumeric { .. })));
        assert!(matches!(parse_goodput("a:inf"), Err(GoodputError::NotFinite { .. })));
    }

    #[test]
    fn an_objective_that_no_request_of_the_run_can_meet_is_refused_with_the_reason() {
        let mut traits = RunTraits::new(EndpointKind::Chat, false);
        traits.slos = parse_goodput("time_to_first_token:1 nonsense:2 request_latency:3 request_throughput:4").unwrap();
        let error = check_goodput(&traits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid --goodput: metric(s) nonsense, request_throughput, time_to_first_token are not applicable to the current \
             endpoint/configuration.\n  nonsense: no such metric\n  request_throughput: is not measured per request\n  \
             time_to_first_token: needs a streaming run"
        );
        traits.streaming = true;
        traits.slos = parse_goodput("inter_chunk_latency:1").unwrap();
        assert!(check_goodput(&traits).unwrap_err().to_string().contains("has several values a request"));
        traits.slos = parse_goodput("error_isl:1").unwrap();
        assert!(check_goodput(&traits).unwrap_err().to_string().contains("only failed requests have it"));
        traits.slos = parse_goodput("time_to_first_token:1 request_count:1").unwrap();
        assert!(check_goodput(&traits).is_ok());
    }
}
