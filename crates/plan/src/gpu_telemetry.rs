//! Where the telemetry of GPUs comes from, and how often it is asked for.

use crate::metrics_url::MetricsUrl;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// What is collected of GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuTelemetryPlan {
    pub source: GpuSource,
    /// Somebody asked for it: then it is said where nothing answers.
    pub is_requested: bool,
    /// Metrics of the user's own.
    pub metrics_file: Option<GpuMetricsFile>,
    /// Between samples.
    pub interval: Nanos,
    /// What a reachability check may take, and the connecting of any scrape.
    pub reachability_timeout: Nanos,
    /// What an exporter may stay silent within an answer.
    pub read_timeout: Nanos,
    /// How long after a phase a sample still counts for it.
    pub grace: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GpuSource {
    /// DCGM exporters in order, none twice.
    Exporters(Vec<DcgmExporter>),
    /// The GPUs of this machine, read without one.
    Local(LocalSource),
}

impl GpuSource {
    pub fn exporters(&self) -> &[DcgmExporter] {
        match self {
            Self::Exporters(exporters) => exporters,
            Self::Local(_) => &[],
        }
    }

    pub(crate) fn exporters_mut(&mut self) -> &mut [DcgmExporter] {
        match self {
            Self::Exporters(exporters) => exporters,
            Self::Local(_) => &mut [],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocalSource {
    /// Those of NVIDIA, by the library of their driver.
    Nvml,
    /// Those of AMD, by the files of their driver.
    Amd,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DcgmExporter {
    pub url: MetricsUrl,
    /// Nobody named it; it is where exporters usually are.
    pub is_guess: bool,
}

/// A file of metrics, as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuMetricsFile {
    /// As the user named it.
    pub name: String,
    pub text: String,
}
