//! GPU metrics as JSON: in the summary, and in the folder of a phase.

use crate::format::json::before_count;
use crate::format::stamp::iso;
use crate::run::{GpuTelemetryResult, PhaseResult, observed_phase};
use aiperf_observe::gpu::{Gpu, GpuEndpoint, GpuStats, GpuSummary, GpuTelemetry, Table};
use aiperf_observe::{ScrapeError, TimeRange};
use aiperf_types::Stats;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Name of the file in the folder of a phase.
pub(crate) const PHASE_FILE: &str = aiperf_plan::FileNames::PHASE_GPU_TELEMETRY;
/// Version of that file's layout.
const SCHEMA_VERSION: u32 = 1;

impl GpuTelemetryResult {
    /// `telemetry_data` of the summary.
    pub(crate) fn document(&self) -> Value {
        self.data(self.telemetry.range, &self.telemetry.endpoints)
    }

    /// The document of a phase, keys sorted.
    pub(crate) fn phase_document(&self, phase: &PhaseResult) -> Value {
        let seen = self.telemetry.phases.iter().find(|seen| seen.phase.index == phase.id.index);
        let mut document = json!({
            "data": seen.map(|seen| self.data(seen.range, &seen.endpoints)),
            "phase": observed_phase(phase),
            "schema_version": SCHEMA_VERSION,
            "warnings": [],
        });
        document.sort_all_objects();
        document
    }

    fn data(&self, range: TimeRange, endpoints: &[GpuEndpoint]) -> Value {
        let GpuTelemetry { configured, successful, errors, table, .. } = &self.telemetry;
        let urls = |urls: &[Arc<str>]| urls.iter().map(|url| Value::from(&**url)).collect::<Vec<_>>();
        let endpoint = |endpoint: &GpuEndpoint| {
            let gpus: Map<String, Value> =
                endpoint.gpus.iter().map(|gpu| (gpu.key.clone(), gpu_value(gpu, table))).collect();
            (endpoint.display_name.clone(), json!({ "gpus": gpus }))
        };
        json!({
            "summary": {
                "endpoints_configured": urls(configured),
                "endpoints_successful": urls(successful),
                "start_time": iso(range.start),
                "end_time": iso(range.end),
            },
            "endpoints": endpoints.iter().map(endpoint).collect::<Map<String, Value>>(),
            "error_summary": errors.iter().map(error_value).collect::<Vec<_>>(),
        })
    }
}

fn gpu_value(summary: &GpuSummary, table: &Table) -> Value {
    let Gpu { index, uuid, instance, model, hostname, namespace, pod, vendor, .. } = &*summary.gpu;
    let mut value = json!({ "gpu_index": index, "gpu_name": &**model, "gpu_uuid": &**uuid });
    let mut put = |key: &str, text: Option<&str>| {
        if let Some(text) = text {
            value[key] = text.into();
        }
    };
    put("gpu_instance_id", instance.as_deref());
    put("platform", Some(vendor.name()));
    put("hostname", hostname.as_deref());
    put("namespace", namespace.as_deref());
    put("pod_name", pod.as_deref());
    let metric = |stats: &GpuStats| {
        let metric = table.metric(stats.metric);
        (metric.key.to_string(), stats_value(&metric.unit, &stats.stats))
    };
    value["metrics"] = summary.metrics.iter().map(metric).collect::<Map<String, Value>>().into();
    value
}

fn stats_value(unit: &str, stats: &Stats) -> Value {
    let mut value = json!({ "unit": unit });
    for name in before_count() {
        if let Some(number) = stats.get(name) {
            value[name] = number.into();
        }
    }
    if let Some(count) = stats.count {
        value["count"] = count.into();
    }
    if let Some(sum) = stats.sum {
        value["sum"] = sum.into();
    }
    value
}

fn error_value(error: &ScrapeError) -> Value {
    let details = json!({ "type": error.kind, "message": error.message, "endpoint_url": &*error.endpoint_url });
    json!({ "error_details": details, "count": error.count })
}
