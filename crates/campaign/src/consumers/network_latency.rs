//! The network's round trip of a run: known beforehand, or measured beside it.

use super::shared::{self, Announced, started};
use aiperf_engine::{Events, Stop, travel};
use aiperf_observe::network::{RoundTripTimes, RoundTrips, TargetSummary};
use aiperf_observe::{NetworkSummary, ProbeSetup, Probed, Prober};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{NetworkLatencyPlan, Plan, ProbePlan};
use aiperf_report::{Artifacts, ExportFailure, network_latency_jsonl};
use aiperf_types::LogLevel;
use std::sync::Arc;

/// Where the round trip of a run comes from.
pub(crate) enum NetworkWatch {
    Known { rtt_ns: f64 },
    Probing(Prober),
}

/// What is known of the network when a run is over.
#[derive(Default)]
pub(crate) struct NetworkResult {
    /// The mean round trip; `None` where none is known, or it is nothing.
    pub(crate) rtt_ns: Option<f64>,
    /// Why the file of samples is not whole; it was told when it happened.
    pub(crate) failure: Option<ExportFailure>,
    /// Why nothing is known by a fault of this program.
    pub(crate) degraded: Option<String>,
}

impl NetworkWatch {
    /// Ready for a run that is about to start, where the plan wants it.
    pub(crate) fn start(plan: &Plan, events: &Events, redactor: &Arc<Redactor>, artifacts: &Artifacts) -> Option<Self> {
        let probes = match plan.network_latency.as_ref()? {
            NetworkLatencyPlan::Known(mean_ms) => return Some(Self::Known { rtt_ns: mean_ms * 1e6 }),
            NetworkLatencyPlan::Probed(probes) => probes,
        };
        let mut targets = probes.targets.clone();
        targets.iter_mut().for_each(|target| target.url = redactor.hide(&target.url).into_owned());
        let setup = ProbeSetup {
            plan: ProbePlan { targets, ..probes.clone() },
            addresses: travel::addresses(plan),
            anchor: events.anchor(),
            phases: plan.phases.len(),
            announce: Announced::to(events, redactor),
            encode: network_latency_jsonl::sample_line,
            file: Box::new(artifacts.network_latency_file()),
        };
        started(Prober::start(setup), "network latency is not measured", events).map(Self::Probing)
    }

    /// Has the events of a run followed.
    pub(crate) fn follow(&self, events: Events) -> Events {
        match self {
            Self::Known { .. } => events,
            Self::Probing(prober) => events.observed_by(Arc::new(prober.listener())),
        }
    }

    /// Makes up for samples that are missing, unless the run was cancelled, and says what the round trip is.
    pub(crate) fn finish(
        self,
        was_cancelled: bool,
        stop: &Stop,
        events: &Events,
        artifacts: &Artifacts,
    ) -> NetworkResult {
        let prober = match self {
            Self::Known { rtt_ns } => return NetworkResult { rtt_ns: Some(rtt_ns), ..NetworkResult::default() },
            Self::Probing(prober) => prober,
        };
        match prober.finish(|| was_cancelled || stop.is_stopped()) {
            Ok(Probed { summary, file_failure }) => {
                tell_of(&summary, events);
                let file = artifacts.network_latency_file();
                NetworkResult {
                    rtt_ns: summary.all.times.map(|times| times.mean),
                    failure: shared::file_failure(&file, network_latency_jsonl::NAME, file_failure),
                    degraded: None,
                }
            }
            Err(error) => {
                events.say(LogLevel::Warning, format!("network latency is lost: {error}"));
                NetworkResult { degraded: Some(format!("network latency: {error}")), ..NetworkResult::default() }
            }
        }
    }
}

/// What each server's round trip was; one warning of all that never answered.
fn tell_of(summary: &NetworkSummary, events: &Events) {
    for TargetSummary { target, round_trips, .. } in &summary.targets {
        if let Some(times) = &round_trips.times {
            let text = format!("Network latency of {}: {}", target.address(), in_words(round_trips, times));
            events.say(LogLevel::Info, text);
        }
    }
    if let Some(text) = unreachable(summary) {
        events.say(LogLevel::Warning, text);
    }
}

fn in_words(round_trips: &RoundTrips, times: &RoundTripTimes) -> String {
    let [mean, deviation, min, p99] = [times.mean, times.deviation, times.min, times.p99].map(|ns| ns / 1e6);
    let failed = if round_trips.failed > 0 { format!(", {} failed", round_trips.failed) } else { String::new() };
    format!(
        "round trip {mean:.3} ms (deviation {deviation:.3}, min {min:.3}, p99 {p99:.3}), {} probes{failed}",
        round_trips.count()
    )
}

/// Servers without a round trip, and what follows from it; `None` where there are none.
fn unreachable(summary: &NetworkSummary) -> Option<String> {
    let missing = summary.targets.iter().filter(|target| target.round_trips.succeeded == 0);
    let named: Vec<String> = missing
        .map(|TargetSummary { target, round_trips, last_error }| {
            let reason = last_error.as_ref().map_or("no answer", |error| &error.message);
            format!("{}: {reason}, {} probes", target.address(), round_trips.count())
        })
        .collect();
    if summary.all.times.is_none() {
        let servers = if named.is_empty() { "no probe was answered".to_owned() } else { named.join("; ") };
        return Some(format!(
            "Network latency is not known ({servers}): there are no network-adjusted metrics. What ping shows can be said \
             with --network-latency-mean MS"
        ));
    }
    (!named.is_empty()).then(|| format!("Network latency is that of the other servers alone: {}", named.join("; ")))
}
