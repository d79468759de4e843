//! The results of all readings, for the files and tables of GPU telemetry.

use super::reading::{Gpu, order};
use super::series::{GpuSeries, GpuSourceSeries};
use super::statistics::{Span, of_kind};
use super::store::GpuStore;
use super::table::{ENERGY, MetricId, POWER, Table};
use crate::results::{ScrapeError, TimeRange};
use aiperf_types::{GpuVendor, Nanos, PhaseId, Stats, WallNs};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Everything known about the GPUs when a run is over.
#[derive(Clone, Debug, Default)]
pub struct GpuTelemetry {
    /// Sources in displayable form: requested ones and discovered ones.
    pub configured: Vec<Arc<str>>,
    /// Those of them that reported a GPU.
    pub successful: Vec<Arc<str>>,
    /// Those of them that responded, with or without GPUs.
    pub reached: Vec<Arc<str>>,
    /// From the start of the first profiling phase to the end of the last request.
    pub range: TimeRange,
    /// Over the profiling phases.
    pub endpoints: Vec<GpuEndpoint>,
    /// Each phase separately; empty unless there was more than one.
    pub phases: Vec<GpuPhase>,
    pub errors: Vec<ScrapeError>,
    pub table: Arc<Table>,
}

#[derive(Clone, Debug)]
pub struct GpuPhase {
    pub phase: PhaseId,
    pub range: TimeRange,
    pub endpoints: Vec<GpuEndpoint>,
}

/// A source and its GPUs by index.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuEndpoint {
    /// Host, port and path.
    pub display_name: String,
    pub gpus: Vec<GpuSummary>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GpuSummary {
    /// Unique within the source.
    pub key: String,
    pub gpu: Arc<Gpu>,
    /// In the order of the table; at least one.
    pub metrics: Vec<GpuStats>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GpuStats {
    pub metric: MetricId,
    pub stats: Stats,
    /// How often a counter fell.
    pub resets: u64,
}

/// What was observed, and when.
#[derive(Clone, Debug, Default)]
pub struct ObservedGpus {
    /// Requested and discovered sources, each with its name in tables.
    pub sources: Vec<(Arc<str>, String)>,
    /// Those of them that answered.
    pub reached: Vec<Arc<str>>,
    pub profiling: TimeRange,
    /// In the order in which they began.
    pub phases: Vec<(PhaseId, TimeRange)>,
    /// How long after a phase a sample still counts for it.
    pub grace: Nanos,
    pub errors: Vec<ScrapeError>,
}

impl GpuTelemetry {
    pub fn has_gpus(&self) -> bool {
        self.endpoints.iter().any(|endpoint| !endpoint.gpus.is_empty())
    }

    /// Vendors of the GPUs, sorted.
    pub fn vendors(&self) -> BTreeSet<GpuVendor> {
        self.endpoints.iter().flat_map(|endpoint| &endpoint.gpus).map(|gpu| gpu.gpu.vendor).collect()
    }

    /// Counters that fell: endpoint, GPU and metric.
    pub fn resets(&self) -> Vec<String> {
        let gpus = self.endpoints.iter().flat_map(|endpoint| endpoint.gpus.iter().map(move |gpu| (endpoint, gpu)));
        gpus.flat_map(|(endpoint, gpu)| {
            let fallen = gpu.metrics.iter().filter(|metric| metric.resets > 0);
            fallen.map(move |metric| {
                format!("{} {} {}", endpoint.display_name, gpu.key, self.table.metric(metric.metric).key)
            })
        })
        .collect()
    }
}

impl ObservedGpus {
    /// How long after its end a phase still takes readings: those of the next phase do not belong to it.
    pub fn grace_after(&self, phase: TimeRange) -> Nanos {
        let starts = self.phases.iter().map(|(_, other)| other.start);
        let next = starts.filter(|start| *start >= phase.end).min();
        next.map_or(self.grace, |next| self.grace.min(Nanos(next.0 - phase.end.0)))
    }
}

/// Sums all readings up.
pub fn summarise_gpus(store: &GpuStore, observed: &ObservedGpus) -> GpuTelemetry {
    let sources: Vec<&GpuSourceSeries> = store.sources().iter().filter(|source| !source.gpus.is_empty()).collect();
    let successful = |url: &Arc<str>| sources.iter().any(|source| source.url == *url);
    let configured: Vec<Arc<str>> = observed.sources.iter().map(|(url, _)| url.clone()).collect();
    let phase = |(phase, range): &(PhaseId, TimeRange)| {
        let end = within_grace(*range, observed.grace_after(*range));
        let span = Span { start: Some(range.start), end: Some(end) };
        GpuPhase { phase: phase.clone(), range: *range, endpoints: endpoints(&sources, observed, store.table(), span) }
    };
    let several = observed.phases.len() > 1;
    let range = observed.profiling;
    let span = Span { start: Some(range.start), end: Some(within_grace(range, observed.grace)) };
    GpuTelemetry {
        successful: configured.iter().filter(|url| successful(url)).cloned().collect(),
        configured,
        reached: observed.reached.clone(),
        range,
        endpoints: endpoints(&sources, observed, store.table(), span),
        phases: observed.phases.iter().filter(|_| several).map(phase).collect(),
        errors: observed.errors.clone(),
        table: store.table().clone(),
    }
}

/// The last sample is requested when the last request is over, and arrives a little later.
fn within_grace(range: TimeRange, grace: Nanos) -> WallNs {
    WallNs(range.end.0.saturating_add(grace.0))
}

fn endpoints(sources: &[&GpuSourceSeries], observed: &ObservedGpus, table: &Table, span: Span) -> Vec<GpuEndpoint> {
    let endpoint = |source: &&GpuSourceSeries| {
        let mut series: Vec<&GpuSeries> = source.gpus.iter().collect();
        series.sort_by(|a, b| order(&a.gpu).cmp(&order(&b.gpu)));
        let gpus: Vec<&Gpu> = series.iter().map(|series| &*series.gpu).collect();
        let summary = |(series, key): (&GpuSeries, String)| {
            let stats = |(metric, values): (MetricId, &[f64])| {
                let (stats, resets) = of_kind(table.metric(metric).kind, series.times(), values, span)?;
                Some(GpuStats { metric, stats, resets })
            };
            let metrics: Vec<GpuStats> = series.metrics().filter_map(stats).collect();
            (!metrics.is_empty()).then(|| GpuSummary { key, gpu: series.gpu.clone(), metrics })
        };
        let gpus: Vec<GpuSummary> = series.iter().copied().zip(keys(&gpus)).filter_map(summary).collect();
        (!gpus.is_empty()).then(|| GpuEndpoint { display_name: name(&source.url, observed), gpus })
    };
    sources.iter().filter_map(endpoint).collect()
}

/// The name of a source in tables: its URL if another source has the same name.
fn name(url: &Arc<str>, observed: &ObservedGpus) -> String {
    let known = observed.sources.iter().find(|(known, _)| known == url).map(|(_, name)| name);
    match known {
        Some(name) if observed.sources.iter().filter(|(_, other)| other == name).count() == 1 => name.clone(),
        _ => url.to_string(),
    }
}

/// A key for each GPU of a source: `gpu_<index>` if the index is unique; otherwise with as much of the UUID, of the
/// part and of the machine as distinguishes those of one index.
fn keys(gpus: &[&Gpu]) -> Vec<String> {
    let forms: [fn(&Gpu) -> String; 4] = [
        |gpu| format!("gpu_{}", gpu.index),
        |gpu| format!("gpu_{}_{}", gpu.index, short(&gpu.uuid)),
        |gpu| format!("gpu_{}_{}{}", gpu.index, short(&gpu.uuid), after(gpu.instance.as_deref())),
        |gpu| format!("gpu_{}_{}{}", gpu.index, gpu.uuid, after(gpu.instance.as_deref())),
    ];
    let last = |gpu: &Gpu| {
        let (instance, host) = (after(gpu.instance.as_deref()), after(gpu.hostname.as_deref()));
        format!("gpu_{}_{}{instance}{host}", gpu.index, gpu.uuid)
    };
    let mut by_index: HashMap<i64, Vec<usize>> = HashMap::new();
    for (place, gpu) in gpus.iter().enumerate() {
        by_index.entry(gpu.index).or_default().push(place);
    }
    let mut keys = vec![String::new(); gpus.len()];
    for alike in by_index.into_values() {
        let named = |form: &fn(&Gpu) -> String| -> Vec<String> { alike.iter().map(|at| form(gpus[*at])).collect() };
        let are_distinct = |named: &Vec<String>| named.iter().collect::<HashSet<_>>().len() == named.len();
        let named = forms.iter().map(named).find(are_distinct);
        let named = named.unwrap_or_else(|| alike.iter().map(|at| last(gpus[*at])).collect());
        alike.iter().zip(named).for_each(|(at, key)| keys[*at] = key);
    }
    keys
}

/// The first eight characters of a UUID after the common prefix.
fn short(uuid: &str) -> String {
    uuid.strip_prefix("GPU-").unwrap_or(uuid).chars().take(8).collect()
}

fn after(part: Option<&str>) -> String {
    part.map(|part| format!("_{part}")).unwrap_or_default()
}

/// Power and energy of one GPU, by each source that reports them.
#[derive(Clone, Debug)]
pub struct PowerSamples {
    pub gpu: Arc<Gpu>,
    /// In watts.
    pub power: Vec<SourceSamples>,
    /// The counter, in megajoules.
    pub energy: Vec<SourceSamples>,
}

/// What one source reports of one GPU, in order of time; not empty.
#[derive(Clone, Debug)]
pub struct SourceSamples {
    /// As it may be shown.
    pub source: Arc<str>,
    pub samples: Vec<(WallNs, f64)>,
}

/// Power and energy of every GPU, each GPU once: two sources may report one GPU, and exporters report the whole GPU's
/// values for each of its parts.
pub fn power_samples(store: &GpuStore) -> Vec<PowerSamples> {
    let table = store.table();
    let ids = |keys: [&str; 2]| keys.map(|key| table.id(key));
    let (power, energy) = (ids(POWER), ids(ENERGY));
    let mut seen: Vec<PowerSamples> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let all = store.sources().iter().flat_map(|source| source.gpus.iter().map(move |gpu| (source, gpu)));
    // A GPU that was found when the store was full has no sample.
    let all = all.filter(|(_, series)| !series.times().is_empty());
    let (whole, parts): (Vec<_>, Vec<_>) = all.partition(|(_, series)| series.gpu.instance.is_none());
    for (source, series) in whole.into_iter().chain(parts) {
        let gpu = &series.gpu;
        let name = match gpu.is_unnamed {
            true => format!("{} {:?} {}", source.url, gpu.hostname, gpu.uuid),
            false => gpu.uuid.to_string(),
        };
        let samples = |ids: [Option<MetricId>; 2]| {
            let samples = ids.into_iter().flatten().map(|id| series.samples(id)).find(|samples| !samples.is_empty())?;
            Some(SourceSamples { source: source.url.clone(), samples })
        };
        let place = *by_name.entry(name).or_insert_with(|| {
            seen.push(PowerSamples { gpu: gpu.clone(), power: Vec::new(), energy: Vec::new() });
            seen.len() - 1
        });
        seen[place].power.extend(samples(power));
        seen[place].energy.extend(samples(energy));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::dcgm::Dcgm;
    use crate::gpu::reading::GpuScrape;

    fn gpu(index: i64, uuid: &str, instance: Option<&str>) -> Gpu {
        Gpu { index, uuid: uuid.into(), instance: instance.map(Arc::from), ..Gpu::default() }
    }

    fn named(gpus: &[Gpu]) -> Vec<String> {
        keys(&gpus.iter().collect::<Vec<_>>())
    }

    #[test]
    fn gpus_that_share_an_index_are_distinguished_by_uuid_and_part() {
        assert_eq!(named(&[gpu(0, "GPU-a", None), gpu(1, "GPU-a", None)]), ["gpu_0", "gpu_1"]);
        assert_eq!(
            named(&[gpu(0, "GPU-aaaabbbbcccc", None), gpu(0, "GPU-bbbb", None), gpu(1, "GPU-c", None)]),
            ["gpu_0_aaaabbbb", "gpu_0_bbbb", "gpu_1"]
        );
        assert_eq!(
            named(&[gpu(0, "GPU-aaaabbbb", None), gpu(0, "GPU-aaaabbbb", Some("7"))]),
            ["gpu_0_aaaabbbb", "gpu_0_aaaabbbb_7"]
        );
        assert_eq!(
            named(&[gpu(0, "GPU-aaaabbbb1", None), gpu(0, "GPU-aaaabbbb2", None)]),
            ["gpu_0_GPU-aaaabbbb1", "gpu_0_GPU-aaaabbbb2"]
        );
    }

    #[test]
    fn thousands_of_machines_behind_one_source_have_keys_of_their_own() {
        // Comparing each with each takes minutes.
        let gpus: Vec<Gpu> =
            (0..8000).map(|at| gpu(at % 8, &format!("GPU-{at:08x}"), None)).chain([gpu(9, "GPU-x", None)]).collect();
        let keys = named(&gpus);
        assert_eq!((keys[9].as_str(), keys[8000].as_str()), ("gpu_1_00000009", "gpu_9"));
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), gpus.len());
    }

    fn store(pages: &[(&str, u64, &str)]) -> GpuStore {
        let dcgm = Dcgm::new(&[]);
        let mut store = GpuStore::default();
        for (source, at, text) in pages {
            let readings = dcgm.read(text).unwrap().readings;
            let scrape = GpuScrape { source: (*source).into(), at: WallNs(*at), readings, table: dcgm.table().clone() };
            assert!(store.add(&scrape).is_empty());
        }
        store
    }

    fn observed(sources: &[&str]) -> ObservedGpus {
        let range = |start, end| TimeRange { start: WallNs(start), end: WallNs(end) };
        let phase = |index| PhaseId {
            index,
            profiling_index: None,
            name: format!("p{index}").as_str().into(),
            kind: aiperf_types::PhaseKind::Profiling,
        };
        ObservedGpus {
            sources: sources.iter().map(|url| (Arc::from(*url), url.replace("http://", ""))).collect(),
            reached: Vec::new(),
            profiling: range(100, 300),
            phases: vec![(phase(0), range(100, 200)), (phase(1), range(210, 300))],
            grace: Nanos(50),
            errors: Vec::new(),
        }
    }

    #[test]
    fn what_comes_within_the_grace_counts_unless_the_next_phase_is_on() {
        let page = |value: u64| format!("DCGM_FI_DEV_GPU_UTIL{{gpu=\"0\",UUID=\"GPU-a\"}} {value}\n");
        let at = [90, 100, 205, 215, 340, 400];
        let pages: Vec<(&str, u64, String)> = at.iter().map(|at| ("http://h", *at, page(*at))).collect();
        let pages: Vec<(&str, u64, &str)> = pages.iter().map(|(url, at, text)| (*url, *at, text.as_str())).collect();
        let summary = summarise_gpus(&store(&pages), &observed(&["http://h", "http://away"]));
        let counted = |endpoints: &[GpuEndpoint]| {
            let stats = endpoints[0].gpus[0].metrics[0].stats;
            (stats.count, stats.min, stats.max)
        };
        assert_eq!(counted(&summary.endpoints), (Some(4), Some(100.0), Some(340.0)));
        assert_eq!(counted(&summary.phases[0].endpoints), (Some(2), Some(100.0), Some(205.0)));
        assert_eq!(counted(&summary.phases[1].endpoints), (Some(2), Some(215.0), Some(340.0)));
        assert_eq!((summary.configured.len(), summary.successful.len()), (2, 1));
        assert_eq!(summary.endpoints[0].display_name, "h");
    }

    #[test]
    fn a_gpu_is_counted_once_however_many_sources_report_it() {
        let page = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\"} 300\n\
                    DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",GPU_I_ID=\"1\"} 300\n\
                    DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",GPU_I_ID=\"1\"} 200\n\
                    DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",GPU_I_ID=\"2\"} 200\n";
        let samples = power_samples(&store(&[("http://h", 100, page), ("http://other", 100, page)]));
        let watts: Vec<f64> = samples.iter().map(|gpu| gpu.power[0].samples[0].1).collect();
        assert_eq!(watts, [300.0, 200.0]);
        let sources = |gpu: &PowerSamples| gpu.power.iter().map(|power| power.source.to_string()).collect::<Vec<_>>();
        assert_eq!(sources(&samples[0])[..1], ["http://h"]);
        assert!(sources(&samples[0]).contains(&"http://other".to_owned()), "each source's samples are kept");
        let unnamed = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 300\n";
        assert_eq!(power_samples(&store(&[("http://h", 1, unnamed), ("http://other", 1, unnamed)])).len(), 2);
    }
}
