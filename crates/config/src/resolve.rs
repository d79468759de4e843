//! Flags to a plan.

use crate::error::{ConfigError, Problem};
use crate::flags::Status;
use crate::tokens::{self, Asked, Given};
use crate::{command_line, environment, values};
use aiperf_plan::redact::{REDACTED, is_sensitive_header};
use aiperf_plan::{
    Arrival, ArtifactPlan, BaseUrl, DatasetPlan, EndpointPlan, ExportLevel, FileNames, Length, LogLevel, PhasePlan,
    Plan, ReuseStrategy, RunIdentity, RuntimePlan, StopWhen, SyntheticPlan, Timestamps, TokenizerPlan, UiKind,
};
use aiperf_types::{EndpointKind, Nanos, PhaseKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What the outside world is, so that resolving is a function of its arguments.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// Environment variables.
    pub env: &'a BTreeMap<String, String>,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// Directory that relative paths start from.
    pub cwd: &'a Path,
    /// Identity of the run.
    pub benchmark_id: String,
}

/// A plan, and what a user should know about it.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What to run.
    pub plan: Plan,
    /// One line each, for stderr.
    pub notes: Vec<String>,
}

/// The values that were given, by flag name.
struct Flags(BTreeMap<&'static str, (String, Value)>);

impl Flags {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).map(|(_, value)| value)
    }
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }
    fn on(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
    fn float(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(|value| value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok())))
    }
    fn int(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(Value::as_u64)
    }
}

/// Reads the arguments after `profile` into a plan.
pub fn resolve_profile(args: &[String], ctx: &Context<'_>) -> Result<Resolved, ConfigError> {
    let given = match tokens::read(args)? {
        Asked::Run(given) => given,
        Asked::ShortHelp | Asked::LongHelp => return Err(ConfigError::Help(crate::help())),
    };
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let mut flags = Flags(BTreeMap::new());
    for one in &given {
        match values::value(one, ctx.cwd) {
            Ok(value) => {
                flags.0.insert(one.flag.name, (one.spelled.clone(), value));
            }
            Err(problem) => problems.push(problem),
        }
        match one.flag.status {
            Status::Acts => {}
            Status::NoEffect(reason) => notes.push(format!("{} has no effect here: {reason}", one.spelled)),
            Status::NotYet(reason) => problems.push(not_yet(one, reason)),
        }
    }
    let http = match environment::http(ctx.env) {
        Ok((http, unknown)) => {
            notes.extend(unknown);
            http
        }
        Err(bad) => {
            problems.extend(bad);
            Default::default()
        }
    };
    if !problems.is_empty() {
        return Err(ConfigError::Invalid(problems));
    }
    let missing: Vec<&str> = [("--no-server-metrics", "server metrics"), ("--no-gpu-telemetry", "GPU telemetry")]
        .into_iter()
        .filter(|(flag, _)| !flags.on(flag))
        .map(|(_, what)| what)
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "{} not collected yet",
            missing.join(" and ")
                + if missing.len() == 1 && missing[0].ends_with("telemetry") { " is" } else { " are" }
        ));
    }
    let plan = plan(&flags, ctx, http, args)?;
    Ok(Resolved { plan, notes })
}

fn not_yet(given: &Given, reason: &str) -> Problem {
    Problem::new(format!("{} is not there yet", given.spelled))
        .because(reason)
        .hint(format!("leave {} out", given.spelled))
        .at(given.flag.path)
}

fn plan(flags: &Flags, ctx: &Context<'_>, http: aiperf_plan::HttpSettings, args: &[String]) -> Result<Plan, Problem> {
    let models = models(flags)?;
    let kind = endpoint_kind(flags)?;
    let urls = urls(flags)?;
    let path = match flags.text("--custom-endpoint") {
        Some(path) if !path.starts_with('/') => {
            return Err(Problem::new(format!("--custom-endpoint {path} must start with '/'"))
                .hint(format!("--custom-endpoint /{path}"))
                .at("endpoint.path"));
        }
        other => other.map(str::to_owned),
    };
    let concurrency = count(flags, "--concurrency")?;
    let requests = count(flags, "--request-count")?;
    let duration = seconds(flags, "--benchmark-duration")?;
    let grace = match (flags.float("--benchmark-grace-period"), duration) {
        (Some(_), None) => {
            return Err(Problem::new("--benchmark-grace-period needs --benchmark-duration")
                .because("the grace period follows a time limit, and there is none")
                .hint("add --benchmark-duration SECONDS, or leave --benchmark-grace-period out"));
        }
        (grace, Some(_)) => Some(grace.unwrap_or(30.0)),
        (None, None) => None,
    };
    let mut stop = Vec::new();
    stop.extend(requests.map(StopWhen::Requests));
    stop.extend(duration.map(|seconds| StopWhen::Elapsed(Nanos::from_secs_f64(seconds))));
    if stop.is_empty() {
        stop.push(StopWhen::Requests((2 * concurrency.unwrap_or(1)).max(10)));
    }
    let slots = concurrency.unwrap_or(1) as u32;
    let mut phases = Vec::new();
    if let Some(n) = flags.int("--warmup-request-count") {
        phases.push(PhasePlan {
            name: "warmup".into(),
            kind: PhaseKind::Warmup,
            arrival: Arrival::Concurrency,
            concurrency: Some(slots),
            stop: vec![StopWhen::Requests(n)],
            grace: None,
        });
    }
    let profiling = PhasePlan {
        name: "profiling".into(),
        kind: PhaseKind::Profiling,
        arrival: Arrival::Concurrency,
        concurrency: Some(slots),
        stop,
        grace: grace.filter(|s| s.is_finite()).map(Nanos::from_secs_f64),
    };
    phases.push(profiling.clone());
    let osl = length(flags, "--prompt-output-tokens-mean", "--prompt-output-tokens-stddev", None)?;
    let isl = length(flags, "--prompt-input-tokens-mean", "--prompt-input-tokens-stddev", Some(550.0))?;
    let entries = flags.int("--num-dataset-entries").or(requests);
    let dir = match flags.text("--output-artifact-dir") {
        Some(dir) => ctx.cwd.join(dir),
        None => {
            let model = models[0].replace('/', "_") + if models.len() > 1 { "_multi" } else { "" };
            ctx.cwd.join("artifacts").join(format!("{model}-openai-{}-concurrency{slots}", kind.name()))
        }
    };
    let level = match flags.text("--export-level") {
        Some("summary") => ExportLevel::Summary,
        Some("raw") => {
            return Err(Problem::new("--export-level raw is not there yet")
                .because("raw payloads and responses are not written yet")
                .hint("--export-level records"));
        }
        _ => ExportLevel::Records,
    };
    let ui = ui(flags, ctx)?;
    let prefix = flags.text("--profile-export-prefix");
    let mut plan = Plan {
        run: RunIdentity {
            benchmark_id: ctx.benchmark_id.clone(),
            random_seed: flags.int("--random-seed"),
            cli_command: command_line::shown(&[&["profile".to_owned()], args].concat()),
        },
        models,
        endpoint: EndpointPlan {
            kind,
            urls,
            path,
            streaming: flags.on("--streaming"),
            api_key: flags.text("--api-key").map(str::to_owned),
            headers: headers(flags),
            extra: flags.get("--extra-inputs").and_then(Value::as_object).cloned().unwrap_or_default(),
            timeout_seconds: flags.float("--request-timeout-seconds").unwrap_or(21600.0),
            legacy_max_tokens: flags.on("--use-legacy-max-tokens"),
            server_token_count: flags.on("--use-server-token-count"),
            per_chunk_usage: false,
            reuse: ReuseStrategy::Pooled,
            http,
        },
        tokenizer: TokenizerPlan { name: flags.text("--tokenizer").map(str::to_owned), revision: None },
        dataset: DatasetPlan::Synthetic(SyntheticPlan { entries: entries.unwrap_or(100) as u32, isl, osl }),
        phases,
        artifacts: ArtifactPlan { dir, level, names: FileNames::new(prefix) },
        runtime: RuntimePlan {
            workers_max: flags.int("--workers-max").map(|n| n as u32),
            timestamps: match flags.text("--timestamps") {
                Some("kernel") => Timestamps::Kernel,
                Some("user") => Timestamps::User,
                _ => Timestamps::Auto,
            },
            ui,
            log_level: log_level(flags),
            record_queue_budget: 256 << 20,
        },
        input_config: Value::Null,
    };
    plan.input_config = input_config(flags, &plan, entries, grace);
    Ok(plan)
}

fn models(flags: &Flags) -> Result<Vec<String>, Problem> {
    let names: Vec<String> = flags
        .get("--model-names")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Problem::new("a model is required").hint("--model NAME").at("models.items"));
    }
    Ok(names)
}

fn endpoint_kind(flags: &Flags) -> Result<EndpointKind, Problem> {
    let name = flags.text("--endpoint-type").unwrap_or("chat");
    match EndpointKind::parse(name) {
        Some(kind @ (EndpointKind::Chat | EndpointKind::Completions)) => Ok(kind),
        _ => Err(Problem::new(format!("--endpoint-type {name} is not there yet"))
            .because("only chat and completions can be sent so far")
            .hint("--endpoint-type chat, or --endpoint-type completions")
            .at("endpoint.type")),
    }
}

fn urls(flags: &Flags) -> Result<Vec<BaseUrl>, Problem> {
    let given =
        flags.get("--url").and_then(Value::as_array).cloned().unwrap_or_else(|| vec!["http://localhost:8000".into()]);
    if given.is_empty() {
        return Err(Problem::new("--url needs a value").hint("--url HOST:PORT").at("endpoint.urls"));
    }
    given
        .iter()
        .filter_map(Value::as_str)
        .map(|text| {
            BaseUrl::parse(text).map_err(|error| {
                Problem::new(format!("--url: {error}")).hint("--url http://HOST:PORT").at("endpoint.urls")
            })
        })
        .collect()
}

fn count(flags: &Flags, name: &str) -> Result<Option<u64>, Problem> {
    match flags.0.get(name) {
        None => Ok(None),
        Some((spelled, Value::Array(_))) => Err(sweep_not_yet(spelled)),
        Some((spelled, value)) => match value.as_u64() {
            Some(n) if (1..=u64::from(u32::MAX)).contains(&n) => Ok(Some(n)),
            _ => Err(Problem::new(format!("{spelled} {value} must be at least 1"))),
        },
    }
}

fn seconds(flags: &Flags, name: &str) -> Result<Option<f64>, Problem> {
    match flags.0.get(name) {
        None => Ok(None),
        Some((spelled, Value::Array(_))) => Err(sweep_not_yet(spelled)),
        Some((spelled, value)) => match flags.float(name) {
            Some(n) if n > 0.0 && n.is_finite() => Ok(Some(n)),
            Some(n) if n > 0.0 => {
                Err(Problem::new(format!("{spelled} inf never ends the run")).hint(format!("{spelled} SECONDS")))
            }
            _ => Err(Problem::new(format!("{spelled} {value} must be more than 0"))),
        },
    }
}

fn sweep_not_yet(spelled: &str) -> Problem {
    Problem::new(format!("{spelled} with several values is not there yet"))
        .because("a list asks for a sweep, and sweeps do not exist yet")
        .hint("one value, and a run for each")
}

fn length(
    flags: &Flags,
    mean: &'static str,
    stddev: &'static str,
    default: Option<f64>,
) -> Result<Option<Length>, Problem> {
    for name in [mean, stddev] {
        if let Some((spelled, value)) = flags.0.get(name) {
            match flags.float(name) {
                _ if value.is_array() => return Err(sweep_not_yet(spelled)),
                Some(n) if n >= if name == mean { 1.0 } else { 0.0 } && n.is_finite() => {}
                _ => {
                    return Err(Problem::new(format!(
                        "{spelled} {value} must be at least {}",
                        if name == mean { 1 } else { 0 }
                    )));
                }
            }
        }
    }
    match (flags.float(mean).or(default), flags.float(stddev)) {
        (Some(mean), stddev) => Ok(Some(Length { mean, stddev: stddev.unwrap_or(0.0) })),
        (None, Some(_)) => {
            let spelled = &flags.0[stddev].0;
            Err(Problem::new(format!("{spelled} needs --osl"))
                .because("a deviation needs a mean to deviate from")
                .hint(format!("add --osl N, or leave {spelled} out")))
        }
        (None, None) => Ok(None),
    }
}

fn headers(flags: &Flags) -> Vec<(String, String)> {
    let map = flags.get("--header").and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn ui(flags: &Flags, ctx: &Context<'_>) -> Result<UiKind, Problem> {
    if flags.on("--verbose") || flags.on("--extra-verbose") {
        return Ok(UiKind::Simple);
    }
    match flags.text("--ui-type") {
        Some("none") => Ok(UiKind::None),
        Some("simple") => Ok(UiKind::Simple),
        Some(_) => Err(Problem::new("--ui dashboard is not there yet")
            .because("the full-screen view does not exist yet")
            .hint("--ui simple")),
        None => Ok(if ctx.stdout_is_terminal { UiKind::Simple } else { UiKind::None }),
    }
}

fn log_level(flags: &Flags) -> LogLevel {
    if flags.on("--extra-verbose") {
        return LogLevel::Trace;
    }
    if flags.on("--verbose") {
        return LogLevel::Debug;
    }
    let name = flags.text("--log-level").unwrap_or("INFO");
    LogLevel::ALL.iter().copied().find(|level| level.name() == name).unwrap_or_default()
}

/// The configuration as exported: what was set, by the user or by a rule.
fn input_config(flags: &Flags, plan: &Plan, entries: Option<u64>, grace: Option<f64>) -> Value {
    let mut endpoint = Map::new();
    endpoint.insert(
        "urls".into(),
        plan.endpoint.urls.iter().map(|url| aiperf_plan::redact::without_userinfo(url.as_str())).collect(),
    );
    let mut put = |key: &str, flag: &str| {
        if let Some(value) = flags.get(flag) {
            endpoint.insert(key.into(), value.clone());
        }
    };
    put("type", "--endpoint-type");
    put("path", "--custom-endpoint");
    put("timeout", "--request-timeout-seconds");
    put("streaming", "--streaming");
    put("use_legacy_max_tokens", "--use-legacy-max-tokens");
    put("use_server_token_count", "--use-server-token-count");
    put("extra", "--extra-inputs");
    if plan.endpoint.api_key.is_some() {
        endpoint.insert("api_key".into(), REDACTED.into());
    }
    if !plan.endpoint.headers.is_empty() {
        let shown = plan.endpoint.headers.iter().map(|(name, value)| {
            (name.clone(), Value::from(if is_sensitive_header(name) { REDACTED } else { value.as_str() }))
        });
        endpoint.insert("headers".into(), Value::Object(shown.collect()));
    }
    let mut prompts = Map::new();
    let mut lengths = |key: &str, mean: Option<f64>, stddev: &str| {
        if let Some(mean) = mean {
            let mut length = Map::new();
            length.insert("mean".into(), mean.into());
            if let Some(stddev) = flags.float(stddev) {
                length.insert("stddev".into(), stddev.into());
            }
            prompts.insert(key.into(), Value::Object(length));
        }
    };
    let DatasetPlan::Synthetic(synthetic) = &plan.dataset;
    lengths("isl", synthetic.isl.map(|isl| isl.mean), "--prompt-input-tokens-stddev");
    lengths("osl", synthetic.osl.map(|osl| osl.mean), "--prompt-output-tokens-stddev");
    let mut dataset = json!({"name": "main", "type": "synthetic"});
    if let Some(entries) = entries {
        dataset["entries"] = entries.into();
    }
    if let Some(seed) = plan.run.random_seed {
        dataset["random_seed"] = seed.into();
    }
    dataset["prompts"] = Value::Object(prompts);
    let phases: Vec<Value> = plan
        .phases
        .iter()
        .map(|phase| {
            let mut out = json!({"name": phase.name, "kind": phase.kind.name(), "type": "concurrency"});
            let warmup = phase.kind == PhaseKind::Warmup;
            if warmup {
                out["exclude_from_results"] = true.into();
            }
            if let Some(n) = phase.requests() {
                out["requests"] = n.into();
            }
            if let Some(n) = phase.duration() {
                out["duration"] = n.as_secs_f64().into();
            }
            if warmup || flags.get("--concurrency").is_some() {
                out["concurrency"] = phase.concurrency.into();
            }
            if let Some(grace) = grace.filter(|_| !warmup) {
                out["grace_period"] = values::number(grace);
            }
            out
        })
        .collect();
    let mut artifacts = json!({"dir": plan.artifacts.dir, "auto_plot": false, "plot_required": false});
    if let Some(prefix) = flags.text("--profile-export-prefix") {
        artifacts["prefix"] =
            if prefix.starts_with('/') { prefix.rsplit('/').next().unwrap_or(prefix).into() } else { prefix.into() };
    }
    if let Some(level) = flags.text("--export-level") {
        artifacts["records"] = if level == "summary" { false.into() } else { json!(["jsonl"]) };
        artifacts["raw"] = (level == "raw").into();
    }
    let mut tokenizer = json!({});
    if let Some(name) = &plan.tokenizer.name {
        tokenizer["name"] = name.as_str().into();
    }
    let mut runtime = json!({"ui": plan.runtime.ui.name()});
    if let Some(n) = plan.runtime.workers_max {
        runtime["workers"] = n.into();
    }
    let models: Vec<Value> = plan.models.iter().map(|name| json!({"name": name})).collect();
    let mut config = json!({
        "models": {"items": models},
        "endpoint": endpoint,
        "datasets": [dataset],
        "phases": phases,
        "artifacts": artifacts,
        "tokenizer": tokenizer,
        "gpu_telemetry": {"enabled": !flags.on("--no-gpu-telemetry")},
        "server_metrics": {"enabled": !flags.on("--no-server-metrics"), "urls": [], "formats": ["json", "csv", "parquet"]},
        "network_latency": {"enabled": false},
        "otel": {},
        "mlflow": {},
        "wandb": {},
        "runtime": runtime,
    });
    if ["--log-level", "--verbose", "--extra-verbose"].iter().any(|flag| flags.get(flag).is_some()) {
        config["logging"] = json!({"level": plan.runtime.log_level.name()});
    }
    config
}
