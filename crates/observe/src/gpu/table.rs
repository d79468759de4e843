//! The metrics that a GPU may have: one table, in the order in which files and screens show them.

use std::borrow::Cow;

/// How samples of a metric become a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuMetricKind {
    Gauge,
    /// Only grows; the increase counts.
    Counter,
    /// The code of the last event: a difference of codes means nothing.
    Code,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMetric {
    /// The name in files.
    pub key: Cow<'static, str>,
    /// The name for people.
    pub name: Cow<'static, str>,
    pub unit: Cow<'static, str>,
    pub kind: GpuMetricKind,
}

impl GpuMetric {
    const fn new(key: &'static str, name: &'static str, unit: &'static str, kind: GpuMetricKind) -> Self {
        Self { key: Cow::Borrowed(key), name: Cow::Borrowed(name), unit: Cow::Borrowed(unit), kind }
    }

    /// Name and unit, as tables have them.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.unit)
    }
}

/// Power that all GPUs of a vendor report, in watts.
pub const POWER: [&str; 2] = ["nvidia_power_usage", "amd_power"];
/// Energy counters, in megajoules.
pub const ENERGY: [&str; 2] = ["nvidia_energy_consumption", "amd_energy_consumption"];

use GpuMetricKind::{Code, Counter, Gauge};

/// Every metric that is known without a file of the user's.
pub static METRICS: [GpuMetric; 21] = [
    GpuMetric::new("nvidia_power_usage", "NVIDIA GPU Power Usage", "W", Gauge),
    GpuMetric::new("nvidia_energy_consumption", "NVIDIA Energy Consumption", "MJ", Counter),
    GpuMetric::new("nvidia_gpu_utilization", "NVIDIA GPU Utilization", "%", Gauge),
    GpuMetric::new("nvidia_memory_utilization", "NVIDIA Memory Utilization", "%", Gauge),
    GpuMetric::new("nvidia_memory_used", "NVIDIA GPU Memory Used", "GB", Gauge),
    GpuMetric::new("nvidia_temperature", "NVIDIA GPU Temperature", "°C", Gauge),
    GpuMetric::new("nvidia_sm_utilization", "NVIDIA SM Utilization", "%", Gauge),
    GpuMetric::new("nvidia_decoder_utilization", "NVIDIA Decoder Utilization", "%", Gauge),
    GpuMetric::new("nvidia_encoder_utilization", "NVIDIA Encoder Utilization", "%", Gauge),
    GpuMetric::new("nvidia_jpg_utilization", "NVIDIA JPEG Utilization", "%", Gauge),
    GpuMetric::new("nvidia_xid_errors", "NVIDIA XID Errors", "count", Code),
    GpuMetric::new("nvidia_power_violation", "NVIDIA Power Violation", "us", Counter),
    GpuMetric::new("amd_power", "AMD GPU Power", "W", Gauge),
    GpuMetric::new("amd_energy_consumption", "AMD Energy Consumption", "MJ", Counter),
    GpuMetric::new("amd_gfx_activity", "AMD GFX Activity", "%", Gauge),
    GpuMetric::new("amd_umc_activity", "AMD UMC Activity", "%", Gauge),
    GpuMetric::new("amd_mm_activity", "AMD MM Activity", "%", Gauge),
    GpuMetric::new("amd_memory_used", "AMD GPU Memory Used", "GB", Gauge),
    GpuMetric::new("amd_temperature", "AMD GPU Temperature", "°C", Gauge),
    GpuMetric::new("amd_ecc_uncorrectable", "AMD ECC Uncorrectable", "count", Counter),
    GpuMetric::new("amd_throttle_status", "AMD Throttle Status", "count", Gauge),
];

/// A further field of DCGM that the user asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomMetric {
    pub field: String,
    pub metric: GpuMetric,
    /// The factor from a value to the metric's unit.
    pub factor: f64,
}

/// The index of a metric in the table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(u16);

/// The metrics of a run: those that are known, then the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    metrics: Vec<GpuMetric>,
}

impl Default for Table {
    fn default() -> Self {
        Self::with(&[])
    }
}

impl Table {
    /// The user's metrics are last, in the order of their file.
    pub fn with(custom: &[CustomMetric]) -> Self {
        let own = custom.iter().map(|row| row.metric.clone());
        Self { metrics: METRICS.iter().cloned().chain(own).take(usize::from(u16::MAX)).collect() }
    }

    pub fn id(&self, key: &str) -> Option<MetricId> {
        let at = self.metrics.iter().position(|metric| metric.key == key)?;
        u16::try_from(at).ok().map(MetricId)
    }

    pub fn metric(&self, id: MetricId) -> &GpuMetric {
        &self.metrics[usize::from(id.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_metrics_share_a_key_or_a_name() {
        let keys: BTreeSet<&str> = METRICS.iter().map(|metric| &*metric.key).collect();
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| &*metric.name).collect();
        assert_eq!((keys.len(), names.len()), (METRICS.len(), METRICS.len()));
    }

    #[test]
    fn power_and_energy_are_what_they_are_taken_for() {
        let table = Table::default();
        let all = |keys: [&str; 2], unit: &str, kind| {
            keys.iter().all(|key| {
                let metric = table.metric(table.id(key).unwrap());
                metric.unit == unit && metric.kind == kind
            })
        };
        assert!(all(POWER, "W", Gauge) && all(ENERGY, "MJ", Counter));
    }
}
