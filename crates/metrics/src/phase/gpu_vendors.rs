//! Efficiency of each vendor's GPUs, by the formulas and tags of AIPerf 0.13, for programs that read those tags.

use crate::curves::curve::Window;
use crate::numbers::stats::Stats;
use crate::phase::gpu::{GpuSamples, GpuTotals, Sampling};
use crate::phase::summary::{MetricResult, Summary};
use crate::registry;
use crate::run::RunTraits;
use aiperf_types::GpuVendor;

const NS_PER_SEC: f64 = 1e9;

/// Power and energy of the GPUs of one vendor in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VendorTotals {
    /// Sum of mean power, in watts.
    power_w: Option<f64>,
    /// In joules: from counters, or power times time if no GPU has a counter.
    energy_j: Option<f64>,
    /// Energy over time, in watts.
    average_power_w: Option<f64>,
}

impl VendorTotals {
    /// Sums the samples of a phase; energy only if samples cover the whole phase.
    pub fn of_whole(gpus: &[GpuSamples<'_>], window: Window, sampling: Sampling) -> Self {
        let totals = GpuTotals::of_whole(gpus, window, sampling);
        let of = |samples| sampling.coverage(samples, window);
        let mut counted = gpus.iter().filter_map(|gpu| of(gpu.energy_mj)).peekable();
        let is_whole = match counted.peek() {
            Some(_) => counted.all(|coverage| coverage.is_whole),
            None => gpus.iter().filter_map(|gpu| of(gpu.power_w)).all(|coverage| coverage.is_whole),
        };
        let seconds = window.end.0.saturating_sub(window.start.0) as f64 / NS_PER_SEC;
        match is_whole {
            true => Self::of(&totals, seconds),
            false => Self { power_w: totals.power_w.map(|power| power.sum), ..Self::default() },
        }
    }

    /// The totals of a phase of `seconds` seconds.
    pub fn of(totals: &GpuTotals, seconds: f64) -> Self {
        let positive = |value: &f64| *value > 0.0;
        let power_w = totals.power_w.map(|power| power.sum);
        let counted = totals.energy_j.map(|energy| energy.sum).filter(positive);
        let (energy_j, average_power_w) = match counted {
            Some(energy) => (Some(energy), Some(energy / seconds).filter(|power| power.is_finite())),
            None => {
                let power = power_w.filter(|power| positive(power) && positive(&seconds));
                (power.map(|power| power * seconds), power)
            }
        };
        Self { power_w, energy_j, average_power_w }
    }

    /// The metrics of a vendor, in the order of output; a metric is left out if its inputs are missing.
    pub fn metrics(
        &self,
        vendor: GpuVendor,
        traits: &RunTraits,
        summary: &Summary,
        concurrency: Option<u64>,
    ) -> Vec<MetricResult> {
        let vendor = vendor.name();
        let inputs = Inputs { totals: *self, summary, users: concurrency.map(|users| users as f64) };
        let of = |(name, formula): &(&str, Formula)| {
            let metric = registry::find(&format!("{vendor}_{name}")).filter(|metric| traits.has(metric))?;
            Some(MetricResult::new(metric, Stats::of(formula(&inputs)?)))
        };
        FORMULAS.iter().filter_map(of).collect()
    }
}

/// The inputs of the formulas of a vendor's metrics.
struct Inputs<'a> {
    totals: VendorTotals,
    summary: &'a Summary,
    users: Option<f64>,
}

impl Inputs<'_> {
    fn avg(&self, tag: &str) -> Option<f64> {
        self.summary.avg(tag)
    }

    /// The mean of a metric that is used as divisor.
    fn divisor(&self, tag: &str) -> Option<f64> {
        nonzero(self.avg(tag))
    }

    fn energy_per_request(&self) -> Option<f64> {
        Some(self.totals.energy_j? / self.divisor("request_count")?)
    }

    fn per_watt(&self, tag: &str) -> Option<f64> {
        Some(self.avg(tag)? / self.totals.average_power_w?)
    }
}

fn nonzero(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value != 0.0)
}

type Formula = fn(&Inputs<'_>) -> Option<f64>;

const MILLI: f64 = 1e3;

/// Each metric by its tag without the vendor, in the order of output.
const FORMULAS: &[(&str, Formula)] = &[
    ("total_gpu_power", |of| of.totals.power_w),
    ("average_gpu_power", |of| of.totals.average_power_w),
    ("total_gpu_energy", |of| of.totals.energy_j),
    ("output_tokens_per_joule", |of| Some(of.divisor("total_osl")? / of.totals.energy_j?)),
    ("energy_per_output_token", |of| Some(of.totals.energy_j? * MILLI / of.divisor("total_osl")?)),
    ("energy_per_total_token", |of| {
        let tokens = of.avg("total_isl").unwrap_or(0.0) + of.avg("total_osl").unwrap_or(0.0);
        Some(of.totals.energy_j? * MILLI / nonzero(Some(tokens))?)
    }),
    ("energy_per_request", |of| of.energy_per_request()),
    ("energy_per_user", |of| Some(of.totals.energy_j? / nonzero(of.users)?)),
    ("energy_delay_product", |of| Some(of.energy_per_request()? * of.divisor("request_latency")? / MILLI)),
    ("performance_per_watt", |of| of.per_watt("request_throughput")),
    ("output_tps_per_watt", |of| of.per_watt("output_token_throughput")),
    ("goodput_per_watt", |of| of.per_watt("goodput")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::gpu::OverGpus;
    use aiperf_types::{EndpointKind, Nanos, WallNs};
    use std::collections::BTreeSet;

    const WINDOW: Window = Window { start: WallNs(10_000_000_000), end: WallNs(20_000_000_000) };
    const SAMPLING: Sampling = Sampling { interval: Nanos(1_000_000_000), grace: Nanos(0) };

    fn totals(gpus: &[GpuSamples<'_>]) -> VendorTotals {
        VendorTotals::of_whole(gpus, WINDOW, SAMPLING)
    }

    fn at(seconds: &[u64], value: impl Fn(u64) -> f64) -> Vec<(WallNs, f64)> {
        seconds.iter().map(|second| (WallNs(second * 1_000_000_000), value(*second))).collect()
    }

    #[test]
    fn energy_comes_from_counters_or_is_power_times_time_if_there_are_none() {
        let seconds: Vec<u64> = (9..=20).collect();
        let power_w = at(&seconds, |_| 300.0);
        let energy_mj = at(&seconds, |second| second as f64 / 1e4);
        let counting = totals(&[GpuSamples { power_w: &power_w, energy_mj: &energy_mj }]);
        assert_eq!(counting.power_w, Some(300.0));
        assert!((counting.energy_j.unwrap() - 1100.0).abs() < 1e-6, "{counting:?}");
        assert!((counting.average_power_w.unwrap() - 110.0).abs() < 1e-6, "{counting:?}");
        let gauges = totals(&[GpuSamples { power_w: &power_w, energy_mj: &[] }]);
        assert_eq!((gauges.energy_j, gauges.average_power_w), (Some(3000.0), Some(300.0)));
    }

    #[test]
    fn samples_of_a_part_of_the_phase_give_no_energy() {
        let seconds: Vec<u64> = (9..=14).collect();
        let power_w = at(&seconds, |_| 300.0);
        let energy_mj = at(&seconds, |second| second as f64);
        let parts = [
            totals(&[GpuSamples { power_w: &power_w, energy_mj: &energy_mj }]),
            totals(&[GpuSamples { power_w: &power_w, energy_mj: &[] }]),
        ];
        for part in parts {
            assert_eq!(part, VendorTotals { power_w: Some(300.0), ..VendorTotals::default() });
        }
    }

    #[test]
    fn every_formula_has_a_metric_and_every_metric_of_a_vendor_has_a_formula() {
        for vendor in GpuVendor::ALL.map(GpuVendor::name) {
            let prefix = format!("{vendor}_");
            let registered: BTreeSet<&str> =
                registry::all().iter().filter_map(|metric| metric.tag.strip_prefix(prefix.as_str())).collect();
            assert_eq!(registered, FORMULAS.iter().map(|(name, _)| *name).collect(), "{vendor}");
        }
    }

    #[test]
    fn without_requests_only_power_and_energy_remain() {
        let over = |sum| Some(OverGpus { sum, gpus: 2 });
        let vendor = VendorTotals::of(&GpuTotals { power_w: over(700.0), energy_j: over(160.0) }, 4.0);
        let traits = RunTraits::new(EndpointKind::Chat, true);
        let found = vendor.metrics(GpuVendor::Amd, &traits, &Summary::default(), None);
        let found: Vec<_> = found.iter().map(|result| (result.tag.as_ref(), result.stats.avg.unwrap())).collect();
        let expected =
            [("amd_total_gpu_power", 700.0), ("amd_average_gpu_power", 40.0), ("amd_total_gpu_energy", 160.0)];
        assert_eq!(found, expected);
    }
}
