//! `golden/exports/runs`: every setting that a real run exported is exported for the same command line, with its value.

use super::{in_directory, lacking, words};
use crate::resolve::{Tree, resolve_config};
use aiperf_golden::Tally;
use aiperf_golden::kinds::runs::SUMMARY;
use serde_json::{Value, json};

#[test]
fn golden_runs_export_every_recorded_setting() {
    let mut tally = Tally::of(SUMMARY);
    for file in SUMMARY.whole_files() {
        let summary = &file.json;
        let command = summary["run_info"]["cli_command"].as_str();
        if file.path.iter().any(|folder| folder == "phases") {
            tally.skip("a phase has the configuration of its run");
        } else if let (Some(command), Some(_)) = (command, summary.get("input_config")) {
            let args: Vec<String> = words(command).into_iter().skip_while(|word| word != "profile").skip(1).collect();
            tally.run(file.name(), || check(&args, summary));
        } else {
            tally.skip("no command, or no configuration");
        }
    }
    tally.finish();
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
    // Server metrics are written to a Parquet file, too.
    if config["server_metrics"]["formats"] == json!(["json", "csv"]) {
        config["server_metrics"]["formats"] = json!(["json", "csv", "parquet"]);
    }
    // The settings of a climb are below `adaptive_scale`, and there are no services.
    for phase in config["phases"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        phase.retain(|key, _| key == "adaptive_scale" || !key.starts_with("adaptive_"));
    }
    config["runtime"].as_object_mut().map(|runtime| runtime.remove("service_run_type"));
    config
}
