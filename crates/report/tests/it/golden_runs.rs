//! Whole files compared with those of real runs.

use crate::support;

use aiperf_golden::kinds::runs::{CONSOLE, INPUTS, PHASE_MANIFEST, READY_MARKER, SUMMARY, SUMMARY_TABLE};
use aiperf_golden::{GoldenFile, Tally, respelled};
use aiperf_metrics::{ConsoleGroup, MetricResult, registry};
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::records::inputs_json::{InputsEntry, write_inputs};
use aiperf_report::summary::csv::run_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::summary::phases::phase_manifest;
use aiperf_report::{Artifacts, Page, PhaseResult, RunResult, report};
use aiperf_types::{PhaseId, PhaseKind, WallNs};
use serde_json::{Map, Value};
use std::fs;
use support::*;

/// The text of each member of an indented document.
fn members(text: &str) -> Vec<(&str, &str)> {
    let inner = text.strip_prefix("{\n  \"").unwrap().strip_suffix("\n}").unwrap();
    inner.split(",\n  \"").map(|member| member.split_once("\": ").unwrap()).collect()
}

#[test]
fn golden_summary_json_is_written_as_it_was_read() {
    let mut tally = Tally::of(SUMMARY);
    for file in SUMMARY.whole_files() {
        tally.run(file.name(), || check_summary(&file));
    }
    tally.finish();
}

fn check_summary(file: &GoldenFile) {
    let document = &file.json;
    let written = String::from_utf8(summary_json(&run_of(document))).unwrap();
    let (ours, theirs) = (members(&written), members(&file.text));
    let find = |key: &str| ours.iter().find(|(known, _)| *known == key).map(|(_, text)| *text);
    for (key, text) in &theirs {
        match *key {
            // Every run has its labels here; the reference omits them outside sweeps.
            "run_info" => {
                let ours: Map<String, Value> = serde_json::from_str(find(key).unwrap()).unwrap();
                let theirs: Map<String, Value> = serde_json::from_str(text).unwrap();
                assert!(theirs.iter().all(|(key, value)| ours[key] == *value), "{ours:?} is not {theirs:?}");
                let keys: Vec<&str> = ours.keys().map(String::as_str).filter(|key| theirs.contains_key(*key)).collect();
                assert_eq!(keys, theirs.keys().collect::<Vec<_>>());
                assert!(["run_label", "variation_label", "variation_index"].iter().all(|key| ours.contains_key(*key)));
            }
            // Metrics of the warm-up have no order in the reference.
            "warmup_metrics" => {
                let ours: Value = serde_json::from_str(find(key).unwrap()).unwrap();
                assert_eq!(ours, serde_json::from_str::<Value>(text).unwrap());
            }
            _ => assert_eq!(find(key).map(respelled), Some(respelled(text)), "{key}"),
        }
    }
    // The fixed members have the same order; those after them have no order in the reference.
    let fixed = |members: &[(&str, &str)]| -> Vec<String> {
        let last = members.iter().rposition(|(key, _)| ["end_time", "warmup_metrics"].contains(key)).unwrap();
        members[..=last].iter().map(|(key, _)| (*key).to_owned()).collect()
    };
    assert_eq!(fixed(&ours), fixed(&theirs));
    assert!(ours.iter().all(|(key, _)| document.get(key).is_some()));
}

#[test]
fn golden_summary_csv_from_its_json() {
    let mut tally = Tally::of(SUMMARY_TABLE);
    for table in SUMMARY_TABLE.whole_files() {
        let Some(summary) = SUMMARY.beside(&table) else {
            tally.skip("no summary beside the table");
            continue;
        };
        tally.run(table.name(), || {
            // The reference spells this header without spaces.
            let expected = table.text.replace("GoodRequestFraction", "Good Request Fraction");
            same_text(&run_csv(&run_of(&summary.json)), &expected);
        });
    }
    tally.finish();
}

#[test]
fn golden_console_from_its_json() {
    let mut tally = Tally::of(CONSOLE);
    for console in CONSOLE.whole_files() {
        let Some(summary) = SUMMARY.beside(&console) else {
            tally.skip("no summary beside the console's text");
            continue;
        };
        tally.run(console.name(), || check_console(&run_of(&summary.json), &console.text));
    }
    tally.finish();
}

fn check_console(run: &RunResult, expected: &str) {
    let mut run = run.clone();
    run.show_trace_timing = run.info.cli_command.as_deref().unwrap_or("").contains("--show-trace-timing");
    if run.was_cancelled {
        // After Ctrl-C the reference loses the groups of metrics from passes over the whole run, and shows them at the
        // end of the main table.
        for metric in &mut run.metrics.results {
            let by_pass = registry::find(&metric.tag).is_some_and(|known| known.kind().name() == "analysis");
            metric.group = if by_pass { ConsoleGroup::Default } else { metric.group };
        }
    }
    // Advice that the run already follows is omitted here; the reference shows it.
    if let Some(extra) = run.input_config["endpoint"]["extra"].as_object_mut() {
        extra.retain(|key, _| !["ignore_eos", "min_tokens"].contains(&key.as_str()));
    }
    // The reference explains outputs that are too long as if they were too short: with the sign inverted, its words are
    // ours.
    let mut expected = expected.to_owned();
    let is_longer = |metric: &&mut MetricResult| metric.tag == "osl_mismatch_diff_pct" && metric.stats.avg > Some(0.0);
    for metric in run.metrics.results.iter_mut().filter(is_longer) {
        let stats = &mut metric.stats;
        let average = stats.avg.unwrap();
        (stats.min, stats.max) = (stats.max.map(|max| -max), stats.min.map(|min| -min));
        stats.avg = Some(-average);
        let sentence = |average: f64| format!("Average mismatch: {average:.1}%");
        let (theirs, ours) = (sentence(average), sentence(-average));
        expected = expected.replace(&format!("{theirs} "), &ours);
    }
    same_text(&report(&run, Page::file()), &decided(&expected));
}

/// The reference's console text with our decisions applied.
fn decided(text: &str) -> String {
    let text = without_usage_table(text);
    let text = without_gpu_notes(&text);
    let text = with_adjusted_in_order(&text);
    let text = text.replacen("    1. Check the backend", "    2. Check the backend", 1);
    let Some((before, rest)) = cut(&text, "HTTP Trace Timing", "└") else { return text };
    // The trace table follows the metric tables, and the hint occurs only once.
    let (trace, after) = rest;
    let hint_end = "(TRT-LLM reports it by default).\n";
    let after = after
        .strip_prefix("\nToken usage")
        .and_then(|after| after.split_once(hint_end))
        .map_or(after, |(_, rest)| rest);
    match after.split_once(hint_end) {
        Some((tables, rest)) => format!("{before}{tables}{hint_end}\n\n{trace}{rest}"),
        None => format!("{before}{after}"),
    }
}

/// Error-adjusted metrics have the order of the metrics they adjust; in the reference they have no order.
fn with_adjusted_in_order(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = |header: &str| lines.iter().position(|line| line.contains(header));
    let (latency, first) = ("Request Latency (error-adjusted)", "Time to First Token (error-adjusted)");
    let mut lines = lines.clone();
    if let (Some(latency), Some(first)) = (place(latency), place(first))
        && latency + 2 == first
    {
        lines[latency..latency + 4].rotate_left(2);
    }
    lines.concat()
}

/// The text before a table with its two empty lines, the table itself, and the text after it.
fn cut<'a>(text: &'a str, title: &str, last: &str) -> Option<(&'a str, (&'a str, &'a str))> {
    let at = text.find(title)?;
    let start = text[..at].rfind('\n')? + 1;
    let bottom = at + text[at..].find(last)?;
    let end = bottom + text[bottom..].find('\n')? + 1;
    Some((text[..start].strip_suffix("\n\n")?, (&text[start..end], &text[end..])))
}

/// GPU notes are printed only if there are GPUs or the user asked.
fn without_gpu_notes(text: &str) -> String {
    let text = match cut(text, "GPU Telemetry Platform", "╰") {
        Some((before, (_, after))) => format!("{before}{after}"),
        None => text.to_owned(),
    };
    text.replace("\n\nNo GPU telemetry data collected during the benchmarking run.\n", "")
}

#[test]
fn golden_inputs_json_from_compact_bodies() {
    let mut tally = Tally::of(INPUTS);
    for file in INPUTS.whole_files() {
        tally.run(file.name(), || {
            let sessions = file.json["data"].as_array().unwrap().iter().map(|session| {
                let bodies = session["payloads"].as_array().unwrap().iter().map(|body| body.to_string().into_bytes());
                (session["session_id"].as_str().unwrap(), bodies)
            });
            let mut written = Vec::new();
            let mut entries = sessions.map(|(session, bodies)| InputsEntry::new(session, bodies));
            write_inputs(&mut written, |add| entries.try_for_each(|entry| add(&entry))).unwrap();
            same_text(&String::from_utf8(written).unwrap(), &file.text);
        });
    }
    tally.finish();
}

fn phase_of(entry: &Value) -> PhaseResult {
    let kind = entry["phase_kind"].as_str().unwrap();
    let count = |key: &str| entry[key].as_u64().unwrap();
    PhaseResult {
        id: PhaseId {
            index: count("phase_index") as u16,
            profiling_index: entry["profiling_index"].as_u64().map(|index| index as u16),
            name: entry["phase_name"].as_str().unwrap().into(),
            kind: if kind == "warmup" { PhaseKind::Warmup } else { PhaseKind::Profiling },
        },
        start: WallNs(count("start_ns")),
        end: WallNs(count("end_ns")),
        successful: count("successful_request_count"),
        failed: count("error_request_count"),
        errors: errors(&entry["error_summary"]),
        was_cancelled: entry["was_cancelled"].as_bool().unwrap(),
        metrics: summary(Vec::new()),
    }
}

#[test]
fn golden_phase_manifest() {
    let mut tally = Tally::of(PHASE_MANIFEST);
    for file in PHASE_MANIFEST.whole_files() {
        tally.run(file.name(), || {
            let listed = file.json["phases"].as_array().unwrap();
            // The names of the files contain the run's prefix.
            let summary_name = listed[0]["metrics_json"].as_str().map(|path| path.rsplit('/').next().unwrap());
            let plan = ArtifactPlan::new("/runs/one", FileNames::new(summary_name));
            let phases = listed.iter().map(phase_of).collect();
            let written = phase_manifest(&RunResult { phases, artifacts: plan, ..empty_run() });
            same_text(&String::from_utf8(written).unwrap(), &without_observed(&file.text));
        });
    }
    tally.finish();
}

/// A manifest without the files of observers: the runs of these tests have no observations.
fn without_observed(manifest: &str) -> String {
    let files = ["\"server_metrics_json\": \"phases/", "\"gpu_telemetry_json\": \"phases/"];
    let is_observed = |line: &&str| files.iter().any(|file| line.trim_start().starts_with(file));
    manifest.split_inclusive('\n').filter(|line| !is_observed(line)).collect()
}

#[test]
fn golden_ready_marker() {
    let mut tally = Tally::of(READY_MARKER);
    for file in READY_MARKER.whole_files() {
        tally.run(file.name(), || {
            let dir = tempfile::tempdir().unwrap();
            let names = FileNames::new(None);
            let plan = ArtifactPlan::new(dir.path(), names).without_records();
            let run = RunResult { was_cancelled: file.json["was_cancelled"].as_bool().unwrap(), ..empty_run() };
            write_all(&Artifacts::prepare(&plan).unwrap(), &run, Vec::new());
            let written = fs::read_to_string(dir.path().join(".aiperf_results_ready.json")).unwrap();
            assert_eq!(written, file.text);
        });
    }
    tally.finish();
}
