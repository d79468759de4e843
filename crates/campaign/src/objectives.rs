//! Objectives of a run, checked against the metric registry: requests of this run must be able to meet each.

use aiperf_metrics::goodput::{NotApplicable, WhyNot};
use aiperf_metrics::{Flags, GoodputError, RunTraits, check_goodput, registry};
use aiperf_plan::nearest::nearest;
use thiserror::Error;

/// Objectives that no request of the run can meet, and the fix.
#[derive(Debug, Error)]
#[error("{fault}\n  try: {way_out}")]
pub struct ObjectivesError {
    fault: GoodputError,
    way_out: String,
}

/// Rejects an objective unless each request of the run has one value of its metric.
pub(crate) fn check(traits: &RunTraits) -> Result<(), ObjectivesError> {
    check_goodput(traits).map_err(|fault| {
        let hints: Vec<String> = fault.0.iter().filter_map(hint).collect();
        let list = "aiperf metrics lists every metric".to_owned();
        ObjectivesError { fault, way_out: [hints, vec![list]].concat().join("; ") }
    })
}

fn hint(problem: &NotApplicable) -> Option<String> {
    let tag = &problem.tag;
    match problem.why {
        WhyNot::Unknown => meant(tag).map(|meant| format!("{meant} for {tag}")),
        WhyNot::NotInThisRun(lacking) => {
            let (_, fix) = FIXES.iter().find(|(flag, _)| *flag == lacking)?;
            Some(format!("{fix} for {tag}"))
        }
        WhyNot::List if tag == "inter_chunk_latency" => Some(format!("inter_token_latency for {tag}")),
        _ => None,
    }
}

/// The settings that make a metric part of a run.
pub(crate) const FIXES: &[(Flags, &str)] = &[
    (Flags::STREAMING_ONLY, "--streaming"),
    (Flags::USAGE_DIFF_ONLY, "no --use-server-token-count"),
    (Flags::GOODPUT, "--goodput with objectives"),
    (Flags::INTERNAL, "AIPERF_DEV_MODE=1 AIPERF_DEV_SHOW_INTERNAL_METRICS=1"),
    (Flags::EXPERIMENTAL, "AIPERF_DEV_MODE=1 AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS=1"),
];

/// The metric with this short name, or one with a similar spelling.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    let called = |metric: &&&aiperf_metrics::Metric| metric.short.is_some_and(|short| short.eq_ignore_ascii_case(name));
    let by_short_name = registry::all().iter().find(called).map(|metric| metric.tag);
    by_short_name.or_else(|| nearest(name, registry::all().iter().map(|metric| metric.tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{EndpointKind, Slo};

    fn refusal(goodput: &str, traits: RunTraits) -> String {
        let traits = RunTraits { slos: Slo::parse_all(goodput).unwrap(), ..traits };
        check(&traits).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_suggests_a_metric_or_the_missing_flag() {
        let plain = || RunTraits::new(EndpointKind::Chat, false);
        assert_eq!(
            refusal("time_to_first_token:1 request_latancy:2 itl:3 nonsense:4", plain()),
            "Invalid --goodput: metric(s) itl, nonsense, request_latancy, time_to_first_token are not applicable to the \
             current endpoint/configuration.\n  itl: no such metric\n  nonsense: no such metric\n  request_latancy: no such \
             metric\n  time_to_first_token: needs a streaming run\n  try: inter_token_latency for itl; request_latency for \
             request_latancy; --streaming for time_to_first_token; aiperf metrics lists every metric"
        );
        let streaming = || RunTraits { streaming: true, ..plain() };
        assert!(refusal("inter_chunk_latency:1", streaming()).contains("try: inter_token_latency for inter_chunk"));
        assert!(refusal("stream_setup_latency:1", streaming()).contains("AIPERF_DEV_MODE=1"));
    }

    #[test]
    fn objectives_that_requests_can_meet_pass() {
        let mut traits = RunTraits::new(EndpointKind::Chat, true);
        assert!(check(&traits).is_ok());
        traits.slos = Slo::parse_all("time_to_first_token:100 request_latency:500").unwrap();
        assert!(check(&traits).is_ok());
    }
}
