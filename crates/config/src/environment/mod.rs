//! Settings from `AIPERF_*` variables: one table of every variable, its valid values, and whether it acts.
//!
//! A section may be given as JSON (`AIPERF_HTTP={"CONNECTION_LIMIT": 66}`). A `.env` file in the working directory is
//! read too; the process's own variables override it.

mod ignored;
mod load;
mod netrc;
mod network;
mod observe;
mod process;
mod variable;

use crate::context::Context;
use crate::error::Problem;
use crate::nearest::nearest;
use crate::range::Range;
use crate::small_file;
use aiperf_plan::{
    ArtifactPlan, DashboardPlan, HttpSettings, IpVersion, MediaFetching, RuntimePlan, SessionColumn, SessionHeader,
    TimingPlan,
};
use aiperf_types::{Nanos, Thresholds};
use serde_json::Value;
use std::collections::BTreeMap;

pub use ignored::{IGNORED, Ignored};
pub(crate) use netrc::Netrc;
pub use variable::{Status, Variable, VariableType};

pub fn variables() -> impl Iterator<Item = &'static Variable> {
    [load::VARIABLES, observe::VARIABLES, process::VARIABLES].into_iter().flatten()
}

/// The names of all known variables.
fn names() -> impl Iterator<Item = &'static str> {
    let ignored = IGNORED.iter().flat_map(|ignored| ignored.names.iter().copied());
    variables().map(|variable| variable.name).chain(ignored)
}

/// Names that other programs read in a cluster or a child process, and this one does not.
const ELSEWHERE: &[&str] = &[
    "AIPERF_CONFIG",
    "AIPERF_INJECTED_",
    "AIPERF_PRELOAD_",
    "AIPERF_OPERATOR_MANAGED",
    "AIPERF_JOB_",
    "AIPERF_POD_INDEX",
    "AIPERF_RESULTS_DIR",
    "AIPERF_SWEEP_",
    "AIPERF_K8S_",
];

/// The namespace for pods. It is read when pods are searched, and user files may contain it.
const POD_NAMESPACE: &str = "AIPERF_NAMESPACE";

/// Settings from the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub http: HttpSettings,
    /// Closes every connection after its request.
    pub force_close: bool,
    /// Whether proxies and netrc files of the environment are used.
    pub trust_env: bool,
    /// Credentials by host, for URLs that have none.
    pub netrc: Netrc,
    /// Bearer token, if neither a flag nor a file has one.
    pub api_key: Option<String>,
    /// How far token counts may deviate.
    pub thresholds: Thresholds,
    pub developer: Developer,
    pub live: LiveStatistics,
    pub showing: Showing,
    /// How often data of a growing file are handed to the operating system.
    pub flush_every: Option<Nanos>,
    /// Bytes of request bodies that are encoded before the clock starts.
    pub prepared_bytes: Option<u64>,
    pub scrapes: Scrapes,
    pub probes: Probes,
    pub gpus: GpuSampling,
    pub otlp: OtlpExports,
    pub api: ApiServer,
    /// The time limit for fetching a tokenizer.
    pub tokenizer_timeout: Option<Nanos>,
    /// The namespace of the run's pod, for user files.
    pub namespace: String,
    /// How exact the schedule is, and its time limits.
    pub timing: TimingPlan,
    /// Content is a list of parts even if a string would do.
    pub force_content_parts: bool,
    /// The time limit for fetching a public dataset.
    pub public_dataset_timeout: Option<Nanos>,
    /// Seconds between two polls of a video that is being made.
    pub video_poll_seconds: Option<f64>,
    /// Which column of a Baseten trace names sessions.
    pub session_column: SessionColumn,
    /// How media that rows name by URL are fetched.
    pub media_fetching: MediaFetching,
    /// Inline records above which a note advises a file.
    pub many_records: Option<usize>,
    /// One line each, for stderr.
    pub notes: Vec<String>,
    set: BTreeMap<&'static str, String>,
}

/// What developers of metrics see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Developer {
    /// Without it, nothing else here has an effect.
    pub mode: bool,
    pub internal_metrics: bool,
    pub experimental_metrics: bool,
}

/// Statistics that are logged during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LiveStatistics {
    pub enabled: bool,
    /// Seconds; 0 logs none.
    pub interval: Option<f64>,
}

/// How a run and its report are displayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Showing {
    pub report_width: u16,
    pub bar_step_percent: f64,
    pub dashboard: DashboardPlan,
}

impl Default for Showing {
    fn default() -> Self {
        Self {
            report_width: ArtifactPlan::REPORT_WIDTH,
            bar_step_percent: RuntimePlan::BAR_STEP_PERCENT,
            dashboard: DashboardPlan::default(),
        }
    }
}

/// How pages of metrics are fetched, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scrapes {
    pub interval: f64,
    pub flush: f64,
    pub reachability_timeout: f64,
    pub scrape_timeout: f64,
    pub read_timeout: f64,
    pub publish_interval: f64,
    pub cancel_wait: f64,
}

impl Default for Scrapes {
    fn default() -> Self {
        Self {
            interval: 0.333,
            flush: 2.0,
            reachability_timeout: 10.0,
            scrape_timeout: 30.0,
            read_timeout: 30.0,
            publish_interval: 1.0,
            cancel_wait: 5.0,
        }
    }
}

/// How the network round trip is measured; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probes {
    pub interval: f64,
    pub min_samples: u32,
    pub timeout: f64,
    pub top_up_timeout: f64,
}

impl Default for Probes {
    fn default() -> Self {
        Self { interval: 1.0, min_samples: 5, timeout: 5.0, top_up_timeout: 3.0 }
    }
}

/// The live API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiServer {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub cors_origins: Vec<String>,
    pub shutdown_delay: Nanos,
    pub shutdown_timeout: Nanos,
    pub stays: Nanos,
    pub most_websockets: u32,
}

impl Default for ApiServer {
    fn default() -> Self {
        Self {
            host: None,
            port: None,
            cors_origins: Vec::new(),
            shutdown_delay: Nanos::from_millis(500),
            shutdown_timeout: Nanos::from_millis(5000),
            stays: Nanos::from_millis(5000),
            most_websockets: 100,
        }
    }
}

/// How GPUs are sampled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GpuSampling {
    /// Seconds.
    pub interval: f64,
    /// DCGM exporters that are tried by default.
    pub usual: Vec<String>,
    pub grace: Nanos,
    /// Seconds.
    pub reachability_timeout: f64,
}

impl Default for GpuSampling {
    fn default() -> Self {
        let usual = ["http://localhost:9400/metrics", "http://localhost:9401/metrics"];
        Self {
            interval: 0.333,
            usual: usual.map(str::to_owned).to_vec(),
            grace: Nanos(666_000_000),
            reachability_timeout: 10.0,
        }
    }
}

/// When metrics are sent by OTLP, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OtlpExports {
    pub interval: f64,
    pub timeout: Option<f64>,
}

impl Default for OtlpExports {
    fn default() -> Self {
        Self { interval: 2.0, timeout: None }
    }
}

impl Environment {
    /// Whether a variable is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }
}

/// Reads and checks every variable; every bad one is a problem.
pub(crate) fn read(ctx: &Context<'_>) -> Result<Environment, Vec<Problem>> {
    let mut out = Environment::default();
    let (mut problems, mut idle, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in given(ctx, &mut problems) {
        let Some(variable) = variables().find(|variable| variable.name == name) else {
            if ELSEWHERE.iter().any(|known| name.starts_with(known)) {
                idle.push(name);
            } else if let Some(ignored) = IGNORED.iter().find(|ignored| ignored.names.contains(&name.as_str())) {
                match ignored.reason {
                    ignored::ONE_PROCESS => idle.push(name),
                    reason => out.notes.push(format!("{name} has no effect: {reason}")),
                }
            } else if name == POD_NAMESPACE {
                out.namespace = value;
            } else {
                out.notes.push(unknown(&name));
            }
            continue;
        };
        if let Err(rule) = check(variable.kind, &value) {
            problems.push(Problem::new(format!("{name}={} {rule}", value.escape_debug())).hint(
                match variable.default {
                    "unset" => format!("unset {name}"),
                    default => format!("unset {name} for its default, {default}"),
                },
            ));
            continue;
        }
        match variable.status {
            Status::Acts => apply(&mut out, variable.name, &value),
            Status::NotYet => later.push(name),
            Status::Always(reason) => {
                if boolean(&value) != boolean(variable.default) {
                    out.notes.push(format!("{name}={value} has no effect: {reason}"));
                }
            }
        }
        out.set.insert(variable.name, value);
    }
    if !idle.is_empty() {
        out.notes.push(format!("no effect here: {} ({})", idle.join(", "), ignored::ONE_PROCESS));
    }
    if !later.is_empty() {
        out.notes.push(format!("no effect yet: {}", later.join(", ")));
    }
    for_developers_only(&mut out);
    network::read(ctx, &mut out, &mut problems);
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

/// Switches developer-only metrics off, with a note, unless developer mode is on.
fn for_developers_only(out: &mut Environment) {
    let Developer { mode, internal_metrics, experimental_metrics } = out.developer;
    if mode {
        return;
    }
    for (asked, name) in [
        (internal_metrics, "AIPERF_DEV_SHOW_INTERNAL_METRICS"),
        (experimental_metrics, "AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS"),
    ] {
        if asked {
            out.notes.push(format!("{name} has no effect without AIPERF_DEV_MODE=true"));
        }
    }
    out.developer = Developer::default();
}

/// Every variable with its value: from `.env`, then the environment, sections before single names.
fn given(ctx: &Context<'_>, problems: &mut Vec<Problem>) -> BTreeMap<String, String> {
    let mut plain: BTreeMap<String, String> = BTreeMap::new();
    let file = match small_file::text(&ctx.cwd.join(".env"), small_file::SETTINGS) {
        Ok(text) => text,
        Err(rule) => {
            let there = ctx.cwd.join(".env").exists();
            problems
                .extend(there.then(|| Problem::new(format!(".env {rule}")).hint("another directory, or a plain file")));
            String::new()
        }
    };
    for line in file.lines() {
        let line = line.trim().trim_start_matches("export ");
        if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let value = value.trim();
            let bare =
                ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value);
            plain.insert(name.trim().to_ascii_uppercase(), bare.to_owned());
        }
    }
    for (name, value) in ctx.env {
        plain.insert(name.to_ascii_uppercase(), value.clone());
    }
    plain.retain(|name, _| name.starts_with("AIPERF_"));
    let sections: Vec<String> = plain.keys().filter(|name| is_section(name)).cloned().collect();
    for section in sections {
        let text = plain.remove(&section).unwrap_or_default();
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(map)) => {
                for (key, value) in map {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    plain.entry(format!("{section}_{}", key.to_ascii_uppercase())).or_insert(value);
                }
            }
            _ => problems.push(
                Problem::new(format!("{section} is not a JSON object"))
                    .hint(format!("{section}='{{\"NAME\": VALUE}}'")),
            ),
        }
    }
    plain
}

/// Sections of two words; all others are the word after `AIPERF_`.
const LONG_SECTIONS: &[&str] = &["AIPERF_NETWORK_LATENCY", "AIPERF_SEARCH_PLANNER", "AIPERF_SERVER_METRICS"];

/// Whether a name is a section: a prefix of variables.
fn is_section(name: &str) -> bool {
    let begins = |long: &&str| long.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    let one_word = name.strip_prefix("AIPERF_").is_some_and(|word| !word.contains('_'));
    let shaped = LONG_SECTIONS.contains(&name) || one_word && !LONG_SECTIONS.iter().any(begins);
    let known = names().any(|known| known == name);
    shaped && !known && name != "AIPERF_CONFIG" && names().any(|known| begins(&known))
}

fn unknown(name: &str) -> String {
    match nearest(name, names()) {
        Some(near) => format!("unknown environment variable {name} is not used; did you mean {near}?"),
        None => format!("unknown environment variable {name} is not used"),
    }
}

fn check(kind: VariableType, value: &str) -> Result<(), String> {
    let within =
        |n: f64, range: Range| if range.holds(n) { Ok(()) } else { Err(format!("must be {}", range.in_words())) };
    match kind {
        VariableType::Bool => boolean(value).map(|_| ()).ok_or_else(|| "is neither true nor false".to_owned()),
        VariableType::Int(range) => crate::scalars::int(value).and_then(|n| within(n as f64, range)),
        VariableType::Float(range) => crate::scalars::float(value).and_then(|n| within(n, range)),
        VariableType::Text | VariableType::Secret => Ok(()),
        VariableType::Choice(choices) => {
            let known = choices.iter().any(|choice| choice.eq_ignore_ascii_case(value.trim()));
            if known { Ok(()) } else { Err(format!("is not one of {}", choices.join(", "))) }
        }
        VariableType::List => {
            let bad = value.trim_start().starts_with('[') && serde_json::from_str::<Vec<String>>(value).is_err();
            if bad { Err(r#"is not a JSON list of texts, as in ["a", "b"]"#.to_owned()) } else { Ok(()) }
        }
        VariableType::Json => {
            serde_json::from_str::<Value>(value).map(|_| ()).map_err(|error| format!("is not JSON: {error}"))
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// Stores a checked value in its setting.
fn apply(out: &mut Environment, name: &str, value: &str) {
    let number = crate::scalars::int(value).unwrap_or_default().clamp(0, i64::from(u32::MAX)) as u32;
    let float = || crate::scalars::float(value).unwrap_or_default();
    let is_true = || boolean(value).unwrap_or_default();
    let http = &mut out.http;
    match name {
        "AIPERF_HTTP_CONNECTION_LIMIT" => http.connection_limit = Some(number),
        "AIPERF_HTTP_KEEPALIVE_TIMEOUT" => http.keepalive_timeout_seconds = number.into(),
        "AIPERF_HTTP_SO_RCVBUF" => http.recv_buffer = number,
        "AIPERF_HTTP_SO_SNDBUF" => http.send_buffer = number,
        "AIPERF_HTTP_TCP_KEEPCNT" => http.keep_count = number,
        "AIPERF_HTTP_TCP_KEEPIDLE" => http.keep_idle = number,
        "AIPERF_HTTP_TCP_KEEPINTVL" => http.keep_interval = number,
        "AIPERF_HTTP_TCP_USER_TIMEOUT" => http.user_timeout_ms = number,
        "AIPERF_HTTP_TTL_DNS_CACHE" => http.dns_cache_seconds = http.dns_cache_seconds.map(|_| number),
        "AIPERF_HTTP_USE_DNS_CACHE" => http.dns_cache_seconds = http.dns_cache_seconds.filter(|_| is_true()),
        "AIPERF_HTTP_SSL_VERIFY" => http.verify_certificates = is_true(),
        "AIPERF_HTTP_REQUEST_CANCELLATION_SEND_TIMEOUT" => http.cancellation_send_timeout_seconds = float(),
        "AIPERF_HTTP_IP_VERSION" => http.ip_version = IpVersion::parse(value).unwrap_or_default(),
        "AIPERF_HTTP_ANSWER_MEMORY_BYTES" => {
            http.kept_bodies_limit = crate::scalars::int(value).unwrap_or_default().unsigned_abs() as usize;
        }
        "AIPERF_HTTP_TRUST_ENV" => out.trust_env = is_true(),
        "AIPERF_API_KEY" => out.api_key = Some(value.to_owned()),
        "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS" => out.force_content_parts = is_true(),
        "AIPERF_DATASET_PUBLIC_DATASET_TIMEOUT" => out.public_dataset_timeout = Some(Nanos::from_secs_f64(float())),
        "AIPERF_HTTP_VIDEO_POLL_INTERVAL" => out.video_poll_seconds = Some(float()),
        "AIPERF_DATASET_BASETEN_SESSION_COLUMN" => {
            let columns = [SessionColumn::Provided, SessionColumn::PoorMan];
            let named = columns.into_iter().find(|column| column.name().eq_ignore_ascii_case(value.trim()));
            out.session_column = named.unwrap_or_default();
        }
        "AIPERF_HTTP_FORCE_CLOSE" => out.force_close = is_true(),
        "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD" => out.thresholds.usage_diff_pct = float(),
        "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD" => out.thresholds.osl_mismatch_pct = float(),
        "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD" => {
            out.thresholds.osl_mismatch_tokens = crate::scalars::int(value).unwrap_or_default().unsigned_abs();
        }
        "AIPERF_DEV_MODE" => out.developer.mode = is_true(),
        "AIPERF_DEV_SHOW_INTERNAL_METRICS" => out.developer.internal_metrics = is_true(),
        "AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS" => out.developer.experimental_metrics = is_true(),
        "AIPERF_UI_REALTIME_METRICS_INTERVAL" => out.live.interval = Some(float()),
        "AIPERF_UI_REALTIME_METRICS_ENABLED" => out.live.enabled = is_true(),
        "AIPERF_UI_CONSOLE_EXPORT_WIDTH" => out.showing.report_width = u16::try_from(number).unwrap_or(u16::MAX),
        "AIPERF_UI_MIN_UPDATE_PERCENT" => out.showing.bar_step_percent = float(),
        "AIPERF_UI_LOG_REFRESH_INTERVAL" => out.showing.dashboard.log_refresh = Nanos::from_secs_f64(float()),
        "AIPERF_UI_SPINNER_REFRESH_RATE" => out.showing.dashboard.spinner_refresh = Nanos::from_secs_f64(float()),
        "AIPERF_DATASET_PREPARED_BYTES" => {
            out.prepared_bytes = crate::scalars::int(value).ok().map(i64::unsigned_abs);
        }
        "AIPERF_METRICS_EXPORT_FLUSH_INTERVAL" => out.flush_every = Some(Nanos::from_secs_f64(float())),
        "AIPERF_TOKENIZER_PRELOAD_TIMEOUT" => out.tokenizer_timeout = Some(Nanos::from_secs_f64(float())),
        "AIPERF_SERVER_METRICS_COLLECTION_INTERVAL" => out.scrapes.interval = float(),
        "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD" => out.scrapes.flush = float(),
        "AIPERF_SERVER_METRICS_REACHABILITY_TIMEOUT" => out.scrapes.reachability_timeout = number.into(),
        "AIPERF_SERVER_METRICS_SCRAPE_TIMEOUT" => out.scrapes.scrape_timeout = float(),
        "AIPERF_SERVER_METRICS_REALTIME_PUBLISH_INTERVAL_SECONDS" => out.scrapes.publish_interval = float(),
        "AIPERF_SERVER_METRICS_CANCEL_RESULT_WAIT_SEC" => out.scrapes.cancel_wait = float(),
        "AIPERF_GPU_COLLECTION_INTERVAL" => out.gpus.interval = float(),
        "AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS" => out.gpus.usual = list(value),
        "AIPERF_GPU_FINAL_SCRAPE_GRACE_NS" => {
            out.gpus.grace = Nanos(crate::scalars::int(value).unwrap_or_default().unsigned_abs());
        }
        "AIPERF_GPU_REACHABILITY_TIMEOUT" => out.gpus.reachability_timeout = number.into(),
        "AIPERF_API_SERVER_HOST" => out.api.host = Some(value.to_owned()),
        "AIPERF_API_SERVER_PORT" => out.api.port = u16::try_from(number).ok(),
        "AIPERF_API_SERVER_CORS_ORIGINS" => out.api.cors_origins = list(value),
        "AIPERF_API_SERVER_SHUTDOWN_RESPONSE_DELAY_SECONDS" => out.api.shutdown_delay = Nanos::from_secs_f64(float()),
        "AIPERF_API_SERVER_SHUTDOWN_TIMEOUT" => out.api.shutdown_timeout = Nanos::from_secs_f64(float()),
        "AIPERF_API_SERVER_POST_COMPLETE_GRACE" => out.api.stays = Nanos::from_secs_f64(float()),
        "AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS" => out.api.most_websockets = number,
        "AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT" => out.scrapes.read_timeout = float(),
        "AIPERF_NETWORK_LATENCY_DEFAULT_PROBE_INTERVAL" => out.probes.interval = float(),
        "AIPERF_NETWORK_LATENCY_MIN_SAMPLES" => out.probes.min_samples = number,
        "AIPERF_NETWORK_LATENCY_CONNECT_TIMEOUT" => out.probes.timeout = float(),
        "AIPERF_NETWORK_LATENCY_COMPLETE_TOPUP_TIMEOUT" => out.probes.top_up_timeout = float(),
        "AIPERF_OTEL_FLUSH_INTERVAL_SECONDS" => out.otlp.interval = float(),
        "AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS" => out.otlp.timeout = Some(float()),
        "AIPERF_TIMING_MAX_CATCHUP_SECONDS" => out.timing.max_catchup = Some(Nanos::from_secs_f64(float())),
        "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT" => out.timing.cancel_drain = Nanos::from_secs_f64(float()),
        "AIPERF_TIMING_RATE_RAMP_UPDATE_INTERVAL" => out.timing.rate_ramp_step = Nanos::from_secs_f64(float()),
        "AIPERF_SERVICE_WARMUP_PROGRESS_LOG_INTERVAL" => {
            out.timing.warmup_log_interval = Some(Nanos::from_secs_f64(float())).filter(|time| *time > Nanos::ZERO);
        }
        "AIPERF_DATASET_MEDIA_DOWNLOAD_TIMEOUT" => out.media_fetching.timeout = Nanos::from_secs_f64(float()),
        "AIPERF_DATASET_MEDIA_DOWNLOAD_MAX_CONCURRENCY" => out.media_fetching.at_once = number,
        "AIPERF_DATASET_INLINE_RECORDS_WARN_THRESHOLD" => out.many_records = Some(number as usize),
        name if SessionHeader::ALL.iter().any(|header| header.variable() == name) => {
            let is_wanted = |header: &SessionHeader| match header.variable() == name {
                true => is_true(),
                false => http.session_headers.contains(header),
            };
            http.session_headers = SessionHeader::ALL.iter().copied().filter(is_wanted).collect();
        }
        _ => debug_assert!(false, "{name} is in the table of variables that act and has no case here"),
    }
}

/// The items of a list: JSON, or between commas.
fn list(value: &str) -> Vec<String> {
    match serde_json::from_str::<Vec<String>>(value) {
        Ok(items) => items,
        Err(_) => value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read_all(env: &[(&str, &str)]) -> Environment {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ctx =
            Context { env: &env, stdout_is_terminal: false, cwd: Path::new("/nowhere"), benchmark_id: String::new() };
        read(&ctx).unwrap()
    }

    #[test]
    fn every_variable_that_acts_changes_something() {
        let what_acts = |read: &Environment| {
            let key = read.api_key.clone();
            let switches = (read.force_close, read.trust_env, read.force_content_parts, read.video_poll_seconds);
            let switches = (switches, read.session_column);
            let timeouts = (read.tokenizer_timeout, read.public_dataset_timeout);
            let written = (read.showing, read.flush_every, read.prepared_bytes, timeouts);
            let reported = (read.thresholds, read.developer, read.live, read.media_fetching, read.many_records);
            let watched = (read.scrapes, read.probes, read.gpus.clone(), read.otlp, read.api.clone());
            (read.http.clone(), switches, key, reported, written, watched, read.timing)
        };
        for variable in variables().filter(|variable| variable.status == Status::Acts) {
            let value = match variable.kind {
                VariableType::Bool => if variable.default == "true" { "false" } else { "true" }.to_owned(),
                VariableType::Choice(choices) => choices.last().map_or_else(String::new, |last| (*last).to_owned()),
                _ => "2048".to_owned(),
            };
            let value = if check(variable.kind, &value).is_ok() { value } else { "7".to_owned() };
            // Variables for developers need their mode.
            let mode = if variable.name.starts_with("AIPERF_DEV_SHOW_") { "true" } else { "false" };
            let before = [("AIPERF_DEV_MODE", mode)];
            let after: Vec<(&str, &str)> = before.into_iter().chain([(variable.name, value.as_str())]).collect();
            let (before, after) = (read_all(&before), read_all(&after));
            assert_ne!(what_acts(&before), what_acts(&after), "{}", variable.name);
            assert!(after.notes.is_empty(), "{:?}", after.notes);
        }
    }

    #[test]
    fn a_name_without_effect_is_in_no_other_table() {
        let all: Vec<&str> = names().collect();
        let once: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len());
        let notes = read_all(&[("AIPERF_ZMQ_RCVTIMEO", "5"), ("AIPERF_DATASET_MMAP_PREFAULT", "x")]).notes;
        assert!(notes.len() == 2 && notes[0].starts_with("AIPERF_DATASET_MMAP_PREFAULT has no effect: "), "{notes:?}");
    }

    #[test]
    fn a_part_of_a_name_is_no_section() {
        for name in ["AIPERF_METRICS_OSL_MISMATCH_PCT", "AIPERF_DEV_SHOW", "AIPERF_SERVER"] {
            let notes = read_all(&[(name, "3")]).notes;
            assert!(notes.len() == 1 && notes[0].starts_with("unknown environment variable"), "{notes:?}");
        }
        let read = read_all(&[("AIPERF_METRICS", r#"{"OSL_MISMATCH_PCT_THRESHOLD": 7}"#)]);
        assert_eq!(read.thresholds.osl_mismatch_pct, 7.0);
        assert!(is_section("AIPERF_SERVER_METRICS") && is_section("AIPERF_HTTP"));
    }

    #[test]
    fn metrics_for_developers_need_their_mode() {
        let asked = [("AIPERF_DEV_SHOW_INTERNAL_METRICS", "1"), ("AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS", "no")];
        let read = read_all(&asked);
        assert_eq!(read.developer, Developer::default());
        assert_eq!(read.notes, ["AIPERF_DEV_SHOW_INTERNAL_METRICS has no effect without AIPERF_DEV_MODE=true"]);
        let read = read_all(&[asked[0], asked[1], ("AIPERF_DEV_MODE", "y")]);
        assert_eq!(read.developer, Developer { mode: true, internal_metrics: true, experimental_metrics: false });
        assert!(read.notes.is_empty());
    }

    #[test]
    fn the_environment_sets_the_schedule() {
        let read = read_all(&[
            ("AIPERF_TIMING_MAX_CATCHUP_SECONDS", "0.5"),
            ("AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT", "3"),
            ("AIPERF_TIMING", r#"{"RATE_RAMP_UPDATE_INTERVAL": 0.2}"#),
            ("AIPERF_SERVICE_WARMUP_PROGRESS_LOG_INTERVAL", "0"),
        ]);
        let expected = TimingPlan {
            max_catchup: Some(Nanos::from_millis(500)),
            cancel_drain: Nanos::from_millis(3000),
            rate_ramp_step: Nanos::from_millis(200),
            warmup_log_interval: None,
        };
        assert_eq!(read.timing, expected);
        assert!(read.notes.is_empty(), "{:?}", read.notes);
    }

    #[test]
    fn a_request_for_less_exact_timers_gets_a_note_and_one_for_exact_timers_does_not() {
        assert!(read_all(&[("AIPERF_TIMING_HIGH_RES_TIMER", "1")]).notes.is_empty());
        let notes = read_all(&[("AIPERF_TIMING_HIGH_RES_TIMER", "off")]).notes;
        assert!(
            notes.len() == 1 && notes[0].starts_with("AIPERF_TIMING_HIGH_RES_TIMER=off has no effect: "),
            "{notes:?}"
        );
    }

    #[test]
    fn defaults_of_the_table_are_the_effective_ones() {
        let usual = Environment::default();
        let has_default = |variable: &&Variable| variable.status == Status::Acts && variable.default != "unset";
        for variable in variables().filter(has_default) {
            let set = read_all(&[(variable.name, variable.default)]);
            let same = set.http == usual.http
                && set.force_close == usual.force_close
                && set.trust_env == usual.trust_env
                && set.thresholds == usual.thresholds
                && set.developer == usual.developer
                && set.timing == usual.timing
                && set.showing == usual.showing
                && ApiServer { host: None, ..set.api } == usual.api
                && set.flush_every.is_none_or(|time| time == RuntimePlan::FLUSH_EVERY)
                && set.live.enabled == usual.live.enabled;
            assert!(same, "{} is not {} by default", variable.name, variable.default);
        }
    }

    #[test]
    fn defaults_of_the_table_pass_their_own_check() {
        for variable in variables() {
            if !["unset", "(empty)"].contains(&variable.default) {
                assert_eq!(check(variable.kind, variable.default), Ok(()), "{}", variable.name);
            }
        }
    }
}
