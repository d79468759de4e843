//! Whether latencies are also given without the network round trip, and how it is known.

use super::{idle_variables, subject};
use crate::error::Problem;
use crate::resolve::Tree;
use crate::tree::Origin;
use aiperf_plan::{EndpointPlan, NetworkLatencyPlan, ProbePlan, ProbeTarget};
use aiperf_types::Nanos;

const AT: &str = "benchmark.network_latency";
const VARIABLES: &str = "AIPERF_NETWORK_LATENCY_";

pub(super) fn plan(
    tree: &Tree,
    endpoint: &EndpointPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<NetworkLatencyPlan> {
    let section = tree.benchmark.network_latency.clone().unwrap_or_default();
    let given = |key: &str| subject(tree, &format!("{AT}.{key}"));
    if !section.enabled() {
        // A user who switches it off needs no note.
        let is_set = tree.node.find(&format!("{AT}.enabled")).is_some_and(|node| node.origin != Origin::Rule);
        let idle = [("mean_ms", section.mean_ms), ("ping_interval", section.ping_interval)];
        for (key, _) in idle.iter().filter(|(_, value)| value.is_some() && !is_set) {
            notes.push(format!("{} has no effect: network latency is off\n  try: enabled: true beside it", given(key)));
        }
        let why = "network latency is off\n  try: --network-latency-automatic";
        notes.extend(idle_variables(tree, VARIABLES, why));
        return None;
    }
    if let Some(mean) = section.mean_ms {
        if section.ping_interval.is_some() {
            problems.push(
                Problem::new(format!("{} cannot be used with mean_ms", given("ping_interval")))
                    .because("with a known mean no probes are sent")
                    .hint("leave mean_ms or ping_interval out")
                    .at(format!("{AT}.ping_interval")),
            );
        }
        if mean == 0.0 {
            notes.push(format!("{} subtracts nothing: there are no network-adjusted metrics", given("mean_ms")));
        }
        let why = format!("{} is given, so no probes are sent", given("mean_ms"));
        notes.extend(idle_variables(tree, VARIABLES, &why));
        return Some(NetworkLatencyPlan::Known(mean));
    }
    let targets = ProbeTarget::of_urls(&endpoint.urls);
    if targets.is_empty() {
        problems.push(
            Problem::new(format!("{}: no server is reached over a network", given("enabled")))
                .because("a unix:// URL is a socket of this machine, without a round trip")
                .hint("leave network latency out, or the URL of a server over TCP")
                .at(format!("{AT}.enabled")),
        );
    }
    let probes = &tree.environment.probes;
    Some(NetworkLatencyPlan::Probed(ProbePlan {
        targets,
        interval: Nanos::from_secs_f64(section.ping_interval.unwrap_or(probes.interval)),
        timeout: Nanos::from_secs_f64(probes.timeout),
        min_samples: probes.min_samples,
        top_up_timeout: Nanos::from_secs_f64(probes.top_up_timeout),
    }))
}
