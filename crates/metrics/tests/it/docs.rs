//! The registry and its documentation.

use aiperf_metrics::{markdown, registry_json};

#[test]
fn docs_metrics_md_is_up_to_date_with_the_registry() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, markdown()).expect("docs/metrics.md can be written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == markdown(), "docs/metrics.md is not up to date: UPDATE_DOCS=1 cargo test -p aiperf-metrics");
}

#[test]
fn the_page_opens_with_its_uses_and_does_not_mention_how_it_is_made() {
    let page = markdown();
    let opening = page.lines().take(8).collect::<Vec<_>>().join(" ");
    assert!(opening.contains("aiperf metrics --json") && opening.contains("--fail-if"), "{opening}");
    assert!(!page.contains("cargo ") && !page.contains("UPDATE_DOCS"), "a note for developers");
}

#[test]
fn the_registry_as_json_is_json_and_has_every_metric() {
    let parsed: serde_json::Value = serde_json::from_str(&registry_json()).expect("JSON");
    let tags: Vec<&str> = parsed.as_array().unwrap().iter().map(|metric| metric["tag"].as_str().unwrap()).collect();
    let known: Vec<&str> = aiperf_metrics::registry::all().iter().map(|metric| metric.tag).collect();
    assert_eq!(tags, known);
    assert!(parsed.as_array().unwrap().iter().all(|metric| !metric["formula"].as_str().unwrap().is_empty()));
}
