//! `golden/load`: flags to phases, and durations.

use super::{cases, list};
use crate::context::Context;
use crate::flags;
use crate::resolve::resolve_config;
use crate::setting::Seconds;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn golden_flags_give_the_recorded_phases() {
    let data = cases("load", "cli_to_phases.json");
    let mut failed = Vec::new();
    for case in list(&data) {
        if let Err(why) = check(case) {
            failed.push(format!("{}: {why}", case["flags"]));
        }
    }
    println!("{} sets of flags", list(&data).len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), list(&data).len(), failed.join("\n"));
}

fn check(case: &Value) -> Result<(), String> {
    let mut args = vec!["-m".to_owned(), "m".to_owned(), "--streaming".to_owned()];
    for (name, value) in case["flags"].as_object().unwrap() {
        // One flag's internal name is not its name on the command line.
        let spelled = if name == "warmup_num_sessions" {
            "--num-warmup-sessions".to_owned()
        } else {
            format!("--{}", name.replace('_', "-"))
        };
        assert!(flags::find(&spelled).is_some(), "{spelled}");
        args.push(spelled);
        match value {
            Value::Bool(_) => {}
            Value::String(text) => args.push(text.clone()),
            other => args.push(other.to_string()),
        }
    }
    let env = BTreeMap::new();
    let dir = tempfile::tempdir().unwrap();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    let expected = &case["expected"];
    let errors = ["error", "warmup_error", "profiling_error", "warmup_validation_error", "profiling_validation_error"];
    let refused: Vec<&Value> = errors.iter().filter_map(|key| expected.get(key)).collect();
    let tree = match resolve_config(&args, &ctx) {
        Err(error) if refused.is_empty() => return Err(format!("refused: {error}")),
        Err(error) => return mentions(&error.to_string(), &refused),
        Ok(_) if !refused.is_empty() => return Err("accepted".into()),
        Ok(tree) => tree,
    };
    let config = tree.input_config();
    for kind in ["warmup", "profiling"] {
        let found = list(&config["phases"]).iter().find(|phase| phase["kind"] == kind).cloned().unwrap_or_default();
        let mut wanted = expected[kind].clone();
        if !wanted.is_null() {
            wanted["name"] = kind.into();
            wanted["kind"] = kind.into();
            // Twice the concurrency unless something else ends the run.
            if wanted["requests"] == 10 && kind == "profiling" && case["flags"].get("request_count").is_none() {
                wanted["requests"] = (wanted["concurrency"].as_i64().unwrap_or(1) * 2).max(10).into();
            }
        }
        if found != wanted {
            return Err(format!("{kind}: found {found}, wanted {wanted}"));
        }
    }
    Ok(())
}

/// The message names each flag that a useful one must name.
fn mentions(text: &str, refused: &[&Value]) -> Result<(), String> {
    for error in refused {
        for wanted in list(&error["mentions"]).iter().filter_map(Value::as_str) {
            // This name is of no flag; the flag is --num-warmup-sessions.
            let wanted = if wanted == "--warmup-num-sessions" { "--num-warmup-sessions" } else { wanted };
            if !text.contains(wanted) {
                return Err(format!("does not mention {wanted}: {text}"));
            }
        }
    }
    Ok(())
}

#[test]
fn golden_durations_are_read_as_recorded() {
    let data = cases("load", "parse_duration.json");
    for case in list(&data) {
        let found = match &case["input"] {
            Value::String(text) => Seconds::parse(text).map(|seconds| crate::scalars::number(seconds.0)),
            Value::Number(n) => Some(json!(n.as_f64().unwrap())),
            _ => Some(Value::Null),
        };
        assert_eq!(found, case["expected"].get("ok").cloned(), "{}", case["input"]);
    }
    println!("{} durations", list(&data).len());
}
