//! Every message that a user can get, as snapshots: what is wrong and where, why, and the fix.

mod files;
mod flags;
mod guards;

use aiperf_config::{ConfigError, Context, resolve_config, resolve_profile};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A snapshot without the expression that made it, which is in this file.
macro_rules! seen {
    ($text:expr $(,)?) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($text) })
    };
}

/// A command line after `profile`, split at spaces; `_` is an empty argument and `~` a space.
fn words(line: &str) -> Vec<String> {
    let word = |word: &str| if word == "_" { String::new() } else { word.replace('~', " ") };
    line.split_whitespace().map(word).collect()
}

struct Case<'a> {
    line: &'a str,
    files: &'a [(&'a str, &'a str)],
    env: &'a [(&'a str, &'a str)],
}

/// A directory with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    std::fs::create_dir(dir.path().join("folder")).expect("a folder");
    dir
}

fn printed(case: &Case<'_>) -> String {
    let dir = folder(case.files);
    let env: BTreeMap<String, String> = case.env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let mut out = format!("$ aiperf profile {}\n", case.line);
    match resolve_profile(&words(case.line), &ctx) {
        Ok(resolved) => resolved.notes.iter().for_each(|note| writeln!(out, "note: {note}").expect("a string")),
        Err(error) => writeln!(out, "error: {error}").expect("a string"),
    }
    out
}

/// The output for each command line.
fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| printed(&Case { line, files: FILES, env: &[] })).collect::<Vec<_>>().join("\n")
}

/// The problems of each command line, whether or not it can be run, with reasons.
fn checked(lines: &[&str]) -> String {
    let one = |line: &&str| checked_in(line, FILES);
    lines.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn checked_in(line: &str, files: &[(&str, &str)]) -> String {
    let dir = folder(files);
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let mut out = format!("$ aiperf profile {line}\n");
    let error = resolve_config(&words(line), &ctx).err();
    for problem in error.iter().flat_map(ConfigError::problems) {
        writeln!(out, "error: {}", problem.what).expect("a string");
        problem.why.iter().for_each(|why| writeln!(out, "  {why}").expect("a string"));
    }
    out
}

/// The output for each file, given as its text.
fn files(texts: &[&str]) -> String {
    let one =
        |text: &&str| format!("{text}\n{}", printed(&Case { line: "-f c.yaml", files: &[("c.yaml", text)], env: &[] }));
    texts.iter().map(one).collect::<Vec<_>>().join("\n---\n")
}

/// Files that command lines name.
const FILES: &[(&str, &str)] = &[
    ("d.jsonl", "{\"text\": \"hello\"}\n"),
    ("t.jsonl", "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n"),
    ("bodies.jsonl", "{\"messages\": []}\n"),
    ("empty.jsonl", ""),
    ("t.j2", "{\"text\": {{ text|tojson }}}"),
    ("blank.txt", " \n"),
    ("s.json", "[{\"time_s\": 0, \"qps\": 1}, {\"time_s\": 1, \"qps\": 2}]"),
    ("one.json", "[{\"time_s\": 0, \"qps\": 1}]"),
    ("back.json", "[{\"time_s\": 1, \"qps\": 1}, {\"time_s\": 1, \"qps\": 2}]"),
    ("odd.json", "{\"a\": 1}"),
    ("bad.json", "{"),
    ("part.json", "[{\"time_s\": 0}, {\"time_s\": 1, \"qps\": 2}]"),
    (
        "c.yaml",
        "benchmark:\n  model: m\n  endpoint: {url: h:1, streaming: true}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, concurrency: 2, requests: 4}\n",
    ),
    (
        "two.yaml",
        "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  phases:\n    - {name: a, kind: profiling, type: concurrency, requests: 4}\n    - {name: b, kind: profiling, type: concurrency, requests: 4}\n",
    ),
    (
        "scenarios.yaml",
        "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\nsweep: {type: scenarios, runs: [{name: a}, {name: b}]}\n",
    ),
    (
        "warm.yaml",
        "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  warmup: {type: concurrency, requests: 1}\n  profiling: {type: concurrency, requests: 4}\n",
    ),
];

pub(crate) use seen;
