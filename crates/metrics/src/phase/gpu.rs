//! Power and energy of a phase, from samples of each GPU.

use crate::curves::curve::Window;
use crate::numbers::stats::Stats;
use crate::phase::summary::MetricResult;
use crate::registry;
use crate::registry::metric::Metric;
use crate::run::RunTraits;
use aiperf_types::{Nanos, WallNs};

/// How long after a phase its last energy sample may come, unless configured otherwise.
pub const FINAL_SAMPLE_GRACE: Nanos = Nanos(666_000_000);

const JOULES_PER_MEGAJOULE: f64 = 1e6;

/// What one GPU reported, in order of time. A sample that is not a number was a sensor failure and is stepped over.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuSamples<'a> {
    pub power_w: &'a [(WallNs, f64)],
    /// The energy counter, in megajoules.
    pub energy_mj: &'a [(WallNs, f64)],
}

/// A sum over GPUs, and how many of them it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverGpus {
    pub sum: f64,
    pub gpus: usize,
}

/// Power and energy of all GPUs in a phase; absent when none reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GpuTotals {
    /// Sum of mean power, in watts.
    pub power_w: Option<OverGpus>,
    /// Sum of energy, in joules.
    pub energy_j: Option<OverGpus>,
}

impl GpuTotals {
    /// Sums up the samples of a phase. The end is widened by `grace` for energy alone: a counter read a little late has
    /// counted the same energy, while power sampled after the end is that of an idle GPU.
    pub fn of(gpus: &[GpuSamples<'_>], window: Window, grace: Nanos) -> Self {
        let widened = Window { start: window.start, end: WallNs(window.end.0.saturating_add(grace.0)) };
        Self {
            power_w: over(gpus.iter().filter_map(|gpu| mean_within(gpu.power_w, window))),
            energy_j: over(gpus.iter().filter_map(|gpu| increase_within(gpu.energy_mj, widened)))
                .map(|energy| OverGpus { sum: energy.sum * JOULES_PER_MEGAJOULE, ..energy }),
        }
    }

    /// The metrics of a run, in the order they are emitted; each is left out when what it needs is missing.
    pub fn metrics(
        &self,
        traits: &RunTraits,
        output_tokens: Option<f64>,
        concurrency: Option<u64>,
    ) -> Vec<MetricResult> {
        let energy = self.energy_j.filter(|energy| energy.sum > 0.0);
        let tokens_per_joule = energy.and_then(|energy| Some(OverGpus { sum: output_tokens? / energy.sum, ..energy }));
        let per_user = self.energy_j.and_then(|energy| {
            let users = concurrency.filter(|&users| users > 0)?;
            Some(OverGpus { sum: energy.sum / users as f64, ..energy })
        });
        [
            ("total_gpu_power", self.power_w),
            ("total_gpu_energy", self.energy_j),
            ("output_tokens_per_joule", tokens_per_joule),
            ("energy_per_user", per_user),
        ]
        .into_iter()
        .filter_map(|(tag, value)| Some((registry::find(tag).filter(|metric| traits.has(metric))?, value?)))
        .map(|(metric, value)| result(metric, value))
        .collect()
    }
}

fn result(metric: &'static Metric, value: OverGpus) -> MetricResult {
    let mut result = MetricResult::new(metric, Stats::of(value.sum));
    result.header = format!("{} ({} GPUs)", metric.header, value.gpus).into();
    result
}

fn over(values: impl Iterator<Item = f64>) -> Option<OverGpus> {
    let (sum, gpus) = values.fold((0.0, 0), |(sum, gpus), value| (sum + value, gpus + 1));
    (gpus > 0).then_some(OverGpus { sum, gpus })
}

fn valid_within(samples: &[(WallNs, f64)], window: Window) -> impl DoubleEndedIterator<Item = f64> + Clone + '_ {
    samples
        .iter()
        .filter(move |(at, value)| (window.start..=window.end).contains(at) && !value.is_nan())
        .map(|(_, value)| *value)
}

fn mean_within(samples: &[(WallNs, f64)], window: Window) -> Option<f64> {
    let values = valid_within(samples, window);
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// From the last sample before the window, or else the first within it, to the last within it. A counter that fell was
/// reset, and what it counted is not known.
fn increase_within(samples: &[(WallNs, f64)], window: Window) -> Option<f64> {
    let mut within = valid_within(samples, window);
    let last = within.next_back()?;
    let before =
        samples.iter().rev().find(|(at, value)| *at < window.start && !value.is_nan()).map(|(_, value)| *value);
    let first = before.or_else(|| within.next()).unwrap_or(last);
    Some((last - first).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::EndpointKind;

    const WINDOW: Window = Window { start: WallNs(100), end: WallNs(200) };

    fn at(samples: &[(u64, f64)]) -> Vec<(WallNs, f64)> {
        samples.iter().map(|&(at, value)| (WallNs(at), value)).collect()
    }

    #[test]
    fn power_is_taken_within_the_phase_and_energy_from_before_it_to_a_little_after() {
        let power = at(&[(50, 900.0), (100, 100.0), (150, f64::NAN), (200, 200.0), (210, 5.0)]);
        let energy = at(&[(60, 1.0), (90, f64::NAN), (150, 1.5), (205, 2.0), (206, f64::NAN), (300, 9.0)]);
        let gpus = [GpuSamples { power_w: &power, energy_mj: &energy }, GpuSamples { power_w: &power, energy_mj: &[] }];
        let totals = GpuTotals::of(&gpus, WINDOW, Nanos(10));
        assert_eq!(totals.power_w, Some(OverGpus { sum: 300.0, gpus: 2 }));
        assert_eq!(totals.energy_j, Some(OverGpus { sum: 1e6, gpus: 1 }));
    }

    #[test]
    fn without_a_sample_before_the_phase_the_first_within_it_is_where_counting_starts() {
        let energy = at(&[(110, 3.0), (190, 4.0)]);
        let totals = GpuTotals::of(&[GpuSamples { power_w: &[], energy_mj: &energy }], WINDOW, Nanos(0));
        assert_eq!(totals, GpuTotals { power_w: None, energy_j: Some(OverGpus { sum: 1e6, gpus: 1 }) });
    }

    #[test]
    fn a_counter_that_was_reset_counts_nothing() {
        let energy = at(&[(90, 3.0), (190, 1.0)]);
        let totals = GpuTotals::of(&[GpuSamples { power_w: &[], energy_mj: &energy }], WINDOW, Nanos(0));
        assert_eq!(totals.energy_j, Some(OverGpus { sum: 0.0, gpus: 1 }));
    }

    #[test]
    fn headers_say_how_many_gpus_reported_the_signal() {
        let totals = GpuTotals {
            power_w: Some(OverGpus { sum: 700.0, gpus: 8 }),
            energy_j: Some(OverGpus { sum: 1000.0, gpus: 7 }),
        };
        let traits = RunTraits::new(EndpointKind::Chat, true);
        let found: Vec<(String, Option<f64>)> = totals
            .metrics(&traits, Some(500.0), Some(4))
            .into_iter()
            .map(|result| (result.header.into_owned(), result.stats.avg))
            .collect();
        let expected = [
            ("Total GPU Power (8 GPUs)", 700.0),
            ("Total GPU Energy (7 GPUs)", 1000.0),
            ("Output Tokens per Joule (7 GPUs)", 0.5),
            ("Energy per User (7 GPUs)", 250.0),
        ];
        assert_eq!(found, expected.map(|(header, value)| (header.to_owned(), Some(value))));
    }
}
