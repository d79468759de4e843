//! The samples of one GPU, and of all GPUs of a source.

use super::reading::{Gpu, GpuKey, GpuReading};
use super::table::MetricId;
use aiperf_types::WallNs;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One GPU of a source.
#[derive(Clone, Debug)]
pub struct GpuSeries {
    /// The last description: pods come and go.
    pub gpu: Arc<Gpu>,
    times: Vec<WallNs>,
    /// As long as `times`; NaN if a reading lacked the metric.
    columns: BTreeMap<MetricId, Vec<f64>>,
}

impl GpuSeries {
    pub(super) fn new(gpu: Arc<Gpu>) -> Self {
        Self { gpu, times: Vec::new(), columns: BTreeMap::new() }
    }

    pub fn times(&self) -> &[WallNs] {
        &self.times
    }

    /// All its metrics, in the order of the table.
    pub fn metrics(&self) -> impl Iterator<Item = (MetricId, &[f64])> {
        self.columns.iter().map(|(metric, values)| (*metric, values.as_slice()))
    }

    /// The samples of a metric; none where it never had it.
    pub fn samples(&self, metric: MetricId) -> Vec<(WallNs, f64)> {
        let values = self.columns.get(&metric).into_iter().flatten();
        self.times.iter().copied().zip(values.copied()).collect()
    }

    /// Inserts a reading by its time, after those of the same instant; returns the number of cells.
    pub(super) fn add(&mut self, at: WallNs, reading: &GpuReading) -> usize {
        let place = self.times.partition_point(|time| *time <= at);
        let before = self.times.len();
        self.times.insert(place, at);
        for (metric, _) in &reading.values {
            self.columns.entry(*metric).or_insert_with(|| vec![f64::NAN; before]);
        }
        for (metric, column) in &mut self.columns {
            let value = reading.values.iter().find(|(known, _)| known == metric);
            column.insert(place, value.map_or(f64::NAN, |(_, value)| *value));
        }
        self.columns.len() + 1
    }
}

/// A source and its GPUs, in the order in which they were seen.
#[derive(Clone, Debug)]
pub struct GpuSourceSeries {
    pub url: Arc<str>,
    pub gpus: Vec<GpuSeries>,
    pub(super) by_key: HashMap<GpuKey, usize>,
}
