//! Telemetry of the server, the GPUs and the network, and where results are sent.

use crate::context::Context;
use crate::error::{Problem, needs};
use crate::given::Flags;
use crate::tree::{Node, Origin};
use serde_json::{Value, json};

/// Everything watched, with the defaults that flags alone give.
pub(super) fn observe(
    benchmark: &mut Node,
    flags: &Flags,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    if !gpu(benchmark, flags, ctx, notes, problems) {
        benchmark.put("gpu_telemetry", Node::from_json(&json!({"enabled": true}), &Origin::Rule));
    }
    if !server_metrics(benchmark, flags, problems) {
        let default = json!({"enabled": true, "urls": [], "formats": ["json", "csv", "parquet"]});
        benchmark.put("server_metrics", Node::from_json(&default, &Origin::Rule));
    }
    if !network(benchmark, flags, problems) {
        benchmark.put("network_latency", Node::from_json(&json!({"enabled": false}), &Origin::Rule));
    }
    sinks(benchmark, flags, problems);
    for key in ["otel", "mlflow", "wandb"] {
        benchmark.child(key);
    }
}

/// GPU telemetry, when a flag is about it.
pub(crate) fn gpu(
    benchmark: &mut Node,
    flags: &Flags,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> bool {
    let (on, off) = (flags.get("--gpu-telemetry"), flags.on("--no-gpu-telemetry"));
    if on.is_some() && off {
        problems.push(both("--gpu-telemetry", "--no-gpu-telemetry"));
    }
    if off {
        benchmark.put("gpu_telemetry", Node::flag(&json!({"enabled": false}), "--no-gpu-telemetry"));
        return true;
    }
    let Some(said) = on else { return false };
    let items = flags.texts("--gpu-telemetry");
    if items.is_empty() {
        benchmark.put("gpu_telemetry", Node::flag(&json!({"enabled": true}), &said.spelled));
        return true;
    }
    let mut telemetry = json!({"enabled": true, "urls": [], "collector": "dcgm", "mode": "summary"});
    let mut local: Vec<&str> = Vec::new();
    for item in items {
        match item {
            "pynvml" | "amdsmi" => {
                if !local.contains(&item) {
                    local.push(item);
                }
                telemetry["collector"] = item.into();
            }
            "dashboard" => telemetry["mode"] = "realtime_dashboard".into(),
            file if file.ends_with(".csv") && ctx.cwd.join(file).is_file() => telemetry["metrics_file"] = file.into(),
            url if url.starts_with("http") || url.contains(':') => {
                if let Some(urls) = telemetry["urls"].as_array_mut() {
                    urls.push(with_scheme(url).into());
                }
            }
            other => problems.push(
                Problem::new(format!("{} '{other}' is neither a source nor a collector", said.spelled))
                    .because("it takes URLs of DCGM exporters, pynvml, amdsmi, dashboard, or an existing .csv file of metrics")
                    .hint(format!("{} http://{other}:9400/metrics", said.spelled))
                    .at("benchmark.gpu_telemetry.urls"),
            ),
        }
    }
    let urls = telemetry["urls"].as_array().is_some_and(|urls| !urls.is_empty());
    if local.len() > 1 {
        problems.push(
            Problem::new(format!("{} names two collectors: {}", said.spelled, local.join(" and ")))
                .because("one collector reads the GPUs of this machine")
                .hint(format!("{} {}", said.spelled, local[0])),
        );
    } else if let (Some(collector), true) = (local.first(), urls) {
        problems.push(
            Problem::new(format!("{} has both {collector} and URLs", said.spelled))
                .because(format!("{collector} reads the GPUs of this machine, URLs those of others"))
                .hint(format!("{} {collector}, or the URLs alone", said.spelled)),
        );
    }
    if let (Some(collector), Some(url)) = (local.first(), flags.texts("--url").first())
        && !["localhost", "127.0.0.1", "::1"].iter().any(|host| url.contains(host))
    {
        notes.push(format!("{collector} reads the GPUs of this machine, but {url} is another one"));
    }
    benchmark.put("gpu_telemetry", Node::flag(&telemetry, &said.spelled));
    true
}

/// Metrics of the server, when a flag is about them.
pub(crate) fn server_metrics(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) -> bool {
    let (on, off) = (flags.get("--server-metrics"), flags.on("--no-server-metrics"));
    if on.is_some() && off {
        problems.push(both("--server-metrics", "--no-server-metrics"));
    }
    if off {
        benchmark.put("server_metrics", Node::flag(&json!({"enabled": false}), "--no-server-metrics"));
        return true;
    }
    let formats = flags.get("--server-metrics-formats");
    if on.is_none() && formats.is_none() {
        return false;
    }
    let urls: Vec<Value> =
        flags.texts("--server-metrics").into_iter().filter_map(metrics_url).map(Value::from).collect();
    let node = benchmark.child("server_metrics");
    node.put("enabled", Node::rule(true));
    node.put("urls", Node::flag(&urls.into(), flags.spelled("--server-metrics")));
    match formats {
        Some(said) => node.put("formats", said.node()),
        None => {
            let formats: Vec<Node> = ["json", "csv", "parquet"].into_iter().map(Node::rule).collect();
            node.put_default("formats", formats);
        }
    }
    true
}

/// The URL that is scraped; items that look like no URL are left out.
pub(crate) fn metrics_url(item: &str) -> Option<String> {
    if !item.starts_with("http") && !item.contains(':') {
        return None;
    }
    let url = with_scheme(item);
    let url = url.trim_end_matches('/');
    Some(if url.ends_with("/metrics") { url.to_owned() } else { format!("{url}/metrics") })
}

/// Network latency, when a flag is about it.
pub(crate) fn network(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) -> bool {
    let (automatic, mean) = (flags.on("--network-latency-automatic"), flags.get("--network-latency-mean"));
    let interval = flags.get("--network-latency-ping-interval");
    if automatic && mean.is_some() {
        problems.push(both("--network-latency-automatic", "--network-latency-mean"));
    }
    if interval.is_some() && !automatic {
        let why = match mean {
            Some(_) => "with --network-latency-mean nothing is pinged",
            None => "without it (or --network-latency-mean) the network is not looked at",
        };
        problems.push(
            Problem::new("--network-latency-ping-interval needs --network-latency-automatic")
                .because(why)
                .hint("add --network-latency-automatic"),
        );
    }
    if !automatic && mean.is_none() {
        return false;
    }
    let node = benchmark.child("network_latency");
    node.put(
        "enabled",
        Node::flag(&json!(true), if automatic { "--network-latency-automatic" } else { "--network-latency-mean" }),
    );
    if let Some(mean) = mean {
        node.put("mean_ms", mean.node());
    }
    if let Some(interval) = interval {
        node.put("ping_interval", interval.node());
    }
    true
}

/// Where results are sent.
pub(crate) fn sinks(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) {
    otel(benchmark, flags, problems);
    if let Some(tags) = flags.node("--mlflow-tag") {
        benchmark.place("mlflow.tags", tags);
    }
    for (main, key, others) in [
        (
            "--mlflow-tracking-uri",
            "mlflow.tracking_uri",
            &[
                "--mlflow-experiment",
                "--mlflow-run-name",
                "--mlflow-tag",
                "--mlflow-parent-run-id",
                "--mlflow-artifact-glob",
            ][..],
        ),
        ("--wandb-project", "wandb.project", &["--wandb-entity", "--wandb-run-name", "--wandb-tag"]),
    ] {
        let given = flags.among(others);
        if !given.is_empty() && !flags.has(main) && benchmark.find(key).is_none() {
            problems.push(needs(&given.join(", "), main, "without it nothing is sent"));
        }
        for said in flags.0.iter().filter(|said| said.flag.name == main || others.contains(&said.flag.name)) {
            if said.value.as_str().is_some_and(|text| text.trim().is_empty()) {
                problems.push(Problem::new(format!("{} must not be blank", said.spelled)).at(said.flag.to.location()));
            }
        }
    }
}

fn otel(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) {
    let others = flags.among(&["--stream", "--otel-resource-attributes", "--gen-ai-provider"]);
    if !others.is_empty() && !flags.has("--otel-url") && benchmark.find("otel.metrics_url").is_none() {
        problems.push(needs(&others.join(", "), "--otel-url", "without it nothing is sent"));
        return;
    }
    if let Some(url) = flags.text("--otel-url") {
        match otel_url(url) {
            Ok(url) => benchmark.place("otel.metrics_url", Node::flag(&json!(url), "--otel-url")),
            Err(rule) => problems.push(
                Problem::new(format!("--otel-url '{url}' {rule}"))
                    .hint("--otel-url http://HOST:4318")
                    .at("benchmark.otel.metrics_url"),
            ),
        }
    }
    if flags.has("--stream") {
        match stream_domains(&flags.texts("--stream")) {
            Ok((metrics, timing)) => {
                benchmark.place("otel.stream_metrics_enabled", Node::flag(&json!(metrics), "--stream"));
                benchmark.place("otel.stream_timing_enabled", Node::flag(&json!(timing), "--stream"));
            }
            Err(item) => problems.push(
                Problem::new(format!("--stream '{item}' is not one of its choices"))
                    .because("choices: default, metrics, timing, none"),
            ),
        }
    }
    if flags.has("--otel-resource-attributes") {
        match attributes(&flags.texts("--otel-resource-attributes")) {
            Ok(map) => {
                benchmark.place("otel.custom_resource_attributes", Node::flag(&map, "--otel-resource-attributes"))
            }
            Err(item) => problems.push(
                Problem::new(format!("--otel-resource-attributes '{item}' is not key=value"))
                    .hint("--otel-resource-attributes key=value,key=value"),
            ),
        }
    }
}

/// Where OTLP metrics go: http unless said, and the standard path at the end.
pub(crate) fn otel_url(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty");
    }
    let full = with_scheme(text);
    let scheme = full.split("://").next().unwrap_or_default().to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return Err("must start with http:// or https://");
    }
    let base = full.trim_end_matches('/');
    Ok(if base.ends_with("/v1/metrics") { base.to_owned() } else { format!("{base}/v1/metrics") })
}

/// Whether metrics and timing are sent.
pub(crate) fn stream_domains<'a>(items: &[&'a str]) -> Result<(bool, bool), &'a str> {
    if let Some(bad) = items.iter().find(|item| !["default", "metrics", "timing", "none"].contains(item)) {
        return Err(bad);
    }
    let has = |name| items.contains(&name);
    Ok(if has("none") {
        (false, false)
    } else if items.is_empty() || has("default") {
        (true, true)
    } else {
        (has("metrics"), has("timing"))
    })
}

/// `key=value` items, blank ones left out.
pub(crate) fn attributes(items: &[&str]) -> Result<Value, String> {
    let mut map = serde_json::Map::new();
    for item in items.iter().flat_map(|item| item.split(',')).map(str::trim).filter(|item| !item.is_empty()) {
        match item.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                map.insert(key.to_owned(), value.into());
            }
            _ => return Err(item.to_owned()),
        }
    }
    Ok(Value::Object(map))
}

fn with_scheme(text: &str) -> String {
    if text.contains("://") { text.to_owned() } else { format!("http://{text}") }
}

fn both(one: &str, other: &str) -> Problem {
    Problem::new(format!("{one} and {other} exclude each other")).hint(format!("leave {one} or {other} out"))
}
