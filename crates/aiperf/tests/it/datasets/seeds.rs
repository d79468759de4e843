//! The same seed, the same dataset.

use crate::datasets::recorded::{Recorded, chat, chat_as};

const SHAPE: &[&str] = &["--isl", "20", "--isl-stddev", "5", "--num-dataset-entries", "6", "--request-count", "6"];

fn of_a_file(dataset_seed: Option<u64>, run_seed: u64) -> Recorded {
    let own = dataset_seed.map_or_else(String::new, |seed| format!("\n    random_seed: {seed}"));
    chat_as(|bench| {
        let text = format!(
            "random_seed: {run_seed}\nbenchmark:\n  dataset:{own}\n    entries: 6\n    prompts: {{isl: {{mean: 20, stddev: 5}}}}\n  profiling: {{type: concurrency, requests: 6}}\n"
        );
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, text).unwrap();
        bench.with(&["--config", file.to_str().unwrap()])
    })
    .good()
}

#[test]
fn the_same_seed_sends_the_same_and_another_sends_other_requests() {
    let texts = |seed: &str| chat(&[SHAPE, &["--random-seed", seed]].concat()).good().texts();
    assert_eq!(texts("7"), texts("7"));
    assert_ne!(texts("7"), texts("8"));
}

#[test]
fn the_seed_of_a_dataset_in_a_file_takes_precedence() {
    let apart = of_a_file(Some(5), 1).texts();
    assert_eq!(apart, of_a_file(Some(5), 2).texts());
    assert_ne!(apart, of_a_file(None, 1).texts());
}

#[test]
fn a_weighted_list_of_lengths_is_drawn_from() {
    let isl = "{points: [{value: 3, weight: 1}, {value: 11, weight: 1}]}";
    let recorded = chat_as(|bench| {
        let text = format!("random_seed: 3\nbenchmark:\n  dataset:\n    entries: 40\n    prompts: {{isl: {isl}}}\n  profiling: {{type: concurrency, requests: 40}}\n");
        let file = bench.dir.path().join("run.yaml");
        std::fs::write(&file, text).unwrap();
        bench.with(&["--config", file.to_str().unwrap()])
    })
    .good();
    let lengths: Vec<f64> = recorded
        .run
        .records()
        .iter()
        .map(|record| record["metrics"]["input_sequence_length"]["value"].as_f64().unwrap())
        .collect();
    assert!(lengths.iter().all(|length| [3.0, 11.0].contains(length)), "{lengths:?}");
    assert!(lengths.contains(&3.0) && lengths.contains(&11.0));
    assert_eq!(recorded.heads().len(), 40);
}

#[test]
fn an_empty_dataset_is_refused_and_nothing_is_sent() {
    let message = chat(&["--num-dataset-entries", "0"]).refused();
    assert!(message.contains("--num-dataset-entries"), "{message}");
}
