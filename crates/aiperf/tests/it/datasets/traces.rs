//! Traces: the requests they give, and when they are refused.

use crate::bench::Bench;
use crate::datasets::recorded::{Recorded, chat_as};
use aiperf_tokenize::Tokenizer;
use serde_json::{Value, json};
use std::path::Path;

/// The documentation, whose examples the tests run.
const DOCS: &str = include_str!("../../../../../docs/traces.md");

/// The indented block in the section of a trace type.
fn example(of: &str) -> String {
    let section = DOCS.split(&format!("## `{of}`")).nth(1).unwrap();
    let lines = section.lines().skip(1).skip_while(|line| !line.starts_with("    "));
    lines.take_while(|line| line.starts_with("    ")).map(|line| format!("{}\n", line.trim())).collect()
}

/// A run over a trace in a file.
fn replay(content: impl AsRef<[u8]>, kind: &str, args: &[&str]) -> Recorded {
    replay_as(content, &[&["--custom-dataset-type", kind], args].concat())
}

fn replay_as(content: impl AsRef<[u8]>, args: &[&str]) -> Recorded {
    chat_as(|bench| with_trace(bench, content.as_ref()).with(&["--random-seed", "7"]).with(args))
}

fn with_trace(bench: Bench, content: &[u8]) -> Bench {
    std::fs::write(bench.dir.path().join("trace"), content).unwrap();
    bench.with(&["--input-file", "trace"])
}

fn tokens(text: &str) -> Vec<u32> {
    Tokenizer::builtin().encode(text)
}

fn max_tokens(recorded: &Recorded) -> Vec<Option<u64>> {
    let asked = |body: &&Value| body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64());
    recorded.bodies().iter().map(asked).collect()
}

#[test]
fn the_examples_of_the_documentation_are_replayed_at_their_times() {
    let mooncake = replay(example("mooncake_trace"), "mooncake_trace", &["--isl-block-size", "16"]).good();
    let texts = mooncake.texts();
    let lengths: Vec<usize> = texts.iter().map(|text| tokens(text).len()).collect();
    assert_eq!(lengths[..2], [40, 44]);
    assert_eq!(tokens(&texts[0])[..32], tokens(&texts[1])[..32]);
    assert_eq!(texts[2..], ["Name a river.", "hello", "hello again"]);
    assert_eq!(max_tokens(&mooncake)[..3], [Some(3), Some(4), Some(5)]);
    assert_eq!(mooncake.bodies()[4]["top_k"], 3);
    assert_eq!(mooncake.bodies()[4]["messages"].as_array().unwrap().len(), 1);
    assert!(!mooncake.run.dir.path().join("out/inputs.json").exists());

    let bailian = replay(example("bailian_trace"), "bailian_trace", &[]).good();
    let texts = bailian.texts();
    assert_eq!(texts.iter().map(|text| tokens(text).len()).collect::<Vec<_>>(), [40, 50]);
    assert_eq!(tokens(&texts[0])[..32], tokens(&texts[1])[..32]);
    // A later turn contains the turns before it.
    assert_eq!(bailian.bodies()[1]["messages"].as_array().unwrap().len(), 3);

    let burst = replay(example("burst_gpt_trace"), "burst_gpt_trace", &["--fixed-schedule"]).good();
    assert_eq!(burst.texts().iter().map(|text| tokens(text).len()).collect::<Vec<_>>(), [12, 20]);
    assert_eq!(max_tokens(&burst), [Some(3), Some(4)]);
}

#[test]
fn the_template_runs_as_printed_except_for_streaming() {
    let recorded = chat_as(|bench| {
        let printed = std::process::Command::new(env!("CARGO_BIN_EXE_aiperf"))
            .args(["config", "init", "--template", "trace-replay"])
            .output()
            .unwrap();
        let folder = bench.dir.path();
        let printed = String::from_utf8(printed.stdout).unwrap().replace("streaming: true", "streaming: false");
        std::fs::write(folder.join("run.yaml"), printed).unwrap();
        let rows = "{\"timestamp\": 0, \"input_length\": 9}\n{\"timestamp\": 40, \"input_length\": 8}\n";
        std::fs::write(folder.join("trace.jsonl"), rows).unwrap();
        bench.with(&["--config", "run.yaml"])
    })
    .good();
    assert_eq!(recorded.texts().iter().map(|text| tokens(text).len()).collect::<Vec<_>>(), [9, 8]);
}

const TIMED: &str = "{\"timestamp\": 100, \"text_input\": \"a\"}\n{\"timestamp\": 130, \"text_input\": \"b\"}\n{\"timestamp\": 160, \"text_input\": \"c\"}\n";

#[test]
fn rows_between_the_offsets_are_sent_and_no_others() {
    let offsets = ["--fixed-schedule-start-offset", "110", "--fixed-schedule-end-offset", "160"];
    let recorded = replay(TIMED, "mooncake_trace", &offsets).good();
    assert_eq!(recorded.texts(), ["b", "c"]);
    assert!(recorded.run.stdout().contains("because of their timestamps: 1"), "{}", recorded.run.stdout());
}

#[test]
fn a_trace_is_a_dataset_like_any_other_without_a_fixed_schedule() {
    let recorded = replay(TIMED, "mooncake_trace", &["--no-fixed-schedule", "--request-count", "4"]).good();
    assert_eq!(recorded.texts(), ["a", "b", "c", "a"]);
    let forgotten =
        ["--no-fixed-schedule", "--ignore-trace-delays", "--num-dataset-entries", "2", "--request-count", "3"];
    assert_eq!(replay(TIMED, "mooncake_trace", &forgotten).good().texts(), ["a", "b", "a"]);
}

#[test]
fn a_trace_is_reshaped_before_it_is_sent() {
    let rows = "{\"input_length\": 40, \"output_length\": 10, \"hash_ids\": [1, 2, 3]}\n{\"input_length\": 40, \"output_length\": 9, \"hash_ids\": [1, 2, 4]}\n{\"input_length\": 900, \"output_length\": 9}\n";
    let flags = [
        "--isl-block-size",
        "16",
        "--synthesis-prefix-len-multiplier",
        "2",
        "--synthesis-prompt-len-multiplier",
        "0.5",
        "--synthesis-output-len-multiplier",
        "2",
        "--synthesis-max-osl",
        "19",
        "--synthesis-max-isl",
        "100",
        "--request-count",
        "2",
    ];
    let recorded = replay(rows, "mooncake_trace", &flags).good();
    let texts: Vec<Vec<u32>> = recorded.texts().iter().map(|text| tokens(text)).collect();
    assert_eq!(texts.iter().map(Vec::len).collect::<Vec<_>>(), [68, 68]);
    assert_eq!(texts[0][..64], texts[1][..64]);
    assert_eq!(max_tokens(&recorded), [Some(19), Some(18)]);
}

/// A Parquet file with two sessions, written by pyarrow.
fn baseten() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/data/columns/baseten.parquet")).unwrap()
}

#[test]
fn a_columnar_trace_is_sent_by_timestamp_with_cache_hints() {
    let recorded =
        replay(baseten(), "baseten_trace", &["--replay-speedup", "2", "--max-idle-gap-cap-seconds", "0.05"]).good();
    assert_eq!(recorded.texts(), ["first", "second", "third ünï", "alone"]);
    let bodies = recorded.bodies();
    assert_eq!((&bodies[0]["hash_ids"], &bodies[0]["block_size"]), (&json!([1, 2]), &json!(64)));
    assert_eq!(
        bodies.iter().map(|body| body["min_tokens"].as_u64()).collect::<Vec<_>>(),
        [Some(4), Some(1), Some(6), Some(3)]
    );
    assert!(bodies[2].get("hash_ids").is_none());
    assert_eq!(bodies[1]["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn hints_and_minimum_lengths_can_be_left_out() {
    let flags = ["--omit-kv-hints", "--no-force-min-tokens", "--no-open-loop-replay"];
    let recorded = replay(baseten(), "baseten_trace", &flags).good();
    for body in recorded.bodies() {
        assert!(["hash_ids", "block_size", "min_tokens"].iter().all(|name| body.get(name).is_none()), "{body}");
    }
    let strict = replay(baseten(), "baseten_trace", &["--open-loop-strict"]).good();
    assert_eq!(strict.requests.len(), 4);
}

#[test]
fn options_that_do_not_fit_a_trace_are_refused_by_name_and_nothing_is_sent() {
    let burst = "Timestamp,Request tokens,Response tokens\n0,5,6\n";
    let cases: &[(&str, &str, &[&str], &str)] = &[
        (
            "{\"input_length\": 9}\n{\"input_length\": \"x\"}",
            "mooncake_trace",
            &[],
            "trace:2: input_length must be a whole number",
        ),
        ("", "mooncake_trace", &[], "is empty"),
        ("\n\n", "mooncake_trace", &[], "has no rows"),
        (burst, "burst_gpt_trace", &["--replay-speedup", "2"], "--replay-speedup"),
        (TIMED, "mooncake_trace", &["--ignore-trace-delays"], "--ignore-trace-delays"),
        ("{}", "weka_trace", &[], "weka_trace"),
        ("{}", "tracelab", &[], "tracelab"),
        ("{}", "dag_jsonl", &[], "dag_jsonl"),
    ];
    for (rows, kind, args, expected) in cases {
        let message = replay(rows, kind, args).refused();
        assert!(message.contains(expected), "{kind}: {message}");
    }
    let detected = replay_as("{\"text\": \"a\"}\n", &["--open-loop-strict"]).refused();
    assert!(detected.contains("--open-loop-strict"), "{detected}");
    let reshaped = replay_as("{\"text\": \"a\"}\n", &["--synthesis-max-osl", "5"]).refused();
    assert!(reshaped.contains("--synthesis-max-osl"), "{reshaped}");
}
