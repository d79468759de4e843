//! What a run writes, by flags, files and the environment.

use aiperf_config::{ConfigError, Context, Resolved, resolve_profile};
use aiperf_plan::{ArtifactPlan, RecordFiles, SummaryFiles};
use std::collections::BTreeMap;
use std::path::Path;

const BODY: &str = "benchmark:
  model: m
  endpoint: {url: \"http://me:hunter22@h:1\"}
  dataset: {isl: 8}
  phases: {type: concurrency, requests: 4}
";

/// The plan with these lines of `artifacts`, flags and variables.
fn with(artifacts: &str, args: &[&str], env: &[(&str, &str)]) -> Result<Resolved, ConfigError> {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), format!("{BODY}{artifacts}")).expect("a file");
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let args: Vec<String> = ["-f", "c.yaml"].iter().chain(args).map(|arg| arg.to_string()).collect();
    let (cwd, benchmark_id) = (dir.path(), "0123456789ab".to_owned());
    resolve_profile(&args, &Context { env: &env, stdout_is_terminal: false, cwd, benchmark_id })
}

fn plan(artifacts: &str, args: &[&str]) -> ArtifactPlan {
    with(artifacts, args, &[]).unwrap_or_else(|error| panic!("{artifacts} {args:?}: {error}")).into_plan().artifacts
}

#[test]
fn records_are_written_in_both_formats_by_default() {
    let (jsonl, parquet) = (true, true);
    for (artifacts, args, expected) in [
        ("", &[][..], RecordFiles { jsonl, parquet }),
        ("", &["--export-level", "records"], RecordFiles { jsonl, parquet }),
        ("", &["--export-level", "raw"], RecordFiles { jsonl, parquet }),
        ("", &["--export-level", "summary"], RecordFiles { jsonl: false, parquet: false }),
        ("", &["--no-records-parquet"], RecordFiles { jsonl, parquet: false }),
        ("", &["--export-level", "raw", "--no-records-parquet"], RecordFiles { jsonl, parquet: false }),
        ("", &["--export-level", "summary", "--no-records-parquet"], RecordFiles { jsonl: false, parquet: false }),
        ("  artifacts: {records: [jsonl, parquet]}\n", &[], RecordFiles { jsonl, parquet }),
        ("  artifacts: {records: [jsonl]}\n", &[], RecordFiles { jsonl, parquet: false }),
        ("  artifacts: {records: [parquet]}\n", &[], RecordFiles { jsonl: false, parquet }),
        ("  artifacts: {records: parquet}\n", &[], RecordFiles { jsonl: false, parquet }),
        ("  artifacts: {records: false}\n", &[], RecordFiles { jsonl: false, parquet: false }),
        ("  artifacts: {records: false}\n", &["--no-records-parquet"], RecordFiles { jsonl: false, parquet: false }),
        ("  artifacts: {records: [parquet]}\n", &["--export-level", "records"], RecordFiles { jsonl, parquet }),
        (
            "  artifacts: {records: [parquet, jsonl]}\n",
            &["--no-records-parquet"],
            RecordFiles { jsonl, parquet: false },
        ),
    ] {
        assert_eq!(plan(artifacts, args).records, expected, "{artifacts} {args:?}");
    }
}

#[test]
fn records_in_no_format_are_a_contradiction() {
    for records in ["[parquet]", "parquet", "[PARQUET, parquet]"] {
        let artifacts = format!("  artifacts: {{records: {records}}}\n");
        let error = with(&artifacts, &["--no-records-parquet"], &[]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("contradicts --no-records-parquet"), "{error}");
    }
}

#[test]
fn a_format_that_is_only_true_is_refused_with_a_fix() {
    for (setting, first) in [("records", "[jsonl, parquet]"), ("summary", "[json, csv]")] {
        let error = with(&format!("  artifacts: {{{setting}: true}}\n"), &[], &[]).unwrap_err().to_string();
        assert!(error.contains("must be a list of formats, or false") && error.contains(first), "{error}");
    }
}

#[test]
fn raw_records_generated_texts_and_summaries_follow_their_settings() {
    assert!(!plan("", &[]).raw && !plan("", &[]).outputs);
    assert!(plan("", &["--export-level", "raw"]).raw);
    assert!(plan("  artifacts: {raw: true}\n", &[]).raw);
    assert!(!plan("  artifacts: {raw: true}\n", &["--export-level", "records"]).raw);
    let alone = plan("  artifacts: {raw: true, records: false}\n", &[]);
    assert!(alone.raw && alone.records == RecordFiles { jsonl: false, parquet: false });
    assert!(plan("", &["--export-outputs-json"]).outputs);
    assert!(plan("  artifacts: {export_outputs_json: true}\n", &[]).outputs);
    for (summary, json, csv) in [
        ("[json]", true, false),
        ("[csv]", false, true),
        ("[json, csv]", true, true),
        ("csv", false, true),
        ("false", false, false),
    ] {
        let found = plan(&format!("  artifacts: {{summary: {summary}}}\n"), &[]).summary;
        assert_eq!(found, SummaryFiles { json, csv }, "{summary}");
    }
    assert_eq!(plan("", &[]).summary, SummaryFiles { json: true, csv: true });
}

#[test]
fn a_trace_without_json_lines_is_noted() {
    let has_note = |artifacts: &str, args: &[&str]| {
        let notes = with(artifacts, args, &[]).unwrap().notes;
        notes.iter().any(|note| note.contains("--export-http-trace has no effect"))
    };
    assert!(has_note("  artifacts: {records: [parquet]}\n", &["--export-http-trace"]));
    assert!(has_note("", &["--export-http-trace", "--export-level", "summary"]));
    assert!(!has_note("", &["--export-http-trace", "--no-records-parquet"]));
}

const FILES: &str = "  artifacts:
    dir: out/job
    user_files:
      - {path: notes/run.txt, content: \"{{ who }} {{ n }} {{ half }} on {{ model }} at {{ endpoint_url }}\\n\"}
      - {path: where.txt, content: \"{{ job_name }} in {{ artifact_dir }}, [{{ namespace }}]\"}
      - {path: a.json, content: {n: \"{{ n }}\", list: [1, \"{{ model }}\"], body: \"{{ who }}\", plain: \"3\", none: null}}
      - {path: b.yaml, format: yaml, content: {n: \"{{ n }}\", z: [1, {a: \"{{ who }}\"}], text: \"x: y\"}}
      - {path: c.json, content: 5}
      - {path: when.json, content: {epoch: \"{{ epoch }}\"}}
variables: {who: me, n: 3, half: \"3.50\"}
";

#[test]
fn user_files_name_the_folder_of_their_own_run() {
    let resolved = with(FILES, &["--concurrency", "1,2", "--num-profile-runs", "2"], &[]).unwrap();
    let campaign = &resolved.campaign;
    assert_eq!(campaign.listed.len(), 2);
    for cell in &campaign.listed {
        for trial in 0..2 {
            let plan = campaign.run(cell, trial);
            let file = plan.artifacts.user_files.iter().find(|file| file.path == Path::new("where.txt")).unwrap();
            let (dir, name) = (plan.artifacts.dir.display(), plan.artifacts.dir.file_name().unwrap().display());
            assert_eq!(file.text, format!("{name} in {dir}, []"));
        }
    }
}

#[test]
fn user_files_are_rendered_with_the_values_of_the_run() {
    let resolved = with(FILES, &[], &[("AIPERF_NAMESPACE", "bench")]).unwrap();
    let files = &resolved.plan().artifacts.user_files;
    let text = |path: &str| {
        let file = files.iter().find(|file| file.path == Path::new(path));
        file.unwrap_or_else(|| panic!("{path}")).text.as_str()
    };
    assert_eq!(text("notes/run.txt"), "me 3 3.50 on m at http://h:1\n");
    let dir = resolved.plan().artifacts.dir.display();
    assert_eq!(text("where.txt"), format!("job in {dir}, [bench]"));
    let expected = "{\n  \"n\": 3,\n  \"list\": [\n    1,\n    \"m\"\n  ],\n  \"body\": \"me\",\n  \"plain\": \"3\",\n  \"none\": null\n}";
    assert_eq!(text("a.json"), expected);
    assert_eq!(text("b.yaml"), "n: 3\nz:\n  - 1\n  - a: me\ntext: \"x: y\"\n");
    assert_eq!(text("c.json"), "5");
    let when: serde_json::Value = serde_json::from_str(text("when.json")).unwrap();
    assert!(when["epoch"].as_u64().is_some_and(|epoch| epoch > 1_700_000_000), "{when}");
    let elsewhere = with(FILES, &[], &[]).unwrap().into_plan().artifacts.user_files;
    assert!(elsewhere[1].text.ends_with(", []"), "{}", elsewhere[1].text);
}

#[test]
fn values_of_the_run_override_variables_with_a_note() {
    let files = "  artifacts: {user_files: [{path: a, content: \"{{ model }}\"}]}\nvariables: {model: other}\n";
    let resolved = with(files, &[], &[]).unwrap();
    assert_eq!(resolved.plan().artifacts.user_files[0].text, "m");
    assert!(resolved.notes.iter().any(|note| note.starts_with("in user_files, model is")), "{:?}", resolved.notes);
}

#[test]
fn user_files_contain_no_values_of_secret_names() {
    let files = "  artifacts:
    user_files:
      - {path: a.json, content: {api_key: sk-secret-1, deep: [{token: \"{{ pass }}\"}], open: \"{{ password }}\"}}
      - {path: b.yaml, format: yaml, content: {headers: {Authorization: Bearer sk-secret-1}}}
      - {path: c.txt, content: \"api_key=sk-secret-1 {{ password }}\"}
variables: {pass: sk-secret-2, password: sk-secret-3}
";
    let resolved = with(files, &[], &[]).unwrap();
    for file in &resolved.plan().artifacts.user_files {
        assert!(file.text.contains("<redacted>") && !file.text.contains("sk-secret"), "{}", file.text);
    }
    let shown = resolved.plan().input_config["artifacts"]["user_files"].to_string();
    assert!(!shown.contains("sk-secret"), "{shown}");
}

#[test]
fn everything_below_a_secret_name_in_user_files_is_hidden() {
    let files = "  artifacts:
    user_files:
      - {path: a.json, content: {password: {a: below-1}, token: {x: [1, below-2]}, secrets: [below-3, b]}}
      - {path: b.txt, content: \"open {{ secrets.a }}\", format: text}
variables: {secrets: {a: below-4444}}
";
    let resolved = with(files, &[], &[]).unwrap();
    for file in &resolved.plan().artifacts.user_files {
        assert!(file.text.contains("<redacted>") && !file.text.contains("below"), "{}", file.text);
    }
    let shown = resolved.plan().input_config["artifacts"]["user_files"].to_string();
    assert!(!shown.contains("below"), "{shown}");
}

#[test]
fn a_format_that_is_requested_twice_is_written_once() {
    let resolved = with("  artifacts: {records: [jsonl, jsonl]}\n", &[], &[]).unwrap();
    assert_eq!(resolved.plan().input_config["artifacts"]["records"], serde_json::json!(["jsonl"]));
}

#[test]
fn a_template_without_bound_is_refused() {
    let files = "  artifacts: {user_files: [{path: a, content: \"{% for a in range(9999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}\"}]}\n";
    let error = with(files, &[], &[]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("user_files.0.content"), "{error}");
}

#[test]
fn every_effective_setting_is_exported() {
    let config = with("", &[], &[]).unwrap().into_plan().input_config;
    for (path, expected) in [
        ("/models/strategy", serde_json::json!("round_robin")),
        ("/endpoint/timeout", 21600.0.into()),
        ("/endpoint/headers", serde_json::json!({})),
        ("/endpoint/urls/0", "http://<redacted>@h:1".into()),
        ("/datasets/0/entries", 100.into()),
        ("/datasets/0/sampling", "sequential".into()),
        ("/datasets/0/prompts/cache_bust/target", "none".into()),
        ("/phases/0/concurrency", 1.into()),
        ("/phases/0/exclude_from_results", false.into()),
        ("/artifacts/summary", serde_json::json!(["json"])),
        ("/artifacts/records", serde_json::json!(["jsonl"])),
        ("/artifacts/raw", false.into()),
        ("/artifacts/user_files", serde_json::json!([])),
        ("/server_metrics/discovery/mode", "auto".into()),
        ("/gpu_telemetry/enabled", true.into()),
        ("/runtime/ui", "none".into()),
        ("/mlflow/experiment", "aiperf".into()),
    ] {
        assert_eq!(config.pointer(path), Some(&expected), "{path} in {config}");
    }
    // Settings of other types of dataset and phase are not effective. AIPerf refuses settings that it does not have.
    for path in [
        "/datasets/0/open_loop_replay",
        "/phases/0/auto_offset",
        "/phases/0/smoothness",
        "/endpoint/unreachable_timeout",
        "/runtime/timestamps",
        "/runtime/worker_priority",
    ] {
        assert_eq!(config.pointer(path), None, "{path}");
    }
    let set = with("  runtime: {timestamps: user}\n", &[], &[]).unwrap().into_plan().input_config;
    assert_eq!(set["runtime"]["timestamps"], "user");
}

#[test]
fn no_user_file_replaces_the_records_or_their_folder() {
    let files = |path: &str| format!("  artifacts: {{user_files: [{{path: {path}, content: a}}]}}\n");
    for taken in ["records", "./records", "records/profile_export.parquet"] {
        let error = with(&files(taken), &[], &[]).unwrap_err().to_string();
        assert!(error.contains("is where the run itself writes records/profile_export.parquet"), "{error}");
    }
    assert_eq!(plan(&files("records/notes.txt"), &[]).user_files.len(), 1);
    let named = plan(&files("records/profile_export.parquet"), &["--profile-export-prefix", "records/run"]);
    assert_eq!(named.names.records_parquet, "records/records/run.parquet");
}
