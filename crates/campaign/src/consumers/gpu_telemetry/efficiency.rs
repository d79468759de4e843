//! The energy and power of a phase next to its output, if the samples of GPUs cover the whole phase.

use aiperf_metrics::{GpuSamples, GpuTotals, RunTraits, Sampling, Summary, VendorTotals, Window};
use aiperf_observe::TimeRange;
use aiperf_observe::gpu::Gpu;
use aiperf_observe::gpu::ObservedGpus;
use aiperf_observe::gpu::results::{PowerSamples, SourceSamples};
use aiperf_plan::{PhasePlan, Plan};
use aiperf_report::{PhaseResult, RunResult};
use aiperf_types::{GpuVendor, Nanos, PhaseKind, WallNs};
use std::sync::Arc;

/// The most GPUs and phases that a warning names.
const MOST_NAMED: usize = 4;

/// A span of the run that has metrics of efficiency.
pub(crate) struct MeasuredSpan {
    /// Its name in warnings.
    pub(crate) name: String,
    pub(crate) range: TimeRange,
    /// How long after its end a sample still counts.
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

/// All profiling phases together, if there are several, and each of them.
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

/// Adds power, energy and efficiency of the run and of each profiling phase.
pub(crate) fn add(
    plan: &Plan,
    traits: &RunTraits,
    run: &mut RunResult,
    observed: &ObservedGpus,
    samples: &[PowerSamples],
    interval: Nanos,
) {
    let add = |metrics: &mut Summary, span: &MeasuredSpan, phase: Option<&PhasePlan>| {
        let (window, sampling, users) =
            (span.window(), span.sampling(interval), phase.and_then(PhasePlan::session_limit).map(u64::from));
        let measured: Vec<MeasuredGpu<'_>> = samples.iter().map(|gpu| MeasuredGpu::of(gpu, window, sampling)).collect();
        let all: Vec<GpuSamples<'_>> = measured.iter().map(MeasuredGpu::samples).collect();
        let totals = GpuTotals::of_whole(&all, window, sampling);
        let mut found = totals.metrics(traits, metrics.avg("total_output_tokens"), users);
        for vendor in GpuVendor::ALL {
            let own = measured.iter().filter(|gpu| gpu.gpu.vendor == vendor).map(MeasuredGpu::samples);
            let own: Vec<GpuSamples<'_>> = own.collect();
            if !own.is_empty() {
                let totals = VendorTotals::of_whole(&own, window, sampling);
                found.extend(totals.metrics(vendor, traits, metrics, users));
            }
        }
        metrics.results.extend(found);
    };
    add(&mut run.metrics, &of_run(observed), plan.profiling().next());
    for phase in run.phases.iter_mut().filter(|phase| is_profiling(phase)) {
        let span = of_phase(phase, observed);
        add(&mut phase.metrics, &span, plan.phases.get(usize::from(phase.id.index)));
    }
}

/// A GPU, and the sources by which a span is measured.
struct MeasuredGpu<'a> {
    gpu: &'a Gpu,
    power: Option<&'a SourceSamples>,
    energy: Option<&'a SourceSamples>,
}

impl<'a> MeasuredGpu<'a> {
    fn of(gpu: &'a PowerSamples, window: Window, sampling: Sampling) -> Self {
        let best = |sources: &'a [SourceSamples]| {
            let series: Vec<&[(WallNs, f64)]> = sources.iter().map(|source| source.samples.as_slice()).collect();
            sampling.best(&series, window).map(|at| &sources[at])
        };
        Self { gpu: &gpu.gpu, power: best(&gpu.power), energy: best(&gpu.energy) }
    }

    fn samples(&self) -> GpuSamples<'a> {
        let of = |source: Option<&'a SourceSamples>| source.map_or(&[][..], |source| source.samples.as_slice());
        GpuSamples { power_w: of(self.power), energy_mj: of(self.energy) }
    }
}

/// What of a span the samples of a GPU do not cover.
struct Gap<'a> {
    source: &'a Arc<str>,
    gpu: &'a Gpu,
    span: usize,
    signal: Signal,
    share: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signal {
    Power,
    Energy,
}

/// A warning for each source whose samples cover only a part of a span, with the consequences.
pub(crate) fn gaps(samples: &[PowerSamples], spans: &[MeasuredSpan], interval: Nanos) -> Vec<String> {
    let mut gaps: Vec<Gap<'_>> = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        let (window, sampling) = (span.window(), span.sampling(interval));
        for gpu in samples {
            let measured = MeasuredGpu::of(gpu, window, sampling);
            for (signal, source) in [(Signal::Power, measured.power), (Signal::Energy, measured.energy)] {
                let Some(source) = source else { continue };
                let coverage = sampling.coverage(&source.samples, window).filter(|coverage| !coverage.is_whole);
                let gap = |share| Gap { source: &source.source, gpu: &gpu.gpu, span: at, signal, share };
                gaps.extend(coverage.map(|coverage| gap(coverage.share)));
            }
        }
    }
    let mut sources: Vec<&Arc<str>> = Vec::new();
    for gap in &gaps {
        if !sources.contains(&gap.source) {
            sources.push(gap.source);
        }
    }
    let of = |source: &Arc<str>| gaps.iter().filter(|gap| gap.source == source).collect::<Vec<_>>();
    sources.into_iter().map(|source| warning(source, &of(source), spans)).collect()
}

/// The warning for a source with gaps.
fn warning(source: &str, gaps: &[&Gap<'_>], spans: &[MeasuredSpan]) -> String {
    // Of each span, the GPU with the smallest share.
    let part = |(at, span): (usize, &MeasuredSpan)| {
        let least = gaps.iter().filter(|gap| gap.span == at).map(|gap| gap.share).min_by(f64::total_cmp)?;
        Some(format!("{:.0}% of {}", (100.0 * least).floor(), span.name))
    };
    let parts: Vec<String> = spans.iter().enumerate().filter_map(part).collect();
    let mut named: Vec<String> = Vec::new();
    for gap in gaps {
        let name = format!("GPU {} ({})", gap.gpu.index, gap.gpu.uuid);
        if !named.contains(&name) {
            named.push(name);
        }
    }
    let has = |signal: Signal| gaps.iter().any(|gap| gap.signal == signal);
    let energy = has(Signal::Energy).then_some(
        "the energy of the rest is not known, so total_gpu_energy, output_tokens_per_joule, energy_per_user and their \
         vendor-prefixed twins are left out there",
    );
    let power = has(Signal::Power).then_some("total_gpu_power is the mean over that part");
    let follows: Vec<&str> = [energy, power].into_iter().flatten().collect();
    format!("GPU telemetry of {source} covers {}, for {}: {}", listed(&parts), listed(&named), follows.join("; "))
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
    fn gpu(source: &str, index: i64, times: &[u64]) -> PowerSamples {
        let samples: Vec<(WallNs, f64)> = times.iter().map(|at| (WallNs(*at), *at as f64)).collect();
        let gpu = Arc::new(Gpu { index, uuid: format!("GPU-{index}").into(), ..Gpu::default() });
        let samples = || vec![SourceSamples { source: source.into(), samples: samples.clone() }];
        PowerSamples { gpu, power: samples(), energy: samples() }
    }

    fn span(name: &str, start: u64, end: u64) -> MeasuredSpan {
        let range = TimeRange { start: WallNs(start), end: WallNs(end) };
        MeasuredSpan { name: name.to_owned(), range, grace: Nanos(5) }
    }

    #[test]
    fn a_source_that_dies_gives_one_warning_with_its_gpus_and_the_consequences() {
        let always: Vec<u64> = (95..210).step_by(2).collect();
        let died: Vec<u64> = (95..142).step_by(2).collect();
        let samples = [gpu("http://a", 0, &always), gpu("http://b", 0, &died), gpu("http://b", 1, &died)];
        let warnings = gaps(&samples, &[span("the profiling phase", 100, 200)], Nanos(2));
        let expected = "GPU telemetry of http://b covers 41% of the profiling phase, for GPU 0 (GPU-0), GPU 1 (GPU-1): the \
                        energy of the rest is not known, so total_gpu_energy, output_tokens_per_joule, \
                        energy_per_user and their vendor-prefixed twins are left out there; total_gpu_power is the mean over that part";
        assert_eq!(warnings, [expected]);
        let phases = [span("phase 'a'", 100, 140), span("phase 'b'", 145, 200)];
        let warnings = gaps(&samples, &phases, Nanos(2));
        assert!(warnings[0].starts_with("GPU telemetry of http://b covers 0% of phase 'b', for GPU 0"), "{warnings:?}");
    }

    #[test]
    fn if_the_first_source_of_a_gpu_dies_the_second_is_measured() {
        let (always, died): (Vec<u64>, Vec<u64>) = ((95..210).step_by(2).collect(), (95..142).step_by(2).collect());
        let mut both = gpu("http://dies", 0, &died);
        let other = gpu("http://lives", 0, &always);
        both.power.extend(other.power);
        both.energy.extend(other.energy);
        let span = span("the profiling phase", 100, 200);
        let measured = MeasuredGpu::of(&both, span.window(), span.sampling(Nanos(2)));
        let source = |samples: Option<&SourceSamples>| samples.unwrap().source.to_string();
        assert_eq!([source(measured.power), source(measured.energy)], ["http://lives", "http://lives"]);
        assert_eq!(gaps(&[both], &[span], Nanos(2)), [""; 0]);
    }
}
