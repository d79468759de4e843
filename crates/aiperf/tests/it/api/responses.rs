//! Responses of the API during a run and after it.

use crate::api::{ENDLESS, Watched, watched};
use crate::bench::{Bench, wait_until};
use serde_json::Value;
use std::io::Read;
use std::process::Command;

const SUMMARY: &str = "/api/results/files/profile_export_aiperf.json";
const SECRET: &str = "sk-abcdef-123456";

#[test]
fn a_run_can_be_watched() {
    let run = watched(ENDLESS, &["--api-key", SECRET, "--header", "X-Auth-Token:tok-987654321"], &[]);
    let progress = run.is_on();
    let phase = &progress["phases"]["profiling"];
    assert_eq!((&phase["phase_kind"], &phase["expected_duration_sec"]), (&"profiling".into(), &600.0.into()));
    assert_eq!((&progress["system_state"], &progress["results_exported"]), (&"profiling".into(), &false.into()));
    assert_eq!(phase["state"], "sending");
    assert!(phase["requests_sent"].as_u64() >= phase["requests_completed"].as_u64(), "{phase}");
    assert_eq!(phase.get("requests_end_ns"), Some(&Value::Null), "unknown values are null");
    for (path, body) in [("/healthz", "ok"), ("/readyz", "ok")] {
        assert_eq!((run.client.get(path).status, run.client.get(path).text()), (200, body));
    }
    run.is_measured();
    let metrics = run.client.get("/api/metrics").json();
    assert!(metrics["metrics"]["request_latency"]["p99"].is_number(), "{metrics}");
    assert_eq!((&metrics["model"], &metrics["concurrency"]), (&"test-model".into(), &4.into()));
    assert_eq!((&metrics["endpoint_type"], &metrics["streaming"]), (&"chat".into(), &true.into()));
    assert_eq!(metrics["metrics"]["request_latency"]["unit"], "ms");
    let verdict = &metrics["verdict"];
    assert!(["trustworthy", "doubtful", "client-bound"].contains(&verdict["is"].as_str().unwrap()), "{metrics}");
    assert!(verdict["reasons"].is_array() && metrics["metrics"]["verdict"]["avg"].is_number(), "{metrics}");
    let page = run.client.get("/metrics");
    assert_eq!(page.field("Content-Type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let id = run.client.get("/api/run").json()["benchmark_id"].as_str().unwrap().to_owned();
    let first =
        format!("aiperf_info{{benchmark_id=\"{id}\",model=\"test-model\",endpoint_type=\"chat\",streaming=\"true\",");
    assert!(page.text().contains(&first), "{}", page.text());
    assert!(page.text().contains("# TYPE aiperf_request_latency_ms summary\n"), "{}", page.text());
    let workers = run.client.get("/api/workers").json();
    let (id, first) = workers["workers"].as_object().unwrap().iter().next().unwrap();
    assert!(first["worker_id"] == **id && first["task_stats"]["total"].as_u64() > Some(0), "{workers}");
    assert_eq!(workers["worker_groups"]["local"]["declared_workers"], workers["workers"].as_object().unwrap().len());
    let none = run.client.get("/api/server-metrics").json();
    assert_eq!(none["message"], "No server metrics available yet");
    assert_eq!(run.client.get("/api/results").json()["status"], "running");
    let listed = run.client.get("/api/results/list").json();
    assert_eq!((&listed["ready"], &listed["files"]), (&false.into(), &serde_json::json!([])));
    assert_eq!(run.client.get(SUMMARY).status, 404, "a file is complete or missing");
    let refused = run.client.ask("POST", "/api/shutdown", &[]);
    assert_eq!((refused.status, refused.json()["detail"].as_str().unwrap().contains("still running")), (409, true));
    let config = run.client.get("/api/config").json();
    assert!(config["endpoint"].get("api_key").is_none() && config["endpoint"]["streaming"] == true, "{config}");
    for path in ["/api/config", "/api/run", "/api/progress", "/metrics", "/api/metrics", "/api/workers", "/", "/docs"] {
        let text = String::from_utf8(run.client.get(path).body).unwrap();
        assert!(!text.contains(SECRET) && !text.contains("tok-987654321"), "{path}: {text}");
    }
    run.stop();
}

#[test]
fn results_and_files_are_available_after_the_run() {
    let run = watched(["--request-count", "40"], &["--warmup-request-count", "4"], &[]);
    let over = run.is_over();
    assert_eq!(over["status"], "complete");
    let results = &over["results"]["results"];
    assert_eq!((&results["completed"], &results["total_expected"]), (&40.into(), &40.into()));
    assert_eq!((&results["is_complete"], &results["was_cancelled"]), (&true.into(), &false.into()));
    let latency = results["records"].as_array().unwrap().iter().find(|metric| metric["tag"] == "request_latency");
    let on_disk = std::fs::read(run.running.dir.path().join("out/profile_export_aiperf.json")).unwrap();
    let summary: Value = serde_json::from_slice(&on_disk).unwrap();
    assert_eq!(latency.unwrap()["p99"], summary["request_latency"]["p99"]);
    let last = run.client.get("/api/metrics").json();
    assert_eq!(last["metrics"]["request_latency"]["p99"], summary["request_latency"]["p99"]);
    assert!(last["metrics"]["request_count"]["avg"] == 40.0 && last["request_rate"].is_null(), "{last}");
    let page = run.client.get("/metrics");
    assert!(
        page.text().lines().any(|line| line.starts_with("aiperf_request_count") && line.ends_with(" 40.0")),
        "{}",
        page.text()
    );
    let progress = run.client.get("/api/progress").json();
    assert_eq!((&progress["results_exported"], &progress["system_state"]), (&true.into(), &"stopping".into()));
    let phases = &progress["phases"];
    assert_eq!(
        (&phases["warmup"]["requests_completed"], &phases["profiling"]["total_records"]),
        (&4.into(), &40.into())
    );
    assert_eq!(phases["profiling"]["state"], "complete");

    let listed = run.client.get("/api/results/list").json();
    assert_eq!((&listed["ready"], &listed["partial"]), (&true.into(), &false.into()));
    let files: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert!(files.contains(&"profile_export_aiperf.json") && files.contains(&"logs/aiperf.log"), "{files:?}");
    for file in listed["files"].as_array().unwrap() {
        let got = run.client.get(&format!("/api/results/files/{}", file["name"].as_str().unwrap()));
        assert_eq!((got.status, got.body.len() as u64), (200, file["size"].as_u64().unwrap()), "{file}");
    }
    let plain = run.client.get(SUMMARY);
    assert_eq!((plain.body.as_slice(), plain.field("Content-Encoding")), (on_disk.as_slice(), None));
    assert_eq!(plain.field("Content-Disposition"), Some("attachment; filename=\"profile_export_aiperf.json\""));
    let zstd = run.client.ask("GET", SUMMARY, &[("Accept-Encoding", "gzip, zstd")]);
    assert_eq!(zstd.field("Content-Encoding"), Some("zstd"));
    assert_eq!(zstd::decode_all(zstd.body.as_slice()).unwrap(), on_disk);
    let gzip = run.client.ask("GET", SUMMARY, &[("Accept-Encoding", "gzip")]);
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(gzip.body.as_slice()).read_to_end(&mut unpacked).unwrap();
    assert_eq!((gzip.field("Content-Encoding"), unpacked), (Some("gzip"), on_disk));
    let head = run.client.ask("HEAD", SUMMARY, &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));

    let ended = run.client.ask("POST", "/api/shutdown", &[]);
    assert_eq!((ended.status, ended.json()["status"].as_str()), (200, Some("shutting_down")));
    assert_eq!(run.running.finish_soon().code(), Some(0));
}

/// A run of this length whose server has metrics, and the address of that server.
fn watching(length: [&str; 2]) -> (Watched, String) {
    let often = [("AIPERF_SERVER_METRICS_REALTIME_PUBLISH_INTERVAL_SECONDS", "0.1")];
    let run = Watched::start(Bench::watching, length, &[], &often);
    let server = run.sim.url().replace("http://", "");
    (run, server)
}

const GAUGE: &str = "vllm:num_requests_running";
const COUNTER: &str = "vllm:generation_tokens";
const HISTOGRAM: &str = "vllm:e2e_request_latency_seconds";

#[test]
fn the_servers_own_metrics_are_available_during_the_run() {
    let (run, server) = watching(ENDLESS);
    run.waits_for("realtime_server_metrics", |message| {
        message["snapshot"]["output_token_throughput_srv"].as_f64() > Some(0.0)
    });
    // Tokens are counted while a request runs, its latency when it is over.
    let latencies = |body: &Value| {
        body["endpoint_summaries"][&server]["metrics"][HISTOGRAM]["series"][0]["stats"]["count"].as_f64()
    };
    let mut body = Value::Null;
    wait_until("no request is over", || {
        body = run.client.get("/api/server-metrics").json();
        latencies(&body) > Some(0.0)
    });
    assert!(body["snapshot"].as_object().unwrap().values().all(Value::is_number), "{body}");
    let endpoint = &body["endpoint_summaries"][&server];
    assert_eq!(endpoint["endpoint_url"], format!("http://{server}/metrics"), "{body}");
    assert!(endpoint["info"]["total_fetches"].as_u64() > Some(1), "{endpoint}");
    let metrics = &endpoint["metrics"];
    assert_eq!((&metrics[GAUGE]["type"], &metrics[HISTOGRAM]["type"]), (&"gauge".into(), &"histogram".into()));
    let stats = |metric: &str| &metrics[metric]["series"][0]["stats"];
    assert!(stats(GAUGE)["current"].is_number(), "{metrics}");
    let tokens = stats(COUNTER);
    assert!(tokens["total"].as_f64() > Some(0.0) && tokens["rate"].as_f64() > Some(0.0), "{tokens}");
    let latency = |name: &str| stats(HISTOGRAM)[name].as_f64().unwrap();
    assert!((latency("sum") / latency("count") - latency("avg")).abs() < 1e-9, "{metrics}");
    run.stop();
}

#[test]
fn the_servers_own_metrics_are_those_of_the_files_when_the_run_is_over() {
    let (run, server) = watching(["--request-count", "40"]);
    run.is_over();
    let body = run.client.get("/api/server-metrics").json();
    let endpoint = &body["endpoint_summaries"][&server];
    let file = run.running.dir.path().join("out/server_metrics_export.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    for metric in [GAUGE, COUNTER, HISTOGRAM] {
        let stats = |of: &Value| of["metrics"][metric]["series"][0]["stats"].clone();
        assert!(stats(endpoint).is_object(), "{metric}: {body}");
        assert_eq!(stats(endpoint), stats(&file), "{metric}");
    }
    assert_eq!(endpoint["info"], file["summary"]["endpoint_info"][format!("http://{server}/metrics")]);
    run.client.ask("POST", "/api/shutdown", &[]);
    run.running.finish_soon();
}

#[test]
fn pages_are_complete_and_run_no_other_script() {
    let run = watched(ENDLESS, &[], &[]);
    for path in ["/", "/dashboard"] {
        let page = run.client.get(path);
        assert_eq!((page.status, page.field("Content-Type")), (200, Some("text/html; charset=utf-8")));
        let policy = page.field("Content-Security-Policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(page.text().contains("<main>") && page.text().ends_with("</html>\n"));
    }
    let docs = run.client.get("/docs");
    assert!(docs.text().contains("GET /api/progress"), "{}", docs.text());
    let described = run.client.get("/openapi.json").json();
    assert_eq!(described["openapi"], "3.1.0");
    assert!(described["paths"]["/api/shutdown"]["post"].is_object(), "{described}");
    let moved = run.client.get("/dashboard-v2");
    assert_eq!((moved.status, moved.field("Location")), (307, Some("/dashboard")));
    for path in ["/api/dataset/state", "/api/tokenizer/gpt2/bundle", "/api/debug/pod-states"] {
        let refused = run.client.get(path);
        assert_eq!(refused.status, 404);
        assert!(refused.json()["detail"].as_str().unwrap().contains("clusters"), "{path}");
    }
    assert_eq!(run.client.ask("POST", "/api/results/upload/raw_records_1.jsonl", &[]).status, 404);
    let unknown = run.client.get("/nope");
    assert_eq!(
        (unknown.status, unknown.json()["detail"].as_str()),
        (404, Some("nothing at /nope; /docs lists what there is"))
    );
    let wrong = run.client.ask("POST", "/api/progress", &[]);
    assert_eq!((wrong.status, wrong.field("Allow")), (405, Some("GET, HEAD")));
    run.stop();
}

/// The commands of the documentation that call the API, in order.
fn curls(port: u16) -> Vec<String> {
    let pages = [include_str!("../../../../../docs/telemetry.md"), include_str!("../../../../../docs/api.md")];
    let lines = pages.into_iter().flat_map(str::lines).map(|line| line.split('#').next().unwrap().trim());
    let ours = lines.filter(|line| line.starts_with("curl "));
    ours.map(|line| line.replace("localhost:8080", &format!("localhost:{port}"))).collect()
}

#[test]
fn every_curl_of_the_documentation_works() {
    let run = watched(["--request-count", "1000"], &["--request-rate", "500"], &[]);
    let all = curls(run.client.port());
    let folder = tempfile::TempDir::new().unwrap();
    let answered = |command: &str| {
        let command = command.replacen("curl", "curl -fsS -w '\\n%{http_code}'", 1);
        let output = Command::new("bash").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && printed.ends_with("\n200"), "{command}: {printed}");
    };
    let (at_the_end, always): (Vec<&String>, Vec<&String>) =
        all.iter().partition(|line| line.contains("/files/") || line.contains("/shutdown"));
    assert!(at_the_end.len() >= 2 && always.len() >= 4, "{all:?}");
    run.is_measured();
    always.iter().for_each(|line| answered(line));
    run.is_over();
    always.iter().for_each(|line| answered(line));
    at_the_end.iter().for_each(|line| answered(line));
    let name = "profile_export_aiperf.json";
    let on_disk = std::fs::read(run.running.dir.path().join("out").join(name)).unwrap();
    assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), on_disk);
    assert_eq!(run.running.finish_soon().code(), Some(0));
}
