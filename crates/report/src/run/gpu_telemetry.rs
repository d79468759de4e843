//! What GPUs reported, as a run has it.

use aiperf_observe::TimeRange;
use aiperf_observe::gpu::GpuTelemetry;

/// What was seen of GPUs while a run was on.
#[derive(Debug)]
pub struct GpuTelemetryResult {
    pub telemetry: GpuTelemetry,
    /// The user asked for it, and gets a notice if there is nothing.
    pub is_requested: bool,
}

impl GpuTelemetryResult {
    /// Telemetry of a run that found no source to watch.
    pub fn without_sources(range: TimeRange) -> Self {
        Self { telemetry: GpuTelemetry { range, ..GpuTelemetry::default() }, is_requested: false }
    }

    /// Whether a source reported a GPU. If not, the summary's `telemetry_data` is empty, and no other file has any.
    pub(crate) fn has_data(&self) -> bool {
        !self.telemetry.successful.is_empty()
    }
}
