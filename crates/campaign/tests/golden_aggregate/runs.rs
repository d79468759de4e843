//! Whole files of runs of the reference, made again from what their children left.

use crate::recorded::{area, check_same, metrics};
use aiperf_campaign::aggregate::{Cell, RunOutcome, RunRecords, SweepRules, SweepRun, collate, confidence, sweep};
use aiperf_golden::{Tally, has};
use aiperf_plan::FileNames;
use aiperf_report::aggregate::collated_json::collated_json;
use aiperf_report::aggregate::confidence_csv::confidence_csv;
use aiperf_report::aggregate::confidence_json::confidence_json;
use aiperf_report::aggregate::files::document_text;
use aiperf_report::aggregate::sweep_csv::sweep_csv;
use aiperf_report::aggregate::sweep_json::sweep_json;
use aiperf_report::aggregate::{AggregateNames, ConfidenceReport, write_collated, write_confidence, write_sweep};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a golden run that sums up others.
struct Aggregate {
    path: PathBuf,
    text: String,
    json: Value,
}

impl Aggregate {
    /// The folder of all runs, above that of the aggregate.
    fn base(&self) -> &Path {
        self.path.parent().unwrap().parent().unwrap()
    }

    fn csv(&self) -> String {
        fs::read_to_string(self.path.with_extension("csv")).unwrap()
    }

    fn name(&self) -> String {
        self.path.strip_prefix(area("exports").folder()).unwrap().display().to_string()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Runs a check on every golden file of a kind of aggregate.
fn run(title: &str, kind: &str, has_children: fn(&Path) -> bool, check: fn(&Aggregate)) {
    let mut tally = Tally::searching(title);
    for path in files(&area("exports").folder().join("runs")) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let of = json["metadata"]["aggregation_type"].as_str();
        if of != Some(kind) {
            continue;
        }
        let file = Aggregate { path, text, json };
        if has_children(file.base()) {
            tally.run(file.name(), || check(&file));
        } else {
            tally.skip("what its runs left is not there");
        }
    }
    tally.finish();
}

/// The files of this name below the folder of all runs, with the name of the folder they stand in.
fn children(base: &Path, name: &str) -> Vec<(String, String)> {
    let is_child = |path: &&PathBuf| path.file_name().is_some_and(|file| file == name);
    let label = |path: &PathBuf| path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    files(base).iter().filter(is_child).map(|path| (label(path), fs::read_to_string(path).unwrap())).collect()
}

const SUMMARY: &str = "profile_export_aiperf.json";
const RECORDS: &str = "profile_export.jsonl";

fn has_summaries(base: &Path) -> bool {
    !children(base, SUMMARY).is_empty()
}

fn has_records(base: &Path) -> bool {
    !children(base, RECORDS).is_empty()
}

/// The same layout: what we would write of the values that the file holds is the file.
fn check_layout(file: &Aggregate) {
    assert_eq!(String::from_utf8(document_text(&file.json)).unwrap(), file.text);
}

/// What lies in a folder, by name.
fn written(folder: &Path) -> BTreeMap<String, String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files(folder).iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn names() -> AggregateNames {
    AggregateNames::of(&FileNames::new(None))
}

#[test]
fn golden_runs_trials() {
    run("trials of real runs", "confidence", has_summaries, |file| {
        let runs: Vec<RunOutcome> = children(file.base(), SUMMARY)
            .into_iter()
            .map(|(label, text)| {
                let summary: Value = serde_json::from_str(&text).unwrap();
                RunOutcome { label, result: Ok(metrics(summary.as_object().unwrap())) }
            })
            .collect();
        let found = confidence(file.json["metadata"]["confidence_level"].as_f64().unwrap(), &runs).unwrap();
        let report = ConfidenceReport {
            version: file.json["aiperf_version"].as_str().unwrap().to_owned(),
            tally: found.tally,
            level: found.level,
            cooldown_seconds: file.json["metadata"]["cooldown_seconds"].as_f64().unwrap(),
            cell: None,
            dataset: None,
            metrics: found.metrics,
        };
        check_layout(file);
        let ours: Value = serde_json::from_slice(&confidence_json(&report)).unwrap();
        check_same("aggregate", &ours, &file.json, &["aggregate.metrics"]);
        check_tables(&confidence_csv(&report), &file.csv());
        let folder = tempfile::tempdir().unwrap();
        assert!(write_confidence(folder.path(), &names(), &report).is_empty());
        let written = written(folder.path());
        assert_eq!(written["profile_export_aiperf_aggregate.csv"], confidence_csv(&report));
        assert_eq!(written["profile_export_aiperf_aggregate.json"].as_bytes(), confidence_json(&report));
    });
}

/// Rows as they are, but for their order, in which the reference has none.
fn check_tables(ours: &str, theirs: &str) {
    let parts = |text: &str| {
        let (table, rest) = text.split_once("\r\n\r\n").unwrap();
        let mut rows: Vec<String> = table.split("\r\n").map(str::to_owned).collect();
        rows[1..].sort();
        (rows, rest.to_owned())
    };
    assert_eq!(parts(ours), parts(theirs));
}

/// The numbers of the successful profiling requests of a run.
fn records(label: &str, text: &str) -> RunRecords {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if line["metadata"]["benchmark_phase"] != "profiling" || !line["error"].is_null() {
            continue;
        }
        for (tag, metric) in line["metrics"].as_object().unwrap() {
            if let Some(value) = metric["value"].as_f64() {
                values.entry(tag.clone()).or_default().push(value);
            }
        }
    }
    RunRecords { label: label.to_owned(), values }
}

#[test]
fn golden_runs_collated() {
    run("records of real runs", "detailed", has_records, |file| {
        let children = children(file.base(), RECORDS);
        let records: Vec<RunRecords> = children.iter().map(|(label, text)| records(label, text)).collect();
        let outcome = |run: &RunRecords| RunOutcome { label: run.label.clone(), result: Ok(Vec::new()) };
        let outcomes: Vec<RunOutcome> = records.iter().map(outcome).collect();
        let version = file.json["aiperf_version"].as_str().unwrap();
        let cooldown = file.json["metadata"]["cooldown_seconds"].as_f64().unwrap();
        let found = collate(version, cooldown, &outcomes, &records.iter().collect::<Vec<_>>());
        check_layout(file);
        let ours: Value = serde_json::from_slice(&collated_json(&found)).unwrap();
        check_same("collated", &ours, &file.json, &["collated.metrics"]);
        let folder = tempfile::tempdir().unwrap();
        assert!(write_collated(folder.path(), &names(), &found).is_empty());
        assert_eq!(written(folder.path())["profile_export_aiperf_collated.json"].as_bytes(), collated_json(&found));
    });
}

#[test]
fn golden_runs_sweeps() {
    run("sweeps of real runs", "sweep", has_summaries, |file| {
        let run = |(directory, text): (String, String)| {
            let summary: Value = serde_json::from_str(&text).unwrap();
            let info = &summary["run_info"];
            let values = info["variation_values"].as_object().unwrap().clone();
            let label = info["variation_label"].as_str().unwrap().to_owned();
            let result = Ok(metrics(summary.as_object().unwrap()));
            let outcome = RunOutcome { label: info["run_label"].as_str().unwrap_or("run_0001").to_owned(), result };
            SweepRun { cell: Cell { label, values, directory }, outcome }
        };
        let runs: Vec<SweepRun> = children(file.base(), SUMMARY).into_iter().map(run).collect();
        let metadata = &file.json["metadata"];
        let plan = SweepRules {
            sweep_mode: metadata["sweep_mode"].as_str().unwrap().to_owned(),
            confidence_level: metadata["confidence_level"].as_f64().unwrap(),
            trials: metadata["num_trials_per_value"].as_u64().unwrap() as usize,
            sla_filters: Vec::new(),
            pareto_axes: None,
        };
        let found = sweep(&plan, &runs).unwrap();
        check_layout(file);
        let ours: Value = serde_json::from_slice(&sweep_json(&found)).unwrap();
        let mut theirs = file.json.clone();
        let mut table = sweep_csv(&found);
        if plan.trials == 1 {
            // The reference finds no best configuration and no front where each cell has one trial.
            assert_eq!((theirs["best_configurations"].take(), theirs["pareto_optimal"].take()), (json!({}), json!([])));
            for key in ["best_configurations", "pareto_optimal"] {
                assert!(has(&ours, key) && ours[key] != json!({}) && ours[key] != json!([]), "{key}");
                theirs[key] = ours[key].clone();
            }
            let (start, end) = (table.find("Configuration,").unwrap(), table.find("\r\n\r\nPareto").unwrap());
            table.replace_range(start..end + 2, "");
            let start = table.find("Pareto Optimal Points\r\n").unwrap() + "Pareto Optimal Points\r\n".len();
            let end = table.find("\r\n\r\nMetadata").unwrap();
            table.replace_range(start..end, "None");
        }
        check_same("sweep", &ours, &theirs, &["metrics"]);
        assert_eq!(table, file.csv());
        let folder = tempfile::tempdir().unwrap();
        assert!(write_sweep(folder.path(), &names(), &found).is_empty());
        let written = written(folder.path());
        assert_eq!(written["profile_export_aiperf_sweep.csv"], sweep_csv(&found));
        assert_eq!(written["profile_export_aiperf_sweep.json"].as_bytes(), sweep_json(&found));
    });
}
