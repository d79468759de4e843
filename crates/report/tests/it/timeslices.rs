//! Time slices: the files compared with those of real runs, and cases that real runs do not have.

use crate::support;

use aiperf_golden::kinds::runs::{SLICES, SLICES_TABLE};
use aiperf_golden::{Tally, respelled};
use aiperf_metrics::{Slice, Summary};
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::summary::timeslices_csv::write_timeslices_csv;
use aiperf_report::summary::timeslices_json::write_timeslices_json;
use aiperf_report::{Artifacts, RunResult};
use aiperf_types::WallNs;
use serde_json::{Value, json};
use support::*;

/// The run from which a file of slices was written. The reference numbers slices by their position in the list.
fn run_with_slices(document: &Value) -> RunResult {
    let slices = document["timeslices"].as_array().unwrap().iter().enumerate().map(|(place, slice)| Slice {
        index: place as u64,
        start: WallNs(slice["start_ns"].as_u64().unwrap()),
        end: WallNs(slice["end_ns"].as_u64().unwrap()),
        complete: slice.get("is_complete").is_none(),
        summary: metrics(slice.as_object().unwrap()),
    });
    RunResult { slices: slices.collect(), input_config: document["input_config"].clone(), ..empty_run() }
}

fn json_of(run: &RunResult) -> String {
    let mut written = Vec::new();
    write_timeslices_json(&mut written, run).unwrap();
    String::from_utf8(written).unwrap()
}

fn csv_of(slices: &[Slice]) -> String {
    let mut written = Vec::new();
    write_timeslices_csv(&mut written, slices).unwrap();
    String::from_utf8(written).unwrap()
}

/// The lines of an indented document whose members have no order.
fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(',')).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn golden_timeslices() {
    let mut tally = Tally::of(SLICES);
    for file in SLICES.whole_files() {
        tally.run(file.name(), || {
            let written = json_of(&run_with_slices(&file.json));
            // The number of each slice, which makes gaps visible, is ours.
            let lines = written.lines().filter(|line| !line.starts_with("      \"index\": "));
            let theirs: String = lines.flat_map(|line| [line, "\n"]).collect();
            assert_eq!(sorted_lines(&respelled(&theirs)), sorted_lines(&respelled(&file.text)));
            let mut ours: Value = serde_json::from_str(&written).unwrap();
            for slice in ours["timeslices"].as_array_mut().unwrap() {
                slice.as_object_mut().unwrap().remove("index");
            }
            assert_eq!(ours, file.json);
        });
    }
    tally.begin(SLICES_TABLE);
    for table in SLICES_TABLE.whole_files() {
        let Some(slices) = SLICES.beside(&table) else {
            tally.skip("no slices beside the table");
            continue;
        };
        tally.run(table.name(), || {
            // The reference spells this header without spaces.
            let expected = table.text.replace("GoodRequestFraction", "Good Request Fraction");
            same_text(&csv_of(&run_with_slices(&slices.json).slices), &expected);
        });
    }
    tally.finish();
}

fn slice(index: u64, complete: bool, metrics: Summary) -> Slice {
    let start = WallNs(1_000 + index * 500);
    let end = WallNs(if complete { start.0 + 500 } else { start.0 + 120 });
    Slice { index, start, end, complete, summary: metrics }
}

fn sliced_run() -> RunResult {
    let block = json!({ "unit": "ms", "avg": 1.005, "p50": 1.0, "min": 1.0, "max": 2.0, "count": 2 });
    let count = json!({ "unit": "requests", "avg": 2.0 });
    let of = |tag: &str, block: &Value| summary(vec![result(tag, block)]);
    let slices = vec![slice(0, true, of("request_latency", &block)), slice(3, false, of("request_count", &count))];
    RunResult { slices, input_config: json!({ "models": "m" }), ..empty_run() }
}

#[test]
fn a_slice_has_its_index_and_whether_it_is_complete() {
    let run = sliced_run();
    insta::assert_snapshot!(json_of(&run));
    insta::assert_snapshot!(csv_of(&run.slices).replace("\r\n", "<crlf>\n"));
}

#[test]
fn slices_have_files_of_their_own_when_there_are_any() {
    let dir = tempfile::tempdir().unwrap();
    let names = FileNames::new(Some("deep/mine.csv"));
    let plan = ArtifactPlan::new(dir.path(), names).without_records();
    let files = || ["deep/mine_timeslices.csv", "deep/mine_timeslices.json"].map(|name| dir.path().join(name).exists());

    let run = RunResult { artifacts: plan.clone(), ..sliced_run() };
    let written = write_all(&Artifacts::prepare(&plan).unwrap(), &run, Vec::new());
    assert_eq!(files(), [true, true]);
    let labels: Vec<&str> = written.files.iter().map(|file| file.label).collect();
    assert_eq!(
        labels,
        ["CSV Export", "JSON Export", "Timeslice CSV Export", "Timeslice JSON Export", "Console Output"]
    );

    // A later run without slices, in the same directory.
    let run = RunResult { slices: Vec::new(), ..run };
    let artifacts = Artifacts::prepare(&plan).unwrap();
    artifacts.remove_stale().unwrap();
    let written = write_all(&artifacts, &run, Vec::new());
    assert_eq!(files(), [false, false]);
    assert!(!written.files.iter().any(|file| file.label.starts_with("Timeslice")));
}
