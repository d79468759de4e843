//! Whole files of AIPerf's runs, made again from the files of their children.

use crate::golden_aggregate::recorded::{check_same, metrics};
use aiperf_campaign::aggregate::{Cell, RunOutcome, RunRecords, SweepRules, SweepRun, collate, confidence, sweep};
use aiperf_golden::kinds::runs::{COLLATED_FILE, SWEEP_FILE, TRIALS_FILE};
use aiperf_golden::{Area, GoldenFile, GoldenKind, Tally, has, respelled};
use aiperf_plan::FileNames;
use aiperf_report::aggregate::collated_json::collated_json;
use aiperf_report::aggregate::confidence_csv::confidence_csv;
use aiperf_report::aggregate::confidence_json::confidence_json;
use aiperf_report::aggregate::files::document_text;
use aiperf_report::aggregate::sweep_csv::sweep_csv;
use aiperf_report::aggregate::sweep_json::sweep_json;
use aiperf_report::aggregate::{
    AggregateNames, CellOfSweep, ConfidenceReport, write_collated, write_confidence, write_sweep,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a golden run that sums up others.
struct Aggregate(GoldenFile);

impl Aggregate {
    /// The folder of the golden run: the files of its children are below it.
    fn base(&self) -> PathBuf {
        let area = Area::of("exports/runs");
        let runs = area.folder();
        runs.join(self.0.path.strip_prefix(runs).unwrap().iter().next().unwrap())
    }

    /// The swept settings of its runs, if they are runs of a sweep.
    fn values(&self) -> Option<&Value> {
        self.0.json["metadata"].get("variation_values")
    }

    /// The names of the files of such a run, derived from this one: they have a common beginning.
    fn names(&self) -> AggregateNames {
        let stem = self.0.path.file_stem().unwrap().to_str().unwrap();
        let endings = ["_aggregate", "_collated", "_sweep"];
        let prefix = endings.iter().find_map(|ending| stem.strip_suffix(ending)).unwrap_or(stem);
        AggregateNames::of(&FileNames::new(Some(&format!("{prefix}.json"))))
    }

    fn csv(&self) -> String {
        fs::read_to_string(self.0.path.with_extension("csv")).unwrap()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Runs a check on every golden file of a kind of aggregate.
fn run(kind: &GoldenKind, has_children: fn(&Aggregate) -> bool, check: fn(&Aggregate)) {
    let mut tally = Tally::of(kind);
    for file in kind.whole_files().into_iter().map(Aggregate) {
        // It looks for records under their usual name alone.
        let is_empty = file.0.json["metrics"].as_object().is_some_and(|all| all.is_empty());
        if kind.name == COLLATED_FILE.name && is_empty {
            tally.skip("the reference finds no records under a prefix of their own");
        } else if has_children(&file) {
            tally.run(file.0.name(), || check(&file));
        } else {
            tally.skip("what its runs left is not there");
        }
    }
    tally.finish();
}

/// The files of one of the runs.
struct Child {
    path: PathBuf,
    text: String,
}

impl Child {
    /// Its folder, named after the run.
    fn folder(&self) -> &str {
        self.path.parent().unwrap().file_name().unwrap().to_str().unwrap()
    }
}

/// Every file of a kind that the runs of an aggregate wrote, without files of their phases.
fn children(file: &Aggregate, is_kind: fn(&Value) -> bool) -> Vec<Child> {
    let is_of_phase = |path: &Path| path.iter().any(|folder| folder == "phases");
    let read = |path: PathBuf| Some(Child { text: fs::read_to_string(&path).ok()?, path });
    let first = |child: &Child| {
        let whole: Option<Value> = serde_json::from_str(&child.text).ok();
        whole.or_else(|| serde_json::from_str(child.text.lines().next()?).ok()).unwrap_or_default()
    };
    let paths = files(&file.base()).into_iter().filter(|path| !is_of_phase(path));
    paths.filter_map(read).filter(|child| is_kind(&first(child))).collect()
}

fn is_records(line: &Value) -> bool {
    has(line, "metadata.benchmark_phase") && has(line, "metrics")
}

/// The summaries of the runs of an aggregate, in the order of the runs.
fn summaries(file: &Aggregate) -> Vec<(Child, Value)> {
    let is_summary = |document: &Value| has(document, "run_info") && has(document, "schema_version");
    let parsed = children(file, is_summary).into_iter().map(|child| {
        let summary: Value = serde_json::from_str(&child.text).unwrap();
        (child, summary)
    });
    let values = file.values();
    let is_one = |(_, one): &(Child, Value)| values.is_none_or(|values| one["run_info"]["variation_values"] == *values);
    let mut found: Vec<(Child, Value)> = parsed.filter(is_one).collect();
    let number = |one: &Value, key: &str| one["run_info"][key].as_u64().unwrap_or(0);
    found.sort_by_key(|(_, one)| (number(one, "trial"), number(one, "variation_index")));
    found
}

fn has_summaries(file: &Aggregate) -> bool {
    let runs = file.0.json["num_successful_runs"].as_u64().or(file.0.json["metadata"]["num_successful_runs"].as_u64());
    let found = summaries(file).len() as u64;
    found > 0 && runs.is_none_or(|runs| runs == found)
}

fn has_records(file: &Aggregate) -> bool {
    !children(file, is_records).is_empty()
}

/// The label of a run among those with the same settings.
fn run_label(child: &Child, summary: &Value) -> String {
    summary["run_info"]["run_label"].as_str().unwrap_or(child.folder()).to_owned()
}

/// Checks the layout: what we write from the values in the file is the file itself.
fn check_layout(file: &Aggregate) {
    let ours = String::from_utf8(document_text(&file.0.json)).unwrap();
    assert_eq!(respelled(&ours), respelled(&file.0.text));
}

/// The files in a folder, by name.
fn written(folder: &Path) -> BTreeMap<String, String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files(folder).iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn golden_runs_trials() {
    run(TRIALS_FILE, has_summaries, |file| {
        let outcome = |(child, summary): &(Child, Value)| {
            RunOutcome::new(run_label(child, summary), Ok(metrics(summary.as_object().unwrap())))
        };
        let runs: Vec<RunOutcome> = summaries(file).iter().map(outcome).collect();
        let found = confidence(file.0.json["metadata"]["confidence_level"].as_f64().unwrap(), &runs).unwrap();
        let report = ConfidenceReport {
            version: file.0.json["aiperf_version"].as_str().unwrap().to_owned(),
            tally: found.tally,
            level: found.level,
            cooldown_seconds: file.0.json["metadata"]["cooldown_seconds"].as_f64().unwrap(),
            cell: cell_of(&file.0.json["metadata"]),
            dataset: None,
            verdicts: found.verdicts,
            metrics: found.metrics,
        };
        check_layout(file);
        let ours: Value = serde_json::from_slice(&confidence_json(&report)).unwrap();
        check_same("aggregate", &ours, &file.0.json, &["aggregate.metrics"]);
        check_tables(&confidence_csv(&report), &file.csv());
        let folder = tempfile::tempdir().unwrap();
        let names = file.names();
        assert!(write_confidence(folder.path(), &names, &report).is_empty());
        let written = written(folder.path());
        assert_eq!(written[&names.confidence_csv], confidence_csv(&report));
        assert_eq!(written[&names.confidence_json].as_bytes(), confidence_json(&report));
    });
}

/// The cell of the runs of an aggregate.
fn cell_of(metadata: &Value) -> Option<CellOfSweep> {
    let text = |key: &str| metadata[key].as_str().map(str::to_owned);
    Some(CellOfSweep {
        label: text("variation_label")?,
        values: metadata["variation_values"].as_object()?.clone(),
        sweep_mode: text("sweep_mode")?,
        model: text("model"),
    })
}

/// Compares rows without their order: AIPerf has none.
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
    run(COLLATED_FILE, has_records, |file| {
        let children = children(file, is_records);
        let records: Vec<RunRecords> = children.iter().map(|child| records(child.folder(), &child.text)).collect();
        let outcome = |run: &RunRecords| RunOutcome::new(run.label.clone(), Ok(Vec::new()));
        let outcomes: Vec<RunOutcome> = records.iter().map(outcome).collect();
        let version = file.0.json["aiperf_version"].as_str().unwrap();
        let cooldown = file.0.json["metadata"]["cooldown_seconds"].as_f64().unwrap();
        let found = collate(version, cooldown, &outcomes, &records.iter().collect::<Vec<_>>());
        check_layout(file);
        let ours: Value = serde_json::from_slice(&collated_json(&found)).unwrap();
        check_same("collated", &ours, &file.0.json, &["collated.metrics"]);
        let folder = tempfile::tempdir().unwrap();
        assert!(write_collated(folder.path(), &file.names(), &found).is_empty());
        assert_eq!(written(folder.path())[&file.names().collated_json].as_bytes(), collated_json(&found));
    });
}

#[test]
fn golden_runs_sweeps() {
    run(SWEEP_FILE, has_summaries, |file| {
        let run = |(child, summary): (Child, Value)| {
            let info = &summary["run_info"];
            let values = info["variation_values"].as_object().unwrap().clone();
            let label = info["variation_label"].as_str().unwrap().to_owned();
            let result = Ok(metrics(summary.as_object().unwrap()));
            let outcome = RunOutcome::new(run_label(&child, &summary), result);
            SweepRun { cell: Cell { label, values, directory: child.folder().to_owned() }, outcome }
        };
        let runs: Vec<SweepRun> = summaries(file).into_iter().map(run).collect();
        let metadata = &file.0.json["metadata"];
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
        let mut theirs = file.0.json.clone();
        let mut table = sweep_csv(&found);
        if plan.trials == 1 {
            // AIPerf finds no best configuration and no front if each cell has one trial.
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
        let names = file.names();
        assert!(write_sweep(folder.path(), &names, &found).is_empty());
        let written = written(folder.path());
        assert_eq!(written[&names.sweep_csv], sweep_csv(&found));
        assert_eq!(written[&names.sweep_json].as_bytes(), sweep_json(&found));
    });
}
