//! Several models in one run: which model a request names, and which tokenizer counts it.

use crate::bench::Bench;
use crate::datasets::recorded::{Recorded, recording};
use serde_json::Value;

const PAGE: &str = include_str!("../../../../../docs/models.md");
const QUIET: &[&str] = &["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--concurrency", "1"];

fn profile(args: &[&str]) -> Recorded {
    recording(|address| {
        Bench::bare().with(&["--url", address, "--tokenizer", "builtin", "--isl", "5"]).with(QUIET).with(args)
    })
}

/// A run with a configuration file.
fn configured(yaml: &str, args: &[&str]) -> Recorded {
    recording(|address| {
        let bench = Bench::bare();
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, yaml.replace("localhost:8000", address)).unwrap();
        bench.with(&["--config", file.to_str().unwrap()]).with(QUIET).with(args)
    })
}

fn models(recorded: &Recorded) -> Vec<&str> {
    recorded.bodies().iter().map(|body| body["model"].as_str().unwrap()).collect()
}

fn share(models: &[&str], name: &str) -> f64 {
    models.iter().filter(|model| **model == name).count() as f64 / models.len() as f64
}

/// The content of the first block of a page with this language.
fn block(language: &str) -> &'static str {
    let fence = format!("```{language}\n");
    PAGE.split_once(&fence).unwrap().1.split_once("```").unwrap().0
}

#[test]
fn models_take_turns_by_default() {
    let recorded = profile(&["--model", "a,b,c", "--request-count", "7"]).good();
    assert_eq!(models(&recorded), ["a", "b", "c", "a", "b", "c", "a"]);
    let inputs: Value = serde_json::from_str(&recorded.run.text("inputs.json")).unwrap();
    let shown: Vec<&str> =
        inputs["data"].as_array().unwrap().iter().map(|one| one["payloads"][0]["model"].as_str().unwrap()).collect();
    assert_eq!(shown, models(&recorded));
}

#[test]
fn turns_of_a_conversation_take_turns_too() {
    let args = ["--model", "a,b", "--session-turns-mean", "3", "--conversation-num", "2"];
    let recorded = profile(&args).good();
    assert_eq!(models(&recorded), ["a", "b", "a", "b", "a", "b"]);
}

#[test]
fn at_random_the_seed_decides() {
    let args = ["--model", "a,b", "--model-selection-strategy", "random", "--request-count", "40"];
    let run = |seed: &str| profile(&[&args[..], &["--random-seed", seed]].concat()).good();
    let (one, again, other) = (run("1"), run("1"), run("2"));
    assert_eq!(models(&one), models(&again));
    assert_ne!(models(&one), models(&other));
    assert!((0.2..0.8).contains(&share(&models(&one), "a")), "{:?}", models(&one));
}

#[test]
fn the_examples_of_the_page_run() {
    let recorded = configured(block("yaml"), &["--random-seed", "3"]).good();
    let asked = models(&recorded);
    assert_eq!(asked.len(), 100);
    assert!((0.55..0.85).contains(&share(&asked, "big")), "{asked:?}");
    let recorded = recording(|address| {
        let line = block("bash").trim().replace("localhost:8000", address);
        let args: Vec<&str> = line.strip_prefix("aiperf profile ").unwrap().split(' ').collect();
        Bench::bare().with(&args).with(QUIET)
    })
    .good();
    assert_eq!(share(&models(&recorded), "small"), 0.5);
}

#[test]
fn each_request_is_counted_by_the_tokenizer_of_its_model() {
    // Texts that the two vocabularies count differently.
    let texts = ["Привет, как дела сегодня?", "今日はいい天気ですね。散歩に行きましょう", "नमस्ते दुनिया"];
    let lengths = |first: &str, second: &str| -> Vec<f64> {
        let recorded = recording(|address| {
            let bench = Bench::bare();
            let rows: Vec<String> = texts.iter().map(|text| format!("{{\"text\":\"{text}\"}}")).collect();
            let (input, file) = (bench.dir.path().join("rows.jsonl"), bench.dir.path().join("run.yaml"));
            std::fs::write(&input, rows.join("\n")).unwrap();
            let yaml = format!(
                "benchmark:\n  models:\n    items:\n      - {{name: a, tokenizer: {{name: {first}}}}}\n      - {{name: b, tokenizer: {{name: {second}}}}}\n  endpoint: {{urls: [\"{address}\"]}}\n  dataset: {{type: file, format: single_turn, path: {}}}\n  profiling: {{type: concurrency, requests: 3}}\n",
                input.display()
            );
            std::fs::write(&file, yaml).unwrap();
            bench.with(&["--config", file.to_str().unwrap()]).with(QUIET)
        })
        .good();
        let length = |record: &Value| record["metrics"]["input_sequence_length"]["value"].as_f64().unwrap();
        recorded.run.records().iter().map(length).collect()
    };
    let (new, old) = (lengths("o200k_base", "o200k_base"), lengths("cl100k_base", "cl100k_base"));
    assert!(new.iter().zip(&old).all(|(new, old)| new != old), "{new:?} {old:?}");
    assert_eq!(lengths("o200k_base", "cl100k_base"), [new[0], old[1], new[2]]);
}

#[test]
fn weights_are_for_all_models_or_the_run_is_refused() {
    let message = profile(&["--model", "a,b", "--model-selection-strategy", "weighted"]).refused();
    assert!(message.contains("needs a weight for every model") && message.contains("try: "), "{message}");
    let unused = block("yaml").replace("strategy: weighted", "strategy: round_robin");
    let recorded = configured(&unused, &["--request-count", "2"]).good();
    assert!(recorded.run.stderr().contains("weights of models have no effect"), "{}", recorded.run.stderr());
}
