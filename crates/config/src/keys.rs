//! Whether a setting of a file acts: by its flag, or by a row here.

use crate::flags::{self, Status, Status::*, To};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const NO_SEARCH: Status = NotYet("settings are not searched");
const NO_FEEDBACK: Status = NotYet("load does not adapt to measurements");
const CLUSTER: Status = NoEffect("it applies to cluster deployments");
const THREADS: Status = NoEffect("workers are threads of one process and share memory");

/// Sections that only contain settings, each with a status of its own.
const HOLDERS: &[&str] = &[
    "benchmark",
    "benchmark.models",
    "benchmark.models.items",
    "benchmark.endpoint",
    "benchmark.datasets",
    "benchmark.datasets.*.prompts",
    "benchmark.phases",
    "benchmark.artifacts",
    "benchmark.tokenizer",
    "benchmark.gpu_telemetry",
    "benchmark.server_metrics",
    "benchmark.network_latency",
    "benchmark.runtime",
    "benchmark.logging",
];

/// Settings without a flag, and groups of settings. The longest match counts.
const KEYS: &[(&str, Status)] = &[
    ("schema_version", Acts),
    ("variables", Acts),
    ("random_seed", Acts),
    ("benchmark.models.items.*.name", Acts),
    ("benchmark.models.items.*.weight", Acts),
    ("benchmark.models.items.*.lora", NotYet("LoRA adapters are not selected")),
    ("benchmark.models.items.*.modalities", NotYet("the dataset defines the content of requests")),
    ("benchmark.models.items.*.tokenizer", Acts),
    ("benchmark.endpoint.template", Acts),
    ("benchmark.endpoint.reset_kv_cache", Acts),
    ("benchmark.endpoint.server_profiler", Acts),
    ("benchmark.endpoint.transport", Acts),
    ("benchmark.datasets.*.name", Acts),
    ("benchmark.datasets.*.type", Acts),
    ("benchmark.datasets.*.random_seed", Acts),
    ("benchmark.datasets.*.records", Acts),
    ("benchmark.datasets.*.osl", Acts),
    ("benchmark.datasets.*.block_size", Acts),
    ("benchmark.datasets.*.cache_bust", Acts),
    ("benchmark.datasets.*.prompt_batch_size", Acts),
    ("benchmark.datasets.*.image_batch_size", Acts),
    ("benchmark.datasets.*.audio_batch_size", Acts),
    ("benchmark.datasets.*.video_batch_size", Acts),
    ("benchmark.datasets.*.prompts.isl", Acts),
    ("benchmark.datasets.*.prompts.osl", Acts),
    ("benchmark.datasets.*.prefix_prompts", Acts),
    ("benchmark.datasets.*.images", Acts),
    ("benchmark.datasets.*.audio", Acts),
    ("benchmark.datasets.*.video", Acts),
    ("benchmark.datasets.*.rankings", Acts),
    ("benchmark.datasets.*.synthesis", Acts),
    ("benchmark.datasets.*.turns", Acts),
    ("benchmark.datasets.*.turn_delay", Acts),
    ("benchmark.phases.*.name", Acts),
    ("benchmark.phases.*.kind", Acts),
    ("benchmark.phases.*.type", Acts),
    ("benchmark.phases.*.exclude_from_results", Acts),
    ("benchmark.phases.*.cancellation", Acts),
    ("benchmark.phases.*.concurrency_ramp", Acts),
    ("benchmark.phases.*.prefill_ramp", Acts),
    ("benchmark.phases.*.rate_ramp", Acts),
    ("benchmark.phases.*.rate_series", Acts),
    ("benchmark.phases.*.seamless", Acts),
    ("benchmark.phases.*.timing_mode", NotYet("agentic traces are not replayed")),
    ("benchmark.phases.*.sla", NO_FEEDBACK),
    ("benchmark.phases.*.adaptive_scale", NO_FEEDBACK),
    ("benchmark.artifacts.records", Acts),
    ("benchmark.artifacts.prefix", Acts),
    ("benchmark.artifacts.raw", Acts),
    ("benchmark.artifacts.summary", Acts),
    ("benchmark.artifacts.user_files", Acts),
    ("benchmark.artifacts.auto_plot", NotYet("plots are not drawn")),
    ("benchmark.artifacts.plot_required", NotYet("plots are not drawn")),
    ("benchmark.gpu_telemetry", Acts),
    ("benchmark.server_metrics", Acts),
    ("benchmark.network_latency", Acts),
    ("benchmark.otel", Acts),
    ("benchmark.mlflow", NotYet("results are not sent to MLflow")),
    ("benchmark.wandb", NotYet("results are not sent to Weights & Biases")),
    ("benchmark.runtime.ui", Acts),
    ("benchmark.runtime.workers_min", NotYet("the load decides the number of workers")),
    ("benchmark.runtime.service_run_type", THREADS),
    ("benchmark.runtime.communication", THREADS),
    ("benchmark.runtime.workers_per_pod", CLUSTER),
    ("benchmark.runtime.record_processors_per_pod", CLUSTER),
    ("benchmark.runtime.dataset_api_base_url", CLUSTER),
    ("benchmark.logging.level", Acts),
    ("benchmark.metrics", Acts),
    ("benchmark.accuracy", NotYet("responses are not graded")),
    ("multi_run", Acts),
    ("resume", Acts),
    ("limits", Acts),
    ("until", Acts),
    ("sweep", Acts),
    ("sweep.planner", NO_SEARCH),
    ("sweep.search_space", NO_SEARCH),
    ("sweep.objectives", NO_SEARCH),
    ("sweep.outcome_constraints", NO_SEARCH),
    ("sweep.max_iterations", NO_SEARCH),
    ("sweep.n_initial_points", NO_SEARCH),
    ("sweep.plateau_window", NO_SEARCH),
    ("sweep.plateau_threshold", NO_SEARCH),
    ("sweep.improvement_patience", NO_SEARCH),
    ("sweep.random_seed", NO_SEARCH),
    ("sweep.optuna_sampler", NO_SEARCH),
    ("sweep.optuna_acquisition", NO_SEARCH),
    ("sweep.optuna_terminator", NO_SEARCH),
    ("sweep.objective_pooling", NO_SEARCH),
    ("sweep.monotonic_stability_trials", NO_SEARCH),
    ("sweep.sla_replicates", NO_SEARCH),
    ("sweep.sla_precision", NO_SEARCH),
    ("sweep.sla_warmup_seconds", NO_SEARCH),
    ("sweep.constraint_mode", NO_SEARCH),
    ("sweep.sla_tiers", NO_SEARCH),
    ("plot", NotYet("plots are not drawn")),
];

/// Whether the setting at a path acts; list items are written `*`. `None` for an unknown path.
pub(crate) fn status(path: &str) -> Option<Status> {
    // A file may have very many settings. Each looks up its own path and those of its parents.
    static TABLE: OnceLock<BTreeMap<String, Status>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let by_flag = flags::all().flat_map(|flag| keys(flag.to).into_iter().map(|key| (key, flag.status)));
        let mut table = BTreeMap::new();
        // The first of several flags for one key counts, and a row above overrides them.
        KEYS.iter().map(|(key, status)| ((*key).to_owned(), *status)).chain(by_flag).for_each(|(key, status)| {
            table.entry(key).or_insert(status);
        });
        table
    });
    let exact = |candidate: &str| table.get(candidate).copied();
    if HOLDERS.contains(&path) || path.ends_with(".*") {
        return Some(Acts);
    }
    let mut at = path;
    loop {
        if let Some(status) = exact(at) {
            return Some(status);
        }
        at = at.rsplit_once('.')?.0;
    }
}

/// Every reason for which a setting is refused.
#[cfg(test)]
pub(crate) fn reasons() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|(_, status)| if let NotYet(reason) = status { Some(*reason) } else { None })
}

fn keys(to: To) -> Vec<String> {
    match to {
        To::Key(key) => vec![format!("benchmark.{key}")],
        To::Profiling(key) | To::Warmup(key) | To::EveryPhase(key) => vec![format!("benchmark.phases.*.{key}")],
        To::Dataset(key) => vec![format!("benchmark.datasets.*.{key}")],
        To::Envelope(key) => vec![key.to_owned()],
        To::Rule(_) | To::EnvelopeRule(_) | To::NoKey => Vec::new(),
    }
}
