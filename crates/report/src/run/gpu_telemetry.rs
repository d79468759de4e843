//! The GPU metrics of a run.

use aiperf_observe::TimeRange;
use aiperf_observe::gpu::GpuTelemetry;

/// The GPU metrics collected during a run.
#[derive(Debug)]
pub struct GpuTelemetryResult {
    pub telemetry: GpuTelemetry,
    /// The user asked for it, and gets a notice if there is no data.
    pub is_requested: bool,
}

impl GpuTelemetryResult {
    /// Telemetry of a run without a source.
    pub fn without_sources(range: TimeRange) -> Self {
        Self { telemetry: GpuTelemetry { range, ..GpuTelemetry::default() }, is_requested: false }
    }

    /// Whether a source reported a GPU. If not, the summary's `telemetry_data` is empty, and no other file has GPU
    /// data.
    pub(crate) fn has_data(&self) -> bool {
        !self.telemetry.successful.is_empty()
    }
}
