//! Service level objectives: whether a request of the run can meet them.

use crate::registry;
use crate::registry::flags::Flags;
use crate::registry::metric::{MetricType, Population};
use crate::run::RunTraits;

/// Objectives on metrics that requests of the run do not have, or have several values of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodputError(pub Vec<NotApplicable>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotApplicable {
    pub tag: String,
    pub why: WhyNot,
}

/// Why a metric cannot be an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    Unknown,
    /// The endpoint or configuration does not meet this condition of the metric.
    NotInThisRun(Flags),
    /// Only failed requests have it, and they are never good.
    FailedOnly,
    /// It has several values per request.
    List,
    /// It is not a number of a single request.
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
        let tags: Vec<&str> = self.0.iter().map(|problem| problem.tag.as_str()).collect();
        write!(
            f,
            "Invalid --goodput: metric(s) {} are not applicable to the current endpoint/configuration.",
            tags.join(", ")
        )?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {}: {}", problem.tag, problem.why.text()))
    }
}

impl std::error::Error for GoodputError {}

/// Checks that every objective refers to a metric with exactly one value per request of the run.
pub fn check_goodput(traits: &RunTraits) -> Result<(), GoodputError> {
    let mut problems: Vec<NotApplicable> = traits
        .slos
        .iter()
        .filter_map(|slo| why_not(&slo.tag, traits).map(|why| NotApplicable { tag: slo.tag.clone(), why }))
        .collect();
    problems.sort_by(|one, other| one.tag.cmp(&other.tag));
    if problems.is_empty() { Ok(()) } else { Err(GoodputError(problems)) }
}

fn why_not(tag: &str, traits: &RunTraits) -> Option<WhyNot> {
    let Some(metric) = registry::find(tag) else { return Some(WhyNot::Unknown) };
    if let Some(lacking) = traits.lacks(metric) {
        return Some(WhyNot::NotInThisRun(lacking));
    }
    match metric.kind() {
        _ if metric.population == Population::Failed => Some(WhyNot::FailedOnly),
        MetricType::Record | MetricType::Aggregate(_) if tag != "good_request_count" => None,
        MetricType::List => Some(WhyNot::List),
        _ => Some(WhyNot::NotPerRequest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{EndpointKind, Slo};

    #[test]
    fn an_objective_that_no_request_of_the_run_can_meet_is_refused_with_the_reason() {
        let mut traits = RunTraits::new(EndpointKind::Chat, false);
        traits.slos =
            Slo::parse_all("time_to_first_token:1 nonsense:2 request_latency:3 request_throughput:4").unwrap();
        let error = check_goodput(&traits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid --goodput: metric(s) nonsense, request_throughput, time_to_first_token are not applicable to the current \
             endpoint/configuration.\n  nonsense: no such metric\n  request_throughput: is not measured per request\n  \
             time_to_first_token: needs a streaming run"
        );
        traits.streaming = true;
        traits.slos = Slo::parse_all("inter_chunk_latency:1").unwrap();
        assert!(check_goodput(&traits).unwrap_err().to_string().contains("has several values a request"));
        traits.slos = Slo::parse_all("error_isl:1").unwrap();
        assert!(check_goodput(&traits).unwrap_err().to_string().contains("only failed requests have it"));
        traits.slos = Slo::parse_all("time_to_first_token:1 request_count:1").unwrap();
        assert!(check_goodput(&traits).is_ok());
    }
}
