//! GPUs of this machine, read without an exporter.
//!
//! # Layout
//! - [`nvml`]: those of NVIDIA, by the library of their driver
//! - [`amd`]: those of AMD, by the files of their driver; [`amd_table`]: the table in one of these files
//! - [`collector`]: all of them, read while a run is on

pub mod amd;
pub mod amd_table;
pub mod collector;
pub mod nvml;

pub use amd::AmdGpus;
pub use collector::{LocalCollected, LocalCollector, LocalSetup};
pub use nvml::NvmlGpus;

use super::reading::{Gpu, GpuReading};
use super::table::{MetricId, Table};
use aiperf_plan::LocalSource;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

const HOSTNAME: &str = "localhost";

/// The GPUs of one vendor in this machine.
pub trait LocalGpus: Send {
    fn gpus(&self) -> Vec<Arc<Gpu>>;
    /// Their current readings. Values that cannot be read are left out, and so is a GPU without any.
    fn read(&mut self, table: &Table) -> Vec<GpuReading>;
}

/// Opens the GPUs of a source.
pub fn open(source: LocalSource) -> Result<Box<dyn LocalGpus>, LocalError> {
    Ok(match source {
        LocalSource::Nvml => Box::new(NvmlGpus::open()?),
        LocalSource::Amd => Box::new(AmdGpus::open(Path::new(amd::CARDS))?),
    })
}

/// Why there is nothing to read.
#[derive(Debug, Error)]
pub enum LocalError {
    #[error(
        "--gpu-telemetry pynvml: NVML cannot be loaded ({0})\n  libnvidia-ml.so.1 comes with NVIDIA's driver; in a container \
         it is there with the NVIDIA Container Toolkit\n  try: nvidia-smi, which needs it too; or a DCGM exporter, \
         --gpu-telemetry http://HOST:9400/metrics"
    )]
    NoLibrary(String),
    #[error(
        "--gpu-telemetry pynvml: NVML does not start ({0})\n  the driver must be loaded and its devices open to this \
         user\n  try: nvidia-smi; in a container, docker run --gpus all"
    )]
    NoDriver(String),
    #[error(
        "--gpu-telemetry pynvml: NVML finds no GPU\n  the driver is there, and shows this process none of its GPUs\n  \
         try: nvidia-smi -L; in a container, docker run --gpus all"
    )]
    NoNvidiaGpu,
    #[error(
        "--gpu-telemetry amdsmi: no AMD GPU is found in {0}\n  it is read from the files of the kernel's driver, amdgpu; \
         ROCm itself is not needed\n  try: modprobe amdgpu; in a container, /sys must be mounted and \
         --device /dev/kfd --device /dev/dri given"
    )]
    NoAmdGpu(String),
}

/// Values of one GPU by their keys in the table, in its order; missing values and NaN are left out.
fn values(table: &Table, read: impl IntoIterator<Item = (&'static str, Option<f64>)>) -> Vec<(MetricId, f64)> {
    let known = read.into_iter().filter_map(|(key, value)| Some((table.id(key)?, value.filter(|v| v.is_finite())?)));
    let mut values: Vec<(MetricId, f64)> = known.collect();
    values.sort_by_key(|(metric, _)| *metric);
    values
}
