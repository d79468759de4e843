//! The network round trip of a run: known beforehand, or measured during the run.

use super::shared::{self, Announced, started};
use super::{Consumer, ConsumerKind, Degraded, RunContext, Samples};
use aiperf_engine::Events;
use aiperf_observe::network::{RoundTripTimes, RoundTrips, TargetSummary};
use aiperf_observe::{NetworkSummary, ProbeSetup, Probed, Prober};
use aiperf_plan::{NetworkLatencyPlan, ProbePlan};
use aiperf_report::network_latency_jsonl;
use aiperf_types::LogLevel;
use std::sync::Arc;

/// Network latency, as a consumer.
pub(super) const KIND: ConsumerKind = ConsumerKind {
    name: "network latency",
    lost: "network latency is lost",
    check: |_| Ok(()),
    probe: |run| Ok(run.plan.network_latency.clone().map(|plan| Box::new(NetworkWatch { plan, prober: None }) as _)),
};

/// Where the round trip of a run comes from.
struct NetworkWatch {
    plan: NetworkLatencyPlan,
    /// `Some` only during the run, and only if the plan asks for probes.
    prober: Option<Prober>,
}

impl Consumer for NetworkWatch {
    fn snapshot(&mut self, run: &RunContext, events: &mut Events) {
        let NetworkLatencyPlan::Probed(probes) = &self.plan else { return };
        self.prober = started(Prober::start(setup(run, probes)), "network latency is not measured", &run.events);
        if let Some(prober) = &self.prober {
            *events = events.observed_by(Arc::new(prober.listener()));
        }
    }

    /// Makes up for missing samples, unless the run was cancelled.
    fn samples(&mut self, run: &RunContext, was_stopped: bool) -> Result<Samples, Degraded> {
        if let NetworkLatencyPlan::Known(mean_ms) = &self.plan {
            return Ok(Samples { rtt_ns: Some(mean_ms * 1e6), failure: None });
        }
        let Some(prober) = self.prober.take() else { return Ok(Samples::default()) };
        let probed = prober.finish(|| was_stopped || run.stop.is_stopped()).map_err(Degraded::by)?;
        let Probed { summary, file_failure } = probed;
        log_latency(&summary, &run.events);
        let file = run.artifacts.network_latency_file();
        Ok(Samples {
            rtt_ns: summary.all.times.map(|times| times.mean),
            failure: shared::file_failure(&file, network_latency_jsonl::NAME, file_failure),
        })
    }
}

/// The setup for probes.
fn setup(run: &RunContext, probes: &ProbePlan) -> ProbeSetup {
    let RunContext { plan, events, redactor, .. } = run;
    let mut targets = probes.targets.clone();
    targets.iter_mut().for_each(|target| target.url = redactor.hide(&target.url).into_owned());
    ProbeSetup {
        plan: ProbePlan { targets, ..probes.clone() },
        addresses: plan.endpoint.http.ip_version.into(),
        anchor: events.anchor(),
        phases: plan.phases.len(),
        announce: Announced::to(events, redactor),
        encode: network_latency_jsonl::sample_line,
        file: Box::new(run.artifacts.network_latency_file()),
    }
}

/// Logs the round trip of each server, and one warning for all servers that never responded.
fn log_latency(summary: &NetworkSummary, events: &Events) {
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

/// The warning about servers without a round trip; `None` if there are none.
fn unreachable(summary: &NetworkSummary) -> Option<String> {
    let missing = summary.targets.iter().filter(|target| target.round_trips.succeeded == 0);
    let named: Vec<String> = missing
        .map(|TargetSummary { target, round_trips, last_error }| {
            let reason = last_error.as_ref().map_or("no response", |error| &error.message);
            format!("{}: {reason}, {} probes", target.address(), round_trips.count())
        })
        .collect();
    if summary.all.times.is_none() {
        let servers = if named.is_empty() { "no probe succeeded".to_owned() } else { named.join("; ") };
        return Some(format!(
            "Network latency is not known ({servers}): there are no network-adjusted metrics. Pass what ping shows \
             with --network-latency-mean MS"
        ));
    }
    (!named.is_empty()).then(|| format!("Network latency is that of the other servers alone: {}", named.join("; ")))
}
