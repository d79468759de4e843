//! The servers' own metrics, compared with the counts of the client and the log of the server.

use crate::bench::{Bench, Run, answering, avg, quick, response, serve};
use aiperf_sim::{Latency, MetricsKind, SimConfig};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const FILES: [&str; 4] = [
    "server_metrics_export.json",
    "server_metrics_export.csv",
    "server_metrics_export.parquet",
    "server_metrics_export.jsonl",
];

fn with_faults(faults: &[&str]) -> SimConfig {
    SimConfig { metrics_faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(), ..quick() }
}

const RESPONSE: &str =
    r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;

/// A server that answers every chat request, and returns a page for requests that begin like this.
fn chatting(begin: &'static str, kind: &'static str, page: &'static str) -> String {
    answering(move |_, head, _| match head.starts_with(begin) {
        true => response("200 OK", kind, page),
        false => response("200 OK", "application/json", RESPONSE),
    })
}

/// A run of forty requests that must succeed.
fn run(sim: SimConfig, args: &[&str]) -> Run {
    let sim = serve(sim);
    let run = Bench::watching(&sim.url()).with(&["--streaming", "--request-count", "40"]).with(args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

fn exported(run: &Run) -> Value {
    serde_json::from_str(&run.text(FILES[0])).unwrap()
}

/// The sum of a statistic over all series of a metric.
fn total(metrics: &Value, name: &str, stat: &str) -> f64 {
    let series = metrics[name]["series"].as_array().unwrap_or_else(|| panic!("no {name}"));
    series.iter().map(|series| series["stats"][stat].as_f64().unwrap()).sum()
}

/// The server's counts equal the client's.
fn agrees(metrics: &Value, summary: &Value) {
    assert_eq!(total(metrics, "vllm:request_success", "total"), avg(summary, "request_count"));
    assert_eq!(total(metrics, "vllm:prompt_tokens", "total"), avg(summary, "total_usage_prompt_tokens"));
    assert_eq!(total(metrics, "vllm:generation_tokens", "total"), avg(summary, "total_usage_completion_tokens"));
    assert_eq!(total(metrics, "vllm:e2e_request_latency_seconds", "count"), avg(summary, "request_count"));
}

#[test]
fn counters_of_the_profiling_phase_are_what_the_client_counted() {
    let run = run(quick(), &["--concurrency", "4"]);
    let document = exported(&run);
    agrees(&document["metrics"], &run.summary());
    let rate = total(&document["metrics"], "vllm:request_success", "rate");
    let range = &document["summary"]["phase_time_ranges"]["profiling"];
    let seconds = (range["end_ns"].as_u64().unwrap() - range["start_ns"].as_u64().unwrap()) as f64 / 1e9;
    assert!((rate * seconds - 40.0).abs() < 1e-6, "the last page came later, and the rate is over the phase: {rate}");
    let info = document["summary"]["endpoint_info"].as_object().unwrap();
    assert_eq!(info.len(), 1);
    assert!(info.values().all(|info| info["errors"].is_null()));
}

#[test]
fn a_warm_up_is_counted_apart() {
    let run = run(quick(), &["--concurrency", "4", "--warmup-request-count", "12"]);
    let document = exported(&run);
    agrees(&document["metrics"], &run.summary());
    assert_eq!(total(&document["warmup_metrics"], "vllm:request_success", "total"), 12.0);
    let phase = |name: &str| -> Value {
        serde_json::from_str(&run.text(&format!("phases/{name}/server_metrics.json"))).unwrap()
    };
    for (name, count) in [("warmup", 12.0), ("profiling", 40.0)] {
        let phase = phase(name);
        let endpoints = phase["data"]["endpoint_summaries"].as_object().unwrap();
        let metrics = &endpoints.values().next().unwrap()["metrics"];
        assert_eq!(total(metrics, "vllm:request_success", "total"), count, "{name}");
    }
    let manifest: Value = serde_json::from_str(&run.text("phase_manifest.json")).unwrap();
    for phase in manifest["phases"].as_array().unwrap() {
        let name = phase["phase_name"].as_str().unwrap();
        assert_eq!(phase["server_metrics_json"], format!("phases/{name}/server_metrics.json"));
    }
}

#[test]
fn two_profiling_phases_count_together_and_separately() {
    let sim = serve(quick());
    let bench = Bench::bare();
    let file = format!(
        "benchmark:\n  model: m\n  endpoint: {{url: '{}', streaming: true}}\n  tokenizer: {{name: builtin}}\n  \
         dataset: {{type: synthetic, prompts: {{isl: 16, osl: 8}}}}\n  gpu_telemetry: {{enabled: false}}\n  phases:\n    \
         - {{name: first, kind: profiling, type: concurrency, concurrency: 3, requests: 15}}\n    \
         - {{name: second, kind: profiling, type: concurrency, concurrency: 5, requests: 25}}\n",
        sim.url()
    );
    std::fs::write(bench.dir.path().join("two.yaml"), file).unwrap();
    let run = bench
        .with(&["--config", "two.yaml", "--ui", "none"])
        .env("AIPERF_SERVER_METRICS_COLLECTION_INTERVAL", "0.02")
        .env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "0.05")
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    agrees(&exported(&run)["metrics"], &run.summary());
    for (name, count) in [("first", 15.0), ("second", 25.0)] {
        let phase: Value = serde_json::from_str(&run.text(&format!("phases/{name}/server_metrics.json"))).unwrap();
        let endpoints = phase["data"]["endpoint_summaries"].as_object().unwrap();
        let metrics = &endpoints.values().next().unwrap()["metrics"];
        assert_eq!(total(metrics, "vllm:request_success", "total"), count, "{name}");
    }
}

/// A server that restarts before its last response but one: its counters start at zero again.
fn restarting(responses: usize) -> String {
    let returned = AtomicUsize::new(0);
    answering(move |_, head, _| {
        if head.starts_with("GET") {
            let returned = returned.load(SeqCst);
            let since_start = if returned < responses - 1 { returned } else { returned + 1 - responses };
            let page = format!("# TYPE served counter\nserved_total {since_start}\n");
            return response("200 OK", "text/plain; version=0.0.4", &page);
        }
        returned.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        response("200 OK", "application/json", RESPONSE)
    })
}

#[test]
fn a_restart_is_counted_and_no_total_is_negative() {
    let address = restarting(40);
    let run = Bench::watching(&format!("http://{address}")).with(&["--request-count", "40"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let series = exported(&run)["metrics"]["served"]["series"][0].clone();
    assert_eq!(series["resets"], 1, "{series}");
    assert!(series["stats"]["total"].as_f64().unwrap() >= 0.0);
}

#[test]
fn gauges_are_those_that_the_server_logged() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let sim = serve(SimConfig { truth_log: Some(log.path().to_owned()), ..quick() });
    let formats = ["--server-metrics-formats", "json", "jsonl"];
    let run = Bench::watching(&sim.url())
        .with(&["--streaming", "--request-count", "300", "--concurrency", "6"])
        .with(&formats)
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    sim.stop().unwrap();
    let truth = std::fs::read_to_string(log.path()).unwrap();
    let pages: Vec<Value> = truth
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["page"].is_object())
        .map(|line| line["page"].clone())
        .collect();
    let scrapes: Vec<Value> = run.text(FILES[3]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pages.len(), scrapes.len(), "every page has its line");
    assert!(scrapes.len() > 4);
    for (page, scrape) in pages.iter().zip(&scrapes) {
        let value = |name: &str| scrape["metrics"][name][0]["value"].as_f64().unwrap();
        assert_eq!(value("vllm:num_requests_running"), page["running"].as_f64().unwrap());
        assert_eq!(value("vllm:kv_cache_usage_perc"), page["kv_usage"].as_f64().unwrap());
        assert_eq!(value("vllm:generation_tokens"), page["generation_tokens"].as_f64().unwrap());
        // Made between the request and the first byte, by the server's clock, which is this machine's.
        let made = page["made_ns"].as_u64().unwrap();
        let sent = scrape["request_sent_ns"].as_u64().unwrap();
        let came = scrape["first_byte_ns"].as_u64().unwrap();
        assert!(sent <= made + 1_000_000 && made <= came + 1_000_000, "{sent} {made} {came}");
    }
    assert!(scrapes[0]["benchmark_phase"].is_null(), "the first page is from before the run");
    assert_eq!(scrapes.last().unwrap()["benchmark_phase"], "profiling");
}

#[test]
fn only_requested_files_are_written_and_those_of_an_earlier_run_are_removed() {
    let there = |run: &Run| FILES.map(|file| run.path(file).exists());
    let first = run(quick(), &[]);
    assert_eq!(there(&first), [true, true, true, false]);
    let sim = serve(quick());
    let second = Bench::watching(&sim.url())
        .with(&["--request-count", "5", "--server-metrics-formats", "jsonl", "CSV"])
        .in_place_of(first)
        .run();
    assert_eq!(there(&second), [false, true, false, true]);
    let third = Bench::of(&sim.url()).with(&["--request-count", "5"]).in_place_of(second).run();
    assert_eq!(there(&third), [false; 4]);
    let named = run(quick(), &["--profile-export-prefix", "mine", "--server-metrics-formats", "json,parquet"]);
    assert!(named.path("mine_server_metrics.json").exists() && named.path("mine_server_metrics.parquet").exists());
}

/// Names in a folder that end in `.parquet`.
fn parquet_files(folder: std::path::PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".parquet")).collect()
}

#[test]
fn the_only_parquet_file_in_the_directory_of_a_run_is_that_of_the_server_metrics() {
    let first = run(quick(), &[]);
    assert_eq!(parquet_files(first.path(".")), ["server_metrics_export.parquet"]);
    assert_eq!(parquet_files(first.path("records")), ["profile_export.parquet"]);
    // As an earlier version left it.
    std::fs::rename(first.path("records/profile_export.parquet"), first.path("profile_export.parquet")).unwrap();
    let sim = serve(quick());
    let second =
        Bench::watching(&sim.url()).with(&["--request-count", "5", "--no-records-parquet"]).in_place_of(first).run();
    assert_eq!(parquet_files(second.path(".")), ["server_metrics_export.parquet"]);
    assert!(!second.path("records").exists());
    let named = run(quick(), &["--profile-export-prefix", "sub/mine"]);
    assert_eq!(parquet_files(named.path("sub")), ["mine_server_metrics.parquet"]);
    assert_eq!(parquet_files(named.path("records/sub")), ["mine.parquet"]);
}

#[test]
fn a_server_without_metrics_costs_one_line() {
    let run = run(SimConfig { metrics: MetricsKind::None, ..quick() }, &[]);
    assert_eq!(run.stdout().matches("erver metrics").count(), 1, "{}", run.stdout());
    assert!(run.stdout().contains("Server metrics are off: no Prometheus endpoint responds"));
    assert_eq!(run.stderr(), "");
    assert!(FILES.iter().all(|file| !run.path(file).exists()));
}

#[test]
fn a_named_page_that_is_missing_gives_a_warning() {
    let nowhere = "http://127.0.0.1:9/metrics";
    let run = run(SimConfig { metrics: MetricsKind::None, ..quick() }, &["--server-metrics", nowhere]);
    let log = run.text("logs/aiperf.log");
    let is_warning = |line: &&str| line.contains("Server metrics are off") && line.contains(nowhere);
    assert!(log.lines().find(is_warning).is_some_and(|line| line.contains("WARNING")), "{log}");
}

#[test]
fn json_at_the_default_path_leads_to_the_page_at_another() {
    let run = run(SimConfig { metrics: MetricsKind::Trtllm, ..quick() }, &[]);
    let document = exported(&run);
    let urls = &document["summary"]["endpoints_successful"];
    assert!(urls[0].as_str().unwrap().ends_with("/prometheus/metrics"), "{urls}");
    assert_eq!(total(&document["metrics"], "trtllm_request_success", "total"), 40.0);
}

#[test]
fn an_invalid_page_is_not_fetched_again_after_one_warning() {
    for (fault, message) in [
        ("json=1-", "returned non-Prometheus content-type 'application/json'"),
        ("malformed=1-", "Disabling server metrics collection for"),
        // The first page is fetched before the start, the second at the start.
        ("malformed=2-", "Disabling server metrics collection for"),
    ] {
        let run = run(with_faults(&[fault]), &[]);
        assert_eq!(run.stdout().matches("Disabling server metrics collection").count(), 1, "{fault}");
        assert!(run.stdout().contains(message), "{fault}: {}", run.stdout());
    }
}

#[test]
fn a_faulty_page_affects_no_request() {
    for (faults, errors) in [
        (&["malformed-lines=3-5"][..], 0),
        (&["status:503=3-4"], 1),
        // A reset connection is replaced by a new one, because it may have been closed while idle.
        (&["reset=3"], 0),
        (&["reset=3-4"], 1),
        (&["endless=3"], 1),
        (&["huge=3"], 1),
        (&["type:vllm:num_requests_running,histogram=3-4"], 0),
        (&["gzip=2-", "redirect:307=4"], 0),
        (&["trickle:100ms=3"], 0),
    ] {
        let tried = || {
            let run = run(with_faults(faults), &["--concurrency", "1"]);
            let document = exported(&run);
            let info = document["summary"]["endpoint_info"].as_object().unwrap().values().next().unwrap().clone();
            (run, document, info)
        };
        let found = |info: &Value| info["errors"].as_u64().unwrap_or(0);
        let (mut run, mut document, mut info) = tried();
        // On a busy machine, the faulty page may be fetched before the first request, where no error counts.
        for _ in 1..5 {
            if found(&info) >= errors {
                break;
            }
            (run, document, info) = tried();
        }
        assert!(if errors == 0 { found(&info) == 0 } else { found(&info) >= errors }, "{faults:?}: {info}");
        assert_eq!(run.stdout().contains("scrapes failed"), errors > 0, "{faults:?}: {}", run.stdout());
        assert_eq!(total(&document["metrics"], "vllm:request_success", "total"), 40.0, "{faults:?}");
    }
}

#[test]
fn a_server_that_is_down_fails_as_early_as_without_metrics() {
    let run = Bench::watching("http://127.0.0.1:9").with(&["--request-count", "1"]).run();
    assert_eq!(run.code(), Some(1));
    assert!(run.stdout().contains("Server metrics are off"), "{}", run.stdout());
}

#[test]
fn ctrl_c_keeps_the_collected_metrics() {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_millis(30)), ..quick() });
    let running = Bench::watching(&sim.url())
        .env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "30")
        .with(&["--streaming", "--request-count", "2000", "--server-metrics-formats", "json", "jsonl"])
        .start();
    running.wait_for_records(10);
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(130), "{}", run.stderr());
    assert!(total(&exported(&run)["metrics"], "vllm:request_success", "total") >= 5.0);
    assert!(run.text(FILES[3]).lines().count() > 3);
}

#[test]
fn several_endpoints_are_distinguished_and_secrets_are_hidden() {
    let (sim, other) = (serve(quick()), serve(SimConfig { metrics: MetricsKind::Sglang, ..quick() }));
    let extra = format!("{}/metrics?api_key=hunter22&x=1", other.url().replace("http://", "http://me:pa55word@"));
    let missing = "http://127.0.0.1:9/metrics";
    let run = Bench::watching(&sim.url())
        .with(&["--request-count", "20", "--server-metrics", &extra, missing])
        .with(&["--server-metrics-formats", "json", "csv", "jsonl", "parquet"])
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = exported(&run)["summary"].clone();
    assert_eq!(summary["endpoints_configured"].as_array().unwrap().len(), 3);
    assert_eq!(summary["endpoints_successful"].as_array().unwrap().len(), 2);
    assert!(summary["endpoints_configured"][1].as_str().unwrap().contains("<redacted>@127.0.0.1"));
    assert!(run.stdout().contains("2/3 endpoint(s) reachable"));
    assert!(run.stdout().contains("NVIDIA AIPerf | Server Metrics: vLLM"));
    let texts =
        [FILES[0], FILES[1], FILES[3], "logs/aiperf.log", "profile_export_aiperf.json"].map(|file| run.text(file));
    let parquet = String::from_utf8_lossy(&std::fs::read(run.path(FILES[2])).unwrap()).into_owned();
    for text in texts.iter().chain([&run.stdout(), &run.stderr(), &parquet]) {
        assert!(!text.contains("hunter22") && !text.contains("pa55word"), "{text}");
    }
}

#[test]
fn secrets_that_a_page_echoes_are_hidden() {
    let address = answering(|_, head, _| match head {
        head if head.starts_with("GET") => {
            let echo = head.lines().filter(|line| line.starts_with("GET") || line.starts_with("Authorization"));
            let echo = echo.collect::<Vec<_>>().join(" ").replace('"', "");
            let page = format!("# HELP g {echo}\n# TYPE g gauge\ng{{asked=\"{echo}\"}} 1\n");
            response("200 OK", "text/plain", &page)
        }
        _ => response("500 Oh", "text/plain", "no"),
    });
    let page = format!("http://me:pa55word@{address}/metrics?token=hunter22x");
    let run = Bench::watching("http://127.0.0.1:9")
        .with(&["--request-count", "1", "--server-metrics", &page])
        .with(&["--server-metrics-formats", "json", "csv", "jsonl", "parquet"])
        .run();
    let parquet = String::from_utf8_lossy(&std::fs::read(run.path(FILES[2])).unwrap_or_default()).into_owned();
    for text in [run.text(FILES[0]), run.text(FILES[1]), run.text(FILES[3]), parquet] {
        for secret in ["hunter22x", "pa55word", "bWU6cGE1NXdvcmQ"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn a_path_of_the_server_is_no_obstacle() {
    let sim = serve(quick());
    let url = format!("{}/v1", sim.url());
    let run = Bench::watching(&url).with(&["--request-count", "10"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(total(&exported(&run)["metrics"], "vllm:request_success", "total"), 10.0);
}

#[test]
fn one_page_under_two_names_is_fetched_once() {
    let sim = serve(quick());
    let url = format!("{}/v1", sim.url());
    let page = format!("{}/metrics", sim.url());
    let run = Bench::watching(&url).with(&["--request-count", "10", "--server-metrics", &page]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(exported(&run)["summary"]["endpoints_configured"].as_array().unwrap().len(), 1);
    assert!(run.stdout().contains("1/1 endpoint(s) reachable"), "{}", run.stdout());
}

#[test]
fn a_server_that_answers_everything_with_a_web_page_has_no_metrics() {
    let address = chatting("GET", "text/html", "<html>\n<p>hello</p>\n</html>\n");
    let run = Bench::watching(&format!("http://{address}")).with(&["--request-count", "5"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(run.stdout().matches("erver metrics").count(), 1, "{}", run.stdout());
    assert!(run.stdout().contains(&format!("Disabling server metrics collection for http://{address}/metrics:")));
}

#[test]
fn a_page_that_never_ends_delays_neither_the_run_nor_its_end() {
    let run = run(with_faults(&["trickle:600s=5"]), &["--concurrency", "1"]);
    let document = exported(&run);
    assert_eq!(total(&document["metrics"], "vllm:request_success", "total"), 40.0);
}

#[test]
fn metrics_of_a_warm_up_do_not_count_as_profiling() {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_millis(30)), ..quick() });
    let running = Bench::watching(&sim.url())
        .with(&["--request-count", "5", "--warmup-request-count", "2000"])
        .with(&["--server-metrics-formats", "json", "jsonl"])
        .start();
    let lines = running.dir.path().join("out/server_metrics_export.jsonl");
    let is_on = || std::fs::read_to_string(&lines).unwrap_or_default().matches("warmup").count() > 20;
    while !is_on() {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal("INT");
    let run = running.finish_soon();
    let document = exported(&run);
    assert_eq!(document["metrics"].as_object().map(|metrics| metrics.len()), Some(0), "{document}");
    assert!(total(&document["warmup_metrics"], "vllm:request_success", "total") > 0.0);
}

#[test]
fn the_live_block_has_a_line_of_the_server() {
    let sim = SimConfig { ttft: Latency::constant(Duration::from_millis(20)), ..quick() };
    let sim = serve(sim);
    let run = Bench::watching(&sim.url())
        .with(&["--streaming", "--request-count", "40", "--stats-interval", "0.1"])
        .env("AIPERF_SERVER_METRICS_REALTIME_PUBLISH_INTERVAL_SECONDS", "0.05")
        .run();
    assert!(run.stdout().lines().any(|line| line.contains("srv ") && line.contains("queue=")), "{}", run.stdout());
}

#[test]
fn a_foreign_page_needs_no_help_and_no_type() {
    let address = chatting("GET /metrics", "text/plain", "plain 1\nplain{a=\"b\"} 2\n");
    let run = Bench::watching(&format!("http://{address}")).with(&["--request-count", "5"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let document = exported(&run);
    assert_eq!(document["metrics"]["plain"]["type"], "unknown");
    assert_eq!(document["metrics"]["plain"]["series"].as_array().unwrap().len(), 2);
    assert!(!run.stdout().contains("Server Metrics:"), "no table of an unknown server");
}

#[test]
fn bad_input_is_refused_before_anything_is_sent() {
    for (args, message) in [
        (&["--server-metrics", "h:1", "--no-server-metrics"][..], "--no-server-metrics"),
        (&["--server-metrics", "node1"], "--server-metrics 'node1' is not a URL"),
        (&["--server-metrics", "http://h:0/metrics"], "port outside"),
        (&["--server-metrics", "ftp://h/metrics"], "must start with http"),
        (&["--server-metrics-formats", "xml"], "xml"),
    ] {
        let run = Bench::watching("http://127.0.0.1:9").with(&["--request-count", "1"]).with(args).run();
        assert_eq!(run.code(), Some(2), "{args:?}: {}", run.stderr());
        assert!(run.stderr().contains(message), "{args:?}: {}", run.stderr());
    }
}
