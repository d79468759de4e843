//! What GPUs took of a phase, put beside what was made of it, where their samples tell of the whole of it.

use aiperf_metrics::{Coverage, GpuSamples, GpuTotals, RunTraits, Sampling, Summary, Window};
use aiperf_observe::TimeRange;
use aiperf_observe::gpu::ObservedGpus;
use aiperf_observe::gpu::results::PowerSamples;
use aiperf_plan::{Arrival, PhasePlan, Plan};
use aiperf_report::{PhaseResult, RunResult};
use aiperf_types::{Nanos, PhaseKind};
use std::sync::Arc;

/// GPUs and phases that a warning names.
const MOST_NAMED: usize = 4;

/// A span of the run that efficiency is told of.
pub(crate) struct MeasuredSpan {
    /// As people are told of it.
    pub(crate) name: String,
    pub(crate) range: TimeRange,
    /// How long after it a sample still counts for it.
    pub(crate) grace: Nanos,
}

impl MeasuredSpan {
    fn window(&self) -> Window {
        Window { start: self.range.start, end: self.range.end }
    }

    fn sampling(&self, interval: Nanos) -> Sampling {
        Sampling { interval, grace: self.grace }
    }
}

/// The profiling phases, and before them all of these together where there are several.
pub(crate) fn spans(run: &RunResult, observed: &ObservedGpus) -> Vec<MeasuredSpan> {
    let profiling: Vec<&PhaseResult> = run.phases.iter().filter(|phase| is_profiling(phase)).collect();
    let several = profiling.len() > 1;
    let of_phase = |phase: &&PhaseResult| {
        let name = if several { format!("phase '{}'", phase.id.name) } else { "the profiling phase".to_owned() };
        MeasuredSpan { name, ..of_phase(phase, observed) }
    };
    let all = several.then(|| of_run(observed));
    all.into_iter().chain(profiling.iter().map(of_phase)).collect()
}

fn is_profiling(phase: &PhaseResult) -> bool {
    phase.id.kind == PhaseKind::Profiling
}

fn of_run(observed: &ObservedGpus) -> MeasuredSpan {
    MeasuredSpan { name: "all profiling phases".to_owned(), range: observed.profiling, grace: observed.grace }
}

fn of_phase(phase: &PhaseResult, observed: &ObservedGpus) -> MeasuredSpan {
    let range = TimeRange { start: phase.start, end: phase.end };
    MeasuredSpan { name: String::new(), range, grace: observed.grace_after(range) }
}

/// Adds power and energy of the run and of each profiling phase, and what was made of them.
pub(crate) fn add(
    plan: &Plan,
    traits: &RunTraits,
    run: &mut RunResult,
    observed: &ObservedGpus,
    samples: &[PowerSamples],
    interval: Nanos,
) {
    let add = |metrics: &mut Summary, span: &MeasuredSpan, phase: Option<&PhasePlan>| {
        let gpus: Vec<GpuSamples<'_>> =
            samples.iter().map(|gpu| GpuSamples { power_w: &gpu.power, energy_mj: &gpu.energy }).collect();
        let totals = GpuTotals::of_whole(&gpus, span.window(), span.sampling(interval));
        let tokens = metrics.get("total_output_tokens").and_then(|result| result.stats.avg);
        metrics.results.extend(totals.metrics(traits, tokens, phase.and_then(users)));
    };
    let first = plan.phases.iter().find(|phase| phase.kind == PhaseKind::Profiling);
    add(&mut run.metrics, &of_run(observed), first);
    for phase in run.phases.iter_mut().filter(|phase| is_profiling(phase)) {
        let span = of_phase(phase, observed);
        add(&mut phase.metrics, &span, plan.phases.get(usize::from(phase.id.index)));
    }
}

/// Users that a phase was asked to be: one where it is held to a concurrency that nobody gave.
fn users(phase: &PhasePlan) -> Option<u64> {
    let is_closed = matches!(phase.arrival, Arrival::Concurrency);
    phase.concurrency.or(is_closed.then_some(1)).map(u64::from)
}

/// Sources whose samples tell of a part of a span only: a warning each, with what follows from it.
pub(crate) fn gaps(samples: &[PowerSamples], spans: &[MeasuredSpan], interval: Nanos) -> Vec<String> {
    let mut sources: Vec<&Arc<str>> = Vec::new();
    for gpu in samples {
        if !sources.contains(&&gpu.source) {
            sources.push(&gpu.source);
        }
    }
    let told = |source: &Arc<str>| {
        let gpus: Vec<&PowerSamples> = samples.iter().filter(|gpu| gpu.source == *source).collect();
        gap(source, &gpus, spans, interval)
    };
    sources.into_iter().filter_map(told).collect()
}

fn gap(source: &str, gpus: &[&PowerSamples], spans: &[MeasuredSpan], interval: Nanos) -> Option<String> {
    let partial = |coverage: Option<Coverage>| coverage.filter(|coverage| !coverage.is_whole);
    let of = |gpu: &PowerSamples, span: &MeasuredSpan| {
        let sampling = span.sampling(interval);
        let coverage = |samples| partial(sampling.coverage(samples, span.window()));
        (coverage(&gpu.power), coverage(&gpu.energy))
    };
    // Of each span the GPU with the least.
    let least = |span: &&MeasuredSpan| {
        let shares = gpus.iter().map(|gpu| of(gpu, span)).flat_map(|(power, energy)| [power, energy]).flatten();
        shares.map(|coverage| coverage.share).min_by(f64::total_cmp)
    };
    let parts: Vec<String> = spans
        .iter()
        .filter_map(|span| Some(format!("{:.0}% of {}", (100.0 * least(&span)?).floor(), span.name)))
        .collect();
    if parts.is_empty() {
        return None;
    }
    let all = || gpus.iter().flat_map(|gpu| spans.iter().map(move |span| of(gpu, span)));
    let named = gpus.iter().filter(|gpu| spans.iter().any(|span| of(gpu, span) != (None, None)));
    let named = listed(&named.map(|gpu| format!("GPU {} ({})", gpu.gpu.index, gpu.gpu.uuid)).collect::<Vec<_>>());
    let energy = all().any(|(_, energy)| energy.is_some()).then_some(
        "the energy of the rest is not known, so total_gpu_energy, output_tokens_per_joule and energy_per_user are left \
         out there",
    );
    let power = all().any(|(power, _)| power.is_some()).then_some("total_gpu_power is the mean over that part");
    let follows: Vec<&str> = [energy, power].into_iter().flatten().collect();
    Some(format!("GPU telemetry of {source} covers {}, for {named}: {}", listed(&parts), follows.join("; ")))
}

fn listed(items: &[String]) -> String {
    let shown = items.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_observe::gpu::Gpu;
    use aiperf_types::WallNs;

    fn gpu(source: &str, index: i64, times: &[u64]) -> PowerSamples {
        let samples: Vec<(WallNs, f64)> = times.iter().map(|at| (WallNs(*at), *at as f64)).collect();
        let gpu = Arc::new(Gpu { index, uuid: format!("GPU-{index}").into(), ..Gpu::default() });
        PowerSamples { source: source.into(), gpu, power: samples.clone(), energy: samples }
    }

    fn span(name: &str, start: u64, end: u64) -> MeasuredSpan {
        let range = TimeRange { start: WallNs(start), end: WallNs(end) };
        MeasuredSpan { name: name.to_owned(), range, grace: Nanos(5) }
    }

    #[test]
    fn a_source_that_dies_is_told_of_once_with_its_gpus_and_what_follows() {
        let always: Vec<u64> = (95..210).step_by(2).collect();
        let died: Vec<u64> = (95..142).step_by(2).collect();
        let samples = [gpu("http://a", 0, &always), gpu("http://b", 0, &died), gpu("http://b", 1, &died)];
        let told = gaps(&samples, &[span("the profiling phase", 100, 200)], Nanos(2));
        let expected = "GPU telemetry of http://b covers 41% of the profiling phase, for GPU 0 (GPU-0), GPU 1 (GPU-1): the \
                        energy of the rest is not known, so total_gpu_energy, output_tokens_per_joule and energy_per_user \
                        are left out there; total_gpu_power is the mean over that part";
        assert_eq!(told, [expected]);
        let phases = [span("phase 'a'", 100, 140), span("phase 'b'", 145, 200)];
        let told = gaps(&samples, &phases, Nanos(2));
        assert!(told[0].starts_with("GPU telemetry of http://b covers 0% of phase 'b', for GPU 0"), "{told:?}");
    }
}
