//! Files of the servers' own metrics against golden data.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use aiperf_golden::{File, Tally};
use aiperf_report::RunResult;
use aiperf_report::server_metrics_csv::write_server_metrics_csv;
use aiperf_report::server_metrics_json::write_server_metrics_json;
use serde_json::Value;
use support::observed::*;
use support::*;

fn each_run(title: &str, check: impl Fn(&File)) {
    let mut tally = Tally::new(title);
    for file in watched_runs() {
        tally.run(file.name(), || check(&file));
    }
    tally.finish();
}

fn json_of(run: &RunResult) -> Value {
    let mut text = Vec::new();
    let observed = run.server_metrics.as_ref().unwrap();
    write_server_metrics_json(&mut text, run, &observed.metrics).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    document.as_object_mut().unwrap().remove("input_config");
    document
}

fn csv_of(run: &RunResult) -> String {
    let mut text = Vec::new();
    write_server_metrics_csv(&mut text, run.server_metrics.as_ref().unwrap()).unwrap();
    String::from_utf8(text).unwrap()
}

/// The tables of a golden file: the reference puts comments before them, which their readers fail on.
fn tables(csv: &str) -> String {
    csv.split_inclusive('\n').skip_while(|line| line.starts_with('#')).collect()
}

#[test]
fn golden_statistics_are_written_as_json() {
    each_run("JSON of statistics", |file| {
        let expected = &file.content["expected"]["json"];
        // As text: the order of keys counts.
        let ours = serde_json::to_string_pretty(&json_of(&run_of_document(&file.content))).unwrap();
        same_text(&ours, &serde_json::to_string_pretty(expected).unwrap());
    });
}

#[test]
fn golden_statistics_are_written_as_csv() {
    each_run("CSV of statistics", |file| {
        let expected = tables(file.content["expected"]["csv"].as_str().unwrap());
        same_text(&csv_of(&run_of_document(&file.content)), &expected);
    });
}
