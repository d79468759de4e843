//! Lengths of prompts, and of requested outputs.

use crate::bench::Bench;
use crate::datasets::recorded::{Recorded, chat, chat_as, recording};
use std::collections::BTreeSet;

const FEW: &[&str] = &["--num-dataset-entries", "30", "--request-count", "30", "--random-seed", "3"];

fn few(args: &[&str]) -> Recorded {
    chat(&[FEW, args].concat()).good()
}

/// Input length and requested output length of each request.
fn lengths(recorded: &Recorded) -> BTreeSet<(u64, Option<u64>)> {
    let records = recorded.run.records();
    let inputs: Vec<u64> =
        records.iter().map(|one| one["metrics"]["input_sequence_length"]["value"].as_u64().unwrap()).collect();
    // One request at a time, so records are in the order of requests.
    let asked = recorded.bodies().into_iter().map(|body| body["max_completion_tokens"].as_u64());
    assert_eq!(inputs.len(), recorded.requests.len());
    inputs.into_iter().zip(asked).collect()
}

#[test]
fn every_notation_of_a_mix_draws_the_same_pairs() {
    let wanted = BTreeSet::from([(5, Some(50)), (9, Some(90))]);
    for notation in [
        "5,50:40;9,90:60",
        "[(5,50):40,(9,90):60]",
        r#"{"pairs":[{"isl":5,"osl":50,"prob":40},{"isl":9,"osl":90,"prob":60}]}"#,
    ] {
        assert_eq!(lengths(&few(&["--seq-dist", notation])), wanted, "{notation}");
    }
}

#[test]
fn a_mix_of_a_file_needs_no_length_beside_it() {
    let recorded = chat_as(|bench| {
        let text = "random_seed: 3\nbenchmark:\n  dataset:\n    entries: 20\n    prompts:\n      sequence_distribution:\n        - {isl: 4, osl: 40, probability: 50}\n        - {isl: 7, osl: 70, probability: 50}\n  profiling: {type: concurrency, requests: 20}\n";
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, text).unwrap();
        bench.with(&["--config", file.to_str().unwrap()])
    })
    .good();
    assert_eq!(lengths(&recorded), BTreeSet::from([(4, Some(40)), (7, Some(70))]));
}

#[test]
fn a_length_beside_a_mix_gives_a_note() {
    let stderr = few(&["--seq-dist", "5,50:100", "--isl", "100"]).run.stderr();
    assert!(stderr.contains("--isl 100 has no effect"), "{stderr}");
}

#[test]
fn ratios_keep_lengths_within_their_window() {
    let vllm = lengths(&few(&["--isl", "20", "--osl", "10", "--random-range-ratio", "0.5"]));
    assert!(vllm.iter().all(|(isl, osl)| (10..=30).contains(isl) && (5..=15).contains(&osl.unwrap())), "{vllm:?}");
    assert!(vllm.len() > 5, "{vllm:?}");
    let apart = r#"{"input":0.0,"output":0.5}"#;
    let apart = lengths(&few(&["--isl", "20", "--osl", "10", "--random-range-ratio", apart]));
    assert!(apart.len() > 2 && apart.iter().all(|(isl, _)| *isl == 20), "{apart:?}");
    let style = ["--random-range-ratio", "0.5", "--random-corpus-style", "sglang"];
    let sglang = lengths(&few(&[&["--isl", "20", "--osl", "10"][..], &style].concat()));
    assert!(sglang.iter().all(|(isl, osl)| (10..=20).contains(isl) && (5..=10).contains(&osl.unwrap())), "{sglang:?}");
}

#[test]
fn a_deviation_with_a_fraction_is_kept() {
    let found = lengths(&few(&["--isl", "20", "--isl-stddev", "0.5"]));
    assert!(found.len() > 1 && found.iter().all(|(isl, _)| (18..=23).contains(isl)), "{found:?}");
}

#[test]
fn invalid_lengths_are_refused_by_name() {
    for (args, named) in [
        (&["--seq-dist", "5,50:90"][..], "--seq-dist"),
        (&["--seq-dist", "0,50:100"], "--seq-dist"),
        (&["--seq-dist", "99999999,50:100"], "--seq-dist"),
        (&["--random-range-ratio", "0.5"], "needs --isl"),
        (&["--isl", "9", "--osl", "9", "--random-range-ratio", "1.5"], "--random-range-ratio"),
        (&["--isl", "1", "--osl", "9", "--random-range-ratio", "0.5"], "as short as 0 tokens"),
        (&["--isl", "9", "--osl", "9", "--isl-stddev", "2", "--random-range-ratio", "0.5"], "--isl-stddev"),
        (&["--isl", "9", "--osl", "9", "--seq-dist", "5,50:100", "--random-range-ratio", "0.5"], "exclude each other"),
    ] {
        let message = chat(args).refused();
        assert!(message.contains(named), "{args:?}: {message}");
    }
}

#[test]
fn the_same_seed_sends_the_same_with_1_2_and_8_workers() {
    let texts = |workers: &str| {
        let shape =
            ["--isl", "20", "--isl-stddev", "5", "--prefix-prompt-pool-size", "3", "--prefix-prompt-length", "9"];
        let recorded = recording(|address| {
            let server = ["--model", "m", "--url", address, "--tokenizer", "builtin", "--concurrency", "8"];
            let quiet = ["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--workers-max", workers];
            Bench::bare().with(&server).with(&quiet).with(FEW).with(&shape)
        })
        .good();
        recorded.texts().into_iter().collect::<BTreeSet<_>>()
    };
    let one = texts("1");
    assert_eq!(one.len(), 30);
    assert_eq!(one, texts("2"));
    assert_eq!(one, texts("8"));
}
