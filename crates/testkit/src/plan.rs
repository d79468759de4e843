//! A small plan, and settings of a plan by their names in golden data.

use aiperf_plan::{
    Additions, Arrival, ArtifactPlan, BaseUrl, DashboardPlan, DatasetPlan, Distribution, EndpointPlan, FileNames,
    LogLevel, MetricsPlan, ModelSelection, PhasePlan, Plan, RunIdentity, RunPlace, RuntimePlan, Sampling, StopWhen,
    Synthesis, SyntheticPlan, Timestamps, TimingPlan, TokenizerPlan, UiKind, WorkerPriority,
};
use aiperf_types::{EndpointKind, PhaseKind};
use serde_json::Value;
use std::path::PathBuf;

/// One streamed chat request by one worker; tests change what they test.
pub fn plan(url: &str) -> Plan {
    Plan {
        run: RunIdentity {
            benchmark_id: "0123456789ab".into(),
            random_seed: Some(1),
            cli_command: String::new(),
            place: RunPlace::default(),
        },
        models: vec!["m".into()],
        model_selection: ModelSelection::default(),
        endpoint: EndpointPlan {
            streaming: true,
            timeout_seconds: 0.0,
            ..EndpointPlan::new(EndpointKind::Chat, vec![BaseUrl::parse(url).expect("a URL")])
        },
        tokenizer: TokenizerPlan::default(),
        dataset: DatasetPlan::Synthetic(SyntheticPlan { isl: Some(Distribution::fixed(4.0)), ..SyntheticPlan::new(1) }),
        additions: Additions::default(),
        dataset_seed: None,
        sampling: Sampling::default(),
        phases: vec![PhasePlan {
            concurrency: Some(1),
            stop: vec![StopWhen::Requests(1)],
            ..PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency)
        }],
        timing: TimingPlan::default(),
        metrics: MetricsPlan::default(),
        server_metrics: None,
        network_latency: None,
        gpu_telemetry: None,
        otlp: None,
        artifacts: ArtifactPlan::new(PathBuf::new(), FileNames::new(None)).without_records(),
        runtime: RuntimePlan {
            prepared_bytes: RuntimePlan::PREPARED_BYTES,
            workers_max: None,
            timestamps: Timestamps::Auto,
            worker_priority: WorkerPriority::Auto,
            ui: UiKind::None,
            log_level: LogLevel::Error,
            stats_interval: None,
            progress_every: None,
            bar_step_percent: RuntimePlan::BAR_STEP_PERCENT,
            dashboard: DashboardPlan::default(),
            api: None,
            flush_every: RuntimePlan::FLUSH_EVERY,
            record_queue_budget: 1 << 20,
        },
        secrets: Vec::new(),
        input_config: Value::Null,
    }
}

/// The synthesis settings of golden data, by AIPerf's names.
pub fn synthesis(params: &Value) -> Synthesis {
    let factor = |name: &str| params[name].as_f64().unwrap_or(1.0);
    let limit = |name: &str| params[name].as_u64().map(|limit| limit as u32);
    Synthesis {
        speedup: factor("speedup_ratio"),
        prefix_len: factor("prefix_len_multiplier"),
        prefix_roots: factor("prefix_root_multiplier") as u32,
        prompt_len: factor("prompt_len_multiplier"),
        output_len: factor("output_len_multiplier"),
        max_isl: limit("max_isl"),
        max_osl: limit("max_osl"),
    }
}
