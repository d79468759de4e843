//! Tables of GPUs, as recorded from the reference.

use crate::support;

use aiperf_golden::kinds::exports::GPU_TABLES;
use aiperf_metrics::Stats;
use aiperf_observe::gpu::{Gpu, GpuEndpoint, GpuStats, GpuSummary, GpuTelemetry, Table};
use aiperf_report::summary::csv::run_csv;
use aiperf_report::{GpuTelemetryResult, Page, RunResult, report};
use aiperf_types::GpuVendor;
use serde_json::{Value, json};
use std::sync::Arc;
use support::{empty_run, result, summary};

fn run(input: &Value) -> RunResult {
    let table = Arc::new(Table::default());
    let text = |value: &Value| value.as_str().map(Arc::<str>::from);
    let gpu = |(key, gpu): (&String, &Value)| GpuSummary {
        key: key.clone(),
        gpu: Arc::new(Gpu {
            index: gpu["gpu_index"].as_i64().unwrap(),
            uuid: text(&gpu["gpu_uuid"]).unwrap(),
            model: text(&gpu["gpu_name"]).unwrap(),
            hostname: text(&gpu["hostname"]),
            namespace: text(&gpu["namespace"]),
            pod: text(&gpu["pod_name"]),
            vendor: if gpu["platform"] == "amd" { GpuVendor::Amd } else { GpuVendor::Nvidia },
            ..Gpu::default()
        }),
        metrics: gpu["metrics"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, stats)| GpuStats {
                metric: table.id(key).unwrap(),
                stats: serde_json::from_value::<Stats>(stats.clone()).unwrap(),
                resets: 0,
            })
            .collect(),
    };
    let endpoint = |(name, endpoint): (&String, &Value)| GpuEndpoint {
        display_name: name.clone(),
        gpus: endpoint["gpus"].as_object().unwrap().iter().map(gpu).collect(),
    };
    let urls = |key: &str| input["summary"][key].as_array().unwrap().iter().filter_map(text).collect();
    let telemetry = GpuTelemetry {
        configured: urls("endpoints_configured"),
        successful: urls("endpoints_successful"),
        endpoints: input["endpoints"].as_object().unwrap().iter().map(endpoint).collect(),
        table: table.clone(),
        ..GpuTelemetry::default()
    };
    let count = result("request_count", &json!({ "unit": "requests", "avg": 1.0 }));
    RunResult {
        metrics: summary(vec![count]),
        gpu_telemetry: Some(Arc::new(GpuTelemetryResult { telemetry, is_requested: true })),
        ..empty_run()
    }
}

#[test]
fn golden_tables_of_gpus() {
    GPU_TABLES.run(
        |_| None,
        |case| {
            let shown = report(&RunResult { metrics: summary(Vec::new()), ..run(&case["input"]) }, Page::file());
            // Sources that reported nothing have a line each.
            let expected = case["expected"]["console"].as_str().unwrap().replace("endpoints:  • ", "endpoints:\n  • ");
            assert_eq!(shown, expected, "{shown}");
        },
    );
}

#[test]
fn golden_rows_of_gpus() {
    let skip = |case: &Value| {
        let is_empty = case["input"]["endpoints"].as_object().is_some_and(|endpoints| endpoints.is_empty());
        is_empty.then(|| "12.8: no section without GPUs".to_owned())
    };
    GPU_TABLES.run(skip, |case| {
        assert_eq!(
            run_csv(&run(&case["input"])),
            case["expected"]["csv"].as_str().unwrap().replace("\r\n", "\n").replace('\n', "\r\n")
        );
    });
}

/// A screen of 80 columns: nothing is wider, and omitted columns are listed.
#[test]
fn tables_of_gpus_fit_a_narrow_screen() {
    let file = GPU_TABLES.lists().into_iter().next().unwrap();
    let shown = report(&run(&file.cases()[1]["input"]), Page::screen(80));
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for wanted in ["NVIDIA Energy Consumption", "1.23e+06", "✘ (unreachable)", "Left out to fit the screen: "] {
        assert!(shown.contains(wanted), "{wanted}\n{shown}");
    }
}

#[test]
fn without_gpus_nothing_is_printed_unless_the_user_asked() {
    let quiet = GpuTelemetryResult { telemetry: GpuTelemetry::default(), is_requested: false };
    let run = RunResult { gpu_telemetry: Some(Arc::new(quiet)), ..empty_run() };
    assert!(!report(&run, Page::file()).contains("GPU"));
}
