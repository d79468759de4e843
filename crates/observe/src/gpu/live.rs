//! The current GPU metrics, for live consumers.

use super::reading::{Gpu, order};
use super::series::GpuSourceSeries;
use super::table::{MetricId, Table};
use crate::distribution::Distribution;
use aiperf_types::stats::PERCENTILES;
use aiperf_types::{GpuSnapshot, GpuState, GpuValue, Stats};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters of a UUID that a tag has.
const UUID_CHARS: usize = 12;

/// All samples of a metric so far.
#[derive(Clone, Debug, Default)]
struct Samples {
    current: f64,
    all: Distribution,
}

impl Samples {
    fn note(&mut self, value: f64) {
        self.current = value;
        self.all.add(value);
    }

    fn stats(&self) -> Stats {
        let all = &self.all;
        let mut stats = Stats {
            avg: Some(all.mean()),
            min: Some(all.min),
            max: Some(all.max),
            sum: Some(all.sum),
            std: Some(all.deviation()),
            count: Some(all.count),
            ..Stats::default()
        };
        stats.set_percentiles(PERCENTILES.map(|percent| Some(all.percentile(f64::from(percent)))));
        stats.finite()
    }
}

/// Every GPU by now.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveGpus {
    /// By source and GPU, in the places that the store has them at.
    samples: Vec<Vec<BTreeMap<MetricId, Samples>>>,
    /// A value differs from the latest snapshot.
    has_changed: bool,
}

impl LiveGpus {
    /// Notes a reading of a GPU of a source.
    pub(super) fn note(&mut self, source: usize, gpu: usize, values: &[(MetricId, f64)]) {
        let known = at(at(&mut self.samples, source), gpu);
        for (metric, value) in values {
            let samples = known.entry(*metric).or_default();
            self.has_changed |= samples.all.count == 0 || samples.current != *value;
            samples.note(*value);
        }
    }

    /// A snapshot, if a value changed since the last one.
    pub(super) fn changed(&mut self, sources: &[GpuSourceSeries], table: &Table) -> Option<GpuSnapshot> {
        std::mem::take(&mut self.has_changed).then(|| self.snapshot(sources, table))
    }

    fn snapshot(&self, sources: &[GpuSourceSeries], table: &Table) -> GpuSnapshot {
        let of_source = |(source, samples): (&GpuSourceSeries, &Vec<BTreeMap<MetricId, Samples>>)| {
            let described = source.gpus.iter().map(|series| series.gpu.clone());
            let mut gpus: Vec<(Arc<Gpu>, &BTreeMap<MetricId, Samples>)> = described.zip(samples).collect();
            gpus.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
            gpus.into_iter().map(|(gpu, samples)| state(&source.url, &gpu, samples, table)).collect::<Vec<_>>()
        };
        GpuSnapshot { gpus: sources.iter().zip(&self.samples).flat_map(of_source).collect() }
    }
}

/// A place of a list that is as long as needed.
fn at<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

fn state(source: &str, gpu: &Gpu, samples: &BTreeMap<MetricId, Samples>, table: &Table) -> GpuState {
    let title = format!("{} | GPU {} | {}", display_name(source), gpu.index, gpu.model);
    let value = |(metric, samples): (&MetricId, &Samples)| {
        let metric = table.metric(*metric);
        GpuValue {
            tag: tag(&metric.key, source, gpu).into(),
            header: format!("{} | {title}", metric.name).into(),
            name: metric.name.as_ref().into(),
            unit: metric.unit.as_ref().into(),
            current: samples.current,
            stats: samples.stats(),
        }
    };
    GpuState { metrics: samples.iter().map(value).collect(), title: title.into() }
}

/// The name of a source in tables: host, port and path, without a final `/metrics`.
pub fn display_name(source: &str) -> &str {
    let rest = source.split_once("://").map_or(source, |(_, rest)| rest);
    let rest = rest.split('?').next().unwrap_or_default();
    rest.strip_suffix("/metrics").unwrap_or(rest)
}

fn tag(key: &str, source: &str, gpu: &Gpu) -> String {
    let source = source.replace([':', '/', '.'], "_");
    let uuid: String = gpu.uuid.chars().take(UUID_CHARS).collect();
    let part = gpu.instance.as_ref().map(|part| format!("_{part}")).unwrap_or_default();
    format!("{key}_dcgm_{source}_gpu{}_{uuid}{part}", gpu.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::reading::{GpuReading, GpuScrape};
    use crate::gpu::store::GpuStore;
    use aiperf_types::WallNs;

    fn scrape(values: &[(&str, f64)]) -> GpuScrape {
        let table = Arc::new(Table::default());
        let values = values.iter().map(|(key, value)| (table.id(key).unwrap(), *value)).collect();
        let gpu = Gpu { uuid: "GPU-aaaabbbbcccc".into(), model: "NVIDIA H100".into(), ..Gpu::default() };
        let readings = vec![GpuReading { gpu: Arc::new(gpu), values }];
        GpuScrape { source: "http://n1:9400/metrics".into(), at: WallNs(1), readings, table }
    }

    #[test]
    fn a_snapshot_has_the_current_value_of_each_gpu_and_statistics_so_far() {
        let mut live = GpuStore::watched();
        for watts in [100.0, 300.0, 200.0] {
            live.add(&scrape(&[("nvidia_power_usage", watts)]));
        }
        let snapshot = live.changed().unwrap();
        assert_eq!(&*snapshot.gpus[0].title, "n1:9400 | GPU 0 | NVIDIA H100");
        let power = &snapshot.gpus[0].metrics[0];
        assert_eq!(&*power.tag, "nvidia_power_usage_dcgm_http___n1_9400_metrics_gpu0_GPU-aaaabbbb");
        assert_eq!(&*power.header, "NVIDIA GPU Power Usage | n1:9400 | GPU 0 | NVIDIA H100");
        assert_eq!((&*power.name, &*power.unit, power.current), ("NVIDIA GPU Power Usage", "W", 200.0));
        let stats = power.stats;
        assert_eq!((stats.avg, stats.min, stats.max, stats.p50), (Some(200.0), Some(100.0), Some(300.0), Some(200.0)));
        assert_eq!((stats.count, stats.std), (Some(3), Some(100.0)));
    }

    #[test]
    fn there_is_no_snapshot_where_nothing_changed() {
        let mut live = GpuStore::watched();
        let same = scrape(&[("nvidia_power_usage", 100.0)]);
        live.add(&same);
        assert!(live.changed().is_some());
        live.add(&same);
        assert!(live.changed().is_none());
        live.add(&scrape(&[("nvidia_power_usage", 101.0)]));
        assert_eq!(live.changed().unwrap().gpus[0].metrics[0].stats.count, Some(3));
    }

    #[test]
    fn sources_are_shown_by_host_port_and_path() {
        for (source, name) in [("pynvml://localhost", "localhost"), ("https://n1/a/metrics", "n1/a"), ("x", "x")] {
            assert_eq!(display_name(source), name);
        }
    }
}
