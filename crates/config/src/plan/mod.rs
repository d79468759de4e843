//! A checked configuration to a plan, or a refusal of what cannot be run yet.

mod additions;
mod api;
mod campaign;
mod cells;
mod dataset;
mod endpoint;
mod gpu_telemetry;
mod models;
mod network_latency;
mod otlp;
mod phases;
mod points;
mod server_metrics;
mod user_files;

use crate::advice::{self, NOT_YET};
use crate::command_line;
use crate::context::Context;
use crate::environment::{self, Environment, Variable};
use crate::error::{ConfigError, Problem};
use crate::flags::{API_KEY, CONFIG, Status};
use crate::given::{GivenFlag, GivenFlags};
use crate::keys;
use crate::os_text;
use crate::resolve::{Tree, requested, resolve_config, without_secrets};
use crate::sections::artifacts::{RecordFormat, SummaryFormat};
use crate::setting::join;
use crate::tree::{Datum, Node, Origin, Places};
use aiperf_plan::{
    ArtifactPlan, CampaignPlan, FileNames, InputFile, MetricsPlan, NetworkLatencyPlan, Plan, RecordFiles, RunIdentity,
    RunPlace, RuntimePlan, SummaryFiles, TokenizerPlan, UiKind,
};
use aiperf_types::{Nanos, Slo};
use serde_json::Value;
use std::path::{Component, PathBuf};

#[cfg(test)]
pub(crate) use dataset::looks_like;

/// The campaign to run, and notes for the user.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub campaign: CampaignPlan,
    /// One line each, for stderr.
    pub notes: Vec<String>,
}

impl Resolved {
    /// The plan of the first run, or of the only one.
    pub fn plan(&self) -> &Plan {
        &self.campaign.base
    }

    /// The same, without the rest.
    pub fn into_plan(self) -> Plan {
        self.campaign.base
    }
}

/// Default interval between live statistics in the log.
const LIVE_SECONDS: f64 = 30.0;
/// Seconds between progress lines in a pipe.
const PROGRESS_SECONDS: f64 = 10.0;
/// Seconds between live statistics in the table of the dashboard.
const DASHBOARD_SECONDS: f64 = 5.0;

/// Reads the arguments after `profile` into a plan.
pub fn resolve_profile(args: &[String], ctx: &Context<'_>) -> Result<Resolved, ConfigError> {
    let refused = |error| without_secrets(error, args, ctx);
    planned(args, ctx).map_err(refused).map_err(|error| match error {
        ConfigError::Invalid(problems) => ConfigError::Invalid(problems.into_iter().map(advice::followable).collect()),
        help => help,
    })
}

fn planned(args: &[String], ctx: &Context<'_>) -> Result<Resolved, ConfigError> {
    let tree = resolve_config(args, ctx).map_err(|error| refused_first(error, args, ctx))?;
    let mut notes = tree.notes.clone();
    let mut problems = Vec::new();
    refused_flags(&tree.flags, &mut notes, &mut problems);
    match campaign::plan(&tree, ctx, args, &mut notes, &mut problems) {
        Some(campaign) if problems.is_empty() => {
            let secrets = tree.redactor();
            let notes = notes.iter().map(|note| secrets.hide(note).into_owned()).collect();
            Ok(Resolved { campaign, notes })
        }
        _ => Err(ConfigError::Invalid(problems)),
    }
}

/// Refuses missing features first, before other problems with them.
fn refused_first(error: ConfigError, args: &[String], ctx: &Context<'_>) -> ConfigError {
    if matches!(error, ConfigError::Help(_)) {
        return error;
    }
    let Some(asked) = requested(args, ctx) else { return error };
    let (mut notes, mut problems) = (Vec::new(), Vec::new());
    refused_flags(&asked.flags, &mut notes, &mut problems);
    if let Some(document) = &asked.document {
        walk(document, "", "", &asked.places, &mut notes, &mut problems);
    }
    problems.extend(campaign::refused_search(&asked.flags, asked.document.as_ref()));
    if problems.is_empty() { error } else { ConfigError::Invalid(problems) }
}

/// Refuses flags of missing features by the name that the user wrote, together if the reason is the same. Flags that
/// can have no effect get a note.
fn refused_flags(flags: &GivenFlags, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let mut refused: Vec<(&str, Vec<&GivenFlag>)> = Vec::new();
    for given in &flags.0 {
        match given.flag.status {
            Status::Acts => {}
            Status::NoEffect(reason) => notes.push(format!("{} has no effect here: {reason}", given.spelled)),
            // Switching off what is off anyway is no request.
            Status::NotYet(_)
                if given.value == Value::Bool(false) && given.flag.default().as_deref() != Some("true") => {}
            Status::NotYet(reason) => match refused.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, flags)) => flags.push(given),
                None => refused.push((reason, vec![given])),
            },
        }
    }
    problems.extend(refused.into_iter().map(|(reason, flags)| {
        let names = flags.iter().map(|given| given.spelled.as_str()).collect::<Vec<_>>().join(", ");
        not_yet(&names, reason).hint(advice::without_flag(&names, reason)).at(flags[0].flag.to.location())
    }));
}

/// A refusal of one thing, or of several separated by commas.
fn not_yet(what: &str, reason: &str) -> Problem {
    let verb = if what.contains(", --") { "are" } else { "is" };
    Problem::new(format!("{what} {verb} {NOT_YET}")).because(reason)
}

/// Settings of a file, by the status of their key.
fn walk(node: &Node, path: &str, key: &str, places: &Places, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let from_file = matches!(node.origin, Origin::File { .. });
    let status = if from_file && !path.is_empty() { keys::status(key) } else { Some(Status::Acts) };
    match status {
        Some(Status::NotYet(_)) if is_empty(node) => {}
        Some(Status::NotYet(reason)) => {
            let what = places.subject_key(node, path);
            problems.push(not_yet(&what, reason).hint(advice::without_key(path, reason)).at(path));
        }
        Some(Status::NoEffect(reason)) => {
            notes.push(format!("{} has no effect here: {reason}", places.subject_key(node, path)))
        }
        _ => {
            for (name, child) in node.entries() {
                if key != "variables" {
                    walk(child, &join(path, name), &join(key, name), places, notes, problems);
                }
            }
            for (index, child) in node.items().iter().enumerate() {
                walk(child, &join(path, &index.to_string()), &join(key, "*"), places, notes, problems);
            }
        }
    }
}

/// Whether a setting asks for nothing: off, null, or empty.
fn is_empty(node: &Node) -> bool {
    match &node.datum {
        Datum::Null | Datum::Bool(false) => true,
        Datum::List(items) => items.is_empty(),
        Datum::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

fn plan(
    tree: &Tree,
    ctx: &Context<'_>,
    args: &[String],
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<Plan> {
    let body = &tree.benchmark;
    walk(&tree.node, "", "", &tree.places, notes, problems);
    let (models, model_selection) = models::models(tree, notes)?;
    let endpoint = endpoint::endpoint(tree, ctx, notes, problems)?;
    let dataset = dataset::dataset(tree, ctx, notes, problems)?;
    let phases = phases::phases(tree, &dataset, notes, problems);
    let additions = additions::additions(tree, ctx, &dataset, &phases, notes, problems);
    let mut artifacts = artifacts(tree, ctx, notes);
    artifacts.user_files = user_files::user_files(tree, &artifacts.dir, &models, &endpoint, notes, problems);
    let api = api::plan(tree, notes, problems);
    let mut runtime = RuntimePlan { api, ..runtime(tree, ctx) };
    let server_metrics = server_metrics::plan(tree, &endpoint, notes, problems);
    let network_latency = network_latency::plan(tree, &endpoint, notes, problems);
    let gpu_telemetry = gpu_telemetry::plan(tree, ctx, notes, problems);
    runtime.dashboard.opens_gpus = gpu_telemetry::opens_pane(tree, runtime.ui, notes);
    let otlp = otlp::plan(tree, ctx, &endpoint, notes, problems);
    let tokenizer = body.tokenizer.clone().unwrap_or_default();
    let mut input_config = tree.input_config();
    input_config["artifacts"]["dir"] = artifacts.dir.to_string_lossy().into_owned().into();
    input_config["runtime"]["ui"] = runtime.ui.name().into();
    if let Some(NetworkLatencyPlan::Probed(probes)) = &network_latency {
        input_config["network_latency"]["ping_interval"] = probes.interval.as_secs_f64().into();
    }
    Some(Plan {
        run: RunIdentity {
            benchmark_id: ctx.benchmark_id.clone(),
            random_seed: tree.random_seed.and_then(|seed| u64::try_from(seed).ok()),
            cli_command: command_line::shown(&[&["profile".to_owned()], args].concat()),
            place: RunPlace::default(),
        },
        tokenizer: TokenizerPlan {
            apply_chat_template: tokenizer.apply_chat_template(),
            name: tokenizer.name,
            by_model: models::tokenizers(tree),
            revision: tokenizer.revision,
            fetch_timeout: tree.environment.tokenizer_timeout.unwrap_or(TokenizerPlan::FETCH_TIMEOUT),
        },
        models,
        model_selection,
        endpoint,
        dataset,
        additions,
        dataset_seed: dataset::seed(tree),
        sampling: dataset::sampling(tree),
        phases,
        timing: tree.environment.timing,
        metrics: metrics(tree),
        server_metrics,
        network_latency,
        gpu_telemetry,
        otlp,
        artifacts,
        runtime,
        secrets: user_files::secrets_of_variables(tree),
        input_config,
    })
}

/// The note that the variables with this prefix have no effect, if any is set. Variables that never have an effect have
/// a note of their own.
fn idle_variables(tree: &Tree, start: &str, why: &str) -> Option<String> {
    let is_idle = |variable: &&Variable| {
        variable.status == environment::Status::Acts
            && variable.name.starts_with(start)
            && tree.environment.has(variable.name)
    };
    let names: Vec<&str> = environment::variables().filter(is_idle).map(|variable| variable.name).collect();
    let verb = if names.len() > 1 { "have" } else { "has" };
    (!names.is_empty()).then(|| format!("{} {verb} no effect: {why}", names.join(", ")))
}

fn subject(tree: &Tree, path: &str) -> String {
    match tree.node.find(path) {
        Some(node) => tree.places.subject(node, path),
        None => path.to_owned(),
    }
}

/// The source of a dataset's rows, in words: a file, or the configuration itself.
fn what_holds(tree: &Tree) -> String {
    let (path, records) = ("benchmark.datasets.0.path", "benchmark.datasets.0.records");
    match (tree.node.find(path), tree.node.find(records)) {
        (None, Some(node)) => tree.places.subject_key(node, records),
        _ => subject(tree, path),
    }
}

/// Statistics are logged if a flag, a file or a variable enables them. The dashboard always has its table: an interval
/// of zero is about the log.
fn stats_interval(tree: &Tree, ui: UiKind) -> Option<Nanos> {
    let live = &tree.environment.live;
    let asked = tree.benchmark.runtime.as_ref().and_then(|runtime| runtime.stats_interval).or(live.interval);
    let positive = |seconds: &f64| *seconds > 0.0;
    let seconds = match ui {
        UiKind::Dashboard => asked.filter(positive).unwrap_or(DASHBOARD_SECONDS),
        UiKind::Simple | UiKind::None => asked.or(live.enabled.then_some(LIVE_SECONDS)).filter(positive)?,
    };
    Some(Nanos::from_secs_f64(seconds))
}

/// A pipe gets progress lines instead of a bar, unless the user wants none.
fn progress_every(tree: &Tree, ctx: &Context<'_>, ui: UiKind) -> Option<Nanos> {
    let is_asked_for = tree.node.find("benchmark.runtime.ui").is_some_and(|ui| ui.origin != Origin::Rule);
    let is_silent = ui == UiKind::None && is_asked_for;
    (!ctx.stdout_is_terminal && !is_silent).then(|| Nanos::from_secs_f64(PROGRESS_SECONDS))
}

fn metrics(tree: &Tree) -> MetricsPlan {
    let Environment { thresholds, developer, .. } = &tree.environment;
    let artifacts = tree.benchmark.artifacts.clone().unwrap_or_default();
    let slos = tree.benchmark.slos.iter().flatten();
    let limits = tree.envelope.limits.iter().flat_map(|limits| limits.0.iter());
    MetricsPlan {
        limits: limits.map(campaign::limit).collect(),
        until: tree.envelope.until.iter().flat_map(|until| until.0.iter()).map(campaign::precision).collect(),
        slos: slos.map(|(tag, threshold)| Slo { tag: tag.clone(), threshold: *threshold }).collect(),
        slice: artifacts.slice_duration.map(|length| Nanos::from_secs_f64(length.0)),
        thresholds: *thresholds,
        show_internal: developer.internal_metrics,
        show_experimental: developer.experimental_metrics,
        show_trace_timing: artifacts.show_trace_timing(),
    }
}

fn artifacts(tree: &Tree, ctx: &Context<'_>, notes: &mut Vec<String>) -> ArtifactPlan {
    let artifacts = tree.benchmark.artifacts.clone().unwrap_or_default();
    let given = os_text::path(&artifacts.dir());
    // `./out//` becomes `out`. `..` stays, because its meaning depends on links.
    let base = ctx.cwd.join(given.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>());
    let dir = tree.artifact_subdir.as_ref().map_or(base.clone(), |subdir| base.join(subdir));
    let (records, summary) = (artifacts.records(), artifacts.summary());
    let records =
        RecordFiles { jsonl: records.holds(RecordFormat::Jsonl), parquet: records.holds(RecordFormat::Parquet) };
    let summary = SummaryFiles { json: summary.holds(SummaryFormat::Json), csv: summary.holds(SummaryFormat::Csv) };
    if artifacts.trace() && !records.jsonl {
        let what = subject(tree, "benchmark.artifacts.trace");
        notes.push(format!(
            "{what} has no effect: HTTP traces are part of the JSON Lines records, and none are written"
        ));
    }
    ArtifactPlan {
        dir,
        summary,
        records,
        raw: artifacts.raw(),
        outputs: artifacts.export_outputs_json(),
        user_files: Vec::new(),
        inputs: inputs(tree, ctx),
        http_trace: artifacts.trace(),
        names: FileNames::new(artifacts.prefix.as_deref()),
        report_width: tree.environment.showing.report_width,
    }
}

/// The files that settings were read from.
fn inputs(tree: &Tree, ctx: &Context<'_>) -> Vec<InputFile> {
    let config = tree.flags.text(CONFIG).map(|path| ("--config".to_owned(), path));
    let key = tree.key_file().map(|path| (API_KEY.name.to_owned(), path));
    let input = |(setting, path): (String, &str)| InputFile { setting, path: ctx.cwd.join(os_text::path(path)) };
    config.into_iter().chain(key).map(input).collect()
}

fn runtime(tree: &Tree, ctx: &Context<'_>) -> RuntimePlan {
    let showing = tree.environment.showing;
    let runtime = tree.benchmark.runtime.clone().unwrap_or_default();
    // Several runs are shown as lines.
    let with_dashboard = tree.single_run() && ctx.stdout_can_be_drawn_on();
    let on_a_terminal = if with_dashboard { UiKind::Dashboard } else { UiKind::Simple };
    let usual = if ctx.stdout_is_terminal { on_a_terminal } else { UiKind::None };
    let ui = runtime.ui.unwrap_or(usual);
    RuntimePlan {
        workers_max: runtime.workers.and_then(|n| u32::try_from(n).ok()),
        timestamps: runtime.timestamps(),
        worker_priority: runtime.worker_priority(),
        ui,
        stats_interval: stats_interval(tree, ui),
        progress_every: progress_every(tree, ctx, ui),
        log_level: tree.benchmark.logging.clone().unwrap_or_default().level(),
        bar_step_percent: showing.bar_step_percent,
        dashboard: showing.dashboard,
        api: None,
        flush_every: tree.environment.flush_every.unwrap_or(RuntimePlan::FLUSH_EVERY),
        record_queue_budget: 150_000_000,
        prepared_bytes: tree.environment.prepared_bytes.unwrap_or(RuntimePlan::PREPARED_BYTES),
    }
}
