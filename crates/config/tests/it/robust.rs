//! Any arguments and any file give a plan or a message, never a panic.

use aiperf_config::{Context, flags, resolve_profile};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn resolve(args: &[String], file: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), file).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    if let Err(error) = resolve_profile(args, &ctx) {
        let text = error.to_string();
        assert!(!text.is_empty());
        assert!(matches!(error.exit_code(), 0 | 2));
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}",
        "-?[0-9]{1,2}\\.[0-9]",
        "[0-9],[0-9]",
        "[a-z_:=,;|(){}\\[\\]\"'.]{0,12}",
        "\\PC{0,8}",
        Just("chat".to_owned()),
        Just("c.yaml".to_owned()),
        Just("inf".to_owned()),
    ]
}

fn flag() -> impl Strategy<Value = String> {
    let all: Vec<&'static str> = flags::spellings().collect();
    proptest::sample::select(all).prop_map(str::to_owned)
}

/// Words of files.
fn scrap() -> impl Strategy<Value = String> {
    let words = [
        "benchmark:",
        "model: m",
        "endpoint:",
        "{url: h:1}",
        "dataset:",
        "{isl: 5}",
        "profiling:",
        "type: concurrency",
        "requests: 4",
        "phases:",
        "- name: a",
        "sweep:",
        "parameters:",
        "concurrency: [1, 2]",
        "variables:",
        "\"{{ x }}\"",
        "${A:1}",
        "&a",
        "*a",
        "<<: *a",
        "[",
        "]",
        "{",
        "}",
        "|",
        ">",
        "---",
        "? a",
        "isl: {peaks: [1]}",
        "records: 5",
        "rate_series: {points: 1}",
        "\t",
        "  ",
        "\n",
        "\n  ",
        "\n    ",
        ": ",
        ", ",
        "'",
        "\"",
        "#",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_command_line_gives_a_plan_or_a_message(pairs in prop::collection::vec((flag(), prop::option::of(value())), 0..8)) {
        let mut args = vec!["-m".to_owned(), "m".to_owned()];
        for (flag, value) in pairs {
            args.push(flag);
            args.extend(value);
        }
        resolve(&args, "benchmark: {model: m}\n");
    }

    #[test]
    fn any_tokens_give_a_plan_or_a_message(args in prop::collection::vec("\\PC{0,10}", 0..6)) {
        resolve(&args, "");
    }

    #[test]
    fn any_file_gives_a_plan_or_a_message(scraps in prop::collection::vec(scrap(), 0..30)) {
        resolve(&["-f".to_owned(), "c.yaml".to_owned()], &scraps.concat());
    }

    #[test]
    fn any_setting_gives_a_plan_or_a_message(key in "[a-z_.]{1,20}", text in "\\PC{0,20}") {
        let file = format!("benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {{isl: 8}}\n  profiling: {{type: concurrency, requests: 4}}\n  {key}: {text}\n");
        resolve(&["-f".to_owned(), "c.yaml".to_owned()], &file);
    }
}
