//! The readings of a source at one instant.

use super::table::{MetricId, Table};
use aiperf_types::{GpuVendor, WallNs};
use std::sync::Arc;

/// The identity of a GPU. The machine and the pod are present if the source names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    pub index: i64,
    pub uuid: Arc<str>,
    /// The source gave no UUID; this one was made of the index.
    pub is_unnamed: bool,
    /// The part, if the GPU is partitioned.
    pub instance: Option<Arc<str>>,
    pub model: Arc<str>,
    pub pci_bus_id: Option<Arc<str>>,
    pub device: Option<Arc<str>>,
    pub hostname: Option<Arc<str>>,
    pub namespace: Option<Arc<str>>,
    pub pod: Option<Arc<str>>,
    pub vendor: GpuVendor,
}

/// Distinguishes the GPUs of a source. The index alone does not: two machines behind one exporter, or the parts of one
/// GPU, share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuKey {
    uuid: Arc<str>,
    instance: Option<Arc<str>>,
    /// For a GPU without its own UUID.
    hostname: Option<Arc<str>>,
}

impl Gpu {
    pub fn key(&self) -> GpuKey {
        GpuKey {
            uuid: self.uuid.clone(),
            instance: self.instance.clone(),
            hostname: self.hostname.clone().filter(|_| self.is_unnamed),
        }
    }
}

/// The sort order of the GPUs of a source.
pub(super) type Order<'a> = (i64, Option<&'a str>, &'a str, Option<&'a str>);

pub(super) fn order(gpu: &Gpu) -> Order<'_> {
    (gpu.index, gpu.hostname.as_deref(), &gpu.uuid, gpu.instance.as_deref())
}

/// One GPU at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReading {
    pub gpu: Arc<Gpu>,
    /// In the order of the table; each is finite, and there is at least one.
    pub values: Vec<(MetricId, f64)>,
}

/// All GPUs of a source at one instant.
#[derive(Clone, Debug)]
pub struct GpuScrape {
    /// The source, as it may be shown.
    pub source: Arc<str>,
    pub at: WallNs,
    pub readings: Vec<GpuReading>,
    pub table: Arc<Table>,
}
