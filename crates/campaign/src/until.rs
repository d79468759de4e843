//! Statistics that end a phase when they are known exactly enough (`--until`): checked against the metric registry before
//! the run, reported after it.

use crate::limits;
use aiperf_metrics::until::NoInterval;
use aiperf_metrics::{PhaseUntil, RunTraits, UntilTarget, check_precision};
use aiperf_plan::Plan;
use aiperf_report::{Note, thousands};
use aiperf_types::{Limit, Precision, SlaOp};
use thiserror::Error;

/// Statistics that have no interval in this run, and the fix.
#[derive(Debug, Error)]
#[error("these statistics (--until, until) have no interval in this run{faults}\n  try: {way_out}")]
pub struct UntilError {
    faults: String,
    way_out: String,
}

/// Rejects statistics that the run will not measure, or that have no interval while it is on.
pub(crate) fn check(plan: &Plan, traits: &RunTraits) -> Result<(), UntilError> {
    let (mut faults, mut hints) = (String::new(), Vec::new());
    for precision in &plan.metrics.until {
        let Err(why) = check_precision(precision, traits) else { continue };
        faults.push_str(&format!("\n  {precision}: {why}"));
        hints.extend(hint(precision, why).filter(|hint| !hints.contains(hint)));
    }
    if faults.is_empty() {
        return Ok(());
    }
    hints.push("aiperf metrics lists every metric".to_owned());
    Err(UntilError { faults, way_out: hints.join("; ") })
}

fn hint(precision: &Precision, why: NoInterval) -> Option<String> {
    let Precision { metric, stat, .. } = precision;
    match why {
        NoInterval::NotMeasured(why) => {
            let (metric, stat) = (metric.clone(), Some(stat.clone()));
            limits::hint(&Limit { metric, stat, op: SlaOp::Gt, threshold: 0.0, unit: None }, why)
        }
        NoInterval::SeveralValues if metric == "inter_chunk_latency" => {
            Some(format!("inter_token_latency for {metric}"))
        }
        NoInterval::KnownLater => metric.strip_prefix("adj_").map(|base| format!("{base} for {metric}")),
        NoInterval::OneValue | NoInterval::SeveralValues => {
            Some("a metric with one value a request, as request_latency".to_owned())
        }
    }
}

/// How a phase ended, in one sentence.
fn note(phase: &PhaseUntil, is_only: bool) -> Note {
    let target = |target: UntilTarget<'_>| {
        let Precision { metric, stat, half_width } = target.precision;
        match target.reached {
            None => format!("{metric} {stat} had too few independent requests for an interval"),
            Some(reached) if target.is_met() => format!("{metric} {stat} within {}", percent(reached)),
            Some(reached) => format!("{metric} {stat} within {}, not {}", percent(reached), percent(*half_width)),
        }
    };
    let targets = phase.targets().map(target).collect::<Vec<_>>().join("; ");
    let how = match (phase.ended_by(), phase.reached.met_at) {
        ("until", Some(requests)) => format!("met after {} requests", thousands(requests)),
        ("stopped", _) => "the run was stopped before it was met".to_owned(),
        _ if phase.targets().all(|target| target.is_met()) => {
            "the maximum came before a second look could confirm it".to_owned()
        }
        _ => match phase.reached.gave_up_at {
            Some(most) => {
                format!("the maximum came first; looks ended after {} requests, their limit", thousands(most))
            }
            None => "the maximum came first".to_owned(),
        },
    };
    let name = if is_only { String::new() } else { format!(" (phase {})", phase.id.name) };
    Note { text: format!("--until{name}: {how}: {targets}"), is_warning: !phase.reached.ended }
}

/// One sentence per phase.
pub(crate) fn notes(phases: &[PhaseUntil]) -> Vec<Note> {
    phases.iter().map(|phase| note(phase, phases.len() == 1)).collect()
}

/// A share in percent with two significant digits, and never rounded down to a limit that it exceeds.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let scale = if percent >= 10.0 { 10.0 } else { 100.0 };
    format!("{}%", ((percent * scale - 1e-6).ceil() / scale).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::Reached;
    use aiperf_types::{EndpointKind, PhaseId, PhaseKind};

    fn precisions() -> Vec<Precision> {
        let of =
            |metric: &str, stat: &str, half_width| Precision { metric: metric.into(), stat: stat.into(), half_width };
        vec![of("time_to_first_token", "p99", 0.05), of("request_latency", "avg", 0.1)]
    }

    fn phase(half_widths: [Option<f64>; 2], met_at: Option<u64>, ended: bool) -> PhaseUntil {
        let id = PhaseId { index: 1, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
        let reached = Reached { half_widths: half_widths.to_vec(), met_at, ended, gave_up_at: None };
        PhaseUntil { id, precisions: precisions(), reached, was_stopped: false }
    }

    #[test]
    fn a_phase_that_ended_early_reports_when_and_why() {
        let phase = phase([Some(0.0456), Some(0.02)], Some(1331), true);
        assert_eq!(phase.ended_by(), "until");
        let found = note(&phase, true);
        assert!(!found.is_warning);
        assert_eq!(
            found.text,
            "--until: met after 1,331 requests: time_to_first_token p99 within 4.56%; request_latency avg within 2%"
        );
    }

    #[test]
    fn a_phase_that_reached_its_maximum_reports_how_far_it_was() {
        let phase = phase([None, Some(0.1234)], None, false);
        assert_eq!(phase.ended_by(), "maximum");
        let found = note(&phase, false);
        assert!(found.is_warning);
        assert_eq!(
            found.text,
            "--until (phase profiling): the maximum came first: time_to_first_token p99 had too few independent \
             requests for an interval; request_latency avg within 12.4%, not 10%"
        );
        let long =
            PhaseUntil { reached: Reached { gave_up_at: Some(2_000_000), ..phase.reached.clone() }, ..phase.clone() };
        assert!(note(&long, true).text.contains("looks ended after 2,000,000 requests, their limit: time_to"));
        let stopped = PhaseUntil { was_stopped: true, ..phase };
        assert!(stopped.ended_by() == "stopped" && note(&stopped, true).is_warning);
    }

    #[test]
    fn statistics_without_an_interval_are_refused_with_a_way_out() {
        let traits = RunTraits::new(EndpointKind::Chat, false);
        let refusal = |metric: &str| {
            let mut plan = aiperf_testkit::plan::plan("http://127.0.0.1:1");
            plan.metrics.until = vec![Precision { metric: metric.into(), stat: "p99".into(), half_width: 0.05 }];
            check(&plan, &traits).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refusal("request_latency"), "");
        assert_eq!(
            refusal("ttft"),
            "these statistics (--until, until) have no interval in this run\n  ttft.p99:5%: no such metric\n  try: \
             time_to_first_token for ttft; aiperf metrics lists every metric"
        );
        assert!(refusal("time_to_first_token").contains("--streaming for time_to_first_token"));
        assert!(refusal("request_throughput").contains("has one value a run"));
        assert!(refusal("adj_request_latency").contains("try: request_latency for adj_request_latency"));
    }
}
