//! `golden/orchestration`: recipes, log steps, folders, seeds, and the runs of a sweep.

use super::{cases, list};
use crate::flags::Flag;
use crate::sections::sweep::Sweep;
use crate::setting::{Reader, Setting};
use crate::sweep::{Inputs, derived_seed, dir_name, expand, logspace, recipe};
use crate::tree::{Node, Origin};
use serde_json::{Value, json};

/// A value without the nulls of its maps.
fn set_only(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), set_only(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(set_only).collect(),
        other => other.clone(),
    }
}

#[test]
fn golden_recipes_make_the_recorded_sweeps() {
    let data = cases("orchestration", "recipes.json");
    for case in list(&data["cases"]) {
        let input = &case["input"];
        let value = |flag: &Flag| {
            let key = flag.name.trim_start_matches('-').replace('-', "_");
            [&input["sla_targets"][&key], &input["overrides"][&key]].into_iter().find(|value| !value.is_null()).cloned()
        };
        let made =
            recipe(input["recipe"].as_str().unwrap(), &Inputs { value: &value, streaming: input["streaming"] == true });
        let Some(wanted) = case["expected"].get("ok") else {
            assert!(made.is_err(), "{input}");
            continue;
        };
        let made = made.unwrap_or_else(|problem| panic!("{input}: {problem}"));
        let mut sweep = made.sweep;
        let kind = sweep["type"].as_str().unwrap().to_owned();
        let found = match kind.as_str() {
            "adaptive_search" => json!({"adaptive_search": sweep}),
            _ => {
                let map = sweep.as_object_mut().unwrap();
                map.remove("type");
                let (from, to) =
                    if kind == "grid" { ("parameters", "sweep_parameters") } else { ("runs", "scenarios") };
                let points = map.remove(from).unwrap();
                map.insert(to.to_owned(), points);
                sweep
            }
        };
        let mut found = found;
        if let Some(slos) = made.slos {
            found["slos"] = slos;
        }
        assert_eq!(found, set_only(wanted), "{input}");
    }
    println!("{} recipes", list(&data["cases"]).len());
}

#[test]
fn golden_log_steps_are_spaced_as_recorded() {
    let data = cases("orchestration", "logspace.json");
    for case in list(&data["cases"]) {
        let at = |key: &str| case["input"][key].as_i64().unwrap();
        let found = logspace(at("lo"), at("hi"), at("steps")).ok().map(Value::from);
        assert_eq!(found.as_ref(), case["expected"].get("ok"), "{}", case["input"]);
    }
    println!("{} ranges", list(&data["cases"]).len());
}

#[test]
fn golden_run_folders_are_named_as_recorded() {
    let data = cases("orchestration", "variation_dir_name.json");
    for case in list(&data["cases"]) {
        let input = &case["input"];
        let found = dir_name(
            input["values"].as_object().unwrap(),
            input["label"].as_str().unwrap(),
            input["index"].as_u64().unwrap() as usize,
        );
        assert_eq!(case["expected"], found, "{input}");
    }
    println!("{} folders", list(&data["cases"]).len());
}

#[test]
fn golden_seeds_are_derived_as_recorded() {
    let data = cases("orchestration", "seed_derivation.json");
    let mut folded = 0;
    for case in list(&data["cases"]) {
        let input = &case["input"];
        if input.get("fold_uint32").is_some() {
            // Folding is for numpy's generator, which is not used here.
            folded += 1;
            continue;
        }
        let found = input["root_seed"].as_i64().map(|seed| derived_seed(seed, input["label"].as_str().unwrap()));
        assert_eq!(json!(found), case["expected"], "{input}");
    }
    println!("{} seeds, {folded} folds skipped", list(&data["cases"]).len() - folded);
}

#[test]
fn golden_sweeps_expand_to_the_recorded_runs() {
    let data = cases("orchestration", "sweep_expansion.json");
    let (mut count, mut sampled, mut failed) = (0, 0, Vec::new());
    for case in list(&data["cases"]) {
        let kind = case["input"]["sweep"]["type"].as_str().unwrap_or("grid");
        if ["sobol", "latin_hypercube"].contains(&kind) {
            // Sampled designs are drawn where they are run.
            sampled += 1;
            continue;
        }
        count += 1;
        if let Err(why) = check_expansion(case) {
            failed.push(format!("{}: {why}", case["name"]));
        }
    }
    println!("{count} sweeps, {sampled} sampled designs skipped");
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

fn check_expansion(case: &Value) -> Result<(), String> {
    let mut envelope = Node::from_json(&case["input"], &Origin::File { line: 1, column: 1 });
    let mut problems = Vec::new();
    crate::sweep::phase_lists(&mut envelope, &Default::default(), &mut problems);
    let mut reader = Reader::default();
    let typed = envelope.get("sweep").map(|sweep| Sweep::read(sweep, "sweep", &mut reader));
    let runs = match expand(&envelope, &Default::default()) {
        Ok(_) if typed.is_some() && !reader.problems.is_empty() && case["expected"].get("error").is_some() => {
            return Ok(());
        }
        Ok(runs) => runs,
        Err(_) if case["expected"].get("error").is_some() => return Ok(()),
        Err(problems) => return Err(format!("refused: {}", problems[0])),
    };
    if case["expected"].get("error").is_some() {
        return Err(format!("accepted, wanted {}", case["expected"]["error"]));
    }
    let wanted = list(&case["expected"]);
    let base = envelope.get("benchmark").cloned().unwrap();
    if runs.is_empty() && wanted.len() == 1 && wanted[0]["label"] == "base" {
        return Ok(());
    }
    if runs.len() != wanted.len() {
        return Err(format!("{} runs, wanted {}", runs.len(), wanted.len()));
    }
    for (run, wanted) in runs.iter().zip(wanted) {
        let found = json!({"index": run.index, "label": run.label, "values": run.values, "dir_name": run.dir_name});
        let body = run.apply(&base).to_json();
        for key in ["index", "label", "values", "dir_name"] {
            if found[key] != wanted[key] {
                return Err(format!("{key}: found {}, wanted {}", found[key], wanted[key]));
            }
        }
        if body != wanted["config"]["benchmark"] {
            return Err(format!("config: found {body}, wanted {}", wanted["config"]["benchmark"]));
        }
    }
    Ok(())
}
