//! What a source reports of its GPUs at one instant.

use super::table::{MetricId, Table};
use aiperf_types::WallNs;
use std::sync::Arc;

/// Who a GPU is. Names of the machine and the pod are there where the source gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    pub index: i64,
    pub uuid: Arc<str>,
    /// The source gave no UUID; this one was made of the index.
    pub is_unnamed: bool,
    /// Of a GPU that is shared out, which part.
    pub instance: Option<Arc<str>>,
    pub model: Arc<str>,
    pub pci_bus_id: Option<Arc<str>>,
    pub device: Option<Arc<str>>,
    pub hostname: Option<Arc<str>>,
    pub namespace: Option<Arc<str>>,
    pub pod: Option<Arc<str>>,
    pub platform: &'static str,
}

/// What distinguishes the GPUs of a source. The index alone does not: two machines behind one exporter, or the
/// parts of one GPU, share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuKey {
    uuid: Arc<str>,
    instance: Option<Arc<str>>,
    /// Of a GPU without a UUID of its own.
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

/// How the GPUs of a source are sorted.
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
