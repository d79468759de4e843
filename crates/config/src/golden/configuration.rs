//! `golden/config`: command lines to configurations, and command lines that are refused.

use super::{cases, list, resolve, texts};
use crate::flags;
use serde_json::{Value, json};

/// Cases where the reference accepts what is refused here, with the reason.
const REFUSED_HERE: &[(&str, &str)] = &[("url-foreign-scheme", "javascript:1 is a foreign scheme, not a host")];

/// Cases that the reference refuses and that are accepted here, with the reason.
const ACCEPTED_HERE: &[(&str, &str)] = &[
    ("header-comma", "header values may contain commas"),
    ("header-number", "header values are text"),
    ("mlflow-tag-colon", "each tag is a token of its own"),
    ("yaml-unrouted-sweeptype", "--sweep-type may stand beside --config"),
];

/// Brings a recorded configuration in line with the decisions that change it.
fn decided(argv: &[String], mut config: Value) -> Value {
    let has = |names: &[&str]| {
        argv.iter().any(|token| names.iter().any(|name| token == name || token.starts_with(&format!("{name}="))))
    };
    let from_file = has(&["--config", "-f"]);
    if !has(&["--server-metrics-formats"]) && config["server_metrics"]["formats"] == json!(["json", "csv"]) {
        config["server_metrics"]["formats"] = json!(["json", "csv", "parquet"]);
    }
    let asked = has(&[
        "--request-count",
        "--num-requests",
        "--benchmark-duration",
        "--num-sessions",
        "--conversation-num",
        "--num-conversations",
        "--variant",
    ]);
    if !asked && !from_file {
        for phase in config["phases"].as_array_mut().into_iter().flatten() {
            let default = phase["kind"] == "profiling" && phase["requests"] == 10 && phase["type"] != "fixed_schedule";
            if let (true, Some(concurrency)) = (default, phase["concurrency"].as_i64()) {
                phase["requests"] = (concurrency * 2).max(10).into();
            }
        }
    }
    config
}

#[test]
fn golden_valid_command_lines_give_the_recorded_configuration() {
    let data = cases("config", "valid.json");
    let mut failed = Vec::new();
    for case in list(&data["cases"]) {
        let id = case["id"].as_str().unwrap();
        let result = resolve(case);
        if REFUSED_HERE.iter().any(|(name, _)| *name == id) {
            assert!(result.is_err(), "{id} was accepted");
            continue;
        }
        let tree = match result {
            Ok(tree) => tree,
            Err(error) => {
                failed.push(format!("{id}: refused: {error}"));
                continue;
            }
        };
        let expected = &case["expected"];
        let mut check = |what: &str, found: Value, wanted: Value| {
            if found != wanted {
                failed.push(format!("{id}: {what}\n   found {found}\n  wanted {wanted}"));
            }
        };
        let argv = texts(&case["argv"]);
        check("input_config", tree.input_config(), decided(&argv, expected["input_config"].clone()));
        check("random_seed", json!(tree.random_seed), expected["random_seed"].clone());
        check("trials", json!(tree.trials), expected["trials"].clone());
        check("single_run", json!(tree.single_run()), expected["single_run"].clone());
        check("artifact_subdir", json!(tree.artifact_subdir), expected["artifact_subdir"].clone());
        check("sweep", tree.sweep().unwrap_or_default(), expected["sweep"].clone());
        check("multi_run", tree.multi_run().unwrap_or_default(), expected["multi_run"].clone());
        let runs: Vec<Value> = tree
            .variations
            .iter()
            .map(|run| json!({"index": run.index, "label": run.label, "dir_name": run.dir_name, "values": run.values, "seed": run.seed}))
            .collect();
        let wanted = if expected["variations"].is_null() { json!([]) } else { expected["variations"].clone() };
        check("variations", runs.into(), wanted);
    }
    println!("{} valid command lines, {} refused here by decision", list(&data["cases"]).len(), REFUSED_HERE.len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), list(&data["cases"]).len(), failed.join("\n"));
}

#[test]
fn golden_invalid_command_lines_are_refused_and_the_message_points_at_the_place() {
    let data = cases("config", "invalid.json");
    let mut failed = Vec::new();
    for case in list(&data["cases"]) {
        let id = case["id"].as_str().unwrap();
        let result = resolve(case);
        if ACCEPTED_HERE.iter().any(|(name, _)| *name == id) {
            if let Err(error) = result {
                failed.push(format!("{id}: refused although decided otherwise: {error}"));
            }
            continue;
        }
        let Err(error) = result else {
            failed.push(format!("{id}: accepted"));
            continue;
        };
        assert_eq!(error.exit_code(), 2, "{id}");
        if let Err(why) = points_at(case, &error) {
            failed.push(format!(
                "{id}: {why}\n  error: {error}\n  at {:?}",
                error.problems().iter().map(|p| &p.location).collect::<Vec<_>>()
            ));
        }
    }
    println!("{} invalid command lines, {} accepted here by decision", list(&data["cases"]).len(), ACCEPTED_HERE.len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), list(&data["cases"]).len(), failed.join("\n"));
}

/// The message names the flags that were given, one of those that are needed with them, and the place.
fn points_at(case: &Value, error: &crate::ConfigError) -> Result<(), String> {
    let (argv, expected) = (texts(&case["argv"]), &case["expected"]);
    let text = error.to_string();
    let spellings = |flag: &str| -> Vec<String> {
        let known = flags::find(flag).map(|(flag, _)| {
            std::iter::once(flag.name)
                .chain(flag.aliases.iter().copied())
                .chain(flag.negation)
                .map(str::to_owned)
                .collect()
        });
        known.unwrap_or_else(|| vec![flag.to_owned()])
    };
    let named = |flag: &str| spellings(flag).iter().any(|name| text.contains(name.as_str()));
    let given = |flag: &str| spellings(flag).iter().any(|name| argv.contains(name));
    if argv.is_empty() {
        return if text.contains("model") { Ok(()) } else { Err("does not say that a model is required".into()) };
    }
    let wanted = texts(&expected["flags_named"]);
    let config = ["--config".to_owned()];
    if let Some(unknown) = wanted.iter().find(|flag| flags::find(flag).is_none() && argv.contains(flag)) {
        // The reference adds its nearest name; ours may find another, or none.
        return if text.contains(unknown.as_str()) { Ok(()) } else { Err(format!("does not name {unknown}")) };
    }
    if let Some(flag) = wanted.iter().find(|flag| given(flag) && !named(flag) && !config.contains(flag)) {
        return Err(format!("does not name {flag}"));
    }
    let others: Vec<&String> = wanted.iter().filter(|flag| !given(flag) && flags::find(flag).is_some()).collect();
    if !others.is_empty() && !others.iter().any(|flag| named(flag)) {
        return Err(format!("names none of {others:?}"));
    }
    for location in texts(&expected["locations"]) {
        let by_flag = named(&format!("--{}", location.replace('_', "-")))
            || argv.iter().any(|token| token.starts_with('-') && text.starts_with(token.as_str()));
        let by_place = error.problems().iter().any(|problem| {
            problem.location == location
                || problem.location.starts_with(&format!("{location}."))
                || location.starts_with(&format!("{}.", problem.location))
        });
        let pointed = location.is_empty() || by_place || (by_flag && expected["kind"] == "cli_value");
        if !pointed {
            return Err(format!("does not point at {location}"));
        }
    }
    Ok(())
}
