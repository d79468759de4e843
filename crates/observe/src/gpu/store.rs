//! All readings so far: a row an instant, a column a metric, for each GPU of each source.

use super::live::LiveGpus;
use super::reading::GpuScrape;
use super::series::{GpuSeries, GpuSourceSeries};
use super::table::Table;
use aiperf_types::GpuSnapshot;
use std::collections::HashMap;
use std::sync::Arc;

/// Beyond this many bytes of samples, only those at starts and ends of phases are added: a day of eight GPUs.
const MOST_BYTES: usize = 256 << 20;
/// GPUs that are distinguished, over all sources.
const MOST_GPUS: usize = 8192;

#[derive(Clone, Debug, Default)]
pub struct GpuStore {
    sources: Vec<GpuSourceSeries>,
    table: Arc<Table>,
    /// `None` without live consumers.
    live: Option<LiveGpus>,
    gpus: usize,
    cells: usize,
    is_warned: bool,
}

impl GpuStore {
    /// A store that also makes snapshots while the run is on.
    pub fn watched() -> Self {
        Self { live: Some(LiveGpus::default()), ..Self::default() }
    }

    pub fn sources(&self) -> &[GpuSourceSeries] {
        &self.sources
    }

    /// The metrics of its samples.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn is_full(&self) -> bool {
        self.cells * size_of::<f64>() >= MOST_BYTES
    }

    /// A snapshot of all readings, if a value changed since the last one.
    pub fn changed(&mut self) -> Option<GpuSnapshot> {
        self.live.as_mut()?.changed(&self.sources, &self.table)
    }

    /// Adds readings between starts and ends of phases, if there is room; warns once about what could not be stored.
    pub fn offer(&mut self, scrape: &GpuScrape) -> Vec<String> {
        self.take(scrape, !self.is_full())
    }

    /// Adds readings; warns once about what could not be stored.
    pub fn add(&mut self, scrape: &GpuScrape) -> Vec<String> {
        self.take(scrape, true)
    }

    /// Finds the GPUs of a source, and adds its readings to the samples, or only to snapshots.
    fn take(&mut self, scrape: &GpuScrape, is_kept: bool) -> Vec<String> {
        let was_full = self.is_full();
        let mut left_out = false;
        self.table = scrape.table.clone();
        let number = match self.sources.iter().position(|source| source.url == scrape.source) {
            Some(number) => number,
            None => {
                let url = scrape.source.clone();
                self.sources.push(GpuSourceSeries { url, gpus: Vec::new(), by_key: HashMap::new() });
                self.sources.len() - 1
            }
        };
        let source = &mut self.sources[number];
        for reading in &scrape.readings {
            let key = reading.gpu.key();
            let place = match source.by_key.get(&key) {
                Some(place) => *place,
                None if self.gpus >= MOST_GPUS => {
                    left_out = true;
                    continue;
                }
                None => {
                    self.gpus += 1;
                    source.gpus.push(GpuSeries::new(reading.gpu.clone()));
                    source.by_key.insert(key, source.gpus.len() - 1);
                    source.gpus.len() - 1
                }
            };
            let series = &mut source.gpus[place];
            series.gpu = reading.gpu.clone();
            if is_kept {
                self.cells += series.add(scrape.at, reading);
            }
            if let Some(live) = &mut self.live {
                live.note(number, place, &reading.values);
            }
        }
        let mut warnings = Vec::new();
        if left_out && !std::mem::replace(&mut self.is_warned, true) {
            warnings.push(format!("more than {MOST_GPUS} GPUs were seen: further ones are left out"));
        }
        if self.is_full() && !was_full {
            let megabytes = MOST_BYTES >> 20;
            warnings.push(format!("samples take {megabytes} MB: from now on only those around phases are kept"));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::reading::{Gpu, GpuReading};
    use crate::gpu::table::MetricId;
    use aiperf_types::WallNs;

    fn scrape(at: u64, values: &[(&str, f64)]) -> GpuScrape {
        let table = Arc::new(Table::default());
        let mut values: Vec<(MetricId, f64)> =
            values.iter().map(|(key, value)| (table.id(key).unwrap(), *value)).collect();
        values.sort_by_key(|(metric, _)| *metric);
        let gpu = Arc::new(Gpu { uuid: "GPU-0".into(), ..Gpu::default() });
        GpuScrape { source: "http://h".into(), at: WallNs(at), readings: vec![GpuReading { gpu, values }], table }
    }

    #[test]
    fn a_reading_that_lacks_a_metric_leaves_a_gap_and_one_that_comes_late_finds_its_place() {
        let mut store = GpuStore::default();
        store.add(&scrape(10, &[("nvidia_power_usage", 1.0)]));
        store.add(&scrape(30, &[("nvidia_temperature", 50.0)]));
        store.add(&scrape(20, &[("nvidia_power_usage", 2.0), ("nvidia_temperature", 40.0)]));
        let gpu = &store.sources()[0].gpus[0];
        let of = |key: &str| {
            let samples = gpu.samples(store.table().id(key).unwrap());
            samples.iter().map(|(at, value)| (at.0, value.to_string())).collect::<Vec<_>>()
        };
        let text = |value: &str| value.to_owned();
        assert_eq!(of("nvidia_power_usage"), [(10, text("1")), (20, text("2")), (30, text("NaN"))]);
        assert_eq!(of("nvidia_temperature"), [(10, text("NaN")), (20, text("40")), (30, text("50"))]);
        assert!(of("amd_power").is_empty());
    }

    #[test]
    fn readings_of_one_instant_keep_the_order_in_which_they_came() {
        let mut store = GpuStore::default();
        for value in [1.0, 2.0] {
            store.add(&scrape(10, &[("nvidia_power_usage", value)]));
        }
        let (_, values) = store.sources()[0].gpus[0].metrics().next().unwrap();
        assert_eq!(values, [1.0, 2.0]);
    }

    #[test]
    fn snapshots_are_gathered_only_for_live_consumers() {
        let (mut plain, mut watched) = (GpuStore::default(), GpuStore::watched());
        for store in [&mut plain, &mut watched] {
            store.add(&scrape(10, &[("nvidia_power_usage", 1.0)]));
        }
        assert!(plain.live.is_none() && plain.changed().is_none());
        assert_eq!(watched.changed().unwrap().gpus.len(), 1);
        // A full store continues to make snapshots, also of GPUs without a sample.
        watched.cells = MOST_BYTES;
        let mut other = scrape(20, &[("nvidia_power_usage", 2.0)]);
        other.readings[0].gpu = Arc::new(Gpu { index: 1, uuid: "GPU-1".into(), ..Gpu::default() });
        watched.offer(&other);
        let snapshot = watched.changed().unwrap();
        assert_eq!((snapshot.gpus.len(), snapshot.gpus[1].metrics[0].current), (2, 2.0));
        let kept: Vec<usize> = watched.sources()[0].gpus.iter().map(|gpu| gpu.times().len()).collect();
        assert_eq!(kept, [1, 0]);
    }
}
