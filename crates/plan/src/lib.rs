//! The validated plan of a benchmark: what to run, with every default filled in.
//!
//! A [`Plan`] knows no flag and no file format: `config` makes it, and later crates only read it. It contains no clock,
//! no socket and no file handle, only values.
//!
//! # Layout
//! - [`campaign`]: several runs, their order and their folders
//! - [`endpoint`]: where requests are sent, and in which dialect
//! - [`url`]: URLs of servers, with their credentials apart
//! - [`http`]: how connections are made and kept; [`proxy`]: proxies
//! - [`control`]: calls to the servers around a run
//! - [`dataset`]: the content of requests; [`models`]: the model of a turn; [`additions`]: what is added to all
//!   conversations
//! - [`phase`]: blocks of load and their ends; [`arrival`]: when their requests are sent; [`ramp`]: values that climb;
//!   [`cancellation`]: which requests are cancelled; [`timing`]: settings of the schedule; `phase_words`: phases in
//!   words
//! - [`metrics`]: which metrics are computed and shown
//! - [`server_metrics`]: what is collected of the servers' own metrics; [`metrics_url`]: from which URLs
//! - [`network_latency`]: the round-trip time of the network, known or measured
//! - [`gpu_telemetry`]: what is collected of GPUs
//! - [`otlp`]: metrics sent by OTLP, and their names
//! - [`artifacts`]: which files are written, and where
//! - [`runtime`]: how the process behaves: workers, stamps, screen, log; [`api`]: the live API
//! - [`draw`]: random draws as functions of (seed, purpose, index)
//! - [`nearest`]: the name that a user meant, for messages
//! - [`form`]: plans for other machines, and plans for people without secrets; [`run_config`]: the plan of one run of
//!   several, to recognise a complete run
//! - `secret_places`: the places of a plan that contain secrets
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async. It knows no flag and no file format.
//! - One value knows the user's secrets: [`Plan::redactor`]. Text leaves the program through it: log lines, messages,
//!   errors of requests, inputs, the configuration.
//! - A plan that is sent to another machine carries every secret. A plan that is written for people carries none. Only
//!   the two functions of `form.rs` write plans. One table lists the places that hold secrets (`secret_places`).
//! - A random draw is a function of (seed, purpose, index), so its order does not matter.
//! - A strategy chooses a point; `CampaignPlan::cell` makes a cell of it. Nothing needs all cells in advance.

pub mod additions;
pub mod api;
pub mod arrival;
pub mod artifacts;
pub mod campaign;
pub mod cancellation;
pub mod control;
pub mod dataset;
pub mod draw;
pub mod endpoint;
pub mod form;
pub mod gpu_telemetry;
pub mod http;
pub mod metrics;
pub mod metrics_url;
pub mod models;
pub mod nearest;
pub mod network_latency;
pub mod otlp;
pub mod phase;
mod phase_words;
pub mod proxy;
pub mod ramp;
pub mod run_config;
pub mod runtime;
mod secret_places;
pub mod server_metrics;
pub mod timing;
pub mod url;

pub use additions::{Additions, CacheBust, MarkerKind, MarkerPlace};
pub use aiperf_redact as redact;
pub use api::ApiPlan;
pub use arrival::{Arrival, ArrivalLaw, RateLevel, RatePlan, RatePoint, ScheduleZero};
pub use artifacts::{ArtifactPlan, ExportLevel, FileNames, InputFile, RecordFiles, SummaryFiles, UserFile, collide};
pub use campaign::{
    CampaignPlan, Cell, Convergence, ConvergenceMode, MakeCell, Order, ParetoAxes, ParetoAxis, Point, PointError,
    PostProcess, RunId, SweepPlan, Trials,
};
pub use cancellation::{Cancellation, CancellationDraws};
pub use control::{CacheReset, Readiness, ReadinessMode, ServerProfiler};
pub use dataset::{
    BasetenReplay, BatchSizes, Corpus, DatasetPlan, Distribution, FileFormat, FilePlan, FileSource, HubSource,
    LengthPair, MediaFetching, MediaPlan, Pace, PairedLengths, Prefixes, Provenance, PublicPlan, PublicSet,
    PublicSource, RandomStyle, RankingsPlan, RecordList, SPEED_BENCH, Sampling, SessionColumn, SpeedBench, Synthesis,
    SyntheticPlan, TextPlan, TimestampWindow, TraceFormat, TracePlan, Turns, Weighted, Window,
};
pub use draw::Draws;
pub use endpoint::{EndpointPlan, ReuseStrategy, Transport, VideoPlan};
pub use gpu_telemetry::{DcgmExporter, GpuMetricsFile, GpuSource, GpuTelemetryPlan, LocalSource};
pub use http::{HttpSettings, IpVersion, SessionHeader};
pub use metrics::MetricsPlan;
pub use metrics_url::MetricsUrl;
pub use models::{ModelPicker, ModelSelection};
pub use network_latency::{NetworkLatencyPlan, ProbePlan, ProbeTarget};
pub use otlp::{ClientIdentity, NamedFile, OtlpPlan};
pub use phase::{PhasePlan, StopWhen, WaitsFor, overlapping};
pub use proxy::{NoProxy, Proxies, Proxy};
pub use ramp::{Ramp, RampStrategy};
pub use runtime::{DashboardPlan, LogLevel, RuntimePlan, Timestamps, UiKind, WorkerPriority};
pub use server_metrics::{
    Cadence, DiscoveryMode, MetricsEndpoint, PodDiscovery, ServerMetricsFormats, ServerMetricsPlan,
};
pub use timing::TimingPlan;
pub use url::{BaseUrl, Credentials, UrlError};

use aiperf_types::{Nanos, PhaseKind};
use serde::{Deserialize, Serialize};

/// Everything that one run needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Identity of the run.
    pub run: RunIdentity,
    /// Model names, at least one.
    pub models: Vec<String>,
    /// The model of a request that names none.
    pub model_selection: ModelSelection,
    pub endpoint: EndpointPlan,
    /// Tokenizer: `None` uses each model's name.
    pub tokenizer: TokenizerPlan,
    pub dataset: DatasetPlan,
    /// What is added to its conversations.
    pub additions: Additions,
    /// The seed of the dataset alone; `None` uses that of the run.
    pub dataset_seed: Option<u64>,
    /// The order in which its conversations are drawn.
    pub sampling: Sampling,
    /// The blocks of load, in order.
    pub phases: Vec<PhasePlan>,
    pub timing: TimingPlan,
    /// Which metrics are computed and shown.
    pub metrics: MetricsPlan,
    /// What is collected of the servers' own metrics; `None`: nothing.
    pub server_metrics: Option<ServerMetricsPlan>,
    /// The round trip that is subtracted from latencies; `None`: nothing is subtracted.
    pub network_latency: Option<NetworkLatencyPlan>,
    /// What is collected of GPUs; `None`: nothing.
    pub gpu_telemetry: Option<GpuTelemetryPlan>,
    /// What is sent by OTLP; `None`: nothing.
    pub otlp: Option<OtlpPlan>,
    pub artifacts: ArtifactPlan,
    pub runtime: RuntimePlan,
    /// Secrets without a secret name in the plan: values of the user's variables with secret names.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// The resolved configuration as exported under `input_config`, secrets redacted.
    pub input_config: serde_json::Value,
}

/// The identity of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunIdentity {
    /// 12 lowercase hex digits for a single run.
    pub benchmark_id: String,
    /// The user's seed.
    pub random_seed: Option<u64>,
    /// The command line, redacted.
    pub cli_command: String,
    /// Its place among other runs.
    pub place: RunPlace,
}

/// The place of a run among the runs of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlace {
    /// The id that all these runs share; `None` for a single run.
    pub sweep_id: Option<String>,
    /// Its trial of the cell, from 0.
    pub trial: u32,
    pub label: String,
    /// The swept values of its cell, in words.
    pub variation: String,
    /// The name of its cell.
    pub variation_label: String,
    pub variation_index: u32,
    /// The swept values of its cell, by path.
    pub variation_values: serde_json::Map<String, serde_json::Value>,
}

impl RunPlace {
    /// The label of a single run, as [`CampaignPlan::label`] makes it for several.
    pub const FIRST_RUN: &str = "run_0001";
}

impl Default for RunPlace {
    /// A single run: the first trial of the only cell.
    fn default() -> Self {
        Self {
            sweep_id: None,
            trial: 0,
            label: Self::FIRST_RUN.into(),
            variation: "base".into(),
            variation_label: "base".into(),
            variation_index: 0,
            variation_values: serde_json::Map::new(),
        }
    }
}

/// Which tokenizer counts tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenizerPlan {
    /// `builtin`, an encoding, a directory, a `tokenizer.json` or a hub name; `None`: the model's name.
    pub name: Option<String>,
    /// Tokenizers of single models, by model; all others use `name`.
    pub by_model: Vec<(String, String)>,
    /// Branch, tag or commit of a hub name; `None`: `main`.
    pub revision: Option<String>,
    /// Prompts are counted as the model sees them.
    pub apply_chat_template: bool,
    /// The time limit for fetching a tokenizer.
    pub fetch_timeout: Nanos,
}

impl TokenizerPlan {
    pub const FETCH_TIMEOUT: Nanos = Nanos(120_000_000_000);
}

impl Default for TokenizerPlan {
    fn default() -> Self {
        Self {
            name: None,
            by_model: Vec::new(),
            revision: None,
            apply_chat_template: false,
            fetch_timeout: Self::FETCH_TIMEOUT,
        }
    }
}

impl Plan {
    /// Picks models for turns that name none.
    pub fn model_picker(&self) -> ModelPicker {
        ModelPicker::new(self.models.len(), self.model_selection.clone(), &self.dataset_draws())
    }

    /// The phases whose requests are in the results.
    pub fn profiling(&self) -> impl Iterator<Item = &PhasePlan> {
        self.phases.iter().filter(|phase| phase.kind == PhaseKind::Profiling)
    }

    /// The most requests in flight at once; `None` if a phase has no bound.
    pub fn peak_in_flight(&self) -> Option<u64> {
        let together = overlapping(&self.phases).into_iter().map(|group| phase::peak_together(&self.phases[group]));
        let peaks: Option<Vec<u64>> = together.collect();
        peaks.map(|peaks| peaks.into_iter().max().unwrap_or(1))
    }

    /// Seed of every draw: the user's, or one drawn from the benchmark id so that a run can be repeated from its files.
    pub fn draws(&self) -> Draws {
        Draws::new(self.run.random_seed, &self.run.benchmark_id)
    }

    /// The draws of the dataset.
    pub fn dataset_draws(&self) -> Draws {
        Draws::new(self.dataset_seed.or(self.run.random_seed), &self.run.benchmark_id)
    }
}
