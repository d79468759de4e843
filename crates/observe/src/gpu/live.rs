//! What GPUs report by now, for those who watch a run.

use super::reading::{Gpu, GpuKey, GpuScrape};
use super::results::order;
use super::table::{MetricId, Table};
use crate::distribution::Distribution;
use aiperf_types::stats::PERCENTILES;
use aiperf_types::{GpuSnapshot, GpuState, GpuValue, Stats};
use std::collections::{BTreeMap, HashMap};
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

#[derive(Clone, Debug)]
struct LiveGpu {
    /// Number of its source, in the order in which they were seen.
    source: usize,
    gpu: Arc<Gpu>,
    metrics: BTreeMap<MetricId, Samples>,
}

/// Every GPU by now.
#[derive(Clone, Debug, Default)]
pub struct LiveGpus {
    sources: Vec<Arc<str>>,
    gpus: Vec<LiveGpu>,
    by_key: HashMap<(usize, GpuKey), usize>,
    /// A value is another than the one that was told.
    has_changed: bool,
}

impl LiveGpus {
    /// Notes what a source said; GPUs past so many are left out, as they are by whoever keeps samples.
    pub(super) fn note(&mut self, scrape: &GpuScrape, most_gpus: usize) {
        let source = self.sources.iter().position(|known| *known == scrape.source).unwrap_or_else(|| {
            self.sources.push(scrape.source.clone());
            self.sources.len() - 1
        });
        for reading in &scrape.readings {
            let key = (source, reading.gpu.key());
            let at = match self.by_key.get(&key) {
                Some(at) => *at,
                None if self.gpus.len() >= most_gpus => continue,
                None => {
                    self.gpus.push(LiveGpu { source, gpu: reading.gpu.clone(), metrics: BTreeMap::new() });
                    self.by_key.insert(key, self.gpus.len() - 1);
                    self.gpus.len() - 1
                }
            };
            let known = &mut self.gpus[at];
            known.gpu = reading.gpu.clone();
            for (metric, value) in &reading.values {
                let samples = known.metrics.entry(*metric).or_default();
                self.has_changed |= samples.all.count == 0 || samples.current != *value;
                samples.note(*value);
            }
        }
    }

    /// What there is to tell, where a value changed since this was asked last.
    pub fn changed(&mut self, table: &Table) -> Option<GpuSnapshot> {
        std::mem::take(&mut self.has_changed).then(|| self.snapshot(table))
    }

    fn snapshot(&self, table: &Table) -> GpuSnapshot {
        let mut gpus: Vec<&LiveGpu> = self.gpus.iter().collect();
        gpus.sort_by(|a, b| (a.source, order(&a.gpu)).cmp(&(b.source, order(&b.gpu))));
        let state = |live: &LiveGpu| {
            let (gpu, source) = (&*live.gpu, &*self.sources[live.source]);
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
            GpuState { metrics: live.metrics.iter().map(value).collect(), title: title.into() }
        };
        GpuSnapshot { gpus: gpus.into_iter().map(state).collect() }
    }
}

/// What tables call a source: host, port and path, without one `/metrics` at its end.
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
    use crate::gpu::reading::GpuReading;
    use aiperf_types::WallNs;

    fn scrape(values: &[(&str, f64)]) -> GpuScrape {
        let table = Arc::new(Table::default());
        let values = values.iter().map(|(key, value)| (table.id(key).unwrap(), *value)).collect();
        let gpu = Gpu { uuid: "GPU-aaaabbbbcccc".into(), model: "NVIDIA H100".into(), ..Gpu::default() };
        let readings = vec![GpuReading { gpu: Arc::new(gpu), values }];
        GpuScrape { source: "http://n1:9400/metrics".into(), at: WallNs(1), readings, table }
    }

    #[test]
    fn a_snapshot_says_what_each_gpu_says_now_and_what_it_said_so_far() {
        let mut live = LiveGpus::default();
        for watts in [100.0, 300.0, 200.0] {
            live.note(&scrape(&[("nvidia_power_usage", watts)]), 9);
        }
        let told = live.changed(&Table::default()).unwrap();
        assert_eq!(&*told.gpus[0].title, "n1:9400 | GPU 0 | NVIDIA H100");
        let power = &told.gpus[0].metrics[0];
        assert_eq!(&*power.tag, "nvidia_power_usage_dcgm_http___n1_9400_metrics_gpu0_GPU-aaaabbbb");
        assert_eq!(&*power.header, "NVIDIA GPU Power Usage | n1:9400 | GPU 0 | NVIDIA H100");
        assert_eq!((&*power.name, &*power.unit, power.current), ("NVIDIA GPU Power Usage", "W", 200.0));
        let stats = power.stats;
        assert_eq!((stats.avg, stats.min, stats.max, stats.p50), (Some(200.0), Some(100.0), Some(300.0), Some(200.0)));
        assert_eq!((stats.count, stats.std), (Some(3), Some(100.0)));
    }

    #[test]
    fn nothing_is_told_where_nothing_changed() {
        let mut live = LiveGpus::default();
        let same = scrape(&[("nvidia_power_usage", 100.0)]);
        live.note(&same, 9);
        assert!(live.changed(&Table::default()).is_some());
        live.note(&same, 9);
        assert!(live.changed(&Table::default()).is_none());
        live.note(&scrape(&[("nvidia_power_usage", 101.0)]), 9);
        assert_eq!(live.changed(&Table::default()).unwrap().gpus[0].metrics[0].stats.count, Some(3));
    }

    #[test]
    fn sources_are_shown_by_host_port_and_path() {
        for (source, name) in [("pynvml://localhost", "localhost"), ("https://n1/a/metrics", "n1/a"), ("x", "x")] {
            assert_eq!(display_name(source), name);
        }
    }
}
