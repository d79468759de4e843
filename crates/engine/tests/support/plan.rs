//! A plan for tests and benches of this crate.

use aiperf_plan::{
    Arrival, ArtifactPlan, BaseUrl, DatasetPlan, EndpointPlan, ExportLevel, FileNames, HttpSettings, Length, LogLevel,
    MetricsPlan, PhasePlan, Plan, ReuseStrategy, RunIdentity, RuntimePlan, StopWhen, SummaryFiles, SyntheticPlan,
    Timestamps, TokenizerPlan, Transport, UiKind,
};
use aiperf_types::{EndpointKind, PhaseKind};
use std::path::PathBuf;

/// One streamed chat request by one worker; tests change what they are about.
pub(crate) fn plan(url: &str) -> Plan {
    Plan {
        run: RunIdentity { benchmark_id: "0123456789ab".into(), random_seed: Some(1), cli_command: String::new() },
        models: vec!["m".into()],
        endpoint: EndpointPlan {
            kind: EndpointKind::Chat,
            urls: vec![BaseUrl::parse(url).expect("a URL")],
            transport: Transport::Http,
            path: None,
            streaming: true,
            api_key: None,
            headers: Vec::new(),
            extra: serde_json::Map::new(),
            body: aiperf_types::BodyKind::Json,
            template: None,
            template_from: None,
            response_field: None,
            force_content_parts: false,
            session_header: None,
            video: aiperf_plan::VideoPlan::default(),
            timeout_seconds: 0.0,
            legacy_max_tokens: false,
            server_token_count: false,
            per_chunk_usage: false,
            reuse: ReuseStrategy::Pooled,
            http: HttpSettings::default(),
            readiness: None,
            cache_reset: None,
            server_profiler: None,
        },
        tokenizer: TokenizerPlan::default(),
        dataset: DatasetPlan::Synthetic(SyntheticPlan {
            entries: 1,
            isl: Some(Length { mean: 4.0, stddev: 0.0 }),
            osl: None,
        }),
        phases: vec![PhasePlan {
            name: "profiling".into(),
            kind: PhaseKind::Profiling,
            arrival: Arrival::Concurrency,
            concurrency: Some(1),
            stop: vec![StopWhen::Requests(1)],
            grace: None,
            failed_request_threshold: None,
            cancellation: None,
        }],
        metrics: MetricsPlan::default(),
        server_metrics: None,
        artifacts: ArtifactPlan {
            dir: PathBuf::new(),
            level: ExportLevel::Summary,
            summary: SummaryFiles::default(),
            http_trace: false,
            names: FileNames::new(None),
        },
        runtime: RuntimePlan {
            workers_max: None,
            timestamps: Timestamps::Auto,
            ui: UiKind::None,
            log_level: LogLevel::Error,
            stats_interval: None,
            record_queue_budget: 1 << 20,
        },
        input_config: serde_json::Value::Null,
    }
}
