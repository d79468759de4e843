//! About configuration files.

use crate::messages::{files, lines, seen, words};
use aiperf_config::{Context, resolve_config, validate};
use std::collections::BTreeMap;
use std::fmt::Write;

#[test]
fn files_and_their_syntax() {
    seen!(files(&[
        "",
        "# nothing\n",
        "- a\n",
        "a: [1\n",
        "a: 1\n---\nb: 2\n",
        "model: a\nmodel: b\n",
        "benchmark:\n  endpoint: {url: a, url: b}\n",
        "1: x\n",
        "benchmark: {true: x}\n",
        "a: &x {k: *x}\n",
        "a: {<<: 5}\n",
        "variables: {a: 1}\n",
        "schema_version: \"3.0\"\nbenchmark: {model: m}\n",
        "benchmark: 5\n",
        "benchmark:\n  model: m\nbenchmrk: 1\n",
        "# my benchmark\nbenchmrk:\n  model: \"{{ base }}\"\n",
        "benchmrk: {model: m}\nvariable: {a: 1}\nsweep: {parameters: {concurrency: [1, 2]}}\n",
        &format!("a: {}{}\n", "[".repeat(300), "]".repeat(300)),
    ]));
}

#[test]
fn files_and_their_settings() {
    let body = |more: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {{isl: 8}}\n  profiling: {{type: concurrency, requests: 4}}\n{more}"
        )
    };
    let texts = [
        body("  endpont: 1\n"),
        body("  artifacts: {raw: maybe}\n"),
        body("  gpu_telemetry: {urls: {a: 1}}\n"),
        body("  runtime: {ui: dashboard}\n"),
        body("  runtime: {ui: dashboard}\nsweep: {parameters: {concurrency: [1, 2]}}\n"),
        body("  tokenizer: {nam: x}\n"),
        body("  tokenizer: x\n"),
        body("  tokenizer: {name: 5}\n"),
        body("  slos: {a: fast}\n"),
        body("  slos: [1]\n"),
        body("  runtime: {workers: many}\n"),
        body("  runtime: {workers: 0}\n"),
        body("  runtime: {workers: 2, workers_min: 3}\n"),
        body("  runtime: {ui: 5}\n"),
        body("  runtime: {ui: dashbord}\n"),
        body("  artifacts: {summary: []}\n"),
        body("  artifacts: {records: [parquet]}\n"),
        body("  artifacts: {slice_duration: 2d}\n"),
        body("  artifacts: {slice_duration: inf}\n"),
        body("  slos: {request_latency: .nan}\n"),
        body("  artifacts: {user_files: [{path: ../x, content: a}]}\n"),
        body("  artifacts: {user_files: [{path: /etc/x, content: a}]}\n"),
        body("  artifacts: {user_files: [{path: ., content: a}]}\n"),
        body("  artifacts: {user_files: [{path: \"a\\tb\", content: a}]}\n"),
        body("  artifacts: {user_files: [{content: a}]}\n"),
        body("  artifacts: {user_files: [{path: x}]}\n"),
        body("  artifacts: {user_files: [{path: x, format: text, content: {api_key: sk-1234}}]}\n"),
        body("  artifacts: {user_files: [{path: x, format: json, content: sk-1234}]}\n"),
        body("  artifacts: {user_files: [{path: x, content: a}, {path: ./x, content: b}]}\n"),
        body("  artifacts: {user_files: [{path: x, content: a}, {path: x/y, content: b}]}\n"),
        body("  artifacts: {user_files: [{path: inputs.json, content: a}, {path: phases/x, content: b}]}\n"),
        body("  artifacts: {user_files: [{path: logs/aiperf.log, content: a}, {path: logs/mine.log, content: b}]}\n"),
        body("  artifacts: {prefix: a, user_files: [{path: a_raw.jsonl, content: a}, {path: a.csv, content: b}]}\n"),
        body("  artifacts: {user_files: [{path: outputs.json, content: a}, {path: logs, content: b}]}\n"),
        body("  artifacts: {user_files: [{path: x, content: \"{{ nobody }}\"}]}\n"),
        body("  artifacts: {user_files: [{path: x, content: \"{{ model }}\"}]}\nvariables: {model: a}\n"),
        body("  artifacts: {prefix: outputs, export_outputs_json: true}\n"),
        body("  artifacts: {records: []}\n"),
        body("  artifacts: {records: true, summary: true}\n"),
        body("  artifacts: {prefix: a/}\n"),
        body("  artifacts: {prefix: .}\n"),
        body("  gpu_telemetry: {collector: pynvml, url: h:1}\n"),
        body("  logging: {level: LOUD}\n"),
        body("  datasets: []\n"),
        body("  models: m\n"),
        body("  phases: []\n"),
        body("multi_run: {num_runs: 2}\n"),
        body("sweep: {type: grid, runs: []}\n"),
        body("sweep: {parameters: {}}\n"),
        body("sweep: {parameters: {concurrency: []}}\n"),
        body("sweep: {parameters: {concurrency: [1], phases.profiling.concurrency: [2]}}\n"),
        body("sweep: {parameters: {phases.nope.concurrency: [1]}}\n"),
        body("sweep: {parameters: {random_seed: [1]}}\n"),
        body("sweep: {parameters: {phases.profiling.requests.x: [1]}}\n"),
        body("sweep: {type: scenarios, runs: []}\n"),
        body("sweep: {type: scenarios, runs: [{name: a}, {name: a}]}\n"),
        body("sweep: {type: scenarios, runs: [{name: a/b, values: {x: [1]}}]}\n"),
        body("plot: p.yaml\n"),
    ];
    seen!(files(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn files_and_their_data() {
    let with = |dataset: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {dataset}\n  profiling: {{type: concurrency, requests: 4}}\n"
        )
    };
    let texts = [
        with("{type: nope}"),
        with("{isl: long}"),
        with("{isl: {}}"),
        with("{isl: {median: 5}}"),
        with("{isl: {mean: 5, median: 9}}"),
        with("{isl: {mean: 5, value: 9}}"),
        with("{isl: {mean: 5, min: 9, max: 1}}"),
        with("{isl: {peaks: [{mean: 5, weight: 1}]}}"),
        with("{isl: {points: []}}"),
        with("{isl: {mean: 5, median: 4}}"),
        with("{prompts: {sequence_distribution: [{isl: 1, osl: 1, probability: 50}]}}"),
        with("{prompts: {sequence_distribution: [{isl: 1, probability: 100}]}}"),
        with("{isl: 5, turns: 0}"),
        with("{isl: 5, path: x}"),
        with("{type: file}"),
        with("{type: file, records: []}"),
        with("{type: file, records: 5}"),
        with("{type: file, path: d.jsonl, format: single_turn, prompt_batch_size: 2, prompts: {isl: 5}}"),
        with("{type: file, path: nope.jsonl}"),
        with("{type: file, records: [{text: a}]}"),
        with("{type: public}"),
        with("{type: public, dataset: weka_hf}"),
        with("{type: public, dataset: sharegpt, hf_weka_dataset: x}"),
    ];
    let two = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  datasets: [{name: a, isl: 1}, {name: b, isl: 2}]\n  profiling: {type: concurrency, requests: 4}\n".to_owned();
    let none =
        "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  profiling: {type: concurrency, requests: 4}\n".to_owned();
    seen!(files(&texts.iter().chain([&two, &none]).map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn files_and_their_phases() {
    let with =
        |phases: &str| format!("benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {{isl: 8}}\n{phases}");
    let texts = [
        with(""),
        with("  warmup: {type: concurrency, requests: 1}\n"),
        with("  phases: [{type: concurrency, requests: 1}]\n"),
        with("  phases: [{name: a b, kind: profiling, type: concurrency, requests: 1}]\n"),
        with("  phases: [{name: con, kind: profiling, type: concurrency, requests: 1}]\n"),
        with("  phases: [{name: main, type: concurrency, requests: 1}]\n"),
        with("  phases: [{name: profiling, kind: warmup, type: concurrency, requests: 1}]\n"),
        with(
            "  phases: [{name: a, kind: profiling, type: concurrency, requests: 1}, {name: A, kind: profiling, type: concurrency, requests: 1}]\n",
        ),
        with("  profiling: {requests: 1}\n"),
        with("  profiling: {type: poisson, rate: 5, requests: 1}\n"),
        with(
            "  phases: [{name: a, kind: profiling, type: concurrency, requests: 1}, {name: b, kind: profiling, type: concurrency, requests: 1}]\nsweep: {parameters: {concurrency: [1, 2]}}\n",
        ),
        with(
            "  profiling: {type: fixed_schedule, duration: 5m, adaptive_scale: {sustain_duration: 1m, sla: {ttft: {p95: {lt: 5}}}}}\n",
        ),
        with("  profiling: {type: concurrency}\n"),
        with("  profiling: {type: concurrency, duration: inf}\n"),
        with("  profiling: {type: concurrency, duration: 2d}\n"),
        with("  profiling: {type: concurrency, requests: 1, exclude_from_results: true}\n"),
        with("  profiling: {type: concurrency, requests: 1, grace_period: 5}\n"),
        with("  profiling: {type: concurrency, requests: 1, seamless: true}\n"),
        with("  profiling: {type: concurrency, requests: 1, rate: 5}\n"),
        with("  profiling: {type: poisson, requests: 1}\n"),
        with(
            "  profiling: {type: poisson, requests: 1, rate: 1, rate_series: [{time_s: 0, qps: 1}, {time_s: 1, qps: 2}]}\n",
        ),
        with("  profiling: {type: poisson, requests: 1, rate_series: 5}\n"),
        with("  profiling: {type: poisson, requests: 1, rate_series: nope.json}\n"),
        with("  profiling: {type: concurrency, requests: 1, cancellation: {delay: 5}}\n"),
        with("  profiling: {type: concurrency, requests: 1, concurrency_ramp: 0}\n"),
        with("  profiling: {type: concurrency, requests: 1, concurrency: []}\n"),
        with("  profiling: {type: concurrency, requests: 1, sla: 5}\n"),
        with("  profiling: {type: concurrency, requests: 1, sla: [{metric_tag: x}]}\n"),
        with("  profiling: {type: concurrency, requests: 1, adaptive_scale: true}\n"),
        with(
            "  profiling: {type: concurrency, duration: 5m, concurrency_ramp: 5, adaptive_scale: {sustain_duration: 1m, sla: {ttft: {p95: {lt: 5}}}, control: {variable: concurrency, min: 9.5, max: 3}}}\n",
        ),
    ];
    seen!(files(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn files_and_what_they_refer_to() {
    seen!(files(&[
        "benchmark: {model: \"${NOT_SET}\"}\n",
        "benchmark: {model: \"${OPEN\"}\n",
        "benchmark: {model: \"{{ zz }}\"}\n",
        "benchmark: {model: \"{{ zz\"}\n",
        "variables: {base: m}\nbenchmark: {model: \"{{ basse }}\"}\n",
        "variables: {base: 4}\nbenchmark: {model: m, profiling: {type: concurrency, concurrency: \"{{ basse * 2 }}\", requests: 4}}\n",
        "variables: {base: {a: 1}}\nbenchmark: {model: \"{{ base.aa + other + range(2) }}\"}\n",
        "benchmark: {model: \"{{ [1]|tojson(indent=99999999999) }}\"}\n",
        "benchmark: {model: \"{{ x|default(1) }}{{ 1 // 0 }}\"}\n",
        "variables: {a: \"{{ b }}\", b: \"{{ a }}\"}\nbenchmark: {model: m}\n",
        "model: m\nendpoint: {url: h:1}\ndataset: {isl: 5}\nphases: {type: concurrency, requests: 1}\n",
    ]));
}

#[test]
fn flags_over_files() {
    seen!(lines(&[
        "-f nope.yaml",
        "-f folder",
        "-f c.yaml --public-dataset sharegpt --variant a:isl=1",
        "-f c.yaml --input-file d.jsonl",
        "-f c.yaml --trace-idle-gap-cap-seconds 1",
        "-f c.yaml --request-rate 1 --user-centric-rate 2",
        "-f c.yaml --arrival-pattern constant",
        "-f c.yaml --warmup-concurrency 2",
        "-f warm.yaml --warmup-request-rate 2",
        "-f two.yaml --concurrency 2",
        "-f scenarios.yaml --concurrency 2,3",
        "-f scenarios.yaml --sweep-type zip",
        "-f c.yaml --concurrency 0",
        "-f c.yaml --prefill-concurrency 9",
        "-f c.yaml --concurrency 9 --warmup-request-count 3",
    ]));
}

#[test]
fn notes_about_what_will_be_done() {
    let many = format!(
        "benchmark:\n  model: m\n  endpoint: {{url: [1]}}\n  dataset: {{type: file, records: [{}]}}\n  profiling: {{type: concurrency, requests: 4}}\n",
        "{text: a}, ".repeat(501)
    );
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("bad.yaml"), &many).expect("a file");
    std::fs::write(dir.path().join("c.yaml"), many.replace("[1]", "h:1")).expect("a file");
    let env = BTreeMap::new();
    let mut out = String::new();
    for line in [
        "-m m --endpoint-type embeddings --streaming",
        "-m m --input-file c.yaml --image-format png --rankings-passages-mean 3",
        "-m m --user-centric-rate 2 --request-rate 1 --num-users 2 --session-turns-mean 2",
        "-f c.yaml",
        "-f bad.yaml",
    ] {
        let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
        let printed = resolve_config(&words(line), &ctx)
            .map_or_else(|error| format!("error: {error}"), |tree| tree.notes.join("\n"));
        writeln!(out, "$ aiperf profile {line}\n{printed}\n").expect("a string");
    }
    seen!(out);
}

#[test]
fn a_checked_file_gets_the_notes_of_its_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n  slos: {time_to_first_token: 5}\n";
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    seen!(validate("c.yaml", &ctx).expect("a valid file").notes.join("\n"));
}

/// An error in a file is reported once, with every valid key at that place, and with a fix in the form of a file.
#[test]
fn files_are_answered_in_the_words_of_files() {
    let usual = [
        ("model", "m"),
        ("endpoint", "{url: h:1}"),
        ("dataset", "{isl: 8}"),
        ("profiling", "{type: concurrency, requests: 4}"),
    ];
    let but = |key: &str, value: &str| {
        let mut settings: Vec<(&str, &str)> = usual.iter().copied().filter(|(name, _)| *name != key).collect();
        settings.push((key, value));
        let lines = settings.iter().map(|(key, value)| format!("  {key}: {value}\n"));
        format!("benchmark:\n{}", lines.collect::<String>())
    };
    let texts = [
        but("profiling", "{type: blah, requests: 4}"),
        but("profiling", "{type: 5, requests: 4}"),
        but("profiling", "{requests: 4}"),
        but("profiling", "{type: poisson, rate: 3, requests: 4}"),
        but("zzz", "1"),
        format!("{}zzz: 1\n", but("model", "m")),
        but("endpoint", "{url: h:1, zzz: 1}"),
        but("endpoint", "{ulr: h:1}"),
        but("dataset", "{zzz: 8}"),
        but("dataset", "{ils: 8}"),
        but("server_metrics", "{enabled: false, zzz: 8}"),
        but("dataset", "{isl: 8, images: {width: 5}}"),
        but("artifacts", "{raw: true}"),
        but("endpoint", "{url: h:1, headers: {Connection: close, Upgrade: h2c}}"),
        but("endpoint", "{url: h:1, wait_for_model_interval: 3}"),
        but("server_metrics", "{urls: [h:2]}"),
    ];
    seen!(files(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[test]
fn statistics_of_a_file_that_should_be_known_exactly() {
    let with = |requests: &str, until: &str| {
        format!(
            "benchmark:\n  model: m\n  endpoint: {{url: h:1}}\n  dataset: {{isl: 8}}\n  \
             profiling: {{type: concurrency{requests}}}\nuntil: {until}\n"
        )
    };
    let texts = [
        with(", requests: 5000", "[request_latency.p99:5%, {metric: request_latency, stat: avg, percent: 2.5}]"),
        with(", requests: 5000", "request_latency.p99:5%"),
        with(", requests: 5000", "[request_latency.p99:5]"),
        with(", requests: 5000", "[{metric: request_latency, stat: max, percent: 5}]"),
        with(", requests: 5000", "[{metric: request_latency, stat: p99, percent: 0}]"),
        with(", requests: 5000", "[{metric: request_latency, stat: p99}]"),
        with("", "[request_latency.p99:5%]"),
        with(", requests: 400", "[request_latency.avg:5%, request_latency.p99:5%]"),
    ];
    seen!(files(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}
