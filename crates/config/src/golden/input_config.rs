//! `golden/exports/runs`: every setting that a real run exported is exported for the same command line, with its value.

use super::{in_directory, lacking, words};
use crate::resolve::{Tree, resolve_config};
use aiperf_golden::{Area, Tally};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[test]
fn golden_runs_export_every_recorded_setting() {
    let mut tally = Tally::searching("golden exports/runs");
    for run in Area::of("exports/runs").paths() {
        for path in summaries(&run) {
            let text = std::fs::read_to_string(&path).unwrap();
            let Ok(summary) = serde_json::from_str::<Value>(&text) else { continue };
            let Some(command) = summary["run_info"]["cli_command"].as_str() else { continue };
            let args: Vec<String> = words(command).into_iter().skip_while(|word| word != "profile").skip(1).collect();
            if summary.get("input_config").is_some() {
                tally.run(path.display().to_string(), || check(&args, &summary));
            }
        }
    }
    tally.finish();
}

/// JSON files of a run, at any depth, without those of its phases: they have the same configuration.
fn summaries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let below = folders.iter().filter(|folder| !folder.ends_with("phases")).flat_map(|folder| summaries(folder));
    files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "json")).chain(below).collect()
}

fn check(args: &[String], summary: &Value) {
    let tree = in_directory(&Value::Null, &Value::Null, |ctx| resolve_config(args, ctx));
    let tree = tree.unwrap_or_else(|error| panic!("{error}"));
    let found = config_of(&tree, &summary["run_info"]["variation_values"]);
    let missing = lacking(&found, &decided(summary["input_config"].clone()));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The configuration of the run of a sweep with these values.
fn config_of(tree: &Tree, values: &Value) -> Value {
    let run = tree.variations.iter().find(|run| Value::Object(run.values.clone()) == *values);
    run.map_or_else(|| tree.input_config(), |run| run.input_config().clone())
}

/// Adapts a recorded configuration to decisions that change it.
fn decided(mut config: Value) -> Value {
    // The folder is that of the recorded run.
    config["artifacts"].as_object_mut().map(|artifacts| artifacts.remove("dir"));
    // Formats name every file that is written.
    let formats = [
        ("/artifacts/summary", json!(["json"]), json!(["json", "csv"])),
        ("/artifacts/records", json!(["jsonl"]), json!(["jsonl", "parquet"])),
        ("/server_metrics/formats", json!(["json", "csv"]), json!(["json", "csv", "parquet"])),
    ];
    for (path, recorded, ours) in formats {
        if let Some(found) = config.pointer_mut(path).filter(|found| **found == recorded) {
            *found = ours;
        }
    }
    // The settings of a climb are below `adaptive_scale`, and there are no services.
    for phase in config["phases"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        phase.retain(|key, _| key == "adaptive_scale" || !key.starts_with("adaptive_"));
    }
    config["runtime"].as_object_mut().map(|runtime| runtime.remove("service_run_type"));
    config
}
