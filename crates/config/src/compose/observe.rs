//! Telemetry of the server, the GPUs and the network, and where results are sent.

use crate::choice::Choice;
use crate::error::{Problem, needs};
use crate::flags::{
    GEN_AI_PROVIDER, GPU_TELEMETRY, MLFLOW_ARTIFACT_GLOB, MLFLOW_EXPERIMENT, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME,
    MLFLOW_TAG, MLFLOW_TRACKING_URI, NETWORK_LATENCY_AUTOMATIC, NETWORK_LATENCY_MEAN, NETWORK_LATENCY_PING_INTERVAL,
    NO_GPU_TELEMETRY, NO_SERVER_METRICS, OTEL_RESOURCE_ATTRIBUTES, OTEL_URL, SERVER_METRICS, SERVER_METRICS_FORMATS,
    STREAM, WANDB_ENTITY, WANDB_PROJECT, WANDB_RUN_NAME, WANDB_TAG,
};
use crate::given::GivenFlags;
use crate::sections::observe::{GpuCollector, GpuMode, GpuTelemetry, ServerMetrics, StreamDomain};
use crate::tree::{Datum, Node};
use aiperf_plan::{BaseUrl, LocalSource, UrlError};
use serde_json::{Value, json};

/// GPU telemetry, if a flag sets it.
pub(super) fn gpu(benchmark: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let (on, off) = (flags.get(GPU_TELEMETRY), flags.on(NO_GPU_TELEMETRY));
    if on.is_some() && off {
        problems.push(Problem::leave_one_out(GPU_TELEMETRY.name, NO_GPU_TELEMETRY.name));
    }
    if off {
        benchmark.put("gpu_telemetry", Node::flag(&json!({"enabled": false}), NO_GPU_TELEMETRY.name));
        return;
    }
    let Some(given) = on else { return };
    let items = flags.texts(GPU_TELEMETRY);
    if items.is_empty() {
        benchmark.put("gpu_telemetry", Node::flag(&json!({"enabled": true}), &given.spelled));
        return;
    }
    let usual = GpuTelemetry::default();
    let mut telemetry = json!({
        "enabled": true,
        "urls": [],
        "collector": usual.collector().name(),
        "mode": usual.mode().name(),
    });
    let mut local: Vec<&str> = Vec::new();
    if items.iter().any(|item| item.trim().is_empty()) {
        problems.push(
            Problem::new(format!("{} has a blank item", given.spelled))
                .because(gpu_items())
                .hint(format!("{0} alone for the usual exporters, or {0} http://HOST:9400/metrics", given.spelled))
                .at("benchmark.gpu_telemetry.urls"),
        );
    }
    for item in items.into_iter().map(str::trim).filter(|item| !item.is_empty()) {
        let collector = GpuCollector::exactly(&item.to_ascii_lowercase()).filter(|one| *one != GpuCollector::Dcgm);
        if let Some(collector) = collector.map(Choice::name) {
            if !local.contains(&collector) {
                local.push(collector);
            }
            telemetry["collector"] = collector.into();
            continue;
        }
        match item {
            word if word.eq_ignore_ascii_case("dashboard") => {
                telemetry["mode"] = GpuMode::RealtimeDashboard.name().into();
            }
            // Whether the file exists is checked when it is read.
            file if file.ends_with(".csv") => telemetry["metrics_file"] = file.into(),
            url if url.starts_with("http") || url.contains(':') => {
                if let Some(urls) = telemetry["urls"].as_array_mut() {
                    urls.push(with_scheme(url).into());
                }
            }
            other => problems.push(
                Problem::new(format!("{} '{other}' is neither a source nor a collector", given.spelled))
                    .because(gpu_items())
                    .hint(format!("{} http://{other}:9400/metrics", given.spelled))
                    .at("benchmark.gpu_telemetry.urls"),
            ),
        }
    }
    let urls = telemetry["urls"].as_array().is_some_and(|urls| !urls.is_empty());
    if local.len() > 1 {
        problems.push(
            Problem::new(format!("{} names two collectors: {}", given.spelled, local.join(" and ")))
                .because("one collector reads the GPUs of this machine")
                .hint(format!("{} {}", given.spelled, local[0])),
        );
    } else if let (Some(collector), true) = (local.first(), urls) {
        problems.push(
            Problem::new(format!("{} has both {collector} and URLs", given.spelled))
                .because(format!("{collector} reads the GPUs of this machine; URLs are for other machines"))
                .hint(format!("{} {collector}, or the URLs alone", given.spelled)),
        );
    }
    benchmark.put("gpu_telemetry", Node::flag(&telemetry, &given.spelled));
}

/// Metrics of the server, if a flag sets them.
pub(super) fn server_metrics(benchmark: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let (on, off) = (flags.get(SERVER_METRICS), flags.on(NO_SERVER_METRICS));
    if on.is_some() && off {
        problems.push(Problem::leave_one_out(SERVER_METRICS.name, NO_SERVER_METRICS.name));
    }
    if off {
        benchmark.put("server_metrics", Node::flag(&json!({"enabled": false}), NO_SERVER_METRICS.name));
        return;
    }
    let formats = flags.get(SERVER_METRICS_FORMATS);
    if on.is_none() && formats.is_none() {
        return;
    }
    let mut urls: Vec<Value> = Vec::new();
    let spelled = flags.spelled(SERVER_METRICS);
    for item in flags.texts(SERVER_METRICS).into_iter().filter(|item| !item.trim().is_empty()) {
        match metrics_url(item) {
            Some(Ok(url)) => urls.push(url.into()),
            Some(Err(error)) => problems.push(
                Problem::new(format!("{spelled}: {error}"))
                    .hint("http://HOST:PORT/metrics")
                    .at("benchmark.server_metrics.urls"),
            ),
            None => problems.push(
                Problem::new(format!("{spelled} '{item}' is not a URL"))
                    .because("it has neither a scheme nor a port")
                    .hint(format!("{spelled} http://{}:8000/metrics", item.trim_matches('/')))
                    .at("benchmark.server_metrics.urls"),
            ),
        }
    }
    let node = benchmark.child("server_metrics");
    node.put("enabled", Node::rule(true));
    node.put("urls", Node::flag(&urls.into(), flags.spelled(SERVER_METRICS)));
    match formats {
        Some(given) => node.put("formats", given.node()),
        None => {
            let formats: Vec<Node> = ServerMetrics::default().formats().iter().copied().map(Node::rule).collect();
            node.put_default("formats", formats);
        }
    }
}

/// The URL that is scraped, credentials included; `None` if the text does not look like a URL.
pub(crate) fn metrics_url(item: &str) -> Option<Result<String, UrlError>> {
    let item = item.trim();
    (item.starts_with("http") || item.contains(':')).then(|| with_path(item, "/metrics"))
}

/// A URL with this path at its end; it is added before the query if it is missing.
fn with_path(text: &str, ending: &str) -> Result<String, UrlError> {
    let full = with_scheme(text);
    BaseUrl::parse(&full)?;
    let authority = full.find("://").map_or(0, |at| at + 3);
    let path = full[authority..].find(['/', '?', '#']).map_or(full.len(), |at| authority + at);
    let query = full[path..].find(['?', '#']).map_or(full.len(), |at| path + at);
    let kept = full[path..query].trim_end_matches('/');
    let ending = if kept.ends_with(ending) { "" } else { ending };
    Ok(format!("{}{kept}{ending}{}", &full[..path], &full[query..]))
}

/// Network latency, if a flag sets it. A measured and a known latency exclude each other: what a flag sets replaces the
/// other setting of a file.
pub(super) fn network(benchmark: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let (automatic, mean) = (flags.on(NETWORK_LATENCY_AUTOMATIC), flags.get(NETWORK_LATENCY_MEAN));
    let interval = flags.get(NETWORK_LATENCY_PING_INTERVAL);
    if automatic && mean.is_some() {
        problems.push(Problem::leave_one_out(NETWORK_LATENCY_AUTOMATIC.name, NETWORK_LATENCY_MEAN.name));
    }
    let of_file = benchmark.get("network_latency");
    let file_measures = of_file.is_some_and(|section| {
        let is_on = section.set("enabled").is_some_and(|enabled| matches!(enabled.datum, Datum::Bool(true)));
        is_on && section.set("mean_ms").is_none()
    });
    if interval.is_some() && (mean.is_some() || !automatic && !file_measures) {
        let (why, way_out) = match mean {
            Some(_) => (
                "with --network-latency-mean no probes are sent",
                "leave it out, or --network-latency-automatic in place of --network-latency-mean",
            ),
            None => (
                "without it no probes are sent",
                "add --network-latency-automatic, or leave --network-latency-ping-interval out",
            ),
        };
        problems.push(
            Problem::new("--network-latency-ping-interval needs --network-latency-automatic")
                .because(why)
                .hint(way_out),
        );
    }
    if !automatic && mean.is_none() && interval.is_none() {
        return;
    }
    let node = benchmark.child("network_latency");
    if automatic || mean.is_some() {
        let flag = if automatic { NETWORK_LATENCY_AUTOMATIC.name } else { NETWORK_LATENCY_MEAN.name };
        node.put("enabled", Node::flag(&json!(true), flag));
        node.take(if automatic { "mean_ms" } else { "ping_interval" });
    }
    if let Some(mean) = mean {
        node.put("mean_ms", mean.node());
    }
    if let Some(interval) = interval {
        node.put("ping_interval", interval.node());
    }
}

/// Where results are sent.
pub(super) fn sinks(benchmark: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    otel(benchmark, flags, problems);
    if let Some(tags) = flags.node(MLFLOW_TAG) {
        benchmark.place("mlflow.tags", tags);
    }
    for (main, key, others) in [
        (
            MLFLOW_TRACKING_URI,
            "mlflow.tracking_uri",
            &[MLFLOW_EXPERIMENT, MLFLOW_RUN_NAME, MLFLOW_TAG, MLFLOW_PARENT_RUN_ID, MLFLOW_ARTIFACT_GLOB][..],
        ),
        (WANDB_PROJECT, "wandb.project", &[WANDB_ENTITY, WANDB_RUN_NAME, WANDB_TAG]),
    ] {
        let given = flags.among(others);
        if !given.is_empty() && !flags.has(main) && benchmark.find(key).is_none() {
            problems.push(needs(&given.join(", "), main.name, "without it nothing is sent"));
        }
        for given in flags.0.iter().filter(|given| given.flag == main || others.contains(&given.flag)) {
            if given.value.as_str().is_some_and(|text| text.trim().is_empty()) {
                problems
                    .push(Problem::new(format!("{} must not be blank", given.spelled)).at(given.flag.to.location()));
            }
        }
    }
}

fn otel(benchmark: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let others = flags.among(&[STREAM, OTEL_RESOURCE_ATTRIBUTES, GEN_AI_PROVIDER]);
    if !others.is_empty() && !flags.has(OTEL_URL) && benchmark.find("otel.metrics_url").is_none() {
        problems.push(needs(&others.join(", "), "--otel-url", "without it nothing is sent"));
        return;
    }
    if let Some(url) = flags.text(OTEL_URL) {
        match otel_url(url) {
            Ok(url) => benchmark.place("otel.metrics_url", Node::flag(&json!(url), OTEL_URL.name)),
            Err(rule) => {
                let what = match url.trim().is_empty() {
                    true => "--otel-url must not be blank".to_owned(),
                    false => format!("--otel-url: {rule}"),
                };
                let problem = Problem::new(what).hint("--otel-url http://HOST:4318").at("benchmark.otel.metrics_url");
                let is_grpc = url.trim().to_ascii_lowercase().starts_with("grpc");
                problems.push(if is_grpc {
                    problem.because("OTLP is sent over HTTP; gRPC is not supported")
                } else {
                    problem
                });
            }
        }
    }
    if flags.has(STREAM) {
        match stream_domains(&flags.texts(STREAM)) {
            Ok((metrics, timing)) => {
                benchmark.place("otel.stream_metrics_enabled", Node::flag(&json!(metrics), STREAM.name));
                benchmark.place("otel.stream_timing_enabled", Node::flag(&json!(timing), STREAM.name));
            }
            Err(item) => problems.push(
                Problem::new(format!("--stream '{item}' is not one of its choices"))
                    .because(format!("choices: {}", StreamDomain::NAMES.join(", "))),
            ),
        }
    }
    if flags.has(OTEL_RESOURCE_ATTRIBUTES) {
        match attributes(&flags.texts(OTEL_RESOURCE_ATTRIBUTES)) {
            Ok(map) => {
                benchmark.place("otel.custom_resource_attributes", Node::flag(&map, OTEL_RESOURCE_ATTRIBUTES.name))
            }
            Err((item, fault)) => problems.push(
                Problem::new(format!("--otel-resource-attributes '{item}' {fault}"))
                    .hint("--otel-resource-attributes key=value,key=value"),
            ),
        }
    }
}

/// Schemes that are not host names: `javascript:1` is not a host with a port.
const OTHER_SCHEMES: &[&str] =
    &["javascript", "data", "file", "mailto", "http", "https", "grpc", "grpcs", "tcp", "ws", "wss", "ftp"];

/// The URL for OTLP metrics: http by default, with the standard path at its end.
pub(crate) fn otel_url(text: &str) -> Result<String, UrlError> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let is_other = |(scheme, rest): (&str, &str)| OTHER_SCHEMES.contains(&scheme) && !rest.starts_with("//");
    if lower.starts_with("unix:") || lower.split_once(':').is_some_and(is_other) {
        return Err(UrlError::Scheme(text.to_owned()));
    }
    with_path(text, "/v1/metrics")
}

/// Whether metrics and timing are sent.
pub(crate) fn stream_domains<'a>(items: &[&'a str]) -> Result<(bool, bool), &'a str> {
    let domains: Vec<StreamDomain> =
        items.iter().map(|item| StreamDomain::exactly(item).ok_or(*item)).collect::<Result<_, _>>()?;
    let has = |domain| domains.contains(&domain);
    Ok(if has(StreamDomain::None) {
        (false, false)
    } else if items.is_empty() || has(StreamDomain::Default) {
        (true, true)
    } else {
        (has(StreamDomain::Metrics), has(StreamDomain::Timing))
    })
}

/// `key=value` items without blank ones; or the first malformed item, and why.
pub(crate) fn attributes(items: &[&str]) -> Result<Value, (String, &'static str)> {
    let mut map = serde_json::Map::new();
    for item in items.iter().flat_map(|item| item.split(',')).map(str::trim).filter(|item| !item.is_empty()) {
        let fault = match item.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            None => "is not key=value",
            Some(("", _)) => "has no key",
            Some((_, "")) => "has no value",
            Some((key, value)) => {
                map.insert(key.to_owned(), value.into());
                continue;
            }
        };
        return Err((item.to_owned(), fault));
    }
    Ok(Value::Object(map))
}

/// What the flag of GPU telemetry takes.
fn gpu_items() -> String {
    let keywords = LocalSource::ALL.map(LocalSource::keyword).join(", ");
    format!("it takes {keywords}, dashboard, a .csv file of metrics, and URLs of DCGM exporters")
}

fn with_scheme(text: &str) -> String {
    if text.contains("://") { text.to_owned() } else { format!("http://{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_added_to_a_url_and_not_to_its_text() {
        let metrics = |text: &str| metrics_url(text).map(|url| url.map_err(|_| "refused"));
        for (given, scraped) in [
            ("h:9400", "http://h:9400/metrics"),
            ("http://h/a/?x=1&y=2", "http://h/a/metrics?x=1&y=2"),
            ("http://h/metrics?x=/", "http://h/metrics?x=/"),
            ("http://metrics", "http://metrics/metrics"),
            ("https://u:p@h:1/", "https://u:p@h:1/metrics"),
        ] {
            assert_eq!(metrics(given), Some(Ok(scraped.to_owned())), "{given}");
        }
        for given in ["http://", "http://:1", "h:70000", "http://[::1]9"] {
            assert_eq!(metrics(given), Some(Err("refused")), "{given}");
        }
        assert_eq!(metrics("word"), None);
        assert_eq!(otel_url(" h:4318/x?k=v ").unwrap(), "http://h:4318/x/v1/metrics?k=v");
    }
}
