//! Power and energy of a phase, from samples of each GPU.

use crate::curves::curve::Window;
use crate::numbers::stats::Stats;
use crate::phase::summary::MetricResult;
use crate::registry;
use crate::registry::metric::Metric;
use crate::run::RunTraits;
use aiperf_types::{Nanos, WallNs};

/// How long after a phase its last energy sample may arrive, by default.
pub const FINAL_SAMPLE_GRACE: Nanos = Nanos(666_000_000);

const JOULES_PER_MEGAJOULE: f64 = 1e6;

/// The samples of one GPU, in order of time. A NaN is a sensor failure and is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuSamples<'a> {
    pub power_w: &'a [(WallNs, f64)],
    /// The energy counter, in megajoules.
    pub energy_mj: &'a [(WallNs, f64)],
}

/// A sum over GPUs, and the number of GPUs in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverGpus {
    pub sum: f64,
    pub gpus: usize,
}

/// Power and energy of all GPUs in a phase; absent if none reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GpuTotals {
    /// Sum of mean power, in watts.
    pub power_w: Option<OverGpus>,
    /// Sum of energy, in joules.
    pub energy_j: Option<OverGpus>,
}

/// How often GPUs were sampled, and how late a sample may be.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    pub interval: Nanos,
    /// How long after a phase a sample still counts for it.
    pub grace: Nanos,
}

/// The part of a phase that the samples of a GPU cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// From 0 to 1.
    pub share: f64,
    /// Enough for the samples to represent the phase.
    pub is_whole: bool,
}

/// A share that always represents the phase: a counter over 99% of it has no larger error than others.
const NEARLY_ALL: f64 = 0.99;
/// The share that is enough if samples miss the ends of the phase by no more than the slack.
const ENOUGH: f64 = 0.9;

impl Sampling {
    /// How far samples may be from an end of a phase: one lost sample, and the grace of the last.
    fn slack(self) -> Nanos {
        Nanos(self.interval.0.saturating_mul(2).saturating_add(self.grace.0))
    }

    /// The samples that may belong to a phase. A sample from long before it would count the energy of other work.
    fn near(self, samples: &[(WallNs, f64)], window: Window) -> &[(WallNs, f64)] {
        let earliest = WallNs(window.start.0.saturating_sub(self.slack().0));
        &samples[samples.partition_point(|(at, _)| *at < earliest)..]
    }

    /// The part of a phase between the first and the last of its samples; `None` for a GPU without any samples.
    pub fn coverage(self, samples: &[(WallNs, f64)], window: Window) -> Option<Coverage> {
        let is_valid = |(_, value): &&(WallNs, f64)| !value.is_nan();
        samples.iter().find(is_valid)?;
        let near = self.near(samples, window);
        let end = WallNs(window.end.0.saturating_add(self.grace.0));
        let within = |sample: &&(WallNs, f64)| is_valid(sample) && (window.start..=end).contains(&sample.0);
        let last = near.iter().rfind(within);
        let first = near.iter().rfind(|sample| is_valid(sample) && sample.0 < window.start);
        let (Some((first, _)), Some((last, _))) = (first.or_else(|| near.iter().find(within)), last) else {
            return Some(Coverage { share: 0.0, is_whole: false });
        };
        let missed = [first.0.saturating_sub(window.start.0), window.end.0.saturating_sub(last.0)];
        let length = window.end.0.saturating_sub(window.start.0).max(1) as f64;
        let share = (1.0 - missed.iter().sum::<u64>() as f64 / length).max(0.0);
        let is_near = missed.iter().all(|missed| *missed <= self.slack().0);
        Some(Coverage { share, is_whole: share >= NEARLY_ALL || is_near && share >= ENOUGH })
    }

    /// Which of several series of one signal measures a phase: the first that covers the whole phase, or else the one
    /// that covers most.
    pub fn best(self, series: &[&[(WallNs, f64)]], window: Window) -> Option<usize> {
        let covers = |at: &usize| self.coverage(series[*at], window);
        let is_whole = |at: &usize| covers(at).is_some_and(|coverage| coverage.is_whole);
        let share = |at: &usize| covers(at).map_or(-1.0, |coverage| coverage.share);
        // If several cover the same share, the first.
        let most = || (0..series.len()).rev().max_by(|one, other| share(one).total_cmp(&share(other)));
        (0..series.len()).find(is_whole).or_else(most)
    }
}

impl GpuTotals {
    /// Sums the samples of a phase. Energy is included only if every GPU with an energy counter covers the whole phase:
    /// the energy of a part, divided by the tokens of the whole, would look like efficiency.
    pub fn of_whole(gpus: &[GpuSamples<'_>], window: Window, sampling: Sampling) -> Self {
        let mut energy = gpus.iter().filter_map(|gpu| sampling.coverage(gpu.energy_mj, window));
        let is_whole = energy.all(|coverage| coverage.is_whole);
        let near: Vec<GpuSamples<'_>> =
            gpus.iter().map(|gpu| GpuSamples { energy_mj: sampling.near(gpu.energy_mj, window), ..*gpu }).collect();
        let totals = Self::of(&near, window, sampling.grace);
        Self { energy_j: totals.energy_j.filter(|_| is_whole), ..totals }
    }

    /// Sums the samples of a phase. The end is extended by `grace` for energy only: a counter read a little late has
    /// counted the same energy, but power sampled after the end is that of an idle GPU.
    pub fn of(gpus: &[GpuSamples<'_>], window: Window, grace: Nanos) -> Self {
        let widened = Window { start: window.start, end: WallNs(window.end.0.saturating_add(grace.0)) };
        Self {
            power_w: over(gpus.iter().filter_map(|gpu| mean_within(gpu.power_w, window))),
            energy_j: over(gpus.iter().filter_map(|gpu| increase_within(gpu.energy_mj, widened)))
                .map(|energy| OverGpus { sum: energy.sum * JOULES_PER_MEGAJOULE, ..energy }),
        }
    }

    /// The metrics of a run, in the order of output; a metric is left out if its inputs are missing.
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
/// reset, and its increase is not known.
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
    fn power_is_sampled_within_the_phase_and_energy_from_before_it_to_a_little_after() {
        let power = at(&[(50, 900.0), (100, 100.0), (150, f64::NAN), (200, 200.0), (210, 5.0)]);
        let energy = at(&[(60, 1.0), (90, f64::NAN), (150, 1.5), (205, 2.0), (206, f64::NAN), (300, 9.0)]);
        let gpus = [GpuSamples { power_w: &power, energy_mj: &energy }, GpuSamples { power_w: &power, energy_mj: &[] }];
        let totals = GpuTotals::of(&gpus, WINDOW, Nanos(10));
        assert_eq!(totals.power_w, Some(OverGpus { sum: 300.0, gpus: 2 }));
        assert_eq!(totals.energy_j, Some(OverGpus { sum: 1e6, gpus: 1 }));
    }

    #[test]
    fn without_a_sample_before_the_phase_counting_starts_with_the_first_within_it() {
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

    const SAMPLING: Sampling = Sampling { interval: Nanos(2), grace: Nanos(6) };

    #[test]
    fn the_first_series_that_covers_a_phase_measures_it_or_else_the_one_that_covers_most() {
        let whole = at(&[(95, 1.0), (150, 2.0), (203, 3.0)]);
        let half = at(&[(95, 1.0), (150, 2.0)]);
        let less = at(&[(95, 1.0), (120, 2.0)]);
        let best = |series: &[&[(WallNs, f64)]]| SAMPLING.best(series, WINDOW);
        assert_eq!(best(&[&half, &whole, &whole]), Some(1));
        assert_eq!(best(&[&[], &less, &half, &half]), Some(2));
        assert_eq!(best(&[&[], &[]]), Some(0));
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn samples_that_miss_an_end_of_the_phase_do_not_represent_it() {
        let coverage = |samples: &[(u64, f64)]| {
            SAMPLING.coverage(&at(samples), WINDOW).map(|coverage| (coverage.share, coverage.is_whole))
        };
        assert_eq!(coverage(&[]), None);
        assert_eq!(coverage(&[(110, f64::NAN)]), None, "a sensor that never worked has no samples");
        assert_eq!(coverage(&[(95, 1.0), (150, 2.0), (203, 3.0)]), Some((1.0, true)));
        assert_eq!(coverage(&[(95, 1.0), (150, 2.0)]), Some((0.5, false)), "it died midway");
        assert_eq!(coverage(&[(130, 1.0), (201, 2.0)]), Some((0.7, false)), "it came late");
        assert_eq!(coverage(&[(105, 1.0), (196, 2.0)]), Some((0.91, true)), "two samples were lost");
        assert_eq!(coverage(&[(110, 1.0), (190, 2.0)]), Some((0.8, false)), "a short phase allows less");
        assert_eq!(coverage(&[(20, 1.0), (60, 2.0)]), Some((0.0, false)), "it died before");
        assert_eq!(
            coverage(&[(20, 1.0), (150, 2.0), (200, 2.0)]),
            Some((0.5, false)),
            "a sample from long before does not count"
        );
        let long = Window { start: WallNs(10_000), end: WallNs(20_000) };
        let slow = SAMPLING.coverage(&at(&[(10_030, 1.0), (19_950, 2.0)]), long).unwrap();
        assert!(slow.is_whole, "a source that is slow misses little of a long phase: {slow:?}");
    }

    #[test]
    fn energy_needs_the_whole_phase_and_power_is_the_mean_of_the_sampled_part() {
        let whole = at(&[(98, 1.0), (150, 1.5), (201, 2.0)]);
        let died = at(&[(98, 1.0), (150, 1.5)]);
        let gpu = |samples| GpuSamples { power_w: samples, energy_mj: samples };
        let totals = GpuTotals::of_whole(&[gpu(&whole), gpu(&died)], WINDOW, SAMPLING);
        assert_eq!(totals.energy_j, None);
        assert_eq!(totals.power_w, Some(OverGpus { sum: 3.0, gpus: 2 }));
        let never = GpuSamples::default();
        let totals = GpuTotals::of_whole(&[gpu(&whole), never], WINDOW, SAMPLING);
        assert_eq!(
            totals.energy_j,
            Some(OverGpus { sum: 1e6, gpus: 1 }),
            "one without a counter is left out of the sum"
        );
    }

    #[test]
    fn counting_does_not_start_with_a_sample_from_long_before_the_phase() {
        let energy = at(&[(20, 0.0), (100, 3.0), (200, 4.0)]);
        let totals = GpuTotals::of_whole(&[GpuSamples { power_w: &[], energy_mj: &energy }], WINDOW, SAMPLING);
        assert_eq!(totals.energy_j, Some(OverGpus { sum: 1e6, gpus: 1 }));
    }

    #[test]
    fn headers_show_how_many_gpus_reported_the_signal() {
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
