//! `golden/exports` and `golden/endpoints`: names, folders, the command line, extra inputs, and redaction.

use super::{
    exponents, has_json_value, headers, in_directory, key_values, list, names_for, ordered, resolve, resolve_document,
    strings, texts, unknown_extension, words,
};
use crate::command_line;
use crate::plan::resolve_profile;
use aiperf_golden::Tally;
use aiperf_golden::kinds::endpoints::{CONTROL_HOOKS, EXTRA_INPUTS, REDACTED_REQUEST};
use aiperf_golden::kinds::exports::{ARTIFACT_FOLDER, FILE_NAMES, HEADER_NAME, REDACTED_TEXT, SHOWN_COMMAND_LINE};
use aiperf_plan::redact::{self, is_sensitive_header};
use aiperf_types::Nanos;
use serde_json::{Value, json};

#[test]
fn golden_names_command_lines_and_redaction_are_as_recorded() {
    super::run(&[
        (ARTIFACT_FOLDER, folder),
        (SHOWN_COMMAND_LINE, shown_command_line),
        (FILE_NAMES, file_names),
        (HEADER_NAME, header_name),
        (REDACTED_TEXT, redacted_text),
    ]);
}

fn redacted_text(case: &Value, tally: &mut Tally) {
    tally.run(case["input"].to_string(), || {
        assert_eq!(redact::text(case["input"].as_str().unwrap()), case["expected"].as_str().unwrap());
    });
}

#[test]
fn golden_extra_inputs_and_redacted_requests_are_as_recorded() {
    super::run(&[(EXTRA_INPUTS, extra_inputs), (REDACTED_REQUEST, redaction), (CONTROL_HOOKS, hooks)]);
}

/// The calls around a run, from a file.
fn hooks(case: &Value, tally: &mut Tally) {
    if !CONTROL_HOOKS.is(case) {
        return tally.skip("it is about calls, not about settings");
    }
    let document = json!({
        "model": "m",
        "endpoint": {
            "urls": case["urls"],
            "reset_kv_cache": case["reset_kv_cache"],
            "server_profiler": case["server_profiler"],
        },
        "dataset": {"type": "synthetic", "isl": 1},
        "phases": {"type": "concurrency", "requests": 1},
    });
    let files = json!({"c.yaml": document.to_string()});
    tally.run(case.to_string(), || {
        let resolved = in_directory(&files, &Value::Null, |ctx| resolve_profile(&strings(&["-f", "c.yaml"]), ctx));
        let wanted = &case["expected"];
        let Ok(resolved) = resolved else {
            assert_eq!(wanted["error"], "config", "{resolved:?}");
            return;
        };
        let endpoint = resolved.into_plan().endpoint;
        let (reset, profiler) = (endpoint.cache_reset, endpoint.server_profiler);
        assert_eq!(reset.is_none(), list(&wanted["reset_urls"]).is_empty());
        assert_eq!(profiler.is_none(), list(&wanted["profiler_start_urls"]).is_empty());
        let same = |time: Nanos, key: &str| assert_eq!(time.as_secs_f64(), wanted[key].as_f64().unwrap(), "{key}");
        if let Some(reset) = reset {
            same(reset.timeout, "reset_timeout_s");
            same(reset.max_retry, "reset_max_retry_s");
            let url = wanted["reset_urls"][0].as_str().unwrap();
            assert!(url.ends_with(&reset.path), "{url}");
        }
        if let Some(profiler) = profiler {
            same(profiler.timeout, "profiler_timeout_s");
        }
    });
}

fn folder(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    let mut phase = input["phase"].clone();
    phase["name"] = "profiling".into();
    let document = json!({
        "models": input["models"],
        "endpoint": {"url": "http://h", "type": input["endpoint_type"]},
        "dataset": {"type": "synthetic", "isl": 1, "turns": 2},
        "phases": phase,
    });
    tally.run(input.to_string(), || match resolve_document(&document) {
        Ok(tree) => assert_eq!(json!(tree.artifact_subdir), case["expected"]),
        Err(error) => panic!("refused: {error}"),
    });
}

fn shown_command_line(case: &Value, tally: &mut Tally) {
    let args = texts(&case["input"]);
    tally.run(case["input"].to_string(), || {
        let (found, wanted) = (words(&command_line::shown(&args)), words(case["expected"].as_str().unwrap()));
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            // Arguments stay as typed; AIPerf shows its own name of the value.
            let coerced = ["True", "False", "None"].contains(&wanted.as_str());
            assert!(found == wanted || (coerced && args.contains(found)), "{found} for {wanted}");
        }
    });
}

fn file_names(case: &Value, tally: &mut Tally) {
    let prefix = case["input"]["prefix"].as_str();
    if prefix.is_some_and(unknown_extension) {
        return tally.skip("any plain extension of a prefix goes, not only the known ones");
    }
    tally.run(format!("{prefix:?}"), || {
        let names = names_for(prefix);
        for (key, name) in [
            ("csv", names.summary_csv),
            ("json", names.summary_json),
            ("timeslices_csv", names.timeslices_csv),
            ("timeslices_json", names.timeslices_json),
            ("records_jsonl", names.records_jsonl),
            ("raw_jsonl", names.raw_jsonl),
            ("console_txt", names.console_txt),
            ("server_metrics_json", names.server_metrics_json),
            ("server_metrics_csv", names.server_metrics_csv),
            ("server_metrics_jsonl", names.server_metrics_jsonl),
            ("server_metrics_parquet", names.server_metrics_parquet),
            ("network_latency_jsonl", names.network_latency_jsonl),
        ] {
            assert_eq!(case["expected"][key], name);
        }
    });
}

fn header_name(case: &Value, tally: &mut Tally) {
    tally.run(case["input"].to_string(), || {
        assert_eq!(is_sensitive_header(case["input"].as_str().unwrap()), case["expected"]);
    });
}

fn extra_inputs(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    let tokens = texts(input);
    let on_a_command_line = !tokens.is_empty() && tokens.len() == list(input).len();
    if tokens.iter().any(|token| !token.is_ascii()) {
        return tally.skip("only ASCII digits make a number");
    }
    if has_json_value(input) {
        return tally.skip("a list or an object behind a colon is a JSON value");
    }
    tally.run(input.to_string(), || {
        let found = if on_a_command_line {
            let flags = tokens.iter().map(|token| format!("--extra-inputs={token}"));
            let args: Vec<String> = strings(&["-m", "m"]).into_iter().chain(flags).collect();
            let extra = |config: Value| ordered(config["endpoint"].get("extra").cloned().unwrap_or(json!({})));
            resolve(&args).map(|tree| extra(tree.input_config())).map_err(|error| error.to_string())
        } else {
            key_values(input).map(ordered)
        };
        match case["expected"].get("pairs") {
            Some(wanted) => assert_eq!(found, Ok(exponents(wanted))),
            None => assert!(found.is_err(), "accepted as {found:?}"),
        }
    });
}

fn redaction(case: &Value, tally: &mut Tally) {
    let input = &case["input"];
    tally.run(input.to_string(), || {
        let found: Value = match case["kind"].as_str().unwrap() {
            "headers" => headers(input.as_object().unwrap()),
            "url" => redact::url(input.as_str().unwrap()).into(),
            _ => redact::text(input.as_str().unwrap()).into(),
        };
        assert_eq!(found, case["expected"]);
    });
}
