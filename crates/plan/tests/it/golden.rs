//! URLs of metrics pages and names of attributes, as recorded from AIPerf.

use aiperf_golden::kinds::servers::METRICS_URL;
use aiperf_golden::kinds::telemetry::{EXPORTER_URL, GEN_AI_ATTRIBUTE};
use aiperf_plan::otlp::{operation_name, provider_of};
use aiperf_plan::{BaseUrl, MetricsUrl, redact};
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

/// Row 8 of "Do better": texts that the reference takes apart wrongly.
fn skipped(case: &Value) -> Option<String> {
    let inputs = match &case["input"] {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str()?],
    };
    let is_odd = |text: &&str| {
        let scheme = text.split_once("://").map_or("http", |(scheme, _)| scheme);
        text.contains(['?', '#', ' ']) || !["http", "https"].contains(&scheme)
    };
    match case["kind"].as_str()? {
        "normalize" if inputs.iter().any(is_odd) => Some("15.8: URLs are parsed".to_owned()),
        "display" if inputs.iter().any(|text| !text.contains("://")) => Some("15.8: URLs are parsed".to_owned()),
        "cli_list" => Some("15.8: entries are refused by name, not dropped".to_owned())
            .filter(|_| inputs.iter().any(|text| !text.starts_with("http") && !text.contains(':'))),
        _ => None,
    }
}

/// The URL that is fetched, credentials included.
fn fetched(url: &MetricsUrl, given: &str) -> String {
    let user = given.split_once("://").map_or(given, |(_, rest)| rest);
    let user = user.split('/').next().unwrap().rsplit_once('@').map(|(user, _)| format!("{user}@"));
    url.shown().replace("<redacted>@", user.as_deref().unwrap_or_default())
}

#[test]
fn golden_urls_of_metrics_pages() {
    METRICS_URL.run(skipped, |case| {
        let text = || case["input"].as_str().unwrap();
        let ours = match case["kind"].as_str().unwrap() {
            "normalize" => MetricsUrl::parse(text()).map_or(Value::Null, |url| fetched(&url, text()).into()),
            "display" => MetricsUrl::verbatim(text()).unwrap().display_name().into(),
            "redact" => redact::url(text()).into(),
            "fallback_candidate" => {
                let fallback = MetricsUrl::verbatim(text()).unwrap().prometheus_fallback();
                fallback.map_or(Value::Null, |url| url.shown().into())
            }
            "cli_list" => {
                let items = case["input"].as_array().unwrap().iter().filter_map(Value::as_str);
                let entries = items.flat_map(|item| item.split(',')).filter(|entry| !entry.trim().is_empty());
                entries.map(|entry| MetricsUrl::parse(entry).unwrap().shown()).collect()
            }
            other => panic!("no such kind: {other}"),
        };
        assert_eq!(json!(ours), case["expected"], "{}", case["input"]);
    });
}

/// What no URL of an exporter is, and so never gets that far.
fn of_no_exporter(case: &Value) -> Option<String> {
    let text = case["input"].as_str()?;
    let reason = match text.split_once("://") {
        Some((scheme, _)) if !["http", "https"].contains(&scheme) => {
            "collectors of this machine have names, and no other scheme is one of an exporter"
        }
        _ if text.contains(['?', '#', ' ']) => "15.8: URLs are parsed",
        _ if text.is_empty() || text.starts_with('/') => "15.8: what is no URL is refused by name",
        _ => return None,
    };
    Some(reason.to_owned())
}

#[test]
fn golden_urls_of_dcgm_exporters() {
    EXPORTER_URL.run(of_no_exporter, |case| {
        let text = case["input"].as_str().unwrap();
        let wanted = case["expected"]["ok"].as_str().unwrap();
        // Without a scheme it is HTTP. The shown URL has no credentials.
        let wanted = if wanted.contains("://") { wanted.to_owned() } else { format!("http://{wanted}") };
        assert_eq!(MetricsUrl::parse(text).unwrap().shown(), redact::url(&wanted), "{text}");
    });
}

/// The reference leaves the start of a host open.
fn of_another_host(case: &Value) -> Option<String> {
    let host = case["input"].as_str()?.split_once("://")?.1;
    let is_longer = host.ends_with("api.openai.com") && host.len() > "api.openai.com".len();
    (case["name"] == "provider" && is_longer).then(|| "9: a host is known as a whole".to_owned())
}

#[test]
fn golden_names_of_gen_ai_attributes() {
    GEN_AI_ATTRIBUTE.run(of_another_host, |case| {
        let text = case["input"].as_str().unwrap();
        let ours = match case["name"].as_str().unwrap() {
            "provider" => provider_of(&[BaseUrl::parse(text).unwrap()], None),
            _ => EndpointKind::parse(text).map_or("chat", operation_name),
        };
        assert_eq!(json!(ours), case["expected"]["ok"], "{text}");
    });
}
