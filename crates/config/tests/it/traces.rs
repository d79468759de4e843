//! Plans of traces, from flags and files.

use aiperf_config::{Context, Resolved, resolve_profile};
use aiperf_plan::{Arrival, DatasetPlan, Pace, SessionColumn, TraceFormat, TracePlan};
use std::collections::BTreeMap;

fn resolve(args: &[&str], env: &[(&str, &str)]) -> Result<Resolved, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).expect("a file");
    write("m.jsonl", b"{\"timestamp\": 0, \"input_length\": 9, \"hash_ids\": [1]}\n");
    write("b.csv", b"Timestamp,Request tokens,Response tokens\n0,1,2\n");
    write(
        "chats.jsonl",
        b"{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0, \"input_length\": 5, \"output_length\": 1}\n",
    );
    // The content of a columnar file is checked when it is read.
    write("b.parquet", b"PAR1");
    write("s.jsonl", b"{\"text\": \"a\"}\n");
    let env: BTreeMap<String, String> = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let args: Vec<String> = ["-m", "m", "--input-file"].iter().chain(args).map(|arg| arg.to_string()).collect();
    resolve_profile(&args, &ctx).map_err(|error| error.to_string())
}

fn trace(args: &[&str]) -> TracePlan {
    let DatasetPlan::Trace(trace) = resolve(args, &[]).expect("a plan").into_plan().dataset else { panic!("no trace") };
    trace
}

#[test]
fn traces_are_recognised_by_their_first_row_or_their_name() {
    for (file, format) in [
        ("m.jsonl", TraceFormat::Mooncake),
        ("b.csv", TraceFormat::BurstGpt),
        ("chats.jsonl", TraceFormat::Bailian),
        ("b.parquet", TraceFormat::Baseten),
    ] {
        assert_eq!(trace(&[file]).format, format);
        assert_eq!(trace(&[file, "--custom-dataset-type", format.name()]).format, format);
    }
}

#[test]
fn every_flag_about_traces_changes_the_plan_of_one() {
    let mooncake = ["m.jsonl", "--custom-dataset-type", "mooncake_trace", "--no-fixed-schedule"];
    let baseten = ["b.parquet", "--custom-dataset-type", "baseten_trace"];
    for (base, flags) in [
        (&mooncake[..], &["--ignore-trace-delays"][..]),
        (&mooncake, &["--trace-idle-gap-cap-seconds", "2"]),
        (&mooncake, &["--inter-turn-delay-cap-seconds", "2"]),
        (&mooncake, &["--isl-block-size", "16"]),
        (&mooncake, &["--osl", "16"]),
        (&mooncake, &["--num-dataset-entries", "16"]),
        (&mooncake, &["--synthesis-speedup-ratio", "2"]),
        (&mooncake, &["--synthesis-prefix-len-multiplier", "2"]),
        (&mooncake, &["--synthesis-prefix-root-multiplier", "2"]),
        (&mooncake, &["--synthesis-prompt-len-multiplier", "2"]),
        (&mooncake, &["--synthesis-output-len-multiplier", "2"]),
        (&mooncake, &["--synthesis-max-isl", "2"]),
        (&mooncake, &["--synthesis-max-osl", "2"]),
        (&baseten, &["--trace-session-sample-ratio", "0.5"]),
        (&baseten, &["--replay-speedup", "2"]),
        (&baseten, &["--max-idle-gap-cap-seconds", "2"]),
        (&baseten, &["--no-open-loop-replay"]),
        (&baseten, &["--open-loop-strict"]),
        (&baseten, &["--omit-kv-hints"]),
        (&baseten, &["--no-force-min-tokens"]),
        (&baseten, &["--synthesis-output-len-multiplier", "2"]),
    ] {
        let plain = TracePlan { path: "".into(), ..trace(base) };
        let changed = TracePlan { path: "".into(), ..trace(&[base, flags].concat()) };
        assert_ne!(changed, plain, "{flags:?}");
    }
    assert_eq!(trace(&[&baseten[..], &["--no-open-loop-replay"]].concat()).baseten.pace, Pace::Closed);
}

#[test]
fn a_variable_sets_which_column_names_sessions() {
    let set = [("AIPERF_DATASET_BASETEN_SESSION_COLUMN", "poor_man_session_id")];
    let DatasetPlan::Trace(trace) = resolve(&["b.parquet"], &set).unwrap().into_plan().dataset else {
        panic!("no trace")
    };
    assert_eq!(trace.baseten.session_column, SessionColumn::PoorMan);
}

#[test]
fn timestamps_decide_when_rows_are_sent_if_the_type_is_named() {
    let is_fixed = |args: &[&str]| {
        let phases = resolve(args, &[]).unwrap().into_plan().phases;
        matches!(phases[0].arrival, Arrival::FixedSchedule { .. })
    };
    assert!(is_fixed(&["m.jsonl", "--custom-dataset-type", "mooncake_trace"]));
    assert!(is_fixed(&["b.parquet", "--custom-dataset-type", "baseten_trace"]));
    assert!(is_fixed(&["b.csv", "--fixed-schedule"]));
    assert!(!is_fixed(&["m.jsonl", "--custom-dataset-type", "mooncake_trace", "--no-fixed-schedule"]));
    assert!(!is_fixed(&["m.jsonl"]));
}

#[test]
fn settings_that_do_not_fit_a_file_are_refused_by_name() {
    for (args, expected) in [
        (&["s.jsonl", "--replay-speedup", "2"][..], "--replay-speedup"),
        (&["s.jsonl", "--synthesis-max-isl", "2"], "--synthesis-max-isl"),
        (&["s.jsonl", "--isl-block-size", "2"], "--isl-block-size"),
        (&["s.jsonl", "--ignore-trace-delays"], "--ignore-trace-delays"),
        (&["s.jsonl", "--trace-idle-gap-cap-seconds", "1"], "--trace-idle-gap-cap-seconds"),
        (&["m.jsonl", "--open-loop-strict"], "--open-loop-strict"),
        (&["b.csv", "--isl-block-size", "16"], "--isl-block-size"),
        (&["b.parquet", "--trace-idle-gap-cap-seconds", "1"], "--trace-idle-gap-cap-seconds"),
        (&["b.parquet", "--synthesis-speedup-ratio", "2"], "--synthesis-speedup-ratio"),
        (&["m.jsonl", "--custom-dataset-type", "mooncake_trace", "--ignore-trace-delays"], "--ignore-trace-delays"),
        (&["b.csv", "--num-users", "3", "--user-centric-rate", "2"], "several turns"),
        (&["m.jsonl", "--endpoint-type", "raw"], "whole bodies"),
        (&["m.jsonl", "--custom-dataset-type", "weka_trace"], "weka_trace"),
        (&["m.jsonl", "--custom-dataset-type", "tracelab"], "tracelab"),
    ] {
        let error = resolve(args, &[]).map(|_| ()).unwrap_err();
        assert!(error.contains(expected) && error.contains("try: "), "{args:?}: {error}");
    }
}
