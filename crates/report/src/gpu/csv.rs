//! The table of GPUs below the tables of the summary CSV: one row per GPU and metric.

use crate::format::csv::{LINE_END, quoted};
use crate::format::number::csv_cell;
use crate::run::GpuTelemetryResult;
use aiperf_observe::gpu::{Gpu, GpuSummary};
use aiperf_types::Stats;

/// A column by its name, and its value for a GPU.
type Column = (&'static str, fn(&Gpu) -> Option<&str>);

/// Columns that exist only if some GPU has a value.
const OPTIONAL: [Column; 4] = [
    ("Hostname", |gpu| gpu.hostname.as_deref()),
    ("Namespace", |gpu| gpu.namespace.as_deref()),
    ("Pod Name", |gpu| gpu.pod.as_deref()),
    ("GPU_Instance", |gpu| gpu.instance.as_deref()),
];

/// The table after two empty lines; only its head if there is no GPU.
pub(crate) fn gpu_rows(result: &GpuTelemetryResult) -> String {
    let telemetry = &result.telemetry;
    let gpus: Vec<(&str, &GpuSummary)> = telemetry
        .endpoints
        .iter()
        .flat_map(|endpoint| endpoint.gpus.iter().map(|gpu| (endpoint.display_name.as_str(), gpu)))
        .collect();
    let optional: Vec<_> =
        OPTIONAL.iter().filter(|(_, of)| gpus.iter().any(|(_, gpu)| of(&gpu.gpu).is_some())).collect();
    let mut out = LINE_END.repeat(2);
    let mut push = |cells: Vec<String>| {
        out.push_str(&cells.join(","));
        out.push_str(LINE_END);
    };
    let head = ["Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"].into_iter();
    push(head.chain(Stats::NAMES).chain(optional.iter().map(|(name, _)| *name)).map(str::to_owned).collect());
    for (endpoint, summary) in gpus {
        let gpu = &*summary.gpu;
        for stats in &summary.metrics {
            let label = telemetry.table.metric(stats.metric).label();
            let (index, platform) = (gpu.index.to_string(), gpu.vendor.name());
            let who = [endpoint, &index, &gpu.model, &gpu.uuid, platform, &label].map(quoted);
            let numbers = stats.stats.named().map(|(_, value)| csv_cell(value));
            let names = optional.iter().map(|(_, of)| quoted(of(gpu).unwrap_or_default()));
            push(who.into_iter().chain(numbers).chain(names).collect());
        }
    }
    out
}
