//! The configuration for files and output.

use crate::choice::Choice;
use crate::sections::dataset::{self, Dataset, DatasetType, SYNTHETIC_ENTRIES};
use crate::sections::envelope::Benchmark;
use crate::sections::phases::{DEFAULT_CONCURRENCY, Phase, PhaseType};
use crate::setting::{Setting, Switch};
use aiperf_plan::redact::{self, REDACTED, is_secret_name, is_sensitive_header, visit_secret_members, visit_texts};
use aiperf_types::PhaseKind;
use serde_json::Value;

/// Every effective setting, set or by default, without secrets.
pub(crate) fn input_config(benchmark: &Benchmark) -> Value {
    let mut config = filled_in(benchmark.clone()).full();
    for dataset in config["datasets"].as_array_mut().into_iter().flatten() {
        keep(dataset, |key, dataset| {
            let kind = dataset["type"].as_str().and_then(DatasetType::exactly);
            let own = dataset::KEYS_OF.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == *of));
            dataset::COMMON_KEYS.contains(&key) || own.flat_map(|(_, keys)| *keys).any(|own| *own == key)
        });
    }
    for phase in config["phases"].as_array_mut().into_iter().flatten() {
        keep(phase, |key, phase| {
            let kind = phase["type"].as_str().and_then(PhaseType::exactly);
            kind.is_none_or(|kind| kind.has(key))
        });
    }
    // A known round trip needs no probes.
    keep(&mut config["network_latency"], |key, network| key != "ping_interval" || network.get("mean_ms").is_none());
    as_the_reference_reads_it(&mut config, &benchmark.write());
    redacted(config)
}

/// Settings that AIPerf does not have. Its models refuse a file with unknown settings.
const OWN: &[(&str, &str)] =
    &[("endpoint", "unreachable_timeout"), ("runtime", "timestamps"), ("runtime", "worker_priority")];

/// Lists of all formats, and as AIPerf has them: it writes the CSV file even if the list leaves it out, and has no
/// Parquet file of records.
const FORMATS: &[(&str, &[&str], &[&str])] =
    &[("summary", &["json", "csv"], &["json"]), ("records", &["jsonl", "parquet"], &["jsonl"])];

/// Leaves out settings that AIPerf cannot read, unless the user has set them, and writes lists of formats as it has them.
fn as_the_reference_reads_it(config: &mut Value, set: &Value) {
    for (section, own) in OWN {
        if let Some(entries) = config.get_mut(section) {
            keep(entries, |key, _| key != *own || set[section].get(own).is_some());
        }
    }
    for (key, ours, theirs) in FORMATS {
        if let Some(formats) = config.get_mut("artifacts").and_then(|artifacts| artifacts.get_mut(key))
            && formats == &Value::from(*ours)
        {
            *formats = Value::from(*theirs);
        }
    }
}

/// The set settings, without secrets.
#[cfg(test)]
pub(crate) fn set_config(benchmark: &Benchmark) -> Value {
    let mut config = benchmark.write();
    as_the_reference_reads_it(&mut config, &benchmark.write());
    redacted(config)
}

/// Keeps the entries of a map that belong to it.
fn keep(map: &mut Value, belongs: impl Fn(&str, &Value) -> bool) {
    let all = map.clone();
    if let Some(entries) = map.as_object_mut() {
        entries.retain(|key, _| belongs(key, &all));
    }
}

/// Sections and lists that a run always has, and defaults that follow from other settings.
fn filled_in(mut benchmark: Benchmark) -> Benchmark {
    let endpoint = benchmark.endpoint.get_or_insert_default();
    endpoint.headers.get_or_insert_default();
    endpoint.extra.get_or_insert_default();
    benchmark.datasets.iter_mut().flat_map(|datasets| &mut datasets.0).for_each(fill_in_dataset);
    benchmark.phases.iter_mut().flat_map(|phases| &mut phases.0).for_each(fill_in_phase);
    benchmark.artifacts.get_or_insert_default();
    benchmark.tokenizer.get_or_insert_default();
    benchmark.gpu_telemetry.get_or_insert_default().urls.get_or_insert_default();
    let server_metrics = benchmark.server_metrics.get_or_insert_default();
    server_metrics.urls.get_or_insert_default();
    server_metrics.discovery.get_or_insert_default();
    benchmark.network_latency.get_or_insert_default();
    benchmark.otel.get_or_insert_default().custom_resource_attributes.get_or_insert_default();
    benchmark.mlflow.get_or_insert_default();
    benchmark.wandb.get_or_insert_default();
    benchmark.runtime.get_or_insert_default();
    benchmark.logging.get_or_insert_default();
    benchmark.metrics.get_or_insert_default();
    benchmark
}

fn fill_in_dataset(dataset: &mut Dataset) {
    if dataset.r#type() == DatasetType::Synthetic {
        dataset.entries.get_or_insert(SYNTHETIC_ENTRIES);
        dataset.prompts.get_or_insert_default();
    }
    if let Some(prompts) = &mut dataset.prompts {
        prompts.cache_bust.get_or_insert_default();
    }
}

fn fill_in_phase(phase: &mut Phase) {
    if phase.r#type.get_or_insert(PhaseType::DEFAULT).is_closed_loop() {
        phase.concurrency.get_or_insert(DEFAULT_CONCURRENCY);
    }
    phase.exclude_from_results.get_or_insert(phase.kind == Some(PhaseKind::Warmup));
    phase.sla.get_or_insert_default();
    phase.adaptive_scale.get_or_insert(Switch::Plain(false));
}

fn redacted(mut config: Value) -> Value {
    if let Some(endpoint) = config.get_mut("endpoint") {
        if let Some(key) = endpoint.get_mut("api_key") {
            *key = REDACTED.into();
        }
        for (name, value) in endpoint.get_mut("headers").and_then(Value::as_object_mut).into_iter().flatten() {
            if is_sensitive_header(name) {
                *value = REDACTED.into();
            }
            visit_texts(value, &mut |text| *text = redact::urls(text));
        }
        urls(endpoint.get_mut("urls"));
        endpoint.get_mut("path").into_iter().for_each(redact);
        if let Some(extra) = endpoint.get_mut("extra") {
            visit_secret_members(extra, &mut |_, member| *member = REDACTED.into());
            visit_texts(extra, &mut |text| *text = redact::urls(text));
        }
        if let Some(body) = endpoint.get_mut("template").and_then(|template| template.get_mut("body"))
            && let Some(text) = body.as_str()
        {
            *body = redact::template(text).into();
        }
    }
    let files = config.pointer_mut("/artifacts/user_files").and_then(Value::as_array_mut);
    for content in files.into_iter().flatten().filter_map(|file| file.get_mut("content")) {
        match content {
            Value::String(text) => *text = redact::text(text),
            other => visit_secret_members(other, &mut |_, member| *member = REDACTED.into()),
        }
    }
    for section in ["gpu_telemetry", "server_metrics"] {
        urls(config.get_mut(section).and_then(|section| section.get_mut("urls")));
    }
    for (section, key) in [("otel", "metrics_url"), ("mlflow", "tracking_uri")] {
        if let Some(url) = config.get_mut(section).and_then(|section| section.get_mut(key)) {
            redact(url);
        }
    }
    if let Some(attributes) = config.pointer_mut("/otel/custom_resource_attributes") {
        visit_secret_members(attributes, &mut |_, member| *member = REDACTED.into());
    }
    config
}

/// Whether a setting, by its path, is or contains a secret: by its last name, as a header's name if it is one.
pub(crate) fn is_secret_setting(path: &str) -> bool {
    match path.rsplit_once("headers.") {
        Some((_, header)) => is_sensitive_header(header),
        None => path.rsplit('.').next().is_some_and(is_secret_name),
    }
}

/// Removes keys and secret headers from settings of a run, by path or in sections.
pub(crate) fn without_secrets(value: &mut Value) {
    without_secret_settings(value, "");
    visit_texts(value, &mut |text| {
        *text = redact::urls(text);
    });
}

fn without_secret_settings(value: &mut Value, path: &str) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                if is_secret_setting(&path) && !is_nothing(member) {
                    *member = REDACTED.into();
                } else {
                    without_secret_settings(member, &path);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_secret_settings(item, path)),
        _ => {}
    }
}

/// Whether a value under a secret setting can contain no secret. In bodies, numbers may be token ids; here none is
/// ordinary.
pub(crate) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(_) | Value::Number(_) => false,
    }
}

fn urls(list: Option<&mut Value>) {
    list.and_then(Value::as_array_mut).into_iter().flatten().for_each(redact);
}

fn redact(url: &mut Value) {
    if let Some(text) = url.as_str() {
        *url = redact::url(text).into();
    }
}

/// The default folder of a run: model, service, type and load.
pub(crate) fn artifact_subdir(benchmark: &Benchmark) -> Option<String> {
    if benchmark.artifacts.as_ref().is_some_and(|artifacts| artifacts.dir.is_some()) {
        return None;
    }
    let models = benchmark.models.as_ref().and_then(|models| models.items.as_ref()).map_or(&[][..], |items| &items.0);
    let first = models.first().and_then(|model| model.name.as_deref()).unwrap_or_default();
    let model = first.replace('/', "_") + if models.len() > 1 { "_multi" } else { "" };
    let kind = crate::rules::endpoint_kind(benchmark).name();
    let load = stimulus(benchmark);
    let parts = [model, format!("openai-{kind}"), load];
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-"))
}

fn stimulus(benchmark: &Benchmark) -> String {
    let phases = benchmark.phases.as_ref().map_or(&[][..], |phases| &phases.0);
    let profiling = phases.iter().find(|phase| phase.kind != Some(PhaseKind::Warmup));
    profiling.map(Phase::folder_part).unwrap_or_default()
}
