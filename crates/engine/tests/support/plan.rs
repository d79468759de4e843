//! A plan for tests and benches of this crate.

use aiperf_plan::{
    Additions, Arrival, ArtifactPlan, BaseUrl, DashboardPlan, DatasetPlan, Distribution, EndpointPlan, FileNames,
    LogLevel, MetricsPlan, ModelSelection, PhasePlan, Plan, RunIdentity, RunPlace, RuntimePlan, Sampling, StopWhen,
    SyntheticPlan, Timestamps, TimingPlan, TokenizerPlan, UiKind,
};
use aiperf_types::{EndpointKind, PhaseKind};
use std::path::PathBuf;

/// One streamed chat request by one worker; tests change what they are about.
pub(crate) fn plan(url: &str) -> Plan {
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
        input_config: serde_json::Value::Null,
    }
}
