//! What is written, what is observed, and how the process behaves.

use super::facts::Facts;
use super::files;
use crate::error::Problem;
use crate::sections::envelope::Benchmark;
use crate::sections::observe::{DiscoveryMode, GpuCollector};
use aiperf_plan::BaseUrl;

/// The only scenario.
pub(crate) const SCENARIOS: &[&str] = &["inferencex-agentx-mvp"];

/// A slice must contain requests, and a run has an end.
const SLICE_SECONDS: std::ops::RangeInclusive<f64> = 1e-3..=1e9;

pub(super) fn check(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    for (metric, _) in benchmark.slos.iter().flatten().filter(|(_, threshold)| !threshold.is_finite()) {
        let at = format!("slos.{metric}");
        problems.push(
            facts
                .problem(&at, format!("{} is not a threshold for {metric}", facts.subject(&at)))
                .because("with it every request is good, or none")
                .hint(facts.ask(&format!("--goodput {metric}:500"), &format!("{metric}: 500"))),
        );
    }
    if let Some(artifacts) = &benchmark.artifacts {
        let unusable = |dir: &str| dir.trim().is_empty() || dir.contains('\0');
        if artifacts.dir.as_deref().is_some_and(unusable) {
            let at = "artifacts.dir";
            problems.push(
                facts
                    .problem(at, format!("{} names no directory", facts.subject(at)))
                    .because("a run writes its files to one directory")
                    .hint(facts.ask("--artifact-dir DIR, or . for this one", "dir: DIR, or . for this one")),
            );
        }
        files::check(benchmark, artifacts, facts, problems);
        if artifacts.slice_duration.is_some_and(|length| !SLICE_SECONDS.contains(&length.0)) {
            let at = "artifacts.slice_duration";
            problems.push(
                facts
                    .problem(at, format!("{} is not a length for a time slice", facts.subject(at)))
                    .because("a slice lasts from one millisecond to 30 years")
                    .hint(facts.ask("--slice-duration 5", "slice_duration: 5s")),
            );
        }
    }
    urls(benchmark, facts, problems);
    discovery(benchmark, facts, problems);
    if let Some(gpu) = &benchmark.gpu_telemetry {
        let local = gpu.collector() != GpuCollector::Dcgm;
        if local && gpu.urls.as_ref().is_some_and(|urls| !urls.is_empty()) && !facts.is_flag("gpu_telemetry") {
            let at = "gpu_telemetry.collector";
            problems.push(
                facts
                    .problem(at, format!("{} cannot be used with urls", facts.subject(at)))
                    .because("it reads the GPUs of this machine; URLs are for other machines"),
            );
        }
    }
    if let Some(runtime) = &benchmark.runtime {
        if let (Some(min), Some(max)) = (runtime.workers_min, runtime.workers)
            && min > max
        {
            let what =
                format!("{} is larger than {}", facts.subject("runtime.workers_min"), facts.mention("runtime.workers"));
            problems.push(facts.problem("runtime.workers_min", what));
        }
        if runtime.api_host.is_some() && runtime.api_port.is_none() && !facts.api_port {
            let at = "runtime.api_host";
            problems.push(
                facts
                    .problem(at, format!("{} needs a port", facts.subject(at)))
                    .because("without one there is no live API")
                    .hint(facts.ask("add --api-port N, or set AIPERF_API_SERVER_PORT", "api_port: N")),
            );
        }
    }
    if let Some(accuracy) = &benchmark.accuracy
        && accuracy.benchmark.is_none()
        && *accuracy != Default::default()
    {
        let first = facts
            .node
            .find("accuracy")
            .and_then(|node| node.entries().first())
            .map_or("accuracy".to_owned(), |(key, _)| format!("accuracy.{key}"));
        problems.push(
            facts
                .problem(
                    "accuracy",
                    format!(
                        "{} needs {}",
                        facts.subject(&first),
                        facts.ask("--accuracy-benchmark", "accuracy.benchmark")
                    ),
                )
                .because("without it responses are not graded")
                .hint(facts.ask("add --accuracy-benchmark NAME", "accuracy: {benchmark: NAME}")),
        );
    }
    if let Some(scenario) = benchmark.scenario.as_deref().filter(|name| !SCENARIOS.contains(name)) {
        problems.push(
            facts
                .problem("scenario", format!("{} is not a scenario", facts.subject("scenario")))
                .because(format!("scenarios: {}", SCENARIOS.join(", ")))
                .hint(crate::nearest::nearest(scenario, SCENARIOS.iter().copied()).unwrap_or(SCENARIOS[0])),
        );
    }
}

/// Refuses settings for pods if pods are not searched.
fn discovery(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let discovery = benchmark.server_metrics.as_ref().and_then(|server| server.discovery.as_ref());
    let Some(discovery) = discovery.filter(|discovery| discovery.mode() == DiscoveryMode::Disabled) else { return };
    let options = [("label_selector", &discovery.label_selector), ("namespace", &discovery.namespace)];
    let given: Vec<&str> = options.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name).collect();
    if !given.is_empty() {
        let names = given.join(" and ");
        problems.push(
            facts
                .problem(
                    "server_metrics.discovery.mode",
                    format!("{} contradicts its {names}", facts.subject("server_metrics.discovery.mode")),
                )
                .because("no pods are searched")
                .hint(format!("mode: auto or kubernetes, or no {names}")),
        );
    }
}

/// Checks URLs of metrics pages and of receivers.
fn urls(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let mut named: Vec<(String, &str)> = Vec::new();
    let lists = [
        ("gpu_telemetry", benchmark.gpu_telemetry.as_ref().and_then(|gpu| gpu.urls.as_ref())),
        ("server_metrics", benchmark.server_metrics.as_ref().and_then(|server| server.urls.as_ref())),
    ];
    for (section, list) in lists {
        let list = list.map_or(&[][..], |list| &list.0);
        named.extend(list.iter().enumerate().map(|(index, url)| (format!("{section}.urls.{index}"), url.as_str())));
    }
    let otel = benchmark.otel.as_ref().and_then(|otel| otel.metrics_url.as_deref());
    named.extend(otel.map(|url| ("otel.metrics_url".to_owned(), url)));
    for (at, url) in named {
        if let Err(error) = BaseUrl::parse(url) {
            let from = facts.node.find(&at).map_or_else(
                || format!("benchmark.{at}"),
                |node| facts.places.subject_key(node, &format!("benchmark.{at}")),
            );
            problems.push(facts.problem(&at, format!("{from}: {error}")).hint("http://HOST:PORT/PATH"));
        }
    }
}
