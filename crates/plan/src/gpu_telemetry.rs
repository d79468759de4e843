//! Where GPU telemetry comes from, and how often it is sampled.

use crate::metrics_url::MetricsUrl;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// What is collected of GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuTelemetryPlan {
    pub source: GpuSource,
    /// The user asked for it explicitly: then a missing source is reported.
    pub is_requested: bool,
    /// The user's own metrics.
    pub metrics_file: Option<GpuMetricsFile>,
    /// Between samples.
    pub interval: Nanos,
    /// The time limit of a reachability check, and of the connect of any scrape.
    pub reachability_timeout: Nanos,
    /// How long an exporter may pause within a response.
    pub read_timeout: Nanos,
    /// How long after a phase a sample still counts.
    pub grace: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GpuSource {
    /// DCGM exporters in order, none twice.
    Exporters(Vec<DcgmExporter>),
    /// The GPUs of this machine, read without an exporter.
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
    /// GPUs of NVIDIA, by the library of their driver.
    Nvml,
    /// GPUs of AMD, by the files of their driver.
    Amd,
}

impl LocalSource {
    pub const ALL: [Self; 2] = [Self::Nvml, Self::Amd];

    /// The word that users select it with: the name of AIPerf's collector.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Nvml => "pynvml",
            Self::Amd => "amdsmi",
        }
    }

    /// Its address in files and tables.
    pub fn address(self) -> String {
        format!("{}://localhost", self.keyword())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DcgmExporter {
    pub url: MetricsUrl,
    /// The user did not name it; it is a usual address of exporters.
    pub is_guess: bool,
}

/// The content of a metrics file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuMetricsFile {
    /// The name that the user gave.
    pub name: String,
    pub text: String,
}
