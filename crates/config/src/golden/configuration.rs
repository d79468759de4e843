//! `golden/config`: command lines to configurations, and command lines that are refused.

use super::{in_directory, lacking, list, texts};
use crate::error::ConfigError;
use crate::file::yaml;
use crate::flags::{
    self, API_HOST, BENCHMARK_DURATION, CONFIG, CONVERSATION_NUM, EXTRA_VERBOSE, Flag, HEADER, MLFLOW_TAG,
    NETWORK_LATENCY_AUTOMATIC, NETWORK_LATENCY_MEAN, PREFILL_CONCURRENCY, PROMPT_PREFIX_LENGTH,
    PROMPT_PREFIX_POOL_SIZE, REQUEST_COUNT, REQUEST_RATE, REQUEST_TIMEOUT_SECONDS, SCENARIO, SERVER_METRICS_FORMATS,
    UI_TYPE, URL, VARIANT, VERBOSE, WARMUP_DURATION, WARMUP_REQUEST_COUNT,
};
use crate::resolve::{Tree, resolve_config};
use crate::rules::SCENARIOS;
use crate::tree::Places;
use aiperf_golden::kinds::config::COMMAND_LINE;
use aiperf_golden::{Tally, name};
use aiperf_plan::{BaseUrl, UrlError};
use serde_json::{Map, Value, json};

#[test]
fn golden_command_lines_give_the_recorded_configuration_or_are_refused() {
    super::run(&[(COMMAND_LINE, command_line)]);
}

/// The values of a flag on a command line, in any spelling; an empty text if it has none.
fn values<'a>(argv: &'a [String], flag: &Flag) -> Vec<&'a str> {
    let (mut out, mut inside) = (Vec::new(), false);
    for token in argv {
        let (spelled, inline) =
            token.split_once('=').map_or((token.as_str(), None), |(name, value)| (name, Some(value)));
        match flags::find(spelled) {
            Some((found, _)) => {
                inside = found == flag;
                if inside {
                    out.push(inline.unwrap_or_default());
                }
            }
            None if inside => {
                if out.last().is_some_and(|last| last.is_empty()) {
                    out.pop();
                }
                out.push(token);
            }
            None => {}
        }
    }
    out
}

fn given(argv: &[String], flag: &Flag) -> bool {
    !values(argv, flag).is_empty()
}

fn file_texts(case: &Value) -> String {
    case["files"].as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str()).collect()
}

/// What AIPerf accepts and this program refuses, with the reason.
fn refused_here(argv: &[String]) -> Option<&'static str> {
    let foreign = |text: &&str| matches!(BaseUrl::parse(text), Err(UrlError::Scheme(_)));
    if values(argv, URL).iter().any(foreign) {
        return Some("a foreign scheme is not a host");
    }
    if argv.iter().any(|token| token.trim_start_matches(['+', '-']).eq_ignore_ascii_case("inf")) {
        return Some("a run without end is refused");
    }
    let unknown = values(argv, SCENARIO).into_iter().any(|name| !SCENARIOS.contains(&name));
    unknown.then_some("an unknown scenario is found while parsing")
}

/// What AIPerf refuses and this program accepts, with the reason.
fn accepted_here(case: &Value, argv: &[String]) -> Option<&'static str> {
    let expected = &case["expected"];
    let (locations, named) = (texts(&expected["locations"]), texts(&expected["flags_named"]));
    let about = |word: &str| locations.iter().any(|location| location.contains(word));
    let pairs = |flag: &Flag| {
        let values = values(argv, flag);
        !values.is_empty() && values.iter().all(|value| value.contains(':'))
    };
    if pairs(HEADER) && about("headers") {
        return Some("header values are text and may contain commas");
    }
    if pairs(MLFLOW_TAG) && named.iter().any(|flag| flag == MLFLOW_TAG.name) {
        return Some("each tag is a token of its own");
    }
    let beside = |flag: &String| flags::find(flag).is_some_and(|(flag, _)| flag.with_file && flag != CONFIG);
    if given(argv, CONFIG) && named.iter().any(|flag| flag == CONFIG.name) && named.iter().any(beside) {
        return Some("the flag may stand beside --config");
    }
    if values(argv, REQUEST_TIMEOUT_SECONDS).iter().any(|value| value.parse() == Ok(0.0)) {
        return Some("a timeout of 0 is none");
    }
    let no_pool = |flag: &Flag| values(argv, flag).iter().any(|value| value.parse() == Ok(0));
    if [PROMPT_PREFIX_POOL_SIZE, PROMPT_PREFIX_LENGTH].into_iter().any(no_pool) {
        return Some("a pool of no prefixes is none");
    }
    if given(argv, API_HOST) && case["env"].get("AIPERF_API_SERVER_PORT").is_some() {
        return Some("the environment may give the port");
    }
    let text = file_texts(case);
    if text.contains(": &") && text.contains(": *") {
        return Some("anchors may be shared");
    }
    if text.contains(": [") && about("phases") && !text.contains("sweep:") {
        return Some("lists of phase settings are swept");
    }
    None
}

/// What cannot be compared, with the reason.
fn incomparable(case: &Value, argv: &[String]) -> Option<&'static str> {
    let lists = [REQUEST_RATE, PREFILL_CONCURRENCY].iter().any(|flag| values(argv, flag).join("").contains(','));
    let warmup = [WARMUP_REQUEST_COUNT, WARMUP_DURATION].iter().any(|flag| given(argv, flag));
    if lists && warmup {
        return Some("a warmup takes the profiling value of its own run, not each of the list");
    }
    file_texts(case).contains("$${").then_some("$${ stands for the characters themselves")
}

/// Adapts a recorded configuration to decisions that change it.
fn decided(case: &Value, argv: &[String], mut config: Value) -> Value {
    if !given(argv, SERVER_METRICS_FORMATS) && config["server_metrics"]["formats"] == json!(["json", "csv"]) {
        config["server_metrics"]["formats"] = json!(["json", "csv", "parquet"]);
    }
    let asked = [REQUEST_COUNT, BENCHMARK_DURATION, CONVERSATION_NUM, VARIANT].iter().any(|flag| given(argv, flag));
    if !asked && !given(argv, CONFIG) {
        for phase in config["phases"].as_array_mut().into_iter().flatten() {
            let default = phase["kind"] == "profiling" && phase["requests"] == 10 && phase["type"] != "fixed_schedule";
            if let (true, Some(concurrency)) = (default, phase["concurrency"].as_i64()) {
                phase["requests"] = (concurrency * 2).max(10).into();
            }
        }
    }
    if !given(argv, CONFIG) {
        return config;
    }
    // The settings of a file for the screen and the network apply, unless a flag overrides them.
    let flags_of_screen = [UI_TYPE, VERBOSE, EXTRA_VERBOSE].iter().any(|flag| given(argv, flag));
    if let (false, Some(ui)) =
        (flags_of_screen, section_of(&case["files"], &["runtime"]).and_then(|mut own| own.remove("ui")))
    {
        config["runtime"]["ui"] = ui;
    }
    let flags_of_network = [NETWORK_LATENCY_AUTOMATIC, NETWORK_LATENCY_MEAN].iter().any(|flag| given(argv, flag));
    if let (false, Some(mut network)) =
        (flags_of_network, section_of(&case["files"], &["network_latency", "networkLatency"]))
    {
        network.entry("enabled").or_insert(json!(false));
        config["network_latency"] = network.into();
    }
    config
}

/// A section of the benchmark in the files of a case, by any of its names; keys in snake case, numbers with a fraction.
fn section_of(files: &Value, names: &[&str]) -> Option<Map<String, Value>> {
    let documents = files.as_object()?.values().filter_map(|text| yaml::load(text.as_str()?, &Places::default()).ok());
    let section = documents.map(|node| node.to_json()).find_map(|document| {
        let body = document.get("benchmark").unwrap_or(&document);
        names.iter().find_map(|name| body[*name].as_object().cloned())
    })?;
    let float = |value: Value| value.as_f64().map_or(value, Value::from);
    Some(section.into_iter().map(|(key, value)| (snake_case(&key), float(value))).collect())
}

fn snake_case(key: &str) -> String {
    key.chars().flat_map(|c| c.is_uppercase().then_some('_').into_iter().chain(c.to_lowercase())).collect()
}

#[test]
fn settings_of_a_file_for_screen_and_network_apply() {
    let text = "benchmark:
  model: m
  endpoint: {url: h}
  dataset: {isl: 1}
  runtime: {ui: simple}
  networkLatency: {pingInterval: 2}
  phases: {type: concurrency, requests: 1}
";
    let (case, argv) = (json!({"files": {"c.yaml": text}}), super::strings(&["--config", "c.yaml"]));
    let tree = in_directory(&case["files"], &Value::Null, |ctx| resolve_config(&argv, ctx));
    let tree = tree.unwrap_or_else(|error| panic!("{error}"));
    let (found, full) = (tree.set_config(), tree.input_config());
    let wanted = decided(&case, &argv, json!({"runtime": {"ui": "none"}, "network_latency": {"enabled": true}}));
    assert_eq!(wanted["runtime"]["ui"], "simple");
    assert_eq!(wanted["network_latency"], json!({"enabled": false, "ping_interval": 2.0}));
    assert_eq!(found["runtime"], wanted["runtime"]);
    assert_eq!(found["network_latency"], wanted["network_latency"]);
    assert_eq!(lacking(&full, &wanted), [""; 0]);
}

fn command_line(case: &Value, tally: &mut Tally) {
    let argv = texts(&case["argv"]);
    if let Some(reason) = incomparable(case, &argv) {
        return tally.skip(reason);
    }
    let result = in_directory(&case["files"], &case["env"], |ctx| resolve_config(&argv, ctx));
    let refused = case["ok"] == false || case["expected"].get("input_config").is_none();
    tally.run(name(case), || match (result, refused) {
        (Ok(tree), false) => configuration(case, &argv, &tree),
        (Err(error), true) => {
            assert_eq!(error.exit_code(), 2);
            let places: Vec<_> = error.problems().iter().map(|problem| &problem.location).collect();
            let pointed = points_at(case, &argv, &error);
            assert!(pointed.is_ok() || accepted_here(case, &argv).is_some(), "{pointed:?}\n{error}\nat {places:?}");
        }
        (Ok(_), true) => assert!(accepted_here(case, &argv).is_some(), "accepted"),
        (Err(error), false) => assert!(refused_here(&argv).is_some(), "refused: {error}"),
    });
}

/// Two settings with the same name get different names in the folder's name here, unlike in AIPerf: instead of
/// `mean_64` and `mean_32`, the names of the lengths.
fn distinct_name(run: &Value) -> Option<String> {
    let paths: Vec<&str> = run["values"].as_object()?.keys().map(String::as_str).collect();
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let is_shared = |path: &str| paths.iter().filter(|other| last(other) == last(path)).count() > 1;
    let mut parts: Vec<String> = run["dir_name"].as_str()?.split("__").map(str::to_owned).collect();
    let mut changed = false;
    for (part, path) in parts.iter_mut().zip(&paths).filter(|(_, path)| is_shared(path)) {
        *part = part.replacen(&last(path), path.rsplit('.').nth(1)?, 1);
        changed = true;
    }
    changed.then(|| parts.join("__"))
}

#[test]
fn two_means_of_a_recorded_folder_get_the_names_of_their_lengths() {
    let values =
        json!({"datasets.main.prompts.isl.mean": 64, "datasets.main.prompts.osl.mean": 32, "a.concurrency": 1});
    let run = json!({"values": values, "dir_name": "mean_64__mean_32__concurrency_1"});
    assert_eq!(distinct_name(&run).as_deref(), Some("isl_64__osl_32__concurrency_1"));
    assert_eq!(distinct_name(&json!({"values": {"a.concurrency": 1}, "dir_name": "concurrency_1"})), None);
}

fn configuration(case: &Value, argv: &[String], tree: &Tree) {
    let expected = &case["expected"];
    let mut differences = Vec::new();
    let mut check = |what: &str, found: Value, wanted: Value| {
        if found != wanted {
            differences.push(format!("{what}\n   found {found}\n  wanted {wanted}"));
        }
    };
    let wanted = decided(case, argv, expected["input_config"].clone());
    check("missing in input_config", lacking(&tree.input_config(), &wanted).into(), json!([]));
    check("what is set", tree.set_config(), wanted);
    for (what, found) in [
        ("random_seed", json!(tree.random_seed)),
        ("trials", json!(tree.trials)),
        ("single_run", json!(tree.single_run())),
        ("artifact_subdir", json!(tree.artifact_subdir)),
        ("sweep", tree.sweep().unwrap_or_default()),
        ("multi_run", tree.multi_run().unwrap_or_default()),
    ] {
        check(what, found, expected[what].clone());
    }
    let runs: Vec<Value> = tree
        .variations
        .iter()
        .map(|run| json!({"index": run.index, "label": run.label, "dir_name": run.dir_name, "values": run.values, "seed": run.seed}))
        .collect();
    let mut wanted = list(&expected["variations"]).to_vec();
    for wanted in &mut wanted {
        if let Some(name) = distinct_name(wanted) {
            wanted["dir_name"] = name.into();
        }
    }
    check("variations", runs.into(), wanted.into());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The message must name the given flags, one of the flags they need, and the location.
fn points_at(case: &Value, argv: &[String], error: &ConfigError) -> Result<(), String> {
    let expected = &case["expected"];
    let text = error.to_string();
    let spellings = |flag: &str| -> Vec<String> {
        let known = flags::find(flag).map(|(flag, _)| {
            let all = std::iter::once(flag.name).chain(flag.aliases.iter().copied()).chain(flag.negation);
            all.map(str::to_owned).collect()
        });
        known.unwrap_or_else(|| vec![flag.to_owned()])
    };
    let named = |flag: &str| spellings(flag).iter().any(|name| text.contains(name.as_str()));
    let given = |flag: &str| spellings(flag).iter().any(|name| argv.contains(name));
    if argv.is_empty() {
        return if text.contains("model") { Ok(()) } else { Err("does not say that a model is required".into()) };
    }
    let wanted = texts(&expected["flags_named"]);
    if let Some(unknown) = wanted.iter().find(|flag| flags::find(flag).is_none() && argv.contains(flag)) {
        // AIPerf adds its nearest name; ours may find another, or none.
        return if text.contains(unknown.as_str()) { Ok(()) } else { Err(format!("does not name {unknown}")) };
    }
    if let Some(flag) = wanted.iter().find(|flag| given(flag) && !named(flag) && *flag != CONFIG.name) {
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
