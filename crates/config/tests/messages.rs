//! Every message a user can get, seen: what is wrong and where, why, and the way out.

use aiperf_config::{Context, resolve_config, resolve_profile, validate};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A snapshot without the expression that made it, which is in this file.
macro_rules! seen {
    ($text:expr $(,)?) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($text) })
    };
}

/// A command line after `profile`, split at spaces; `_` stands for an empty argument and `~` for a space.
fn words(line: &str) -> Vec<String> {
    let word = |word: &str| if word == "_" { String::new() } else { word.replace('~', " ") };
    line.split_whitespace().map(word).collect()
}

struct Case<'a> {
    line: &'a str,
    files: &'a [(&'a str, &'a str)],
    env: &'a [(&'a str, &'a str)],
}

fn said(case: &Case<'_>) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in case.files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    std::fs::create_dir(dir.path().join("folder")).expect("a folder");
    let env: BTreeMap<String, String> = case.env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let mut out = format!("$ aiperf profile {}\n", case.line);
    match resolve_profile(&words(case.line), &ctx) {
        Ok(resolved) => resolved.notes.iter().for_each(|note| writeln!(out, "note: {note}").expect("a string")),
        Err(error) => writeln!(out, "error: {error}").expect("a string"),
    }
    out
}

/// What is said about each command line.
fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| said(&Case { line, files: FILES, env: &[] })).collect::<Vec<_>>().join("\n")
}

/// What is said about each file, given as its text.
fn files(texts: &[&str]) -> String {
    let one =
        |text: &&str| format!("{text}\n{}", said(&Case { line: "-f c.yaml", files: &[("c.yaml", text)], env: &[] }));
    texts.iter().map(one).collect::<Vec<_>>().join("\n---\n")
}

/// Files that command lines name.
const FILES: &[(&str, &str)] = &[
    ("d.jsonl", "{\"text\": \"hello\"}\n"),
    ("t.jsonl", "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n"),
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

#[test]
fn tokens() {
    seen!(lines(&[
        "",
        "stray",
        "-m m stray",
        "-m m --streaming false",
        "-m m --streaming true",
        "-m m --concurency 1",
        "-m m --nope 1",
        "-m m --no-streaming",
        "-m m --no-concurrency 1",
        "-m m --conc 1",
        "-m m -x",
        "-m m --concurrency",
        "-m m --concurrency --streaming",
        "-m",
        "-m m --concurrency 1 --concurrency 2",
        "-m m --isl 1 --prompt-input-tokens-mean 2",
        "-m m --streaming --streaming",
        "-m m --streaming=maybe",
    ]));
}

#[test]
fn values() {
    seen!(lines(&[
        "-m m --concurrency abc",
        "-m m --concurrency 1.5",
        "-m m --concurrency 0",
        "-m m --concurrency -3",
        "-m m --concurrency ,",
        "-m m --request-count 99999999999999999999",
        "-m m --request-timeout-seconds soon",
        "-m m --request-timeout-seconds 0",
        "-m m --random-seed -1",
        "-m m --num-profile-runs 11",
        "-m m --trace-session-sample-ratio 0",
        "-m m --confidence-level 1",
        "-m m --benchmark-duration 5m",
        "-m m --benchmark-duration nan",
        "-m m --request-timeout-seconds 2h",
        "-m m --benchmark-duration inf",
        "-m m --endpoint-type chats",
        "-m m --endpoint-type nope",
        "-m m --wait-for-model-mode Both",
        "-m m --video-audio-depth 12",
        "-m m --video-audio-depth x",
        "-m m --server-metrics-formats json xml",
        "-m m --audio-depths 0",
        "-m m --audio-sample-rates x",
        "-m m --extra-inputs temperature",
        "-m m --extra-inputs {bad",
        "-m m -H Authorization",
        "-m m -H {bad",
        "-m m --mlflow-tag k",
        "-m m --goodput request_latency",
        "-m m --goodput :1",
        "-m m --goodput request_latency:fast",
        "-m m --goodput _",
        "-m m --input-file nope.jsonl",
    ]));
}

#[test]
fn endpoint() {
    seen!(lines(&[
        "--url h:1",
        "-m a, ",
        "-m a,b --model-selection-strategy weighted",
        "-m m --url",
        "-m m --url ftp://h:1",
        "-m m --url javascript:1",
        "-m m --url h:99999",
        "-m m --url http://",
        "-m m --url http://h~h",
        "-m m --endpoint v1/x",
        "-m m --reset-kv-cache-path http://x/y",
        "-m m --server-profiler-start-path go",
        "-m m --endpoint-type template",
        "-m m --per-chunk-usage",
        "-m m --uuid-and-strip --endpoint-type completions",
        "-m m --endpoint-type responses --extra-inputs store:true",
        "-m m --wait-for-model-mode both",
        "-m m --wait-for-model-interval 2",
        "-m m --request-content-type multipart/form-data",
        "-m m --endpoint-type image_edit --request-content-type application/json",
        "-m m --endpoint-type embeddings --streaming",
        "-m m --api-host h",
        "-m m --scenario nope",
        "-m m --scenario inferencex-agentx-mv",
    ]));
}

#[test]
fn dataset() {
    seen!(lines(&[
        "-m m --input-file d.jsonl --public-dataset sharegpt",
        "-m m --custom-dataset-type single_turn",
        "-m m --input-file d.jsonl --isl 10 --session-turns-mean 2",
        "-m m --public-dataset sharegpt --isl 10",
        "-m m --input-file d.jsonl --batch-size 2",
        "-m m --input-file folder --custom-dataset-type random_pool --batch-size 2",
        "-m m --input-file d.jsonl --custom-dataset-type single_turn --isl-block-size 16",
        "-m m --replay-speedup 2",
        "-m m --max-context-length 10",
        "-m m --dataset-filter a=b",
        "-m m --public-dataset sharegpt --dataset-filter ab",
        "-m m --public-dataset sharegpt --dataset-filter a=b a=c",
        "-m m --public-dataset sharegpt --hf-weka-dataset o/r",
        "-m m --public-dataset weka_hf",
        "-m m --hf-weka-dataset ~",
        "-m m --endpoint-type image_retrieval --isl 5 --tokenizer x",
        "-m m --seq-dist 10,20:50",
        "-m m --seq-dist 10,20",
        "-m m --seq-dist 0,20:100",
        "-m m --seq-dist 10,20:101",
        "-m m --seq-dist _",
        "-m m --seq-dist []",
        "-m m --seq-dist {}",
        "-m m --seq-dist {\"pairs\":[{\"isl\":1}]}",
        "-m m --seq-dist {x",
        "-m m --seq-dist ;",
        "-m m --seq-dist {\"pairs\":[{\"isl\":1,\"osl\":1,\"prob\":100,\"isl_stddev\":-1}]}",
        "-m m --osl-stddev 3",
        "-m m --rankings-passages-stddev 3 --endpoint-type nim_rankings",
        "-m m --isl 0",
        "-m m --batch-size 0",
        "-m m --ignore-trace-delays",
        "-m m --synthesis-max-isl 5",
        "-m m --input-file d.jsonl --custom-dataset-type single_turn --synthesis-max-isl 5",
        "-m m --input-file t.jsonl --custom-dataset-type mooncake_trace --prompt-corpus random",
        "-m m --input-file d.jsonl --ignore-trace-delays --use-think-time-only",
        "-m m --input-file d.jsonl --custom-dataset-type baseten_trace --open-loop-strict --no-open-loop-replay",
        "-m m --input-file d.jsonl --custom-dataset-type baseten_trace --synthesis-speedup-ratio 2",
        "-m m --input-file d.jsonl --custom-dataset-type baseten_trace --extra-inputs min_tokens:5",
        "-m m --num-prefix-prompts 2 --shared-system-prompt-length 3",
        "-m m --system-prompt ~",
        "-m m --system-prompt hi --system-prompt-file blank.txt",
        "-m m --system-prompt-file blank.txt",
        "-m m --system-prompt-file nope.txt",
        "-m m --system-prompt hi --endpoint-type completions",
        "-m m --system-prompt hi --num-prefix-prompts 2",
        "-m m --cache-bust system_prefix --endpoint-type completions",
        "-m m --cache-bust warmup_isolation_system",
        "-m m --isl 10 --random-range-ratio 0.5",
        "-m m --isl 10 --osl 10 --random-range-ratio 1.5",
        "-m m --isl 10 --osl 10 --random-range-ratio abc",
        "-m m --isl 10 --osl 10 --random-range-ratio {\"input\":0.1}",
        "-m m --isl 10 --osl 10 --random-range-ratio {\"x\":0.1}",
        "-m m --isl 10 --osl 10 --random-range-ratio {\"input\":0.1} --random-corpus-style sglang",
        "-m m --isl 10 --osl 10 --random-range-ratio 0.1 --seq-dist 1,1:100",
        "-m m --image-width-mean 1 --image-source-sampling shuffle-cycle",
        "-m m --video-audio-codec aac",
    ]));
}

#[test]
fn phases() {
    seen!(lines(&[
        "-m m --num-users 3",
        "-m m --user-centric-rate 1 --num-users 2",
        "-m m --user-centric-rate 1 --session-turns-mean 2",
        "-m m --user-centric-rate 1 --num-users 5 --session-turns-mean 2 --num-sessions 3",
        "-m m --user-centric-rate 1 --num-users 50 --session-turns-mean 2",
        "-m m --request-rate -1",
        "-m m --request-rate 1 --request-rate-series s.json",
        "-m m --request-rate-series nope.json",
        "-m m --request-rate-series bad.json",
        "-m m --request-rate-series odd.json",
        "-m m --request-rate-series one.json",
        "-m m --request-rate-series back.json",
        "-m m --request-rate-series part.json",
        "-m m --fixed-schedule --request-rate-series s.json",
        "-m m --arrival-smoothness 2",
        "-m m --fixed-schedule-start-offset 5",
        "-m m --fixed-schedule --fixed-schedule-start-offset 5 --fixed-schedule-auto-offset",
        "-m m --fixed-schedule --fixed-schedule-start-offset 5 --fixed-schedule-end-offset 1",
        "-m m --fixed-schedule --request-rate 2",
        "-m m --input-file t.jsonl --fixed-schedule --dataset-sampling-strategy shuffle",
        "-m m --input-file d.jsonl --custom-dataset-type single_turn --user-centric-rate 1 --num-users 2",
        "-m m --benchmark-grace-period 5",
        "-m m --request-rate-ramp-duration 5",
        "-m m --request-cancellation-delay 1",
        "-m m --input-file t.jsonl --custom-dataset-type mooncake_trace --request-rate 2",
        "-m m --input-file t.jsonl --custom-dataset-type mooncake_trace --concurrency 1,2",
        "-m m --warmup-grace-period 3",
        "-m m --warmup-grace-period 3 --warmup-request-count 2",
        "-m m --warmup-request-count 2 --warmup-request-rate-ramp-duration 2",
        "-m m --warmup-concurrency 2",
        "-m m --prefill-concurrency 2",
        "-m m --streaming --prefill-concurrency 64 --concurrency 32",
        "-m m --trajectory-start-min-ratio 0.8 --trajectory-start-max-ratio 0.2",
        "-m m --agentic-cache-warmup-duration 5",
    ]));
}

#[test]
fn what_is_watched_and_sent() {
    seen!(lines(&[
        "-m m --gpu-telemetry --no-gpu-telemetry",
        "-m m --gpu-telemetry foo",
        "-m m --gpu-telemetry pynvml amdsmi",
        "-m m --gpu-telemetry pynvml http://h:1",
        "-m m -u far:1 --gpu-telemetry pynvml",
        "-m m --server-metrics --no-server-metrics",
        "-m m --network-latency-automatic --network-latency-mean 1",
        "-m m --network-latency-ping-interval 1",
        "-m m --network-latency-ping-interval 1 --network-latency-mean 1",
        "-m m --stream metrics",
        "-m m --otel-url grpc://h:1",
        "-m m --otel-url _",
        "-m m --otel-url h --stream x",
        "-m m --otel-url h --otel-resource-attributes a",
        "-m m --mlflow-run-name x --mlflow-experiment y",
        "-m m --mlflow-tracking-uri ~",
        "-m m --wandb-entity x",
        "-m m --accuracy-tasks a",
        "-m m --export-outputs-json --profile-export-prefix outputs",
        "-m m --ui dashboard",
        "-m m --zmq-host h --record-processors 2 --tokenizer-trust-remote-code",
    ]));
}

#[test]
fn several_runs() {
    seen!(lines(&[
        "-m m --profile-run-cooldown-seconds 1 --set-consistent-seed",
        "-m m --convergence-metric x",
        "-m m --num-profile-runs 3 --convergence-threshold 0.1",
        "-m m --concurrency 1,2 --num-profile-runs 3 --convergence-metric x",
        "-m m --num-profile-runs 3 --convergence-metric x --convergence-mode distribution --export-level summary",
        "-m m --concurrency 1,2 --request-count 1,2,3 --sweep-type zip",
        "-m m --concurrency 1,0",
        "-m m --scenario inferencex-agentx-mvp --concurrency 1,2",
        "-m m --search-space concurrency:1,10:int",
        "-m m --search-metric x",
        "-m m --ttft-sla-ms 5",
        "-m m --search-space x --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space a:1,2:str --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space a:1,x --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space a:2,1 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space a:1,inf --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space a..b:1,2 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space benchmark.a:1,2 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space random_seed:1,2 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space concurrency:1,9:int --search-space concurrency:1,8:int --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 4",
        "-m m --search-space rate_series:1,9 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space rate:0,9 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space users:0,9 --search-metric x --search-direction maximize --search-max-iterations 10 --session-turns-mean 2",
        "-m m --search-space smoothness:1,9 --search-metric x --search-direction maximize --search-max-iterations 10",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --optuna-acquisition qehvi --optuna-sampler tpe",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-percentile-pooling pooled",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla a:b",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla a:p97:lt:1",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla a:p95:eq:1",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla a:p95:lt:x",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla :p95:lt:1",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla-tier g:a:p95:lt",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla-tier g:a:p95:lt:1 --search-sla-tier g:a:p95:lt:2",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla-tier x: --search-sla-tier _ --search-sla-tier y",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --search-sla-tier :a --search-sla-tier b:c:p95:lt:1",
        "-m m --search-space concurrency:1,9:int --search-metric x --search-direction maximize --search-max-iterations 10 --num-profile-runs 3 --convergence-metric x",
        "-m m --scenario inferencex-agentx-mvp --cache-bust warmup_isolation_first_turn",
        "-m m --search-recipe concurency-ramp",
        "-m m --search-recipe nope",
        "-m m --search-recipe concurrency-ramp --search-metric x",
        "-m m --search-recipe concurrency-ramp --isl 1,2",
        "-m m --search-recipe concurrency-ramp --search-max-iterations 5",
        "-m m --search-recipe concurrency-ramp --concurrency-min 9 --concurrency-max 3",
        "-m m --streaming --search-recipe max-throughput-ttft-sla",
        "-m m --search-recipe max-throughput-ttft-sla --ttft-sla-ms 5",
        "-m m --streaming --search-recipe max-throughput-itl-sla",
        "-m m --streaming --search-recipe max-throughput-itl-sla --itl-sla-ms 5 --tpot-sla-ms 6",
        "-m m --search-recipe max-concurrency-under-sla",
        "-m m --search-recipe max-concurrency-under-sla --ttft-sla-ms 5",
        "-m m --streaming --search-recipe max-goodput-under-slo --ttft-sla-ms 5",
        "-m m --streaming --search-recipe pareto-sweep",
        "-m m --streaming --search-recipe pareto-sweep --isl-osl-pairs 1",
        "-m m --streaming --search-recipe pareto-sweep --isl-osl-pairs 1/0",
        "-m m --streaming --search-recipe pareto-sweep --isl-osl-pairs 1/2,1/2",
        "-m m --streaming --search-recipe pareto-sweep --isl-osl-pairs _",
        "-m m --streaming --search-recipe pareto-sweep --isl-osl-pairs 1/2 --concurrency 4",
        "-m m --variant a:isl=1",
        "-m m --variant a:isl=1 --variant b:isl=2 --concurrency 1,2",
        "-m m --variant a:isl=1 --variant b:isl=2 --search-metric x",
        "-m m --variant a:isll=1 --variant b:foo=2",
        "-m m --variant a:isl=1 --variant a:isl=2",
        "-m m --variant :isl=1 --variant a: --variant isl --variant =1 --variant isl=1,isl=2",
        "-m m --variant a:isl=x --variant b:isl=2",
    ]));
}

#[test]
fn what_is_not_there_yet() {
    seen!(lines(&[
        "-m m --request-rate 5",
        "-m m --endpoint-type embeddings",
        "-m a,b",
        "-m m --url https://h",
        "-m m --connection-reuse-strategy sticky-user-sessions",
        "-m m --dataset-sampling-strategy random",
        "-m m --export-level raw",
        "-m m --concurrency 1,2",
        "-m m --num-profile-runs 2",
        "-m m --input-file d.jsonl",
        "-m m --goodput request_latency:100 --image-format png",
    ]));
}

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
        body("  artifacts: {user_files: [{path: ../x, content: a}]}\n"),
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
        "-m m -u far:1 --gpu-telemetry pynvml",
        "-m m --input-file c.yaml --image-format png --rankings-passages-mean 3",
        "-m m --user-centric-rate 2 --request-rate 1 --num-users 2 --session-turns-mean 2",
        "-f c.yaml",
        "-f bad.yaml",
    ] {
        let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
        let said = resolve_config(&words(line), &ctx)
            .map_or_else(|error| format!("error: {error}"), |tree| tree.notes.join("\n"));
        writeln!(out, "$ aiperf profile {line}\n{said}\n").expect("a string");
    }
    seen!(out);
}

#[test]
fn the_environment() {
    let env = [
        ("AIPERF_HTTP_CONNECTION_LIMIT", "many"),
        ("AIPERF_HTTP_TCP_KEEPCNT", "0"),
        ("AIPERF_HTTP_SSL_VERIFY", "2"),
        ("AIPERF_HTTP_IP_VERSION", "5"),
        ("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", "[1"),
        ("AIPERF_SEARCH_PLANNER_SLA_PRECISION_REQUESTS", "{"),
        ("AIPERF_UI", "5"),
    ];
    let bad = said(&Case { line: "-m m", files: &[], env: &env });
    let env = [
        ("AIPERF_HTTP_CONECTION_LIMIT", "5"),
        ("AIPERF_FOO_BAR", "1"),
        ("AIPERF_ZMQ_RCVTIMEO", "5"),
        ("AIPERF_K8S_X", "1"),
        ("AIPERF_GPU_COLLECTION_INTERVAL", "1"),
    ];
    let odd = said(&Case { line: "-m m", files: &[(".env", "AIPERF_OTEL_MAX_BATCH_RECORDS=5\n")], env: &env });
    seen!(format!("{bad}\n{odd}"));
}

#[test]
fn a_checked_file_says_what_cannot_be_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n  slos: {time_to_first_token: 5}\n";
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: String::new() };
    seen!(validate("c.yaml", &ctx).expect("a valid file").join("\n"));
}
