//! What is known of a run before it starts.

use super::json::without_nulls;
use super::prometheus::Labels;
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_report::RunInfo;
use aiperf_types::Nanos;
use serde_json::{Value, json};

/// A plan, as clients of the API may see it.
pub(super) struct About {
    pub(super) version: &'static str,
    pub(super) benchmark_id: String,
    pub(super) model: String,
    pub(super) endpoint_type: &'static str,
    pub(super) streaming: bool,
    /// Of the first profiling phase.
    pub(super) concurrency: Option<u32>,
    pub(super) request_rate: Option<f64>,
    /// Without secrets.
    pub(super) config: Value,
    pub(super) run_info: Value,
    pub(super) server_pages: Vec<String>,
    pub(super) gpu_pages: Vec<String>,
    pub(super) planned_phases: usize,
    /// Between two messages about GPUs.
    pub(super) gpus_every: Nanos,
}

/// Time between two messages about GPUs by default: the same as in the dashboard's table.
const GPUS_EVERY: Nanos = Nanos::from_millis(5000);

impl About {
    pub(super) fn new(plan: &Plan, redactor: &Redactor, version: &'static str) -> Self {
        let mut models = plan.models.clone();
        models.sort();
        let first = plan.profiling().next();
        let run = &plan.run;
        let command = redactor.hide_in_own(&run.cli_command).into_owned();
        let info = RunInfo::of(run, command);
        let pages = plan.server_metrics.iter().flat_map(|watched| &watched.endpoints);
        let exporters = plan.gpu_telemetry.iter().flat_map(|watched| watched.source.exporters());
        Self {
            version,
            benchmark_id: run.benchmark_id.clone(),
            model: redactor.hide_in_own(&models.join(",")).into_owned(),
            endpoint_type: plan.endpoint.kind.name(),
            streaming: plan.endpoint.streaming,
            concurrency: first.and_then(|phase| phase.concurrency),
            request_rate: first.and_then(|phase| phase.arrival.steady_rate()),
            config: config(plan, redactor),
            run_info: run_info(&info),
            server_pages: pages.map(|page| page.url.shown()).collect(),
            // An exporter that the user did not ask for is not a source before it responds.
            gpu_pages: exporters.filter(|exporter| !exporter.is_guess).map(|exporter| exporter.url.shown()).collect(),
            planned_phases: plan.phases.len(),
            gpus_every: plan.runtime.stats_interval.unwrap_or(GPUS_EVERY),
        }
    }

    /// A plan with sample values, for tests.
    #[cfg(test)]
    pub(super) fn sample() -> Self {
        Self {
            version: "1",
            benchmark_id: "id".to_owned(),
            model: "model".to_owned(),
            endpoint_type: "chat",
            streaming: true,
            concurrency: Some(1),
            request_rate: None,
            config: json!({}),
            run_info: json!({}),
            server_pages: Vec::new(),
            gpu_pages: Vec::new(),
            planned_phases: 1,
            gpus_every: GPUS_EVERY,
        }
    }

    /// Labels that distinguish the metrics of this run from those of others.
    pub(super) fn labels(&self) -> Labels {
        let label = |name: &str, value: Option<String>| Some((name.to_owned(), value?));
        let labels = [
            label("benchmark_id", Some(self.benchmark_id.clone())),
            label("model", Some(self.model.clone())),
            label("endpoint_type", Some(self.endpoint_type.to_owned())),
            label("streaming", Some(self.streaming.to_string())),
            label("concurrency", self.concurrency.map(|concurrency| concurrency.to_string())),
            label("request_rate", self.request_rate.map(|rate| format!("{rate:?}"))),
        ];
        labels.into_iter().flatten().collect()
    }
}

fn config(plan: &Plan, redactor: &Redactor) -> Value {
    let mut config = plan.input_config.clone();
    redactor.settings(&mut config);
    if let Some(endpoint) = config.get_mut("endpoint").and_then(Value::as_object_mut) {
        endpoint.shift_remove("api_key");
    }
    without_nulls(config)
}

fn run_info(info: &RunInfo) -> Value {
    without_nulls(json!({
        "benchmark_id": info.benchmark_id,
        "sweep_id": info.sweep_id,
        "random_seed": info.random_seed,
        "trial": info.trial,
        "run_label": info.run_label,
        "variation_label": info.variation_label,
        "variation_index": info.variation_index,
        "variation_values": info.variation_values,
        "cli_command": info.cli_command,
    }))
}
