//! `golden/orchestration` and `golden/datasets`: recipes, log steps, folders, seeds, the runs of a sweep, lengths and
//! layouts of files.

use super::{in_directory, list, parsers, resolve, resolve_document, strings};
use crate::error::ConfigError;
use crate::plan::{looks_like, resolve_profile};
use crate::resolve::Tree;
use crate::rules::PROMPT_TOKENS;
use crate::sweep::{derived_seed, dir_name, expand, logspace, phase_lists};
use crate::tree::{Node, Origin, Places};
use aiperf_golden::kinds::datasets::{LAYOUT, LENGTH_PAIRS, RANGE_RATIO};
use aiperf_golden::kinds::orchestration::{LOG_STEPS, RECIPE, RUN_SEED, SEARCH_FLAG, SWEEP_RUNS, VARIATION_FOLDER};
use aiperf_golden::{Tally, name, skips_mark};
use aiperf_plan::{DatasetPlan, PairedLengths, Window};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

#[test]
fn golden_sweeps_recipes_and_seeds_are_as_recorded() {
    super::run(&[
        (RECIPE, recipe),
        (LOG_STEPS, log_steps),
        (VARIATION_FOLDER, folder),
        (SWEEP_RUNS, sweep),
        (RUN_SEED, seed),
        (SEARCH_FLAG, parsers::search_flag),
    ]);
}

#[test]
fn golden_lengths_and_layouts_are_read_as_recorded() {
    super::run(&[(LENGTH_PAIRS, sequence_distribution), (RANGE_RATIO, range_ratio), (LAYOUT, layout)]);
}

/// The layout of a file, without a named one.
fn layout(case: &Value, tally: &mut Tally) {
    let error = case["error"].as_str().unwrap_or_default();
    let is_body = error.contains("raw_payload");
    if is_body || error.contains("speed_bench") {
        return tally.skip("bodies and files of SPEED-Bench are distinguished from other layouts");
    }
    if let Some(reason) = skips_mark(&case["files"]) {
        return tally.skip(reason);
    }
    tally.run(name(case), || {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in case["files"].as_object().into_iter().flatten() {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = content.as_str().map(|text| text.as_bytes().to_vec());
            let decoded = || STANDARD.decode(content["base64"].as_str().unwrap()).unwrap();
            std::fs::write(path, bytes.unwrap_or_else(decoded)).unwrap();
        }
        let found = looks_like(&folder.path().join(case["input"].as_str().unwrap()));
        // A file without rows has no layout either, whatever error AIPerf then has.
        assert_eq!(found.as_ref().ok().map(|format| format.name()), case["detected"].as_str(), "{found:?}");
    });
}

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

/// A recipe on a command line.
fn recipe(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    let mut args = strings(&["-m", "m", "--search-recipe", input["recipe"].as_str().unwrap_or_default()]);
    if input["streaming"] == true {
        args.push("--streaming".to_owned());
    }
    for (key, value) in [&input["sla_targets"], &input["overrides"]].into_iter().filter_map(Value::as_object).flatten()
    {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items.iter().map(Value::to_string).collect::<Vec<_>>().join(","),
            other => other.to_string(),
        };
        if !value.is_null() {
            args.push(format!("--{}={text}", key.replace('_', "-")));
        }
    }
    tally.run(input.to_string(), || {
        let (made, wanted) = (resolve(&args), case["expected"].get("ok"));
        let (Ok(tree), Some(wanted)) = (&made, wanted) else {
            assert!(made.is_err() && wanted.is_none(), "{:?}", made.err().map(|error| error.to_string()));
            return;
        };
        let mut sweep = tree.sweep().unwrap();
        let kind = sweep["type"].as_str().unwrap().to_owned();
        let mut found = match kind.as_str() {
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
        if let Some(slos) = tree.input_config().get("slos") {
            found["slos"] = slos.clone();
        }
        assert_eq!(found, set_only(wanted));
    });
}

fn log_steps(case: &Value, tally: &mut Tally) {
    tally.run(case["input"].to_string(), || {
        let at = |key: &str| case["input"][key].as_i64().unwrap();
        let found = logspace(at("lo"), at("hi"), at("steps")).ok().map(Value::from);
        assert_eq!(found.as_ref(), case["expected"].get("ok"));
    });
}

fn folder(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    tally.run(input.to_string(), || {
        let index = input["index"].as_u64().unwrap() as usize;
        let found = dir_name(input["values"].as_object().unwrap(), input["label"].as_str().unwrap(), index);
        assert_eq!(case["expected"], found);
    });
}

fn seed(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    if input.get("fold_uint32").is_some() {
        return tally.skip("folding is for numpy's generator, which is not used here");
    }
    tally.run(input.to_string(), || {
        let found = input["root_seed"].as_i64().map(|seed| derived_seed(seed, input["label"].as_str().unwrap()));
        assert_eq!(json!(found), case["expected"]);
    });
}

/// The runs of a file, each as the file that is written for it.
fn sweep(case: &Value, tally: &mut Tally) {
    let kind = case["input"]["sweep"]["type"].as_str();
    if matches!(kind, Some("sobol" | "latin_hypercube")) {
        return tally.skip("sampled designs are drawn where they are run");
    }
    tally.run(name(case), || {
        if case["expected"].get("error").is_some() {
            let made = resolve_document(&case["input"]);
            assert!(made.is_err(), "accepted, wanted {}", case["expected"]["error"]);
            return;
        }
        let wanted = list(&case["expected"]);
        let alone: Result<Vec<Tree>, _> = wanted.iter().map(|run| resolve_document(&run["config"])).collect();
        match alone {
            Ok(alone) => whole_runs(case, wanted, &alone),
            // AIPerf expands before it validates: a run that is refused by itself shows only its expansion.
            Err(_) => expansions(case, wanted),
        }
    });
}

fn whole_runs(case: &Value, wanted: &[Value], alone: &[Tree]) {
    let tree = resolve_document(&case["input"]).unwrap_or_else(|error| panic!("refused: {error}"));
    if let ([], [only]) = (&tree.variations[..], wanted) {
        assert_eq!(only["label"], "base");
        assert_eq!(tree.input_config(), alone[0].input_config());
        return;
    }
    assert_eq!(tree.variations.len(), wanted.len());
    for ((run, wanted), alone) in tree.variations.iter().zip(wanted).zip(alone) {
        let found = json!({"index": run.index, "label": run.label, "values": run.values, "dir_name": run.dir_name});
        labelled(&found, wanted);
        assert_eq!(run.input_config(), alone.input_config(), "{}", run.label);
    }
}

fn labelled(found: &Value, wanted: &Value) {
    for key in ["index", "label", "values", "dir_name"] {
        assert_eq!(found[key], wanted[key], "{key}");
    }
}

fn expansions(case: &Value, wanted: &[Value]) {
    let mut envelope = Node::from_json(&case["input"], &Origin::File { line: 1, column: 1 });
    phase_lists(&mut envelope, &Places::default(), &mut Vec::new());
    let runs = expand(&envelope, &Places::default()).unwrap_or_else(|problems| panic!("refused: {}", problems[0]));
    let base = envelope.get("benchmark").unwrap();
    if runs.is_empty() {
        assert_eq!((wanted.len(), &wanted[0]["label"]), (1, &json!("base")));
        return;
    }
    assert_eq!(runs.len(), wanted.len());
    for (run, wanted) in runs.iter().zip(wanted) {
        let found = json!({"index": run.index, "label": run.label, "values": run.values, "dir_name": run.dir_name});
        labelled(&found, wanted);
        assert_eq!(run.apply(base).to_json(), wanted["config"]["benchmark"], "{}", run.label);
    }
}

/// Lengths on a command line.
fn sequence_distribution(case: &Value, tally: &mut Tally) {
    let input = case["input"].as_str().unwrap_or_default();
    if !input.is_ascii() {
        return tally.skip("only ASCII digits make a number");
    }
    let args = strings(&["-m", "m", &format!("--seq-dist={input}")]);
    tally.run(input, || match resolve(&args) {
        Err(error) => assert_eq!(case["ok"], false, "refused: {error}"),
        Ok(tree) => {
            assert_eq!(case["ok"], true, "accepted");
            let config = tree.input_config();
            let pairs: Vec<Value> = list(&config["datasets"][0]["prompts"]["sequence_distribution"])
                .iter()
                .map(|pair| {
                    json!({
                        "isl": pair["isl"]["mean"].as_f64().unwrap() as i64,
                        "isl_stddev": pair["isl"]["stddev"],
                        "osl": pair["osl"]["mean"].as_f64().unwrap() as i64,
                        "osl_stddev": pair["osl"]["stddev"],
                        "prob": pair["probability"],
                    })
                })
                .collect();
            assert_eq!(Value::from(pairs), case["pairs"]);
            let wanted = case["stats"]["expected_isl"].as_f64();
            let is_a_prompt = wanted.is_some_and(|mean| mean < PROMPT_TOKENS);
            if let Some(PairedLengths::Mix(mix)) = drawn(&args).ok().flatten() {
                let mean = PairedLengths::Mix(mix).input_mean();
                assert!((mean - wanted.unwrap()).abs() <= 1e-6 * mean, "{mean}, wanted {wanted:?}");
            } else {
                assert!(!is_a_prompt, "no lengths are drawn");
            }
        }
    });
}

/// The lengths that are drawn together for a command line.
fn drawn(args: &[String]) -> Result<Option<PairedLengths>, ConfigError> {
    let resolved = in_directory(&Value::Null, &Value::Null, |ctx| resolve_profile(args, ctx))?;
    match resolved.into_plan().dataset {
        DatasetPlan::Synthetic(plan) => Ok(plan.pairs),
        other => panic!("{other:?} is not synthetic"),
    }
}

/// Which ratios a command line may have, and what is drawn with them.
fn range_ratio(case: &Value, tally: &mut Tally) {
    let text = |key: &str| case[key].as_str().map_or_else(|| case[key].to_string(), str::to_owned);
    let mut args = strings(&["-m", "m"]);
    for (flag, key) in
        [("--random-range-ratio", "ratio"), ("--random-corpus-style", "style"), ("--isl", "isl"), ("--osl", "osl")]
    {
        args.push(format!("{flag}={}", text(key)));
    }
    tally.run(args.join(" "), || {
        let refused = resolve(&args).err().map(|error| error.to_string());
        assert_eq!(refused.is_none(), case["ok"] == true, "{refused:?}, wanted {}", case["error"]);
    });
    if case["ok"] == true {
        windows(case, args, tally);
    }
}

/// Prompts have the requested length, so the tokens that a tokenizer adds are subtracted before the draw, as AIPerf
/// does for vLLM. For SGLang, AIPerf subtracts them from the drawn length.
fn windows(case: &Value, mut args: Vec<String>, tally: &mut Tally) {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let added = if case["style"] == "vllm" { number(&case["num_special_tokens"]) } else { 0 };
    let isl = number(&case["isl"]).saturating_sub(added);
    if isl == 0 {
        return tally.skip("a prompt of no tokens is refused");
    }
    args.retain(|arg| !arg.starts_with("--isl="));
    args.push(format!("--isl={isl}"));
    tally.run(args.join(" "), || {
        let bounds = |key: &str| Window { least: number(&case[key][0]), most: number(&case[key][1]) };
        let (input, output) = (bounds("input_bounds"), bounds("output_bounds"));
        match drawn(&args) {
            Ok(found) => assert_eq!(found, Some(PairedLengths::Windows { input, output })),
            Err(error) => assert_eq!(input.least, 0, "{error}"),
        }
    });
}
